// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdio>
#include <vector>

namespace bench {

/// Prints `"name": [1, 2]`.
inline void print_json_values(std::FILE* to, const char* name, const std::vector<double>& values) {
    std::fprintf(to, "\"%s\": [", name);
    for (std::size_t i = 0; i < values.size(); ++i) std::fprintf(to, "%s%.6g", i == 0 ? "" : ", ", values[i]);
    std::fputs("]", to);
}

/// Closes the file. Returns whether all of it was written.
[[nodiscard]] inline bool close_written(std::FILE* file) {
    const bool written = std::ferror(file) == 0;
    return std::fclose(file) == 0 && written;
}

} // namespace bench
