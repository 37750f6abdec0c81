// SPDX-License-Identifier: BSL-1.0
//
// What the user asked for.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace treehash {

enum class pool_choice { cmwq, asio, serial };

[[nodiscard]] const char* to_string(pool_choice pool) noexcept;

struct options {
    std::vector<std::string> paths;
    pool_choice pool = pool_choice::cmwq;
    unsigned threads = 0;    // asio only; 0: as many as CPUs
    unsigned max_active = 0; // cmwq only; 0: the default of the queue
    bool cold = false;
    std::string out;  // empty: standard output
    std::string json; // empty: none
};

/// Fills `o` from the command line. A value is the exit status of a program that is done already: 0 after --help, 2
/// after bad usage, which was then explained on standard error.
[[nodiscard]] std::optional<int> parse_options(int argc, char** argv, options& o);

} // namespace treehash
