// SPDX-License-Identifier: BSL-1.0
//
// The clocks of the engine: nanoseconds in an int64_t.
#pragma once

#include <cmwq/detail/os/clock.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// CLOCK_MONOTONIC in nanoseconds.
inline std::int64_t steady_now() noexcept { return os::monotonic_now(); }

/// CLOCK_REALTIME in nanoseconds.
inline std::int64_t realtime_now() noexcept { return os::realtime_now(); }

/// The same as of the last tick of the kernel: a few milliseconds old, and cheap to read.
inline std::int64_t coarse_now() noexcept { return os::monotonic_coarse_now(); }

/// The CPU time of the calling thread in nanoseconds.
inline std::int64_t thread_cpu_now() noexcept { return os::thread_cpu_now(); }

}}} // namespace cmwq::CMWQ_NS::detail
