// SPDX-License-Identifier: BSL-1.0
//
// worker: the record of a pool's thread and of the item that it runs.
#pragma once

#include <cmwq/blocking_region.hpp>
#include <cmwq/detail/engine/env/closure_blocks.hpp>
#include <cmwq/detail/engine/item/deferred.hpp>
#include <cmwq/detail/engine/item/group_credit.hpp>
#include <cmwq/detail/engine/ledger/idle_poll.hpp>
#include <cmwq/detail/engine/ledger/local_items.hpp>
#include <cmwq/detail/engine/ledger/pool_workqueue.hpp>
#include <cmwq/detail/sync/parker.hpp>
#include <cmwq/detail/sync/this_thread.hpp>
#include <cmwq/detail/sync/thread.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class item_pool;
struct idle_tag;
struct busy_tag;
struct follower_tag;

class worker;
class registered_wait;
struct running_task;

/// A thread that waits for one run of an item. It is on the stack of that thread. The lock of the pool guards all
/// members.
struct item_waiter {
    /// Adds the waiter to `list`. From here on the end of the run wakes it.
    void enlist(item_waiter*& list) noexcept {
        who.expect();
        waits = true;
        next = list;
        list = this;
    }
    /// The run has ended, or the instance was cancelled. The waiter may be destroyed once `d` has been performed.
    void happened(deferred& d) noexcept {
        waits = false;
        d.happened(who);
    }

    waiter who;
    const work_base* item = nullptr;
    worker* runner = nullptr; ///< the worker that runs the item; null: the item is pending
    bool waits = false;       ///< registered, and the run has not ended yet
    item_waiter* next = nullptr;
};

