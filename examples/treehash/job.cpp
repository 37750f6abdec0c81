// SPDX-License-Identifier: BSL-1.0
#include "job.hpp"

#include <algorithm>

namespace treehash {

void job::walk(const std::function<void(file_record&)>& found) {
    treehash::walk(paths_, {.file =
                                [&](std::string path) {
                                    file_record& record = records_.emplace_back(std::move(path), tally_);
                                    tally_.files_found.fetch_add(1, std::memory_order_relaxed);
                                    found(record);
                                },
                            .failed = [&](failure f) { unwalked_.push_back(std::move(f)); }});
}

std::vector<const file_record*> job::hashed() const {
    std::vector<const file_record*> all;
    all.reserve(records_.size());
    for (const file_record& r : records_) {
        if (r.error == 0) all.push_back(&r);
    }
    std::ranges::sort(all, {}, [](const file_record* r) -> const std::string& { return r->path; });
    return all;
}

std::vector<failure> job::failures() const {
    std::vector<failure> all = unwalked_;
    for (const file_record& r : records_) {
        if (r.error != 0) all.push_back({r.path, r.error});
    }
    std::ranges::sort(all, {}, &failure::path);
    return all;
}

} // namespace treehash
