// SPDX-License-Identifier: BSL-1.0
//
// The system's monotonic clock, in nanoseconds.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstdint>
#include <ctime>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::os {

/// CLOCK_MONOTONIC in nanoseconds.
inline std::int64_t monotonic_now() noexcept {
    timespec ts{};
    ::clock_gettime(CLOCK_MONOTONIC, &ts);
    return std::int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
}

/// The CPU time of the calling thread, in nanoseconds.
inline std::int64_t thread_cpu_now() noexcept {
    timespec ts{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return std::int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
}

/// Sleeps for less than a second. A signal ends the sleep early.
inline void sleep_for(long nanoseconds) noexcept {
    const timespec ts{0, nanoseconds};
    ::nanosleep(&ts, nullptr);
}

}}} // namespace cmwq::CMWQ_NS::detail::os
