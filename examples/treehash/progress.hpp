// SPDX-License-Identifier: BSL-1.0
//
// The progress bar.
#pragma once

#include "file_record.hpp"

#include <optional>
#include <thread>

namespace treehash {

/// Draws a bar on standard error for the lifetime of this object, if standard error is a terminal; otherwise does
/// nothing. Leaves an empty line.
class progress_bar {
public:
    explicit progress_bar(const tally& t);

private:
    std::optional<std::jthread> drawer_;
};

} // namespace treehash
