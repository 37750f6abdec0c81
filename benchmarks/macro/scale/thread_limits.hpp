// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

namespace scale {

/// The limit of this machine that does not permit so many threads; empty if there is none.
[[nodiscard]] std::string reason_against(unsigned threads);

} // namespace scale
