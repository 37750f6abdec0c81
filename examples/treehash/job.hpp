// SPDX-License-Identifier: BSL-1.0
//
// The job: walk the trees, hash every file. Who runs which part is up to the pool.
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

    /// Walks the trees and hands every file to `found` as soon as it is known, before the walk goes on. To be called
    /// once, on any thread; the records stay where they are until the job is destroyed.
    void walk(const std::function<void(file_record&)>& found);

    [[nodiscard]] const tally& progress() const noexcept { return tally_; }

    /// For when everything is done: the files that were hashed, sorted by path.
    [[nodiscard]] std::vector<const file_record*> hashed() const;

    /// For when everything is done: what could not be read, sorted by path.
    [[nodiscard]] std::vector<failure> failures() const;

private:
    std::vector<std::string> paths_;
    tally tally_;
    std::vector<failure> unwalked_;
    std::deque<file_record> records_; // a deque, because records with their items never move
};

} // namespace treehash
