// SPDX-License-Identifier: BSL-1.0
//
// worker: a thread of a pool, and what others may know about what it runs.
#pragma once

#include <cmwq/blocking_region.hpp>
#include <cmwq/detail/engine/item/deferred.hpp>
#include <cmwq/detail/engine/pool/pool_workqueue.hpp>
#include <cmwq/detail/sync/parker.hpp>
#include <cmwq/detail/sync/this_thread.hpp>
#include <cmwq/detail/sync/thread.hpp>

#include <cstdint>

namespace cmwq::inline CMWQ_NS::detail {

class item_pool;
struct idle_tag;
struct busy_tag;

class worker;
class registered_wait;

/// Somebody who waits for one run of an item. Lives on that thread's stack. Everything under the lock of the pool.
struct item_waiter {
    /// From here on it is told.
    void enlist(item_waiter*& list) noexcept {
        who.expect();
        waits = true;
        next = list;
        list = this;
    }
    /// The run has ended, or will not come. The waiter may be gone after `d` has been performed.
    void happened(deferred& d) noexcept {
        waits = false;
        d.happened(who);
    }

    waiter who;
    const work_base* item = nullptr;
    worker* runner = nullptr; ///< who runs it; null: it is pending
    bool waits = false;       ///< registered, and what it waits for has not happened
    item_waiter* next = nullptr;
};

/// The record of a worker lives as long as its pool, so that lock-free readers may follow any pointer to one; when its
/// thread ends it serves the next thread.
///
/// Letters: I set before publication · L pool lock · S the worker itself · K written by the worker under L, read by
/// itself or under L · A atomic, with its own protocol · G the lock of the graph of waits
class worker final : public blocking_observer,
                     public list_node<idle_tag>,
                     public list_node<busy_tag>,
                     public list_node<waiting_tag> {
public:
    worker(item_pool& p, unsigned number, bool of_rescuer = false) noexcept
        : pool(p), id(number), is_rescue_record(of_rescuer) {}

    void begin_blocking(block_kind kind) noexcept override;
    void upgrade_blocking() noexcept override;
    void end_blocking() noexcept override;

    item_pool& pool;             // I
    const unsigned id;           // I: numbered per pool
    const bool is_rescue_record; // I: under this record rescuers run items; it never counts
    worker* next = nullptr;      // I: the pool's list of all records
    std::size_t busy_index = 0;  // L: among those that may count

    thread os_thread;   // started by who makes the worker, joined by the staff thread
    thread_probe probe; // A
    parker sleep;       // A

    // A: counts in the pool's nr_running. Set by the worker only; cleared by whoever finds it blocked.
    atomic<bool> counted{false};
    // A: the item whose function runs; an address to compare with. [RUN-1] set before PENDING is cleared, so whoever
    // claims the item next sees it; [RUN-2] reset with release after the function, so that whoever does not see it
    // any more sees what the run did. Null for an item that owns itself: nobody looks for one, and when its function is
    // done its address may already be that of another item.
    atomic<work_base*> current{nullptr};
    atomic<std::uint64_t> nr_runs{0};        // A: written under L; which run this is
    atomic<bool> finishing{false};           // A: its function has returned; if it sleeps, then for the pool's lock
    atomic<std::int64_t> may_block_since{0}; // A: steady nanoseconds; 0: not inside a may_block region

    work_base* own_item = nullptr;          // S: the same for its own run; null once that item is gone
    worker* next_in_bucket = nullptr;       // L: of run_table
    pool_workqueue* current_pwq = nullptr;  // K
    unsigned current_color = 0;             // K
    void (*function)(work_base&) = nullptr; // K: of the current item, or of the last one
    bool cpu_intensive = false;             // K: the current item is
    item_list scheduled;                    // L: instances of the current item, queued while it runs
    item_waiter* waiters = nullptr;         // L: who waits for the end of the current run
    bool idle = false;                      // L: on the idle list
    bool retiring = false;                  // L: told to end, or has no thread
    std::int64_t idle_since = 0;            // L: runtime clock
    bool idle_outside = false;              // L: on which of the stacks of the idle ones
    worker* interrupted = nullptr;          // K: bottom half: the record that the thread runs an item under otherwise
    std::int64_t rebind_at = 0;             // S: away from its CPUs: when it tries again to get there; steady clock
    unsigned binding = 0;                   // S: the runtime's when it bound itself
    registered_wait* waits = nullptr;       // G: what its item waits for inside of the library
    char description[32] = {};              // L: what the item says that it does; NUL-terminated
    work_base* cursor = nullptr;   // L: of a rescue record: the items up to here are of other queues; null: look at all
    worker* next_cursor = nullptr; // L: the next record with a cursor

    std::int64_t idle_began = 0; // L: steady clock; 0: not idle, or not to be known
    std::int64_t own_time = 0; // L: nanoseconds that it was idle or waited for the pool's lock, as far as that is over
    thread_times last_times{}; // monitor only
    std::int64_t last_own = 0; // monitor only: own_time at the last sample
    std::int64_t sampled_at = 0; // monitor only: steady clock; 0: no sample
    struct {                     // monitor only: since its last wait, as far as that is known
        std::uint64_t run = 0;
        std::int64_t cpu = -1;  // nanoseconds that it had used before; -1: not known
        std::int64_t seen = -1; // nanoseconds that it had used at the last look
        long nr_waits = 0;
    } cpu_burst;
};

/// The worker under whose record the calling thread runs an item; null: it runs none.
inline worker* own_run() noexcept {
    worker* const self = this_thread_slots().current_worker;
    return self != nullptr && self->current_pwq != nullptr ? self : nullptr;
}

} // namespace cmwq::inline CMWQ_NS::detail
