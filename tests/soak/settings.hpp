// SPDX-License-Identifier: BSL-1.0
//
// The options of the command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace soak {

inline constexpr unsigned max_threads = 64;

struct settings {
    double seconds = 10;
    double round_seconds = 1; ///< on average
    std::uint64_t seed = 0;
    unsigned threads = 8;
    unsigned first_round = 0;
    double patience = 60; ///< seconds until an operation counts as stuck
    bool hold = false;
    std::vector<std::string> kinds; ///< of queues; empty: all
};

} // namespace soak
