// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "json.hpp"
#include "statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace bench {

/// Returns the line with the number of latencies, their spread, and a histogram. The values are in microseconds. Bar
/// `i` of the histogram counts those of 2^i µs or more and less than 2^(i+1) µs; the first one also those below 1 µs,
/// the last one all above.
[[nodiscard]] inline json_line with_latencies(json_line line, const std::vector<double>& us) {
    constexpr std::size_t bars = 20; // up to half a second
    std::vector<double> histogram(bars, 0);
    for (const double v : us) {
        const double exponent = v < 1 ? 0 : std::floor(std::log2(v));
        histogram[std::min(static_cast<std::size_t>(exponent), bars - 1)] += 1;
    }
    line.add("samples", us.size())
        .add("mean_us", mean(us))
        .add("deviation_us", deviation(us))
        .add("min_us", quantile(us, 0))
        .add("p50_us", median(us))
        .add("p90_us", quantile(us, 0.9))
        .add("p95_us", quantile(us, 0.95))
        .add("p99_us", quantile(us, 0.99))
        .add("max_us", quantile(us, 1))
        .add("histogram", histogram);
    return line;
}

} // namespace bench
