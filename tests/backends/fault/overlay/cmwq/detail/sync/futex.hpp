// SPDX-License-Identifier: BSL-1.0
//
// The futex of the fault backend.
#pragma once

#include <cmwq/detail/os/futex.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <fault/fault.hpp>

#include <algorithm>
#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Shows all behavior that futex(2) allows: early returns, and more wake-ups than needed.
struct futex {
    using word = os::futex::word;

    static void wait(word& w, std::uint32_t seen) noexcept {
        if (fault::returns_early()) return;
        fault::step();
        os::futex::wait(w, seen);
        fault::step();
    }

    static bool wait_until(word& w, std::uint32_t seen, std::int64_t deadline) noexcept {
        if (fault::returns_early()) return true;
        fault::step();
        // The system wakes a sleeping thread when its own clock jumps past the deadline, but it does not know the jumps
        // of this backend. So the thread sleeps for short periods, each of which ends like a spurious wake-up.
        std::int64_t until = deadline - fault::ahead();
        if (fault::clock_may_jump()) {
            constexpr std::int64_t piece = 2'000'000;
            until = std::min(until, steady_now() - fault::ahead() + piece);
        }
        os::futex::wait_until(w, seen, std::max<std::int64_t>(until, 1));
        return steady_now() < deadline;
    }

    static void wake_one(word& w) noexcept {
        fault::step();
        os::futex::wake_one(w);
        if (!fault::wakes_twice()) return;
        fault::step();
        os::futex::wake_one(w);
    }
};

}}} // namespace cmwq::CMWQ_NS::detail
