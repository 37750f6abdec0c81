// SPDX-License-Identifier: BSL-1.0
//
// What the library keeps per thread, the same for all backends.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstdint>

namespace cmwq::inline CMWQ_NS::detail {

class blocking_observer;
class worker;

struct thread_slots {
    blocking_observer* observer = nullptr; ///< whom a blocking_region tells; null outside workers
    worker* current_worker = nullptr;      ///< the worker that this thread is, if any

    // Bottom halves that this thread has queued, and may not run just now. Ids of their pools: the runtime of one may
    // be gone when it comes to it.
    static constexpr unsigned max_raised = 8;
    unsigned bh_depth = 0; ///< open bh_disable_guards, and one more while it runs bottom halves
    unsigned nr_raised = 0;
    std::uint64_t raised[max_raised] = {};

    /// Whether the thread runs or holds back something by this record.
    [[nodiscard]] bool in_use() const noexcept { return current_worker != nullptr || bh_depth != 0 || nr_raised != 0; }

    std::uint32_t held_ranks = 0; ///< of locks, a bit each (lock_rank.hpp); in builds with assertions
};

} // namespace cmwq::inline CMWQ_NS::detail
