// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "measurement.hpp"

namespace scale {

/// Makes the same measurements with other libraries, as far as these have the features. Only for comparison: it is no
/// failure if they do not give back threads or memory.
void measure_peers(const settings& s);

} // namespace scale
