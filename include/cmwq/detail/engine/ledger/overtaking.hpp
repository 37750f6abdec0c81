// SPDX-License-Identifier: BSL-1.0
//
// overtaking: how long the first item of a pool has waited while items were started that were queued long after it.
#pragma once

#include <cmwq/detail/base/statistic.hpp>
#include <cmwq/detail/engine/env/tick_clock.hpp>

#include <algorithm>
#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// For one thread, which calls it at regular intervals, unless a member says otherwise. Times are in nanoseconds.
///
/// A pool that works through a long backlog is not noticed, however old its items are: it starts the oldest ones.
class overtaking {
public:
    /// Whether an item has waited for `limit`, and whatever has started in that time was queued more than 20 ms after
    /// it; that time then begins again. A limit of 0 is never reached. `oldest`: the oldest item that waits, or none.
    /// `started`: an item that has started since the last call, or none. `passed`: since the last call, without times
    /// in which the process could not run.
    [[nodiscard]] bool has_lasted(const ages& a, ages::place oldest, ages::place started, std::int64_t passed,
                                  std::int64_t limit) noexcept {
        const bool in_turn = oldest == ages::none || (started != ages::none && !is_long_after(started, oldest));
        if (in_turn || (first_ != 0 && !is_long_after(a.of(first_), oldest))) reset();
        if (in_turn || (started == ages::none && first_ == 0)) return false;
        if (started != ages::none && (first_ == 0 || started < a.of(first_))) first_ = a.stamp_at(started);
        time_ += passed;
        lasted_.set(std::min(time_, a.time_since(oldest)));
        if (limit == 0 || lasted() - told_at_ < limit) return false;
        told_at_ = lasted();
        return true;
    }
    /// For how long that has been so, at the last call. Any thread.
    [[nodiscard]] std::int64_t lasted() const noexcept { return lasted_.get(); }

private:
    static bool is_long_after(ages::place p, ages::place oldest) noexcept {
        constexpr ages::place margin = 20'000'000 >> 10;
        return p > oldest && p - oldest > margin;
    }
    void reset() noexcept {
        first_ = 0;
        time_ = told_at_ = 0;
        lasted_.set(0);
    }

    wait_stamp first_ = 0;     // the oldest of those that have started; 0: none
    std::int64_t time_ = 0;    // since the first of them
    std::int64_t told_at_ = 0; // `lasted_` when has_lasted() was true
    statistic<std::int64_t> lasted_;
};

}}} // namespace cmwq::CMWQ_NS::detail
