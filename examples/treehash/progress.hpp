// SPDX-License-Identifier: BSL-1.0
//
// The progress bar.
#pragma once

#include "file_record.hpp"

#include <optional>
#include <thread>

namespace treehash {

/// Draws a bar on standard error while it lives, if that is a terminal; else it does nothing. Leaves an empty line.
class progress_bar {
public:
    explicit progress_bar(const tally& t);

private:
    std::optional<std::jthread> drawer_;
};

} // namespace treehash
