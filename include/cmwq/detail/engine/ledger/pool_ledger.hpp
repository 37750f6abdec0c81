// SPDX-License-Identifier: BSL-1.0
//
// pool_ledger: the items of a pool, and the records of their runs. It decides which item may run; the pool that owns it
// decides which thread runs it. docs/dev/architecture.md describes the path of an item; docs/dev/memory_ordering.md
// registers the edges named here in brackets.
#pragma once

#include <cmwq/detail/ds/inbox.hpp>
#include <cmwq/detail/engine/env/pool_env.hpp>
#include <cmwq/detail/engine/item/pool_owner.hpp>
#include <cmwq/detail/engine/ledger/pool_report.hpp>
#include <cmwq/detail/engine/ledger/run_record.hpp>
#include <cmwq/detail/engine/ledger/run_table.hpp>
#include <cmwq/detail/sync/mutex.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The items of a pool (inbox, worklist, limits, waiters, colors), and the records under which threads run them.
///
/// Thread safety: any thread may call every member. A member marked CMWQ_EXCLUDES(lock) takes the lock; a member that
/// ends in `_locked` needs it. Locks of ledgers are never nested. A `deferred` collects the actions that must follow
/// the unlock.
///
/// Letters as in run_record.hpp.
class pool_ledger {
public:
    pool_ledger(pool_owner& p, const pool_env& e, std::uint64_t id) noexcept : owner(p), env(e), id_(id) {}
    pool_ledger(const pool_ledger&) = delete;
    pool_ledger& operator=(const pool_ledger&) = delete;
    ~pool_ledger();

