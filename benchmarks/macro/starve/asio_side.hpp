// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <optional>

namespace starve {

struct asio_outcome {
    unsigned completed = 0;
    std::optional<double> milliseconds; // none: it had to be stopped
};

/// The same load on Boost.Asio's pool, in a process of its own that is killed when `limit` is over. To be called before
/// this process has threads.
[[nodiscard]] asio_outcome run_asio(unsigned items, unsigned threads, std::chrono::duration<double> limit);

} // namespace starve
