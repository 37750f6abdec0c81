// SPDX-License-Identifier: BSL-1.0
//
// bh_budget: what a thread may spend on bottom halves at a time.
#pragma once

#include <cmwq/detail/sync/clock.hpp>

#include <cstdint>

namespace cmwq::inline CMWQ_NS::detail {

/// What a thread spends on bottom halves at a time. `softirq`: a thread that came to queue an item; ten rounds, each of
/// what was pending at its beginning, or two milliseconds, counted from the end of the first item, so that a single item
/// needs no clock. `turn`: the thread of the CPU, which has nothing else to do; one round, so that the other priority
/// gets its turn.
class bh_budget {
public:
    enum class limit : bool { turn, softirq };
    explicit bh_budget(limit l) noexcept : limit_(l) {}

    /// False: no further round.
    [[nodiscard]] bool begin_round() noexcept {
        if (rounds_++ == (limit_ == limit::turn ? 1 : max_rounds)) over_ = true;
        return !over_;
    }
    /// The pool of high priority goes before each item of the normal one. True: a turn of its own is all that it gets
    /// there.
    [[nodiscard]] bool takes_turns() const noexcept { return limit_ == limit::turn; }
    /// An item has ended, and more is pending. False: that was the last one.
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
    std::int64_t end_ = 0; // steady clock; 0: not known yet
};

} // namespace cmwq::inline CMWQ_NS::detail
