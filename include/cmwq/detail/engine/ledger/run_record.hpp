// SPDX-License-Identifier: BSL-1.0
//
// run_record: the item that a thread runs, and what depends on its end.
#pragma once

#include <cmwq/detail/engine/item/deferred.hpp>
#include <cmwq/detail/engine/item/work_access.hpp>
#include <cmwq/detail/engine/ledger/block_counts.hpp>
#include <cmwq/detail/engine/ledger/noticed_block.hpp>
#include <cmwq/detail/engine/ledger/pool_workqueue.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <cstdint>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class item_pool;
class observed_run;
class registered_wait;
class run_record;
class run_timer;
class worker;
struct running_task;
struct busy_tag;
struct follower_tag;

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

    /// The same for all waiters of a list.
    static void all_happened(item_waiter* first, deferred& d) noexcept {
        while (first != nullptr) {
            item_waiter& iw = *first;
            first = iw.next;
            iw.happened(d);
        }
    }

    waiter who;
    const work_base* item = nullptr;
    run_record* runner = nullptr; ///< the record of the run; null: the item is pending
    bool waits = false;           ///< registered, and the run has not ended yet
    item_waiter* next = nullptr;
};

/// The description of an item whose wait runs a task, meanwhile. It is on the stack of its thread. The lock of the pool
/// guards all members.
struct hidden_description {
    char text[32];
    bool of_item; ///< the description of the item of the run, not of a task
    hidden_description* outer;
};

/// A thread runs items under it, one after the other. It lives as long as its pool, so that lock-free readers may
/// follow any pointer to it.
///
/// Letters: I set before publication · L pool lock · S used by the thread itself · K written by the thread under L,
/// read by the thread or under L · A atomic, with its own protocol · G the lock of the graph of waits
class run_record : public list_node<busy_tag>, public list_node<follower_tag>, public list_node<waiting_tag> {
public:
    /// The thread that runs items under the record: a worker of the pool, a rescuer, a worker that runs an item inside
    /// another one, which waits for it, a thread of the program that runs a task of the group for which it waits, or
    /// the thread that drains a bottom-half pool.
    enum class record_of : unsigned char { worker, rescuer, nested, guest, bottom_half };

    /// Of items that run inside others: the next one in `thread`.
    run_record(item_pool& p, worker& thread) noexcept;
    run_record(const run_record&) = delete;
    run_record& operator=(const run_record&) = delete;
    virtual ~run_record() = default;

    /// Under L, for a follower: whether it runs `w`. If so, its run goes on until the caller has released the lock.
    [[nodiscard]] bool holds_end_of(const work_base& w) noexcept {
        if (current.load(acquire) != &w) return false; // [RUN-2]
        end_needs_lock.store(true, seq_cst);           // [FOL-1]
        return current.load(seq_cst) == &w;            // [FOL-1]
    }
    /// The thread of a follower: its item has ended. False: another thread depends on that, so the run must end, too.
    [[nodiscard]] bool end_item_without_lock() noexcept {
        own_item = nullptr;
        current.store(nullptr, seq_cst);      // [RUN-2], [FOL-1]
        return !end_needs_lock.load(seq_cst); // [FOL-1]
    }

    /// Any thread, about the current run.
    void count_block(block_event what) noexcept {
        blocks.count(what);
        has_counts.store(true, release); // [BLOCK-1]
    }
    /// By its thread: there is something to move at the end of the run.
    void note_counts() noexcept { has_counts.exchange(true, relaxed); } // an RMW: [BLOCK-1] releases through it
    /// Under L, at the end of the run, by its thread.
    void move_counts_to(pool_workqueue& to) noexcept {
        if (!has_counts.load(relaxed) || !has_counts.exchange(false, acquire)) return; // [BLOCK-1]
        blocks.move_to(to.counts);
        to.counts.cpu_ns += std::exchange(measured_cpu, 0);
        to.nr_waits_known += std::exchange(nr_waits_known, 0);
    }

    [[nodiscard]] bool is_rescuer() const noexcept { return record == record_of::rescuer; }
    [[nodiscard]] bool is_nested() const noexcept { return record == record_of::nested; }
    [[nodiscard]] bool is_bottom_half() const noexcept { return record == record_of::bottom_half; }
    [[nodiscard]] bool is_guest() const noexcept { return record == record_of::guest; }

