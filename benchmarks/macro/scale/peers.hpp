// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "measurement.hpp"

namespace scale {

/// The same with others, as far as they have it: for comparison, so whatever they keep is no failure.
void measure_peers(const settings& s);

} // namespace scale
