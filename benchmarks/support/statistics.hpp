// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace bench {

/// The value below which the share `q` (0 … 1) of the values lies, interpolated. 0 if there are no values.
[[nodiscard]] inline double quantile(std::vector<double> values, double q) {
    if (values.empty()) return 0;
    std::ranges::sort(values);
    const double at = q * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return std::lerp(values[below], values[above], at - static_cast<double>(below));
}

[[nodiscard]] inline double median(const std::vector<double>& values) { return quantile(values, 0.5); }

} // namespace bench
