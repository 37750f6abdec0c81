// SPDX-License-Identifier: BSL-1.0
//
// What the programs check of their options, and how they end if something goes wrong.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <sstream>
#include <string>

namespace bench {

/// Accepts a number from `least` to `most`, and nothing else, also not "nan". `--help` shows the range.
[[nodiscard]] inline CLI::Validator between(double least, double most) {
    std::ostringstream range;
    range << least << " to " << most;
    return {[=, text = range.str()](std::string& word) {
                double value = 0;
                const bool accepted = CLI::detail::lexical_cast(word, value) && value >= least && value <= most;
                return accepted ? std::string() : "must be from " + text + ", and is " + word;
            },
            range.str()};
}

[[nodiscard]] inline CLI::Validator duration() { return between(0.01, 3600); }

/// Calls `run()` and returns 0. If it throws, says why, and returns 1.
template <class F>
[[nodiscard]] int run_and_report(const char* program, F run) {
    try {
        run();
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", program, error.what());
        return 1;
    }
}

} // namespace bench
