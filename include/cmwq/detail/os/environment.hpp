// SPDX-License-Identifier: BSL-1.0
//
// Environment variables.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstdlib>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::os {

/// Null if the variable is not set, or if the program has other rights than the user who started it (setuid,
/// capabilities): otherwise that user could change the behavior of a privileged program.
inline const char* environment_variable(const char* name) noexcept { return ::secure_getenv(name); }

}}} // namespace cmwq::CMWQ_NS::detail::os
