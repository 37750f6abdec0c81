// SPDX-License-Identifier: BSL-1.0
//
// The job: walk the trees and hash every file. The pool decides which threads run the parts.
#pragma once

#include "file_record.hpp"
#include "walker.hpp"

#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace treehash {

class job {
public:
    explicit job(std::vector<std::string> paths) : paths_(std::move(paths)) {}

    /// Walks the trees and calls `found` for every file, before the walk continues. Call it once, on any thread. The
    /// addresses of the records stay valid until the job is destroyed.
    void walk(const std::function<void(file_record&)>& found);

    [[nodiscard]] const tally& progress() const noexcept { return tally_; }

    /// The files that were hashed, sorted by path. Call it when everything is done.
    [[nodiscard]] std::vector<const file_record*> hashed() const;

    /// The files and directories that could not be read, sorted by path. Call it when everything is done.
    [[nodiscard]] std::vector<failure> failures() const;

private:
    std::vector<std::string> paths_;
    tally tally_;
    std::vector<failure> unwalked_;
    std::deque<file_record> records_; // a deque, because records contain items and must not move
};

} // namespace treehash
