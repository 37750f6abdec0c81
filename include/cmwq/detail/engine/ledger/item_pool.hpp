// SPDX-License-Identifier: BSL-1.0
//
// item_pool: pending items, and the records of the workers that run them. It is the base of every kind of pool; the
// derived classes decide which threads run the items. docs/architecture.md describes the path of an item;
// docs/memory_ordering.md registers the edges named here in brackets.
#pragma once

#include <cmwq/detail/ds/inbox.hpp>
#include <cmwq/detail/engine/env/pool_env.hpp>
#include <cmwq/detail/engine/ledger/pool_report.hpp>
#include <cmwq/detail/engine/ledger/run_table.hpp>
#include <cmwq/detail/engine/ledger/start_watch.hpp>
#include <cmwq/detail/engine/ledger/worker.hpp>
#include <cmwq/detail/sync/mutex.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Counters of a pool. `by_...`: how often the guard, the sentinel or the monitor noticed a blocked worker. A kind of
/// pool that does not count something leaves it at 0.
struct pool_stats {
    std::uint64_t started = 0, completed = 0;
    std::uint64_t by_guard = 0, by_sentinel = 0, by_monitor = 0, spare_wakeups = 0, repatriated = 0, rescued = 0,
                  overdue = 0;
};

/// The items of a pool (inbox, worklist, waiters, colors) and the records of its workers.
///
/// Thread safety: any thread may call the public members, unless a comment names the thread. A member marked
/// CMWQ_EXCLUDES(lock_) takes the pool lock. Pool locks are never nested. A `deferred` collects the
/// actions that must follow the unlock.
///
/// Letters as in worker.hpp; S here is the service thread, ST the manager thread.
class item_pool {
public:
    item_pool(const item_pool&) = delete;
    item_pool& operator=(const item_pool&) = delete;
    virtual ~item_pool();

