// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

namespace scale {

/// Why this machine is not going to let the process have so many threads; empty: nothing speaks against it.
[[nodiscard]] std::string reason_against(unsigned threads);

} // namespace scale
