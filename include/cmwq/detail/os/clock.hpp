// SPDX-License-Identifier: BSL-1.0
//
// The clocks of the system, in nanoseconds.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstdint>
#include <ctime>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::os {

/// False: there is no such clock; `out` is unchanged.
inline bool read_clock(clockid_t clock, std::int64_t& out) noexcept {
    timespec ts{};
    if (::clock_gettime(clock, &ts) != 0) return false;
    out = std::int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
    return true;
}

/// Of a clock that every system has.
inline std::int64_t now_of(clockid_t clock) noexcept {
    std::int64_t now = 0;
    read_clock(clock, now);
    return now;
}

/// CLOCK_MONOTONIC in nanoseconds.
inline std::int64_t monotonic_now() noexcept { return now_of(CLOCK_MONOTONIC); }

/// The same as of the last tick of the kernel: a few milliseconds old, and cheap to read.
inline std::int64_t monotonic_coarse_now() noexcept { return now_of(CLOCK_MONOTONIC_COARSE); }

/// CLOCK_REALTIME in nanoseconds.
inline std::int64_t realtime_now() noexcept { return now_of(CLOCK_REALTIME); }

/// The CPU time of the calling thread, in nanoseconds.
inline std::int64_t thread_cpu_now() noexcept { return now_of(CLOCK_THREAD_CPUTIME_ID); }

/// Sleeps for less than a second. A signal ends the sleep early.
inline void sleep_for(long nanoseconds) noexcept {
    const timespec ts{0, nanoseconds};
    ::nanosleep(&ts, nullptr);
}

}}} // namespace cmwq::CMWQ_NS::detail::os
