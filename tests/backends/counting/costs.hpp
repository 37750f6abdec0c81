// SPDX-License-Identifier: BSL-1.0
//
// The time that each step takes on the simulated machine.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::counting {

/// Virtual nanoseconds. They decide only which CPU makes the next step; the counts are those of the steps.
struct costs {
    std::int64_t hit = 1;             ///< an access to a line that the cache of the CPU holds
    std::int64_t locked = 20;         ///< a locked operation, in addition
    std::int64_t transfer = 100;      ///< an access to a line that another cache holds
    std::int64_t first_touch = 100;   ///< an access to a line that no cache holds
    std::int64_t relax = 40;          ///< one cpu_relax()
    std::int64_t clock = 20;          ///< reading the clock
    std::int64_t system_call = 300;   ///< a futex call, a yield, a change of the affinity
    std::int64_t interrupt = 1'000;   ///< a CPU is interrupted by another one
    std::int64_t probe = 1'000;       ///< reading the state of another thread
    std::int64_t thread_switch = 500; ///< a CPU continues with another thread
    std::int64_t wake_up = 1'500;     ///< an idle CPU begins to run the thread that was woken
    std::int64_t thread_start = 15'000;
    std::int64_t slice = 3'000'000; ///< threads of one rank share a CPU in slices of that length
};

}}} // namespace cmwq::CMWQ_NS::detail::counting
