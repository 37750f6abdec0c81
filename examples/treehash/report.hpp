// SPDX-License-Identifier: BSL-1.0
//
// The output: the manifest and the figures.
#pragma once

#include "file_record.hpp"
#include "pool.hpp"

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace treehash {

struct figures {
    pool_choice pool = pool_choice::cmwq;
    bool cold = false;
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
    std::uint64_t failures = 0;
    double wall_seconds = 0;
    double cpu_seconds = 0;
    unsigned cpus = 1;
    std::int64_t voluntary_switches = 0;
    pool_figures of_pool = {};

    [[nodiscard]] double megabytes_per_second() const noexcept {
        return wall_seconds > 0 ? static_cast<double>(bytes) / 1e6 / wall_seconds : 0;
    }
    /// 0 … 1: the used share of the available CPU time.
    [[nodiscard]] double cpu_utilisation() const noexcept {
        return wall_seconds > 0 ? cpu_seconds / (wall_seconds * cpus) : 0;
    }
};

/// One line in the format of sha256sum, with the line end. If the name has a backslash, newline or carriage return,
/// these are escaped, and the line begins with a backslash.
[[nodiscard]] std::string manifest_line(const sha256_digest& digest, const std::string& path);

/// False if the manifest could not be written; errno has the reason.
[[nodiscard]] bool write_manifest(std::FILE* to, const std::vector<const file_record*>& files);
[[nodiscard]] bool write_json(std::FILE* to, const figures& f);
void print_figures(std::FILE* to, const figures& f);

} // namespace treehash
