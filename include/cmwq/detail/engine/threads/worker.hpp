// SPDX-License-Identifier: BSL-1.0
//
// worker: the record of a thread that runs items of a pool.
#pragma once

#include <cmwq/blocking_region.hpp>
#include <cmwq/detail/engine/env/closure_blocks.hpp>
#include <cmwq/detail/engine/item/group_credit.hpp>
#include <cmwq/detail/engine/ledger/run_record.hpp>
#include <cmwq/detail/engine/threads/idle_poll.hpp>
#include <cmwq/detail/engine/threads/local_items.hpp>
#include <cmwq/detail/sync/parker.hpp>
#include <cmwq/detail/sync/this_thread.hpp>
#include <cmwq/detail/sync/thread.hpp>

#include <cstddef>
#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

struct idle_tag;
class worker_loop;

/// The record of a worker, of a rescuer in a pool, of a guest, or of the thread that drains a bottom-half pool. When
/// its thread has ended it serves another thread.
///
/// Letters as in run_record.hpp; P the lock of the object itself.
class worker final : public blocking_observer, public list_node<idle_tag>, public run_record {
public:
    worker(item_pool& p, unsigned number, record_of kind) noexcept : run_record(p, this, kind, number), id(number) {}
    /// Of a thread of the pool, which does `l.serve()`.
    worker(item_pool& p, unsigned number, worker_loop& l) noexcept
        : run_record(p, this, record_of::worker, number), id(number), loop(&l) {}

    void begin_blocking(block_kind kind) noexcept override;
    void upgrade_blocking() noexcept override;
    void end_blocking() noexcept override;

    /// Adds to `excluded_time`.
    void exclude(std::int64_t ns) noexcept { excluded_time.store(excluded_time.load(relaxed) + ns, relaxed); }

    // --- written for each run; behind the members of run_record that are ---------------------------------------------

    parker sleep; // A
    // A: the worker is counted in the pool's nr_running_. Only the worker sets it; the thread that finds the worker
    // blocked clears it.
    atomic<bool> counted{false};
    atomic<bool> finishing{false}; // A: the function has returned; the thread may wait for the pool's lock
    bool announced = false;        // S: counted in the pool as a worker with local items
    bool cpu_intensive = false;    // K: whether the queue of the current item is cpu_intensive
    bool idle = false;             // L: in idle_workers
    bool woken = false;            // S: it has been idle, and runs its first item since then
    bool idle_outside = false;     // L: in the stack of the workers that went idle outside the pod
    bool retiring = false;         // L: asked to end, or without a thread
    unsigned binding = 0;          // S: cpu_map::binding() when the thread bound itself last
    const unsigned id;             // I: numbers the workers of a pool
    group_credit credit;           // S: for tasks of one group
    std::size_t busy_index = 0;    // L: index in busy_workers
    std::int64_t idle_since = 0;   // L: runtime clock
    std::int64_t idle_began = 0;   // L: steady clock; 0: not idle, or the pool does not measure it
    // A: nanoseconds that it has been idle, or has waited for the pool's lock or inside the library; written by the
    // worker
    atomic<std::int64_t> excluded_time{0};
    idle_poll poll;         // S
    closure_cache closures; // S: free blocks for closures
    local_items local;      // P, A: of an elastic pool: items queued from inside its runs

    // --- the others --------------------------------------------------------------------------------------------------

    worker_loop* const loop = nullptr; // I: what its own thread does; null: it has none
    thread os_thread;                  // started by the thread that creates the worker, joined by the manager thread
    thread_probe probe;                // A
    std::int64_t rebind_at = 0;        // S: if not on its CPUs: when the thread may bind itself again; steady clock
    atomic<std::int64_t> may_block_since{0}; // A: steady clock; 0: not inside a may_block region
    atomic<bool> in_wait{false};             // A: inside a wait of the library, see announced_wait
    std::int64_t wait_began = 0;             // S: that wait; steady clock
    bool examines_task = false;              // S: of a guest: it is an examiner of the task that it is about to run
    std::uintptr_t stack_end = 0;            // S: the end of the thread's stack; 0: not known yet
    unsigned nr_taken = 0;                   // S: items that it took while a worker was announced, or as a guest
    std::uint64_t nr_started_seen = 0; // L: of a guest: what it had started when a worker took an item the last time
    unsigned nr_local_taken = 0;       // S: local items that it took with a color of their own

    thread_times last_times{};   // monitor only
    std::int64_t last_own = 0;   // monitor only: excluded_time at the last sample
    std::int64_t sampled_at = 0; // monitor only: steady clock; 0: no sample
    struct {                     // monitor only: CPU time of the current run since its last wait, as far as known
        std::uint64_t run = 0;
        std::int64_t cpu = -1;  // nanoseconds that the thread had used before; -1: not known
        std::int64_t seen = -1; // nanoseconds that the thread had used at the last check
        long nr_waits = 0;
    } cpu_burst;
};

inline run_record::run_record(item_pool& p, worker& thread) noexcept
    : run_record(p, &thread, record_of::nested, thread.random) {}

/// The run of the worker whose thread calls this, under a bottom half perhaps; null: the caller is another thread,
/// which may be a guest.
inline const run_record* run_of_own_worker() noexcept {
    const run_record* run = this_thread_slots().current_run;
    while (run != nullptr && run->is_bottom_half()) run = run->interrupted;
    return run != nullptr && run->of_thread->is_guest() ? nullptr : run;
}

}}} // namespace cmwq::CMWQ_NS::detail
