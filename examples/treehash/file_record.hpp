// SPDX-License-Identifier: BSL-1.0
//
// One file: the work item that hashes it, and the result.
#pragma once

#include "sha256.hpp"

#include <cmwq/work.hpp>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

namespace treehash {

/// The progress of the job; the progress bar reads it while the job runs.
struct tally {
    std::atomic<std::uint64_t> files_found{0};
    std::atomic<std::uint64_t> files_done{0};
    std::atomic<std::uint64_t> bytes_done{0};
};

class file_record {
public:
    file_record(std::string p, tally& t) : path(std::move(p)), tally_(t) {}

    /// Reads and hashes the file, with plain blocking calls. Call it once, on any thread.
    void hash();

    const std::string path;
    sha256_digest digest{};
    std::uint64_t bytes = 0;
    int error = 0; // an errno value; then there is no digest

private:
    tally& tally_;

public:
    // The item is part of the record, so queueing allocates nothing, however large the tree is. Declared last, so that
    // it is destroyed first.
    cmwq::work_member<&file_record::hash> item{*this};
};

} // namespace treehash
