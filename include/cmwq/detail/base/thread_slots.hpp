// SPDX-License-Identifier: BSL-1.0
//
// The data that the library keeps for each thread, the same for all backends.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstddef>
#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class blocking_observer;
struct pool_env;
class run_record;
struct running_task;

struct stack_bounds {
    std::uintptr_t lowest = 0; ///< 0: unknown
    std::size_t size = 0;
};

/// How many more first items of queues a thread may measure: item_sampling.hpp.
struct first_items {
    unsigned left = 0;
    std::int64_t filled_at = INT64_MIN / 2; ///< steady clock
};

/// Only its thread uses it.
struct thread_slots {
    blocking_observer* observer = nullptr; ///< notified by a blocking_region; null outside workers
    run_record* current_run = nullptr;     ///< the record under which this thread runs items; null: none
    std::int32_t to_mark = 0;              ///< of the items that this thread queues: item_sampling.hpp
    std::uint32_t random = 0;              ///< for the marks
    first_items first_waits = {};
    running_task* dropped = nullptr; ///< the task of a group that it drops now, without a run; null: none
    stack_bounds stack = {};         ///< of a thread that has looked whether it may be a guest

    // The pools of bottom halves that this thread has raised, and may not run yet. Ids instead of pointers, because a
    // runtime may be gone when the thread runs them.
    static constexpr unsigned max_raised = 8;
    unsigned bh_depth = 0; ///< the number of bh_disable_guards, plus one while the thread runs bottom halves
    unsigned nr_raised = 0;
    std::uint64_t raised[max_raised] = {};
    void forget_raised(std::uint64_t pool_id) noexcept {
        for (unsigned i = 0; i < nr_raised; ++i) {
            if (raised[i] != pool_id) continue;
            --nr_raised;
            for (; i < nr_raised; ++i) raised[i] = raised[i + 1];
        }
    }

    bool tells_observers = false; ///< it is inside a call of an observer

    const pool_env* helper_of = nullptr; ///< of a thread of a runtime that calls code of the program, but runs no items

    std::uint32_t held_ranks = 0; ///< of the locks that it holds, a bit each (lock_rank.hpp); in builds with assertions
};

}}} // namespace cmwq::CMWQ_NS::detail