    [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
    /// The number of its CPU, or its place in the registry.
    [[nodiscard]] unsigned number() const noexcept { return number_; }
    [[nodiscard]] const pool_env& env() const noexcept { return env_; }
    /// Whether the thread that queues an item runs it, so that the item must not block.
    [[nodiscard]] bool is_bottom_half() const noexcept { return is_bottom_half_; }

    // --- producers: lock-free ----------------------------------------------------------------------------------------

    /// Hands an item to the pool. The caller owns PENDING, the item's pwq belongs to this pool, and the caller must
    /// call `notify()` as soon as it holds no lock.
    void push(work_base& w, bool was_queued_before) noexcept;
    /// Items or grants have been pushed: makes sure that a thread serves them. Every producer calls it, not only the
    /// producer that has found the inbox empty: that one may be preempted before the call, and the others would wait
    /// for it. The caller holds no lock.
    virtual void notify() noexcept = 0;
    /// The caller owns PENDING of `w`. If a worker of this pool runs `w` for that queue, queues `w` behind that run,
    /// even if another pool serves its CPU now. False: no worker does, and nothing has changed.
    [[nodiscard]] bool push_behind_own_run(work_base& w, const queue_face& q) noexcept CMWQ_EXCLUDES(lock_);
    /// [RUN-1][RUN-2] Whether a worker of this pool runs that item. The caller owns PENDING.
    [[nodiscard]] bool runs(const work_base& w) const noexcept;
    /// As `runs()`, for callers that hold no pool lock. Its time does not grow with the number of records.
    [[nodiscard]] bool runs_now(const work_base& w) noexcept CMWQ_EXCLUDES(lock_);
    /// As `runs()`, without a lock. Also true if the pool has too many records to scan: a search under the lock is
    /// faster then. False: the caller sees the effects of a run that has ended.
    [[nodiscard]] bool may_run(const work_base& w) const noexcept;
    /// Whether items or grants are pending. Lock-free.
    [[nodiscard]] virtual bool pending() const noexcept {
        return !inbox_.empty() || !grants_.empty() || nr_pending_.load(seq_cst) != 0; // [ARM-2], [IDLE-2]
    }
    /// A slot of `pwq`'s queue became free and belongs to `pwq` now. The caller holds the lock of the slots, and must
    /// call `notify()` after it has released its locks.
    void grant(pool_workqueue& pwq) noexcept { static_cast<void>(grants_.push(pwq)); }

    // --- waiting for items and removing them -------------------------------------------------------------------------

    /// The state of an item in this pool. `in_transit`: queued, but not on a list of the pool yet.
    enum class item_state : unsigned char { not_here, in_transit, pending, running };

    /// If the item is on a list of this pool: removes it. The caller then owns its PENDING.
    [[nodiscard]] bool steal(work_base& w) noexcept CMWQ_EXCLUDES(lock_);
    /// A waiter is about to run a task of its group in its own run: if the task is on a list of this pool, removes it,
    /// and keeps its color until `leave_after_waiter()`. False: it is not on a list.
    [[nodiscard]] bool take_for_waiter(work_base& task) noexcept CMWQ_EXCLUDES(lock_);
    void leave_after_waiter(pool_workqueue& pwq, unsigned color) noexcept CMWQ_EXCLUDES(lock_);
    /// A waiter that sleeps lets a task of its group run in its place: if the limit keeps the task back, makes it active
    /// nevertheless. False: the limit did not keep it back.
    [[nodiscard]] bool start_task_beyond_limit(work_base& task) noexcept CMWQ_EXCLUDES(lock_);
    /// The same for an item for which the item under `waiter`, the record of the calling thread, waits. Does nothing if no
    /// item on the stack of the thread has a slot of its queue.
    void start_awaited_beyond_limit(work_base& w, const run_record& waiter) noexcept CMWQ_EXCLUDES(lock_);
    /// Calls `f(work_base&)` for each local item of each worker, under the pool lock and the lock of that list.
    template <class F>
    void for_each_local_item(F&& f) noexcept CMWQ_EXCLUDES(lock_);
    /// Registers `iw` for the end of the instance queued last, or, if `running_only`, of the running instance. If the
    /// result is not_here or in_transit, `iw` is not registered.
    item_state wait_for(work_base& w, item_waiter& iw, bool running_only) noexcept CMWQ_EXCLUDES(lock_);
    /// Sets the description of the running item.
    void describe(run_record& self, std::string_view what) noexcept CMWQ_EXCLUDES(lock_);
    /// The running item is destroyed by its own function: resets the pointers to it.
    void forget(run_record& self) noexcept CMWQ_EXCLUDES(lock_);

    /// The running item begins, or ends, a blocking region.
    virtual void block_begins(worker& /*self*/) noexcept {}
    virtual void block_ends(worker& /*self*/) noexcept {}
    /// The running item begins, or ends, a wait for other items.
    virtual void wait_begins(worker& /*self*/) noexcept {}
    virtual void wait_ends(worker& /*self*/) noexcept {}

    // --- pwqs --------------------------------------------------------------------------------------------------------

    /// Registers a flush for all items of the pwq accepted so far. False: they have all left.
    [[nodiscard]] bool close_color(pool_workqueue& pwq, color_waiter& cw) noexcept CMWQ_EXCLUDES(lock_);
    /// The numbers of items of the pwq that were accepted, and that have run or were cancelled.
    struct traffic {
        std::uint64_t entered, left;
    };
    [[nodiscard]] traffic traffic_of(const pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock_);
    void set_max_active(pool_workqueue& pwq, unsigned max_active) noexcept CMWQ_EXCLUDES(lock_);
    /// From now on the pwq shares these slots. Its active items keep theirs, so both maxima are 0 if it has any.
    void set_slots(pool_workqueue& pwq, node_slots& slots) noexcept CMWQ_EXCLUDES(lock_);
    /// The queue no longer uses this pwq, and no producer is about to push to it; its runs may still add local items.
    /// `successor`: of an ordered queue, the next pwq, which begins when this one has drained; else null. True: it has
    /// drained. False: the pool requests reaping when it has.
    [[nodiscard]] bool detach(pool_workqueue& pwq, pool_workqueue* successor) noexcept CMWQ_EXCLUDES(lock_);
    /// The turn that a pwq of this pool has got, if any, is not in the inbox any more when this returns.
    void receive_turn() noexcept CMWQ_EXCLUDES(lock_);
    /// Whether the pwq is detached and has drained.
    [[nodiscard]] virtual bool may_be_freed(pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock_);
    /// Sets whether the pwq is frozen. No item of a frozen pwq becomes active, except tasks for which an item of the queue
    /// waits. If it is frozen already, looks for such tasks again.
    void set_frozen(pool_workqueue& pwq, bool frozen) noexcept CMWQ_EXCLUDES(lock_);
    [[nodiscard]] unsigned nr_active_of(const pool_workqueue& pwq) const noexcept CMWQ_EXCLUDES(lock_);
    /// The state of a pwq, for the check for queues that stay at their limit.
    struct backlog {
        bool waiting = false; ///< items are held back by the limit
        bool all_run = false; ///< every active item is running
        unsigned runs = 0;    ///< how many of them run
    };
    /// Returns the state, and writes up to `room` runs to `to`.
    [[nodiscard]] backlog backlog_of(const pool_workqueue& pwq, seen_run* to, std::size_t room) noexcept
        CMWQ_EXCLUDES(lock_);
    /// Whether that run of this pool has not ended.
    [[nodiscard]] bool goes_on(const seen_run& r) const noexcept CMWQ_EXCLUDES(lock_);
    /// Moves all active items of the pwq that have not started back to its inactive list. Until `let_go()` no item of
    /// the pwq becomes active. The items can still be cancelled.
    void hold_back(pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock_);
    /// Ends `hold_back()`: items that were queued meanwhile may run.
    void let_go(pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock_);
    /// Removes the first item of a pwq that is held back. The caller then owns its PENDING. Null: none is left.
    [[nodiscard]] work_base* take_held_back(pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock_);
    [[nodiscard]] queue_stats stats_of(const pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock_) {
        const scoped_lock g(lock_);
        return stats_of_locked(pwq);
    }

    // --- for the graph of waits: under the lock of the graph, which keeps the waiters --------------------------------

    /// Unregisters the waiter, which may be destroyed after the call.
    void stop_waiting(item_waiter& iw) noexcept CMWQ_EXCLUDES(lock_);
    void stop_waiting(color_waiter& cw) noexcept CMWQ_EXCLUDES(lock_);
    /// What the end of an awaited instance depends on; at most one of `run`, `before` and `inactive_on` is set. If none
    /// is set, the wait is over, or the instance ends without further conditions as soon as a worker is free.
    struct awaited_item {
        run_record* run = nullptr;             ///< the record of the worker that runs the item
        run_record* before = nullptr;          ///< the item is pending behind the run of this record
        pool_workqueue* inactive_on = nullptr; ///< the item is inactive on this pwq
        const queue_face* queue = nullptr;     ///< that of `inactive_on`, which may be freed before its queue
    };
    [[nodiscard]] awaited_item look_at(const item_waiter& iw) noexcept CMWQ_EXCLUDES(lock_);
    /// Calls f(const queue_face&), under the pool lock, for the queue of an awaited item, unless the wait is over.
    template <class F>
    void with_queue_of(const item_waiter& iw, F&& f) noexcept CMWQ_EXCLUDES(lock_) {
        const scoped_lock g(lock_);
        if (iw.waits) f(*(iw.runner != nullptr ? iw.runner->current_pwq : work_access::pwq(*iw.item))->queue);
    }
    /// The items of one pwq for which a flush still waits.
    struct remaining_items {
        const pool_workqueue* pwq = nullptr; ///< the pwq of the awaited items; null: the wait is over
        std::uint64_t generation = 0;        ///< that of the youngest color which the flush covers
        bool inactive = false;               ///< some of these items are inactive
    };
    [[nodiscard]] remaining_items look_at(const color_waiter& cw) noexcept CMWQ_EXCLUDES(lock_);
    /// The pwq on which an item is inactive that the caller keeps; null: it is not inactive in this pool.
    [[nodiscard]] const pool_workqueue* inactive_on(const work_base& w) noexcept CMWQ_EXCLUDES(lock_);
    /// The run that `iw` waits for; null: it waits for no run, or the wait is over.
    [[nodiscard]] run_record* run_awaited_by(const item_waiter& iw) noexcept CMWQ_EXCLUDES(lock_);
    /// Calls f(worker&), under the pool lock, for each run that `cw` waits for and that is in a wait itself. Skips runs
    /// for which the same search has called f before.
    template <class F>
    void for_each_waiting_run(const color_waiter& cw, std::uint64_t search, F&& f) noexcept CMWQ_EXCLUDES(lock_);
    /// An active item that cannot end before a given run: the item of that run, or an item that waits behind the run.
    struct held_item {
        const pool_workqueue* pwq;
        std::uint64_t generation; ///< that of the item's color
        std::uint64_t nr_left;    ///< how many items of the pwq had left at that time
        std::uint32_t wait;       ///< the wait of the run; set by the caller
    };
    /// The held items of a run of this pool; the run is in a wait. Returns their number, and writes them to `to` if
    /// that is at most `room`.
    [[nodiscard]] std::size_t held_by(run_record& k, held_item* to, std::size_t room) noexcept CMWQ_EXCLUDES(lock_);
    /// The active items of a pwq: their number.
    struct active_items {
        unsigned all;
        bool frozen;
        std::uint64_t nr_left; ///< as in held_item
    };
    [[nodiscard]] active_items count_active(const pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock_);

    // --- reports -----------------------------------------------------------------------------------------------------

    /// The numbers of items that the pool has started and completed. While workers begin or end their runs, a number
    /// may be too small for a moment.
    [[nodiscard]] virtual std::uint64_t nr_started() const noexcept { return nr_started_.load(relaxed); }
    [[nodiscard]] virtual std::uint64_t nr_completed() const noexcept { return nr_completed_.load(relaxed); }
    /// As nr_started(), without the items and tasks that run inside others, which wait for them, and those that guests run:
    /// while these go on, everything else in the pool may be waiting.
    [[nodiscard]] virtual std::uint64_t nr_begun() const noexcept {
        return nr_started_.load(relaxed) - nr_inside_.load(relaxed);
    }
    /// For the service thread. Whether the pool has started no item for `limit` nanoseconds although items are pending.
    /// `passed`: nanoseconds since the last call, without times in which the process could not run.
    [[nodiscard]] bool has_stalled(std::int64_t passed, std::int64_t limit) noexcept;
    /// For the diagnosis thread. Describes the pending items and the running workers. `cpus`: how the text names the CPUs
    /// of the pool. Throws std::bad_alloc.
    [[nodiscard]] std::string describe_stall(const std::string& cpus) CMWQ_EXCLUDES(lock_);
    /// Copies the state of the pool, if its lock is free before `deadline`, steady clock. Throws std::bad_alloc.
    void report(pool_report& to, std::int64_t deadline) CMWQ_EXCLUDES(lock_);
    /// The same for a pwq of this pool.
    void report(pool_workqueue& pwq, pwq_report& to, std::int64_t deadline) CMWQ_EXCLUDES(lock_);
    /// The counters that this kind of pool keeps, all of one moment.
    [[nodiscard]] pool_stats stats() const noexcept CMWQ_EXCLUDES(lock_) {
        const scoped_lock g(lock_);
        return stats_locked();
    }

protected:
    enum class kind : bool { threads, bottom_half };
    item_pool(const pool_env& env, std::uint64_t id, unsigned number, kind k) noexcept
        : env_(env), id_(id), number_(number), is_bottom_half_(k == kind::bottom_half) {}

    // --- what differs between the kinds of pool, off the path of an item ---------------------------------------------

    [[nodiscard]] virtual pool_stats stats_locked() const noexcept CMWQ_REQUIRES(lock_) {
        const std::uint64_t completed = nr_completed(); // first: the workers go on meanwhile
        return {.started = std::max(nr_started(), completed), .completed = completed};
    }
    /// The caller has put items on the worklist and does not run them: wakes a worker if one is needed.
    virtual void notify_locked(deferred& d) noexcept CMWQ_REQUIRES(lock_) = 0;
    /// `let_go()` has made items active: makes sure that a thread runs them.
    virtual void released_locked(deferred& d) noexcept CMWQ_REQUIRES(lock_) = 0;
    [[nodiscard]] virtual worker_counts worker_counts_locked() const noexcept CMWQ_REQUIRES(lock_) { return {}; }
    /// The record whose run must end before any item of the worklist can start; null: there is none.
    [[nodiscard]] virtual run_record* run_before_worklist_locked() noexcept CMWQ_REQUIRES(lock_) { return nullptr; }

    // --- lists -------------------------------------------------------------------------------------------------------

    void drain_locked(deferred& d) noexcept CMWQ_REQUIRES(lock_);
    /// As drain_locked(), for callers that must know every item of the pool: also accepts the local items of workers.
    void gather_locked(deferred& d) noexcept CMWQ_REQUIRES(lock_) {
        recall_local_items_locked();
        drain_locked(d);
    }
    /// As drain_locked(), for callers that must know that item.
    void gather_locked(const work_base& w, deferred& d) noexcept CMWQ_REQUIRES(lock_) {
        drain_locked(d);
        if ((work_access::location_of(w) & location::list_and_local) == location::local) recall_local_items_locked();
    }
    /// Accepts the local items of all workers.
    virtual void recall_local_items_locked() noexcept CMWQ_REQUIRES(lock_) {}
    /// Gives an item its color, and puts it on the worklist or, beyond the limit, on the inactive list of its pwq.
    void accept_locked(work_base& w) noexcept CMWQ_REQUIRES(lock_);
    /// As accept_locked(), but if the limit admits the item, the caller runs it. False: it is on the inactive list.
    [[nodiscard]] bool admit_locked(work_base& w) noexcept CMWQ_REQUIRES(lock_);
    /// Takes the next item for `self` to run; null: there is none.
    [[nodiscard]] work_base* take_locked(run_record& self) noexcept CMWQ_REQUIRES(lock_);
    /// Whether the item that waits under `waiter`, or one below it on the stack of its thread, has a slot of `q`.
    [[nodiscard]] static bool has_slot_on_stack(const run_record& waiter, const queue_face& q) noexcept;
    [[nodiscard]] bool unlist_to_run_locked(work_base& w) noexcept CMWQ_REQUIRES(lock_);
    [[nodiscard]] bool is_listed_locked(const work_base& w) const noexcept CMWQ_REQUIRES(lock_);
    void push_active_locked(pool_workqueue& pwq, work_base& w) noexcept CMWQ_REQUIRES(lock_);
    void leave_worklist_locked(work_base& w) noexcept CMWQ_REQUIRES(lock_);
    /// Puts an item of an inactive list on the worklist, although the limit keeps it back.
    void activate_beyond_limit_locked(work_base& w) noexcept CMWQ_REQUIRES(lock_);
    /// Publishes the length of the worklist for threads without the lock.
    void publish_pending_locked() noexcept CMWQ_REQUIRES(lock_) {
        nr_pending_.store(static_cast<unsigned>(worklist_.size()), seq_cst); // [ARM-1], [IDLE-1]
    }
    [[nodiscard]] bool anything_listed_locked() const noexcept CMWQ_REQUIRES(lock_) {
        return !worklist_.empty() || !inbox_.empty() || !grants_.empty();
    }

    // --- runs --------------------------------------------------------------------------------------------------------

    /// An item that is about to run. Copied before PENDING is cleared.
    struct started_item {
        work_base& item;
        const work_access::function function;
        const exception_sink& sink;
        const bool owns_itself;
    };
    /// Records the run and clears PENDING. From then on the item can be queued again, in any pool.
    [[nodiscard]] started_item begin_run_locked(run_record& self, work_base& w) noexcept CMWQ_REQUIRES(lock_);
    /// The worker runs a local item as a part of the current run, which keeps its color, its slot and its queue.
    [[nodiscard]] started_item begin_follow_up(run_record& self, work_base& w) const noexcept;
    /// The item of the current run has ended, and is not a closure: makes the worker a follower. False: the run must end.
    [[nodiscard]] bool become_follower_locked(run_record& self) noexcept CMWQ_REQUIRES(lock_);
    /// Calls the function, and passes its exceptions to the queue's handler. False: the queue has no handler, and the
    /// function was not called.
    [[nodiscard]] static bool call_with_handler(run_record& self, const started_item& r);
    /// Calls the function above frames of other code, which may have exception handlers. Without a handler of the queue an
    /// exception ends the program here.
    static void call_above_other_code(run_record& self, const started_item& r) noexcept;
    /// Ends the run: wakes its waiters, and gives back what the item held of its limit.
    void end_run_locked(run_record& self, deferred& d) noexcept CMWQ_REQUIRES(lock_);
    /// From here on the record runs items, or is about to.
    void become_busy_locked(run_record& w) noexcept CMWQ_REQUIRES(lock_) {
        busy_.push_back(w);
        nr_busy_.store(static_cast<int>(busy_.size()), relaxed);
    }
    void leave_busy_locked(run_record& w) noexcept CMWQ_REQUIRES(lock_) {
        busy_.remove(w);
        nr_busy_.store(static_cast<int>(busy_.size()), relaxed);
    }
    /// Calls f(worker&), which returns whether to continue, for the records of all runs.
    template <class F>
    void for_each_record_locked(F&& f) noexcept CMWQ_REQUIRES(lock_);
    /// Adds a record to the list of all records, which readers walk without a lock.
    void add_record_locked(run_record& w) noexcept CMWQ_REQUIRES(lock_);

    /// Locks the pool for the service thread or the manager thread. A worker of low priority may hold the lock and get no
    /// CPU; these threads do not wait for it, and try again later. False: not locked.
    [[nodiscard]] bool lock_for_service() const noexcept CMWQ_TRY_ACQUIRE(true, lock_) CMWQ_NO_TSA {
        if (low_priority_.load(relaxed)) return lock_.try_lock();
        lock_.lock();
        return true;
    }

    const pool_env& env_;              // I
    const std::uint64_t id_;           // I
    const unsigned number_;            // I
    const bool is_bottom_half_;        // I: for reports and checks, off the path of an item
    atomic<bool> low_priority_{false}; // A: its threads are in the idle class, or have a nice value above 0

    alignas(cache_line) inbox<work_base, item_tag> inbox_; // A
    inbox<pool_workqueue, grant_tag> grants_;              // A: pwqs that were granted a free slot

    alignas(cache_line) mutable ranked_mutex<lock_rank::pool> lock_;
    atomic<unsigned> nr_pending_{0};                       // A: length of the worklist; written under L, for each item
    item_list worklist_ CMWQ_GUARDED_BY(lock_);            // L: active items, in order
    run_record* cursors_ CMWQ_GUARDED_BY(lock_) = nullptr; // L: records with a `cursor`, of rescuers
    intrusive_list<run_record, busy_tag> busy_ CMWQ_GUARDED_BY(lock_); // L: records that run items, or are about to
    run_table running_ CMWQ_GUARDED_BY(lock_);                         // L: finds the record that runs an item
    atomic<run_record*> all_{nullptr};                                 // A: every record; grows under L, never shrinks
    atomic<std::uint64_t> nr_started_{0};                              // A: written under L
    atomic<std::uint64_t> nr_completed_{0};                            // A: written under L
    intrusive_list<run_record, busy_tag> nested_ CMWQ_GUARDED_BY(lock_); // L: records that run items inside others
    atomic<int> nr_busy_{0};                                             // A: length of busy_; written under L

private:
    template <class F>
    bool start_beyond_limit(work_base& w, F&& may_start) noexcept CMWQ_EXCLUDES(lock_);
    void drain_inbox_locked() noexcept CMWQ_REQUIRES(lock_);
    void drain_inbox_in_time_locked(unsigned limit) noexcept CMWQ_REQUIRES(lock_);
    void drain_grants_locked(deferred& d) noexcept CMWQ_REQUIRES(lock_);
    void unlist_locked(work_base& w, deferred& d) noexcept CMWQ_REQUIRES(lock_);
    [[nodiscard]] bool take_slot_locked(pool_workqueue& pwq) noexcept CMWQ_REQUIRES(lock_);
    [[nodiscard]] static bool take_shared_slot(pool_workqueue& pwq) noexcept;
    void give_back_slot(pool_workqueue& pwq, deferred& d) noexcept;
    [[nodiscard]] bool keep_slot_locked(pool_workqueue& pwq) noexcept CMWQ_REQUIRES(lock_);
    void end_active_locked(pool_workqueue& pwq, deferred& d) noexcept CMWQ_REQUIRES(lock_);
    void make_active_locked(pool_workqueue& pwq, work_base& w) noexcept CMWQ_REQUIRES(lock_);
    void start_awaited_task_locked(pool_workqueue& pwq, work_base& w) noexcept CMWQ_REQUIRES(lock_);
    void activate_first_locked(pool_workqueue& pwq) noexcept CMWQ_REQUIRES(lock_);
    void activate_locked(pool_workqueue& pwq) noexcept CMWQ_REQUIRES(lock_);
    void leave_locked(pool_workqueue& pwq, unsigned color, deferred& d) noexcept CMWQ_REQUIRES(lock_);
    void pass_turn_locked(pool_workqueue& pwq, deferred& d) noexcept CMWQ_REQUIRES(lock_);
    template <class F>
    void take_waiters_locked(const work_base& w, F&& f) noexcept CMWQ_REQUIRES(lock_);
    void forget_item_locked(run_record& self) noexcept CMWQ_REQUIRES(lock_);
    [[nodiscard]] std::uint64_t id_of_runner_locked(const work_base& w, const pool_workqueue& pwq) const noexcept
        CMWQ_REQUIRES(lock_);

    [[nodiscard]] queue_stats stats_of_locked(const pool_workqueue& pwq) noexcept CMWQ_REQUIRES(lock_);
    [[nodiscard]] static run_report report_of_run(const run_record& w) noexcept;

    atomic<std::uint64_t> nr_inside_{0}; // A: of nr_started_: inside others, or in guests; written under L
    unsigned nr_activated_ CMWQ_GUARDED_BY(lock_) = 0; // L: slots that became free since the inbox was last drained
    item_waiter* item_waiters_ CMWQ_GUARDED_BY(lock_) = nullptr; // L: waiters for items that are pending here
    start_watch stall_;                                          // S: for the watchdog
};

}}} // namespace cmwq::CMWQ_NS::detail
