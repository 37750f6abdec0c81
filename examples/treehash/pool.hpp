// SPDX-License-Identifier: BSL-1.0
//
// The three pools that can run the job.
#pragma once

#include "job.hpp"
#include "options.hpp"

#include <cstdint>
#include <memory>

namespace treehash {

/// The figures that only the pool knows.
struct pool_figures {
    unsigned peak_threads = 1;
    std::uint64_t blocks_by_guard = 0;
    std::uint64_t blocks_by_sentinel = 0;
    std::uint64_t blocks_by_monitor = 0;
};

class pool {
public:
    virtual ~pool() = default;
    /// Returns when everything has been walked and hashed. The pool must outlive the job.
    virtual void run(job& j) = 0;
    [[nodiscard]] virtual pool_figures figures() const = 0;
};

[[nodiscard]] std::unique_ptr<pool> make_cmwq_pool(const options& o);
[[nodiscard]] std::unique_ptr<pool> make_asio_pool(const options& o);
[[nodiscard]] std::unique_ptr<pool> make_serial_pool();

} // namespace treehash
