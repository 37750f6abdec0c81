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
    unsigned rounds = 10;
    double seconds = 0;         ///< not zero: rounds until this time has passed, instead of `rounds`
    unsigned operations = 3000; ///< of each thread in a round, on average
    std::uint64_t seed = 1;
    unsigned threads = 8;
    unsigned first_round = 0;
    double patience = 120; ///< seconds until an operation counts as stuck
    bool hold = false;
    bool only_groups = false;       ///< task groups, and changes of limits and attributes
    std::vector<std::string> kinds; ///< of queues; empty: all
};

} // namespace soak
