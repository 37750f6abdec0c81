// SPDX-License-Identifier: BSL-1.0
//
// The options on the command line.
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
    unsigned threads = 0;    // asio only; 0: the number of CPUs
    unsigned max_active = 0; // cmwq only; 0: the default of the queue
    bool cold = false;
    bool watched = false; // cmwq only
    std::string out;      // empty: standard output
    std::string json;     // empty: no JSON
};

/// Fills `o` from the command line. If it returns a value, the program must end with this exit status: 0 after --help,
/// 2 after bad usage. A message on standard error has explained the bad usage.
[[nodiscard]] std::optional<int> parse_options(int argc, char** argv, options& o);

} // namespace treehash
