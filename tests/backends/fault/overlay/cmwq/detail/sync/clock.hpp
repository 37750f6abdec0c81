// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cmwq/detail/os/clock.hpp>
#include <fault/fault.hpp>

#include <cstdint>

namespace cmwq::inline CMWQ_NS::detail {

/// Ahead of CLOCK_MONOTONIC by what it has jumped.
inline std::int64_t steady_now() noexcept { return os::monotonic_now() + fault::ahead_after_a_jump(); }

} // namespace cmwq::inline CMWQ_NS::detail
