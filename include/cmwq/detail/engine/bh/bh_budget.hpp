// SPDX-License-Identifier: BSL-1.0
//
// bh_budget: limits the bottom halves that a thread runs in one call.
#pragma once

#include <cmwq/detail/sync/clock.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Limits the bottom halves that a thread runs in one call. Used by one thread.
/// - `softirq`: for a thread that has queued an item. Ten rounds, or two milliseconds. A round is the set of items that
///   were pending at its beginning. The time counts from the end of the first item, so that a single item reads no
///   clock.
/// - `turn`: for the CPU's bottom-half thread, which has no other work. One round, so that the pools of both priorities
///   alternate.
class bh_budget {
public:
    enum class limit : bool { turn, softirq };
    explicit bh_budget(limit l) noexcept : limit_(l) {}

    /// Call before each round. False: the budget allows no further round.
    [[nodiscard]] bool begin_round() noexcept {
        if (rounds_++ == (limit_ == limit::turn ? 1 : max_rounds)) over_ = true;
        return !over_;
    }
    /// The pool of high priority is drained before each item of the normal pool. True: for that it gets a `turn` budget
    /// of its own. False: it shares this budget.
    [[nodiscard]] bool takes_turns() const noexcept { return limit_ == limit::turn; }
    /// Call after an item has ended while more items are pending. False: the budget allows no further item.
    [[nodiscard]] bool go_on() noexcept {
        if (limit_ == limit::turn) return !over_;
        const std::int64_t now = steady_now();
        if (end_ == 0) end_ = now + max_time;
        if (now >= end_) over_ = true;
        return !over_;
    }

private:
    static constexpr unsigned max_rounds = 10;
    static constexpr std::int64_t max_time = 2'000'000;

    const limit limit_;
    bool over_ = false;
    unsigned rounds_ = 0;
    std::int64_t end_ = 0; // steady clock; 0: the first item has not ended yet
};

}}} // namespace cmwq::CMWQ_NS::detail
