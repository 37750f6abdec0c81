// SPDX-License-Identifier: BSL-1.0
//
// idle_poll: whether a worker polls for its next wake-up for a moment before it sleeps.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The history of the idle times of one worker. A worker polls only after several short idle times in a row, because a
/// wake-up costs more than such a time; a long one ends the polling at once. Only the worker uses it.
class idle_poll {
public:
    /// Whether the next idle time is likely to be short.
    [[nodiscard]] bool is_worthwhile() const noexcept { return nr_short_ >= enough; }
    /// An idle time has ended. `limit`: the longest time for which the worker would poll. Both in nanoseconds.
    void note(std::int64_t idle_time, std::int64_t limit) noexcept {
        // A worker that sleeps gets its CPU some time after the wake-up, so its idle times seem longer than they are.
        const std::int64_t longest = is_worthwhile() ? limit : 4 * limit;
        if (idle_time > longest) nr_short_ = 0;
        else if (nr_short_ < enough) ++nr_short_;
    }

private:
    static constexpr int enough = 8;

    int nr_short_ = 0; // short idle times in a row
};

}}} // namespace cmwq::CMWQ_NS::detail
