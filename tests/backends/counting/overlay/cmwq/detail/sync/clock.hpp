// SPDX-License-Identifier: BSL-1.0
//
// The clock of the counting backend.
#pragma once

#include <counting/machine.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The virtual time of the CPU of the calling thread, in nanoseconds.
inline std::int64_t steady_now() noexcept { return counting::now(); }

/// The same, and not coarse.
inline std::int64_t coarse_now() noexcept { return counting::now(); }

/// The same as the first one: what counts for a thread is the difference over a time in which it runs.
inline std::int64_t thread_cpu_now() noexcept { return counting::now(); }

}}} // namespace cmwq::CMWQ_NS::detail