    item_pool& pool;                   // I
    run_record* next_record = nullptr; // I: next in the pool's list of all records
    worker* of_thread;                 // K: the record of the thread itself
    run_record* interrupted = nullptr; // K: bottom half, or nested: the record of the item that the thread runs already
    registered_wait* waits = nullptr;  // G: the wait inside the library that its item is in; null: none
    // L: of a rescuer: the last item of another queue that it has skipped on the worklist; null: none
    work_base* cursor = nullptr;
    run_record* next_cursor = nullptr; // L: next in the pool's list of records with a cursor
    running_task* tasks = nullptr;     // S: the tasks of groups that its item runs, the innermost one first
    unsigned nr_nested = 0;            // S: tasks and items that waits of the thread run, one inside the other
    std::uintptr_t stack_limit = 0;    // S: a wait whose frame is below runs none of them
    block_counts blocks;               // A: of the current run
    run_timer* timer = nullptr;        // S: of the item that it measures now; null: none
    observed_run* observed = nullptr;  // S: the item that it runs now; null: none, or nobody observes it
    noticed_block noticed;             // A
    std::uint32_t random;              // S: for the marks
    first_items first_runs;            // S
    // S: of the items since the last end of a run: their CPU time, an estimate, and for how many of those that have
    // followed the measured waits stand
    std::uint64_t measured_cpu = 0;
    std::uint64_t nr_waits_known = 0;
    atomic<work_access::function> inner_task{nullptr}; // A: the innermost task that a wait in the run runs; null: none
    hidden_description* hidden = nullptr;              // L: the descriptions around that task, the innermost one first

    // --- written for each run: these members begin a cache line ------------------------------------------------------

    // A: of a follower: a thread depends on the end of its item. [FOL-1]
    alignas(cache_line) atomic<bool> end_needs_lock{false};
    atomic<bool> has_counts{false};         // A: there are some to move at the end of the run
    const record_of record;                 // I
    bool is_follower = false;               // K: in the list of followers of run_table
    bool owns_item = false;                 // S: the current item owns itself
    atomic<std::uint16_t> nr_follow_ups{0}; // A: of nr_more_started: those that have followed
    unsigned current_color = 0;             // K
    sampling_step to_mark;                  // S: how far the next mark is: the item that passes it is measured
    // A: the item whose function runs; an address to compare with. [RUN-1] Set before PENDING is cleared, so a thread
    // that claims the item next sees it. [RUN-2] Reset with release after the function, so a thread that no longer sees
    // it sees the effects of the run. Null for an item that owns itself: no thread searches for such an item, and after
    // its function its address may already belong to another item.
    atomic<work_base*> current{nullptr};
    atomic<std::uint64_t> nr_runs{0}; // A: the number of the current run; written by the thread
    // A: items beside the first one that have started in the current run: those that have followed, and tasks that a
    // wait has run. Items that have ended in it, all of these and the first one; the last one only counts at the end of
    // the run. Written by the thread. A run may last for ever and run billions of tasks
    atomic<std::uint64_t> nr_more_started{0}, nr_ended{0};
    work_base* own_item = nullptr; // S: the item of its run; null if the item no longer exists, or the thread runs none
    pool_workqueue* current_pwq = nullptr; // K
    // A: the function of the current item, or of the last one; written by the thread
    atomic<work_access::function> function{nullptr};

    run_record* next_in_bucket = nullptr; // L: link of run_table
    item_list scheduled;                  // L: instances of the current item that were queued while it runs
    item_waiter* waiters = nullptr;       // L: waiters for the end of the current run
    // K: set by this_work::describe(), in the innermost task that a wait in the run runs, or in the item;
    // NUL-terminated
    char description[32] = {};

protected:
    /// `seed`: differs between the records of a pool, so that the threads do not measure the same items of a pattern.
    run_record(item_pool& p, worker* thread, record_of kind, std::uint32_t seed) noexcept
        : pool(p), of_thread(thread), random(seed), record(kind), to_mark(next_distance(random)) {}
};

/// The record under which the calling thread runs an item; null: it runs none.
inline run_record* own_run() noexcept {
    run_record* const self = this_thread_slots().current_run;
    return self != nullptr && self->current_pwq != nullptr ? self : nullptr;
}

}}} // namespace cmwq::CMWQ_NS::detail