/// The record of a worker. It lives as long as its pool, so that lock-free readers may follow any pointer to it; when
/// its thread has ended it serves another thread.
///
/// Letters: I set before publication · L pool lock · S used by the worker itself · K written by the worker under L,
/// read by the worker or under L · A atomic, with its own protocol · P the lock of the object itself · G the lock of the
/// graph of waits
class worker final : public blocking_observer,
                     public list_node<idle_tag>,
                     public list_node<busy_tag>,
                     public list_node<follower_tag>,
                     public list_node<waiting_tag> {
public:
    /// The thread that runs items under the record: a worker of the pool, a rescuer, a worker that runs an item inside
    /// another one, which waits for it, or a thread of the program that runs a task of the group for which it waits.
    enum class record_of : unsigned char { worker, rescuer, waiter, guest };

    worker(item_pool& p, unsigned number, record_of by = record_of::worker) noexcept
        : pool(p), id(number), is_rescue_record(by == record_of::rescuer), is_nested(by == record_of::waiter),
          is_guest(by == record_of::guest) {}

    void begin_blocking(block_kind kind) noexcept override;
    void upgrade_blocking() noexcept override;
    void end_blocking() noexcept override;

    /// Adds to `excluded_time`.
    void exclude(std::int64_t ns) noexcept { excluded_time.store(excluded_time.load(relaxed) + ns, relaxed); }

    /// Under L, for a follower: whether it runs `w`. If so, its run goes on until the caller has released the lock.
    [[nodiscard]] bool holds_end_of(const work_base& w) noexcept {
        if (current.load(acquire) != &w) return false; // [RUN-2]
        end_needs_lock.store(true, seq_cst);           // [FOL-1]
        return current.load(seq_cst) == &w;            // [FOL-1]
    }
    /// The worker, a follower: its item has ended. False: another thread depends on that, so the run must end, too.
    [[nodiscard]] bool end_item_without_lock() noexcept {
        own_item = nullptr;
        current.store(nullptr, seq_cst);      // [RUN-2], [FOL-1]
        return !end_needs_lock.load(seq_cst); // [FOL-1]
    }

    /// Whether the thread is a rescuer, which runs no local items.
    [[nodiscard]] bool is_on_rescuer() const noexcept { return of_thread->is_rescue_record; }

    item_pool& pool;             // I
    const unsigned id;           // I: numbers the workers of a pool
    const bool is_rescue_record; // I: rescuers run items under this record; it is never counted
    const bool is_nested;        // I: for items that run inside others, which wait for them; never counted
    const bool is_guest;         // I: for a thread of the program that waits for a group
    worker* next = nullptr;      // I: next in the pool's list of all records
    std::size_t busy_index = 0;  // L: index in busy_workers

    thread os_thread;   // started by the thread that creates the worker, joined by the manager thread
    thread_probe probe; // A

    // --- written for each run: these members begin a cache line --------------------------------------------------------

    alignas(cache_line) parker sleep; // A
    // A: the worker is counted in the pool's nr_running_. Only the worker sets it; the thread that finds the worker
    // blocked clears it.
    atomic<bool> counted{false};
    atomic<bool> finishing{false};      // A: the function has returned; the thread may wait for the pool's lock
    atomic<bool> end_needs_lock{false}; // A: of a follower: a thread depends on the end of its item. [FOL-1]
    bool is_follower = false;           // K: in the list of followers of run_table
    bool announced = false;             // S: counted in the pool as a worker with local items
    bool owns_item = false;             // S: the current item owns itself
    bool cpu_intensive = false;         // K: whether the queue of the current item is cpu_intensive
    unsigned current_color = 0;         // K
    // A: the item whose function runs; an address to compare with. [RUN-1] Set before PENDING is cleared, so a thread
    // that claims the item next sees it. [RUN-2] Reset with release after the function, so a thread that no longer sees
    // it sees the effects of the run. Null for an item that owns itself: no thread searches for such an item, and after
    // its function its address may already belong to another item.
    atomic<work_base*> current{nullptr};
    atomic<std::uint64_t> nr_runs{0}; // A: the number of the current run; written by the worker
    // A: items beside the first one that have started, or ended, in the current run: those that have followed, and tasks
    // that a wait has run; and the former alone. Written by the worker
    atomic<std::uint32_t> nr_more_started{0}, nr_more_ended{0}, nr_follow_ups{0};
    work_base* own_item = nullptr; // S: the item of its run; null if the item no longer exists, or the worker runs none
    pool_workqueue* current_pwq = nullptr; // K
    // A: the function of the current item, or of the last one; written by the worker
    atomic<work_access::function> function{nullptr};

    worker* next_in_bucket = nullptr; // L: link of run_table
    item_list scheduled;              // L: instances of the current item that were queued while it runs
    item_waiter* waiters = nullptr;   // L: waiters for the end of the current run
    unsigned binding = 0;             // S: cpu_map::binding() when the thread bound itself last
    group_credit credit;              // S: for tasks of one group
    char description[32] = {};        // L: set by this_work::describe(); NUL-terminated
    std::int64_t idle_since = 0;      // L: runtime clock
    std::int64_t idle_began = 0;      // L: steady clock; 0: not idle, or the pool does not measure it
    // A: nanoseconds that it has been idle, or has waited for the pool's lock or inside the library; written by the worker
    atomic<std::int64_t> excluded_time{0};
    idle_poll poll;            // S
    bool idle = false;         // L: in idle_workers
    bool idle_outside = false; // L: in the stack of the workers that went idle outside the pod
    bool retiring = false;     // L: asked to end, or without a thread

    closure_cache closures; // S: free blocks for closures

    // --- the others ------------------------------------------------------------------------------------------------------

    std::int64_t rebind_at = 0; // S: if not on its CPUs: when the thread may bind itself again; steady clock
    atomic<std::int64_t> may_block_since{0}; // A: steady clock; 0: not inside a may_block region
    atomic<bool> in_wait{false};             // A: inside a wait of the library, see announced_wait
    std::int64_t wait_began = 0;             // S: that wait; steady clock
    worker* interrupted = nullptr;    // K: bottom half, or nested: the record of the item that the thread runs already
    worker* of_thread = this;         // K: the record of the thread itself; of a nested record, that of a worker
    registered_wait* waits = nullptr; // G: the wait inside the library that its item is in; null: none
    // L: of a rescue record: the last item of another queue that it has skipped on the worklist; null: none
    work_base* cursor = nullptr;
    worker* next_cursor = nullptr; // L: next in the pool's list of records with a cursor

    bool examines_task = false;     // S: of a guest: it is an examiner of the task that it is about to run
    running_task* tasks = nullptr;  // S: the tasks of groups that its item runs, the innermost one first
    unsigned nr_nested = 0;         // S: tasks and items that waits of the thread run, one inside the other
    std::uintptr_t stack_limit = 0; // S: a wait whose frame is below runs none of them
    std::uintptr_t stack_end = 0;   // S: of the record of the thread: the end of its stack; 0: not known yet
    local_items local;              // P, A: of an elastic pool: items queued from inside its runs
    unsigned nr_taken = 0;          // S: items that it took while a worker was announced
    unsigned nr_local_taken = 0;    // S: local items that it took with a color of their own

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

/// The worker record under which the calling thread runs an item; null: it runs none.
inline worker* own_run() noexcept {
    worker* const self = this_thread_slots().current_worker;
    return self != nullptr && self->current_pwq != nullptr ? self : nullptr;
}

}}} // namespace cmwq::CMWQ_NS::detail
