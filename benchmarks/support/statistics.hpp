// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
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

/// 0 if there are no values.
[[nodiscard]] inline double mean(const std::vector<double>& values) {
    if (values.empty()) return 0;
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The standard deviation of a sample. 0 if there are fewer than two values.
[[nodiscard]] inline double deviation(const std::vector<double>& values) {
    if (values.size() < 2) return 0;
    const double centre = mean(values);
    double sum = 0;
    for (const double v : values) sum += (v - centre) * (v - centre);
    return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

} // namespace bench
