// SPDX-License-Identifier: BSL-1.0
//
// A function that drops files from the page cache, so that later reads go to the disk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace treehash {

struct dropped {
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
};

/// Drops the contents of every file below the paths from the page cache; names and inodes stay cached. Needs no
/// privilege. Files that cannot be opened are skipped; the job reports them.
dropped drop_from_page_cache(const std::vector<std::string>& paths);

} // namespace treehash
