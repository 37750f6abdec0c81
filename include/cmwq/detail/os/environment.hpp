// SPDX-License-Identifier: BSL-1.0
//
// Environment variables.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstdlib>

namespace cmwq::inline CMWQ_NS::detail::os {

/// Null if it is not set, or if the program has other rights than the one who started it (setuid, capabilities): who
/// sets the variable would decide over somebody else's program.
inline const char* environment_variable(const char* name) noexcept { return ::secure_getenv(name); }

} // namespace cmwq::inline CMWQ_NS::detail::os
