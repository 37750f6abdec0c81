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

/// CLOCK_MONOTONIC in nanoseconds.
inline std::int64_t monotonic_now() noexcept {
    std::int64_t now = 0;
    read_clock(CLOCK_MONOTONIC, now);
    return now;
}

/// The same as of the last tick of the kernel: a few milliseconds old, and cheap to read.
inline std::int64_t monotonic_coarse_now() noexcept {
    std::int64_t now = 0;
    read_clock(CLOCK_MONOTONIC_COARSE, now);
    return now;
}

/// CLOCK_REALTIME in nanoseconds.
inline std::int64_t realtime_now() noexcept {
    std::int64_t now = 0;
    read_clock(CLOCK_REALTIME, now);
    return now;
}

/// The CPU time of the calling thread, in nanoseconds.
inline std::int64_t thread_cpu_now() noexcept {
    std::int64_t now = 0;
    read_clock(CLOCK_THREAD_CPUTIME_ID, now);
    return now;
}

/// Sleeps for less than a second. A signal ends the sleep early.
inline void sleep_for(long nanoseconds) noexcept {
    const timespec ts{0, nanoseconds};
    ::nanosleep(&ts, nullptr);
}

}}} // namespace cmwq::CMWQ_NS::detail::os