    [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
    /// The number by which reports name the pool.
    [[nodiscard]] unsigned shown_number() const noexcept { return pool_finder::number_of(id_); }

    pool_owner& owner;   // I
    const pool_env& env; // I

    // --- producers: lock-free ----------------------------------------------------------------------------------------

    /// Hands an item to the pool. The caller owns PENDING, the item's pwq belongs to this pool, and the caller must
    /// notify the owner as soon as it holds no lock.
    void push(work_base& w, bool was_queued_before) noexcept;
    /// The caller owns PENDING of `w`. If a worker of this pool runs `w` for that queue, queues `w` behind that run,
    /// even if another pool serves its CPU now. False: no worker does, and nothing has changed.
    [[nodiscard]] bool push_behind_own_run(work_base& w, const queue_face& q) noexcept CMWQ_EXCLUDES(lock);
    /// [RUN-1][RUN-2] Whether a worker of this pool runs that item. The caller owns PENDING.
    [[nodiscard]] bool runs(const work_base& w) const noexcept;
    /// As `runs()`, for callers that hold no pool lock. Its time does not grow with the number of records.
    [[nodiscard]] bool runs_now(const work_base& w) noexcept CMWQ_EXCLUDES(lock);
    /// As `runs()`, without a lock. Also true if the pool has too many records to scan: a search under the lock is
    /// faster then. False: the caller sees the effects of a run that has ended.
    [[nodiscard]] bool may_run(const work_base& w) const noexcept;
    /// Whether items or grants are pending, without local items of workers. Lock-free.
    [[nodiscard]] bool pending() const noexcept {
        return !inbox_.empty() || !grants_.empty() || nr_pending_.load(seq_cst) != 0; // [ARM-2], [IDLE-2]
    }

    /// `pwq`, a pwq of this pool, has been granted a slot of its queue, or its turn. The caller must notify the owner.
    void grant(pool_workqueue& pwq) noexcept { static_cast<void>(grants_.push(pwq)); }

    // --- waiting for items and removing them -------------------------------------------------------------------------

    /// The state of an item in this pool. `in_transit`: queued, but not on a list of the pool yet.
    enum class item_state : unsigned char { not_here, in_transit, pending, running };

    /// If the item is on a list of this pool: removes it. The caller then owns its PENDING.
    [[nodiscard]] bool steal(work_base& w) noexcept CMWQ_EXCLUDES(lock);
    /// A waiter is about to run a task of its group in its own run: if the task is on a list of this pool, removes it,
    /// and keeps its color until `leave_after_waiter()`. False: it is not on a list.
    [[nodiscard]] bool take_for_waiter(work_base& task) noexcept CMWQ_EXCLUDES(lock);
    void leave_after_waiter(pool_workqueue& pwq, unsigned color) noexcept CMWQ_EXCLUDES(lock);
    /// A waiter that sleeps lets a task of its group run in its place: if the limit keeps the task back, makes it
    /// active nevertheless. False: the limit did not keep it back.
    [[nodiscard]] bool start_task_beyond_limit(work_base& task) noexcept CMWQ_EXCLUDES(lock);
    /// The same for an item for which the item under `waiter`, the record of the calling thread, waits. Does nothing if
    /// no item on the stack of the thread has a slot of its queue.
    void start_awaited_beyond_limit(work_base& w, const run_record& waiter) noexcept CMWQ_EXCLUDES(lock);
    enum class instance : unsigned char { last_queued, running };
    /// Registers `iw` for the end of that instance. If the result is not_here or in_transit, `iw` is not registered.
    item_state wait_for(work_base& w, item_waiter& iw, instance which) noexcept CMWQ_EXCLUDES(lock);
    /// Sets the description of the running item.
    void describe(run_record& self, std::string_view what) noexcept CMWQ_EXCLUDES(lock);
    /// A wait in the run of the calling thread begins a task: keeps the description in `to` until the task has ended.
    void hide_description(run_record& self, hidden_description& to) noexcept;
    /// The task has ended: its description goes, and the one that it has hidden returns, if any.
    void restore_description(run_record& self, const hidden_description* from) noexcept;
    /// The running item is destroyed by its own function: resets the pointers to it.
    void forget(run_record& self) noexcept CMWQ_EXCLUDES(lock);

    // --- pwqs --------------------------------------------------------------------------------------------------------

    /// Registers a flush for all items of the pwq accepted so far. False: they have all left.
    [[nodiscard]] bool close_color(pool_workqueue& pwq, color_waiter& cw) noexcept CMWQ_EXCLUDES(lock);
    /// The numbers of items of the pwq that were accepted, and that have run or were cancelled.
    struct traffic {
        std::uint64_t entered, left;
    };
    [[nodiscard]] traffic traffic_of(const pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock);
    void set_max_active(pool_workqueue& pwq, unsigned max_active) noexcept CMWQ_EXCLUDES(lock);
    /// From now on the pwq shares these slots. Its active items keep theirs, so both maxima are 0 if it has any.
    void set_slots(pool_workqueue& pwq, node_slots& slots) noexcept CMWQ_EXCLUDES(lock);
    /// The queue no longer uses this pwq, and no producer is about to push to it; its runs may still add local items.
    /// `successor`: of an ordered queue, the next pwq, which begins when this one has drained; else null. True: it has
    /// drained. False: the pool requests reaping when it has.
    [[nodiscard]] bool detach(pool_workqueue& pwq, pool_workqueue* successor) noexcept CMWQ_EXCLUDES(lock);
    /// The turn that a pwq of this pool has got, if any, is not in the inbox any more when this returns.
    void receive_turn() noexcept CMWQ_EXCLUDES(lock);
    /// Whether the pwq is detached and has drained, and its rescuer has left. Then no thread of the pool uses it any
    /// more.
    [[nodiscard]] bool may_be_freed(pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock);
    /// Sets whether the pwq is frozen. No item of a frozen pwq becomes active, except tasks for which an item of the
    /// queue waits. If it is frozen already, looks for such tasks again.
    void set_frozen(pool_workqueue& pwq, bool frozen) noexcept CMWQ_EXCLUDES(lock);
    [[nodiscard]] unsigned nr_active_of(const pool_workqueue& pwq) const noexcept CMWQ_EXCLUDES(lock);
    /// The state of a pwq, for the check for queues that stay at their limit.
    struct backlog {
        bool waiting = false;        ///< items are inactive
        bool all_run = false;        ///< every active item runs, and no freeze or shutdown() keeps the others back
        std::size_t runs = 0;        ///< if so: how many there are
        std::uint64_t completed = 0; ///< how many items have ended so far
    };
    /// Reads the state, and writes up to `room` runs to `to`. False: the lock is not free before `deadline`, steady
    /// clock.
    [[nodiscard]] bool try_backlog_of(const pool_workqueue& pwq, backlog& state, seen_run* to, std::size_t room,
                                      std::int64_t deadline) noexcept CMWQ_EXCLUDES(lock);
    /// The state of a run of this pool. It is `unknown` if the lock is not free before `deadline`, steady clock.
    enum class run_state : unsigned char { goes_on, has_ended, unknown };
    [[nodiscard]] run_state state_of(const seen_run& r, std::int64_t deadline) const noexcept CMWQ_EXCLUDES(lock);
    /// Moves all active items of the pwq that have not started back to its inactive list. Until `let_go()` no item of
    /// the pwq becomes active. The items can still be cancelled.
    void hold_back(pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock);
    /// Ends `hold_back()`: items that were queued meanwhile may run.
    void let_go(pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock);
    /// Removes the first item of a pwq that is held back. The caller then owns its PENDING. Null: none is left.
    [[nodiscard]] work_base* take_held_back(pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock);

    // --- for the graph of waits: under the lock of the graph, which keeps the waiters --------------------------------

    /// Unregisters the waiter, which may be destroyed after the call.
    void stop_waiting(item_waiter& iw) noexcept CMWQ_EXCLUDES(lock);
    void stop_waiting(color_waiter& cw) noexcept CMWQ_EXCLUDES(lock);
    /// What the end of an awaited instance depends on; at most one of `run`, `before` and `inactive_on` is set. If none
    /// is set, the wait is over, or the instance ends without further conditions as soon as a worker is free.
    struct awaited_item {
        run_record* run = nullptr;             ///< the record of the worker that runs the item
        run_record* before = nullptr;          ///< the item is pending behind the run of this record
        pool_workqueue* inactive_on = nullptr; ///< the item is inactive on this pwq
        const queue_face* queue = nullptr;     ///< that of `inactive_on`, which may be freed before its queue
    };
    [[nodiscard]] awaited_item look_at(const item_waiter& iw) noexcept CMWQ_EXCLUDES(lock);
    /// Calls f(const queue_face&), under the pool lock, for the queue of an awaited item, unless the wait is over.
    template <class F>
    void with_queue_of(const item_waiter& iw, F&& f) noexcept CMWQ_EXCLUDES(lock) {
        const scoped_lock g(lock);
        if (iw.waits) f(*(iw.runner != nullptr ? iw.runner->current_pwq : work_access::pwq(*iw.item))->queue);
    }
    /// The items of one pwq for which a flush still waits.
    struct remaining_items {
        const pool_workqueue* pwq = nullptr; ///< the pwq of the awaited items; null: the wait is over
        std::uint64_t generation = 0;        ///< that of the youngest color which the flush covers
        bool inactive = false;               ///< some of these items are inactive
    };
    [[nodiscard]] remaining_items look_at(const color_waiter& cw) noexcept CMWQ_EXCLUDES(lock);
    /// The pwq on which an item is inactive that the caller keeps; null: it is not inactive in this pool.
    [[nodiscard]] const pool_workqueue* inactive_on(const work_base& w) noexcept CMWQ_EXCLUDES(lock);
    /// The run that `iw` waits for; null: it waits for no run, or the wait is over.
    [[nodiscard]] run_record* run_awaited_by(const item_waiter& iw) noexcept CMWQ_EXCLUDES(lock);
    /// Calls f(worker&), under the pool lock, for each run that `cw` waits for and that is in a wait itself. Skips runs
    /// for which the same search has called f before.
    template <class F>
    void for_each_waiting_run(const color_waiter& cw, std::uint64_t search, F&& f) noexcept CMWQ_EXCLUDES(lock) {
        const scoped_lock g(lock);
        if (!cw.waits) return;
        pool_workqueue& pwq = *cw.pwq;
        const std::uint64_t to = pwq.colors.generation_of(cw), from = pwq.searched_by == search ? pwq.searched_to : 0;
        if (to <= from) return;
        pwq.searched_by = search;
        pwq.searched_to = to;
        for (run_record* k = pwq.waiting.front(); k != nullptr; k = pwq.waiting.next(*k)) {
            const std::uint64_t its = pwq.colors.generation_of(k->current_color);
            if (its > from && its <= to) f(*k);
        }
    }
    /// An active item that cannot end before a given run: the item of that run, or an item that waits behind the run.
    struct held_item {
        const pool_workqueue* pwq;
        std::uint64_t generation; ///< that of the item's color
        std::uint64_t nr_left;    ///< how many items of the pwq had left at that time
        std::uint32_t wait;       ///< the wait of the run; set by the caller
    };
    /// The held items of a run of this pool; the run is in a wait. Returns their number, and writes them to `to` if
    /// that is at most `room`.
    [[nodiscard]] std::size_t held_by(run_record& k, held_item* to, std::size_t room) noexcept CMWQ_EXCLUDES(lock);
    /// The active items of a pwq: their number.
    struct active_items {
        unsigned all;
        bool frozen;
        std::uint64_t nr_left; ///< as in held_item
    };
    [[nodiscard]] active_items count_active(const pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock);

    // --- reports -----------------------------------------------------------------------------------------------------

    /// The numbers of items that have been started and completed, without those that have followed in runs that go on.
    /// While workers begin or end their runs, a number may be too small for a moment.
    [[nodiscard]] std::uint64_t nr_started() const noexcept { return nr_started_.load(relaxed); }
    [[nodiscard]] std::uint64_t nr_completed() const noexcept { return nr_completed_.load(relaxed); }
    /// As nr_started(), without the items and tasks that run inside others, which wait for them, and those that guests
    /// run: while these go on, everything else in the pool may be waiting.
    [[nodiscard]] std::uint64_t nr_begun() const noexcept {
        return nr_started_.load(relaxed) - nr_inside_.load(relaxed);
    }
    /// The place of the first item of the worklist.
    [[nodiscard]] ages::place first_listed_place_locked(const ages& a) noexcept CMWQ_REQUIRES(lock);
    /// The stamp of the item that a worker or a rescuer has started last; 0: none since the last call.
    [[nodiscard]] wait_stamp take_last_start_locked() noexcept CMWQ_REQUIRES(lock) {
        return std::exchange(last_start_, 0);
    }
    /// Appends the items of the worklist, and then those of the inbox. Both must have room.
    void list_pending_locked(item_groups& to) noexcept CMWQ_REQUIRES(lock);
    /// The counts of a pwq of this pool, and its items. Those of the inbox, and the local ones of workers, are not
    /// among these.
    [[nodiscard]] pwq_stats stats_of_locked(const pool_workqueue& pwq) noexcept CMWQ_REQUIRES(lock);
    /// Copies the state of a pwq of this pool, if the lock is free before `deadline`, steady clock. Throws
    /// std::bad_alloc.
    void report(pool_workqueue& pwq, pwq_report& to, std::int64_t deadline) CMWQ_EXCLUDES(lock);

    // --- lists -------------------------------------------------------------------------------------------------------

    void drain_locked(deferred& d) noexcept CMWQ_REQUIRES(lock);
    /// As drain_locked(), for callers that must know every item of the pool: also accepts the local items of workers.
    void gather_locked(deferred& d) noexcept CMWQ_REQUIRES(lock) {
        drain_locked(d); // first: the local items then go to their places among these
        owner.recall_local_items_locked();
    }
    /// As drain_locked(), for callers that must know that item.
    void gather_locked(const work_base& w, deferred& d) noexcept CMWQ_REQUIRES(lock) {
        drain_locked(d);
        if ((work_access::location_of(w) & location::list_and_local) == location::local)
            owner.recall_local_items_locked();
    }
    /// Gives an item its color, and puts it on the worklist or, beyond the limit, on the inactive list of its pwq.
    void accept_locked(work_base& w) noexcept CMWQ_REQUIRES(lock);
    /// The same for items that were queued before others of these lists, from the oldest to the youngest: they go to
    /// the places of their ages. The caller then calls publish_pending_locked().
    void accept_by_age_locked(item_list& items, const ages& a) noexcept CMWQ_REQUIRES(lock);
    /// An item that is the last one of its list, because accept_locked() has just put it there, was queued before
    /// others.
    void move_by_age_locked(work_base& w) noexcept CMWQ_REQUIRES(lock);
    /// As accept_locked(), but if the limit admits the item, the caller runs it. False: it is on the inactive list.
    [[nodiscard]] bool admit_locked(work_base& w) noexcept CMWQ_REQUIRES(lock);
    /// The same for an item that was queued before others of that list: it goes to the place of its age.
    [[nodiscard]] bool admit_by_age_locked(work_base& w) noexcept CMWQ_REQUIRES(lock);
    /// Takes the next item for `self` to run; null: there is none.
    [[nodiscard]] work_base* take_locked(run_record& self) noexcept CMWQ_REQUIRES(lock);
    /// Removes an item from the worklist. True: the caller runs it. False: the worker that still runs an earlier
    /// instance runs it afterwards.
    [[nodiscard]] bool unlist_to_run_locked(work_base& w) noexcept CMWQ_REQUIRES(lock);
    /// Whether the item is on a list of this pool.
    [[nodiscard]] bool is_listed_locked(const work_base& w) const noexcept CMWQ_REQUIRES(lock);
    /// If an item for which the item under `self` waits is on a list of this pool and may start: removes it from there,
    /// for the caller to run it inside that item. Beyond the limit it may start if an item on the stack has a slot of
    /// its queue.
    [[nodiscard]] bool take_to_run_inside_locked(const run_record& self, work_base& w) noexcept CMWQ_REQUIRES(lock);
    /// Publishes the length of the worklist for threads without the lock.
    void publish_pending_locked() noexcept CMWQ_REQUIRES(lock) {
        nr_pending_.store(static_cast<unsigned>(worklist_.size()), seq_cst); // [ARM-1], [IDLE-1]
    }
    [[nodiscard]] std::size_t nr_listed_locked() const noexcept CMWQ_REQUIRES(lock) { return worklist_.size(); }
    [[nodiscard]] bool has_listed_locked() const noexcept CMWQ_REQUIRES(lock) { return !worklist_.empty(); }
    [[nodiscard]] work_base* first_listed_locked() noexcept CMWQ_REQUIRES(lock) { return worklist_.front(); }
    [[nodiscard]] bool has_arrivals() const noexcept { return !inbox_.empty(); } // [BH-2]
    [[nodiscard]] bool anything_listed_locked() const noexcept CMWQ_REQUIRES(lock) {
        return !worklist_.empty() || !inbox_.empty() || !grants_.empty();
    }
    /// A rescuer is about to take items of one queue, under `self`, by take_of_locked().
    void begin_taking_locked(run_record& self) noexcept CMWQ_REQUIRES(lock);
    void end_taking_locked(run_record& self) noexcept CMWQ_REQUIRES(lock);
    /// Takes the next item of `pwq` for `self` to run; null: there is none. It passes an item of another queue only
    /// once.
    [[nodiscard]] work_base* take_of_locked(run_record& self, const pool_workqueue& pwq) noexcept CMWQ_REQUIRES(lock);

    // --- runs --------------------------------------------------------------------------------------------------------

    /// An item that is about to run. Copied before PENDING is cleared.
    struct started_item {
        work_base& item;
        const work_access::function function;
        const exception_sink& sink;
        const bool owns_itself;

        [[nodiscard]] bool has_handler() const noexcept { return sink.call != nullptr; }
    };
    /// Records the run and clears PENDING. From then on the item can be queued again, in any pool.
    [[nodiscard]] started_item begin_run_locked(run_record& self, work_base& w) noexcept CMWQ_REQUIRES(lock);
    /// The worker runs a local item as a part of the current run, which keeps its color, its slot and its queue.
    [[nodiscard]] started_item begin_follow_up(run_record& self, work_base& w) const noexcept;
    /// The item of the current run has ended, and is not a closure: makes the worker a follower. False: the run must
    /// end.
    [[nodiscard]] bool become_follower_locked(run_record& self) noexcept CMWQ_REQUIRES(lock);
    /// Calls the function, and passes its exceptions to the handler of the queue.
    static void call_with_handler(run_record& self, const started_item& r);
    /// Calls the function above frames of other code, which may have exception handlers. Without a handler of the queue
    /// an exception ends the program here.
    static void call_above_other_code(run_record& self, const started_item& r) noexcept;
    /// Ends the run: wakes its waiters, and gives back what the item held of its limit.
    void end_run_locked(run_record& self, deferred& d) noexcept CMWQ_REQUIRES(lock);
    /// From here on the record runs items, or is about to.
    void become_busy_locked(run_record& w) noexcept CMWQ_REQUIRES(lock) {
        busy_.push_back(w);
        nr_busy_.store(static_cast<int>(busy_.size()), relaxed);
    }
    void leave_busy_locked(run_record& w) noexcept CMWQ_REQUIRES(lock) {
        busy_.remove(w);
        nr_busy_.store(static_cast<int>(busy_.size()), relaxed);
    }
    [[nodiscard]] std::size_t nr_busy_locked() const noexcept CMWQ_REQUIRES(lock) { return busy_.size(); }
    [[nodiscard]] int nr_busy() const noexcept { return nr_busy_.load(relaxed); }
    /// Calls f(worker&), which returns whether to continue, for the records between become_busy and leave_busy.
    template <class F>
    void for_each_busy_locked(F&& f) noexcept CMWQ_REQUIRES(lock) {
        for (run_record* k = busy_.front(); k != nullptr;) {
            run_record& one = *k;
            k = busy_.next(one);
            if (!f(*one.of_thread)) return;
        }
    }
    /// From here on for_each_busy_locked() calls f for this record last.
    void put_last_locked(run_record& w) noexcept CMWQ_REQUIRES(lock) {
        busy_.remove(w);
        busy_.push_back(w);
    }
    /// A record for an item that runs inside another one; null: all that there are run items, and the caller adds one.
    [[nodiscard]] run_record* free_nested_record_locked() noexcept CMWQ_REQUIRES(lock) {
        return free_nested_.pop_front();
    }
    void give_back_locked(run_record& nested) noexcept CMWQ_REQUIRES(lock) { free_nested_.push_front(nested); }
    /// The item that runs under `outer` waits: its thread runs another one under `self`, inside it.
    void begin_nested_locked(run_record& self, run_record& outer) noexcept CMWQ_REQUIRES(lock);
    /// The end of that: `self` runs nothing any more. Instances of its item that were queued meanwhile are pending.
    void end_nested_locked(run_record& self) noexcept CMWQ_REQUIRES(lock);
    /// How many records run items inside others.
    [[nodiscard]] int nr_nested() const noexcept { return nr_nested_.load(acquire); } // [RUN-2]
    /// Calls f(run_record&), which returns whether to continue, for the records of all runs.
    template <class F>
    void for_each_record_locked(F&& f) noexcept CMWQ_REQUIRES(lock) {
        for (run_record* k = busy_.front(); k != nullptr; k = busy_.next(*k)) {
            if (!f(*k)) return;
        }
        for (run_record* k = nested_.front(); k != nullptr; k = nested_.next(*k)) {
            if (!f(*k)) return;
        }
    }
    /// Adds a record, which the ledger destroys at its own end, to the list of all records, which readers walk without
    /// a lock.
    void add_record_locked(run_record& w) noexcept CMWQ_REQUIRES(lock);
    /// Calls f(run_record&) for each record that was ever added.
    template <class F>
    void for_each_record(F&& f) const noexcept {
        for (run_record* k = all_.load(acquire); k != nullptr; k = k->next_record) f(*k); // [REC-1]
    }
    /// The pool has no other record: the items of the worklist run under it, one after the other.
    void set_only_record_locked(run_record& w) noexcept CMWQ_REQUIRES(lock) { only_record_ = &w; }
    [[nodiscard]] bool needs_room_locked(std::size_t nr_runs) const noexcept CMWQ_REQUIRES(lock) {
        return running_.is_small_for(nr_runs);
    }
    /// Enlarges the table of runs.
    void make_room(std::size_t nr_runs) noexcept CMWQ_EXCLUDES(lock);

    /// Locks the pool for the service thread or the manager thread. A worker of low priority may hold the lock and get
    /// no CPU; these threads do not wait for it, and try again later. False: not locked.
    [[nodiscard]] bool lock_for_service() const noexcept CMWQ_TRY_ACQUIRE(true, lock) CMWQ_NO_TSA {
        if (low_priority_.load(relaxed)) return lock.try_lock();
        lock.lock();
        return true;
    }
    /// Whether the pool's threads are in the idle class, or have a nice value above 0.
    void set_low_priority(bool yes) noexcept { low_priority_.store(yes, relaxed); }

private:
    template <class F>
    bool start_beyond_limit(work_base& w, F&& may_start) noexcept CMWQ_EXCLUDES(lock);
    void drain_inbox_locked() noexcept CMWQ_REQUIRES(lock);
    void drain_inbox_in_time_locked(unsigned limit) noexcept CMWQ_REQUIRES(lock);
    void drain_grants_locked(deferred& d) noexcept CMWQ_REQUIRES(lock);
    [[nodiscard]] bool enter_locked(pool_workqueue& pwq, work_base& w) noexcept CMWQ_REQUIRES(lock);
    [[nodiscard]] bool take_slot_of_younger_locked(work_base& w, const ages& a, int& steps) noexcept
        CMWQ_REQUIRES(lock);
    void forget_cursors_locked() noexcept CMWQ_REQUIRES(lock);
    void push_active_locked(pool_workqueue& pwq, work_base& w) noexcept CMWQ_REQUIRES(lock);
    void leave_worklist_locked(work_base& w) noexcept CMWQ_REQUIRES(lock);
    void activate_beyond_limit_locked(work_base& w) noexcept CMWQ_REQUIRES(lock);
    [[nodiscard]] static bool has_slot_on_stack(const run_record& waiter, const queue_face& q) noexcept;
    void unlist_locked(work_base& w, deferred& d) noexcept CMWQ_REQUIRES(lock);
    [[nodiscard]] bool take_slot_locked(pool_workqueue& pwq) noexcept CMWQ_REQUIRES(lock);
    [[nodiscard]] static bool take_shared_slot(pool_workqueue& pwq) noexcept;
    void give_back_slot(pool_workqueue& pwq, deferred& d) noexcept;
    [[nodiscard]] bool keep_slot_locked(pool_workqueue& pwq) noexcept CMWQ_REQUIRES(lock);
    void end_active_locked(pool_workqueue& pwq, deferred& d) noexcept CMWQ_REQUIRES(lock);
    void make_active_locked(pool_workqueue& pwq, work_base& w) noexcept CMWQ_REQUIRES(lock);
    [[nodiscard]] bool activate_by_age_locked(pool_workqueue& pwq, work_base& w) noexcept CMWQ_REQUIRES(lock);
    void start_awaited_task_locked(pool_workqueue& pwq, work_base& w) noexcept CMWQ_REQUIRES(lock);
    void activate_first_locked(pool_workqueue& pwq) noexcept CMWQ_REQUIRES(lock);
    void activate_locked(pool_workqueue& pwq) noexcept CMWQ_REQUIRES(lock);
    void leave_locked(pool_workqueue& pwq, unsigned color, deferred& d) noexcept CMWQ_REQUIRES(lock);
    void pass_turn_locked(pool_workqueue& pwq, deferred& d) noexcept CMWQ_REQUIRES(lock);
    void leave_cancelled_locked(work_base& w, deferred& d) noexcept CMWQ_REQUIRES(lock);
    [[nodiscard]] item_waiter* take_waiters_locked(const work_base& w) noexcept CMWQ_REQUIRES(lock);
    void count_more_locked(run_record& self) noexcept CMWQ_REQUIRES(lock);
    void forget_item_locked(run_record& self) noexcept CMWQ_REQUIRES(lock);
    [[nodiscard]] std::uint64_t id_of_runner_locked(const work_base& w, const pool_workqueue& pwq) const noexcept
        CMWQ_REQUIRES(lock);

    [[nodiscard]] run_record* run_before_worklist_locked() noexcept CMWQ_REQUIRES(lock);

    const std::uint64_t id_;           // I
    atomic<bool> low_priority_{false}; // A

    alignas(cache_line) inbox<work_base, item_tag> inbox_; // A
    inbox<pool_workqueue, grant_tag> grants_; // A: pwqs that were granted a free slot, or have got their turn

public:
    alignas(cache_line) mutable ranked_mutex<lock_rank::pool> lock;

private:
    atomic<unsigned> nr_pending_{0};                      // A: length of the worklist; written under L, for each item
    item_list worklist_ CMWQ_GUARDED_BY(lock);            // L: active items, in order
    run_record* cursors_ CMWQ_GUARDED_BY(lock) = nullptr; // L: records with a `cursor`, of rescuers
    intrusive_list<run_record, busy_tag> busy_ CMWQ_GUARDED_BY(lock); // L: records that run items, or are about to
    run_table running_ CMWQ_GUARDED_BY(lock);                         // L: finds the record that runs an item
    atomic<run_record*> all_{nullptr};                                // A: every record; grows under L, never shrinks
    atomic<std::uint64_t> nr_started_{0};                             // A: written under L
    atomic<std::uint64_t> nr_completed_{0};                           // A: written under L
    wait_stamp last_start_ CMWQ_GUARDED_BY(lock) = 0; // L: see take_last_start_locked(); on the line of nr_started_
    intrusive_list<run_record, busy_tag> nested_ CMWQ_GUARDED_BY(lock);      // L: records that run items inside others
    intrusive_list<run_record, busy_tag> free_nested_ CMWQ_GUARDED_BY(lock); // L: records that run none
    atomic<int> nr_busy_{0};                                                 // A: length of busy_; written under L
    atomic<int> nr_nested_{0};                                               // A: length of nested_; written under L
    atomic<std::uint64_t> nr_inside_{0};              // A: of nr_started_: inside others, or in guests; written under L
    unsigned nr_activated_ CMWQ_GUARDED_BY(lock) = 0; // L: slots that became free since the inbox was last drained
    item_waiter* item_waiters_ CMWQ_GUARDED_BY(lock) = nullptr; // L: waiters for items that are pending here
    run_record* only_record_ CMWQ_GUARDED_BY(lock) = nullptr;   // L: see set_only_record_locked()
    std::uint64_t nr_sorted_ CMWQ_GUARDED_BY(lock) = 0;         // L: calls of accept_by_age_locked()
};

}}} // namespace cmwq::CMWQ_NS::detail
