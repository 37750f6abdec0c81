// SPDX-License-Identifier: BSL-1.0
//
// Making reads go to the disk.
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
/// privilege. What cannot be opened is left out: the job reports it.
dropped drop_from_page_cache(const std::vector<std::string>& paths);

} // namespace treehash
