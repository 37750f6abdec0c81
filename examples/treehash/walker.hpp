// SPDX-License-Identifier: BSL-1.0
//
// A function that finds the regular files of directory trees.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace treehash {

/// A file or directory that could not be read, and the reason (an errno value).
struct failure {
    std::string path;
    int error = 0;
};

struct walk_callbacks {
    std::function<void(std::string path)> file;
    std::function<void(failure)> failed;
};

/// Calls `file` for every regular file at or below the roots, in no particular order, and `failed` for every directory
/// or root that cannot be read. Symbolic links are followed for the roots only.
void walk(const std::vector<std::string>& roots, const walk_callbacks& to);

} // namespace treehash
