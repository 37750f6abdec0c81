// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <optional>

namespace starve {

struct asio_outcome {
    unsigned completed = 0;
    std::optional<double> milliseconds; // empty: the child was killed
};

/// Runs the same load on Boost.Asio's pool, in a child process that is killed after `limit`. Call it before this
/// process creates threads.
[[nodiscard]] asio_outcome run_asio(unsigned items, unsigned threads, std::chrono::duration<double> limit);

} // namespace starve
