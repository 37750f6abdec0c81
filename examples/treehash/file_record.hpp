// SPDX-License-Identifier: BSL-1.0
//
// One file: the work item that hashes it, and what came of it.
#pragma once

#include "sha256.hpp"

#include <cmwq/work.hpp>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

namespace treehash {

/// How far the job has come; read by the progress bar while it runs.
struct tally {
    std::atomic<std::uint64_t> files_found{0};
    std::atomic<std::uint64_t> files_done{0};
    std::atomic<std::uint64_t> bytes_done{0};
};

class file_record {
public:
    file_record(std::string p, tally& t) : path(std::move(p)), tally_(t) {}

    /// Reads and hashes the file, with plain blocking calls; run once, on whatever thread.
    void hash();

    const std::string path;
    sha256_digest digest{};
    std::uint64_t bytes = 0;
    int error = 0; // an errno value; then there is no digest

private:
    tally& tally_;

public:
    // Part of the record: a tree of any size is queued without one allocation for the queueing. Declared last, so that
    // it is destroyed first.
    cmwq::work_member<&file_record::hash> item{*this};
};

} // namespace treehash
