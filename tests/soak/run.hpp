// SPDX-License-Identifier: BSL-1.0
//
// Runs, counted for their queues.
#pragma once

#include "queues.hpp"

#include <cmwq/work.hpp>

namespace soak {

class world;

/// Whether a run is the first one of its thread: an item that waits may run another one.
class run_of_thread {
public:
    run_of_thread();
    ~run_of_thread();
    run_of_thread(const run_of_thread&) = delete;
    run_of_thread& operator=(const run_of_thread&) = delete;

    const bool is_outermost;
};

/// One run of an item. Lives as long as the function of the item runs, even after that function has destroyed the item.
class run {
public:
    /// `q`: the queue of the item if it is in no slot; null: the constructor looks for it.
    run(world& w, const cmwq::work_base* self, unsigned level, any_queue* q = nullptr);
    ~run();
    run(const run&) = delete;
    run& operator=(const run&) = delete;

    world& w;
    const unsigned level;
    any_queue* const queue; ///< null: unknown, because it is in no slot

private:
    const run_of_thread thread_;
    unsigned cpu_ = 0;
    bool counts_cpu_ = false;
};

/// Counts a run that may be a part of the run of an item that waits.
class inner_run {
public:
    inner_run(world& w, any_queue& q);
    ~inner_run();
    inner_run(const inner_run&) = delete;
    inner_run& operator=(const inner_run&) = delete;

private:
    const run_of_thread thread_;
    world& w_;
    any_queue& q_;
};

/// Does a random action of an item. May throw planned_exception.
void behave(const run& r);

} // namespace soak
