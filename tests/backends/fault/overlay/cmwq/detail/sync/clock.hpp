// SPDX-License-Identifier: BSL-1.0
//
// The clock of the fault backend.
#pragma once

#include <cmwq/detail/os/clock.hpp>
#include <fault/fault.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// CLOCK_MONOTONIC plus the sum of the jumps so far, in nanoseconds.
inline std::int64_t steady_now() noexcept { return os::monotonic_now() + fault::ahead_after_a_jump(); }

/// Without the jumps.
inline std::int64_t coarse_now() noexcept { return os::monotonic_coarse_now(); }

/// The CPU time of the calling thread in nanoseconds.
inline std::int64_t thread_cpu_now() noexcept { return os::thread_cpu_now(); }

}}} // namespace cmwq::CMWQ_NS::detail
