// SPDX-License-Identifier: BSL-1.0
//
// noticed_block: a detector has found a run blocked, and its thread shall tell the observers.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/observer.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// One word, so all operations are relaxed: the thread takes each notice once. A notice may come when the run has just
/// ended. Then the time tells that it belongs to another run, or it counts for the next one, as in block_counts.
class noticed_block {
public:
    struct notice {
        std::int64_t time; ///< steady clock; 0: there is none
        block_reason who;
    };

    /// A detector, which has found the thread blocked at that time. A later notice replaces one that was not taken.
    void note(std::int64_t now, block_reason who) noexcept {
        what_.store(now * 2 + (who == block_reason::monitor ? 1 : 0), relaxed);
    }
    /// The thread.
    [[nodiscard]] notice take() noexcept {
        if (what_.load(relaxed) == 0) return {};
        const std::int64_t what = what_.exchange(0, relaxed);
        return {what / 2, what % 2 == 1 ? block_reason::monitor : block_reason::sentinel};
    }

private:
    atomic<std::int64_t> what_{0};
};

}}} // namespace cmwq::CMWQ_NS::detail
