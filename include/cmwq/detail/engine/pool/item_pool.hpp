// SPDX-License-Identifier: BSL-1.0
//
// item_pool: items that wait to be run, and the records of those that run them. It is the base of every kind of pool:
// what runs the items, threads or the calling thread, is the business of the derived classes. docs/architecture.md shows
// the way of an item; docs/memory_ordering.md registers the edges named here in brackets.
#pragma once

#include <cmwq/detail/ds/inbox.hpp>
#include <cmwq/detail/engine/env/pool_env.hpp>
#include <cmwq/detail/engine/pool/run_table.hpp>
#include <cmwq/detail/engine/pool/worker.hpp>
#include <cmwq/detail/sync/mutex.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cmwq::inline CMWQ_NS::detail {

struct pool_stats {
    std::uint64_t started = 0, completed = 0;
    std::uint64_t by_guard = 0, by_sentinel = 0, by_monitor = 0, spare_wakeups = 0, repatriated = 0, rescued = 0,
                  overdue = 0;
};

/// Letters as in worker.hpp; S here is the service thread, ST the staff thread.
class item_pool {
public:
    item_pool(const item_pool&) = delete;
    item_pool& operator=(const item_pool&) = delete;
    virtual ~item_pool();

    [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
    /// The number of its CPU, or one that the registry counts; shown in the names of threads.
    [[nodiscard]] unsigned number() const noexcept { return number_; }
    [[nodiscard]] const pool_env& env() const noexcept { return env_; }
    /// Whether its items run in the threads that queue them, and must not block.
    [[nodiscard]] bool is_bottom_half() const noexcept { return is_bottom_half_; }

    // --- producers: lock-free -------------------------------------------------------------------------------------------

    /// Hands over an item whose PENDING the caller owns and whose pwq belongs to this pool. The caller owes a `notify()`,
    /// as soon as it holds no lock.
    void push(work_base& w, bool was_queued_before) noexcept;
    /// Something has been pushed or granted: sees to it that it is run. Every producer calls it, not only the one that has
    /// found the inbox empty: that one may be stopped before it gets here, and leave all others waiting. No lock is held.
    virtual void notify() noexcept = 0;
    /// The caller owns the PENDING of `w`. If a worker of this pool runs it for that queue, it is queued behind that run,
    /// whatever pool serves its CPU now.
    [[nodiscard]] bool push_behind_own_run(work_base& w, const queue_core& q) noexcept CMWQ_EXCLUDES(lock_);
    /// [RUN-1][RUN-2] Whether a worker of this pool runs that item, whose PENDING the caller owns.
    [[nodiscard]] bool runs(const work_base& w) const noexcept;
    /// As `runs()`, for a caller that holds no lock of a pool: its time does not grow with the number of records.
    [[nodiscard]] bool runs_now(const work_base& w) noexcept CMWQ_EXCLUDES(lock_);
    /// As `runs()`, without a lock; also true where there are too many records to look at: there a look under the lock is
    /// faster. False: what such a run did is seen.
    [[nodiscard]] bool may_run(const work_base& w) const noexcept;
    /// Whether something waits to be run. Lock-free.
    [[nodiscard]] bool pending() const noexcept {
        return !inbox_.empty() || !grants_.empty() || nr_pending_.load(seq_cst) != 0; // [ARM-2], [IDLE-2]
    }
    /// A slot of `pwq`'s queue came free for it; under the lock of the slots. The caller owes a `notify()`.
    void grant(pool_workqueue& pwq) noexcept { static_cast<void>(grants_.push(pwq)); }

    // --- waiting for items and taking them away -------------------------------------------------------------------------

    enum class whereabouts : unsigned char { not_here, in_transit, pending, running };

    /// If the item is on a list of this pool: takes it away, with its PENDING, which the caller owns then.
    [[nodiscard]] bool steal(work_base& w) noexcept CMWQ_EXCLUDES(lock_);
    /// Registers `iw` for the end of the instance queued last, or only for the one running. not_here, and
    /// in_transit (queued, but not on a list yet): not registered.
    whereabouts wait_for(work_base& w, item_waiter& iw, bool running_only) noexcept CMWQ_EXCLUDES(lock_);
    /// What the running item says about itself.
    void describe(worker& self, std::string_view what) noexcept CMWQ_EXCLUDES(lock_);
    /// The running item is destroyed by its own function: forgets its address.
    void forget(worker& self) noexcept CMWQ_EXCLUDES(lock_);

    /// A blocking region of the running item begins, or ends.
    virtual void block_begins(worker& /*self*/) noexcept {}
    virtual void block_ends(worker& /*self*/) noexcept {}

    // --- pwqs -----------------------------------------------------------------------------------------------------------

    [[nodiscard]] bool close_color(pool_workqueue& pwq, color_waiter& cw) noexcept CMWQ_EXCLUDES(lock_);
    /// How many items of the pwq were ever accepted, and how many of them have run or were cancelled.
    struct traffic {
        std::uint64_t entered, left;
    };
    [[nodiscard]] traffic traffic_of(const pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock_);
    void set_max_active(pool_workqueue& pwq, unsigned max_active) noexcept CMWQ_EXCLUDES(lock_);
    /// Nothing is queued on it any more, and nothing is just being queued: true if it has drained. Otherwise a cleaning is
    /// requested when it has.
    [[nodiscard]] bool detach(pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock_);
    /// Whether it is detached and has drained.
    [[nodiscard]] virtual bool may_be_freed(pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock_);
    /// The next pwq of an ordered queue: the items that it has gathered may run.
    void unplug(pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock_);
    /// Whether items of the pwq may become active.
    void set_frozen(pool_workqueue& pwq, bool frozen) noexcept CMWQ_EXCLUDES(lock_);
    [[nodiscard]] unsigned nr_active_of(const pool_workqueue& pwq) const noexcept CMWQ_EXCLUDES(lock_);
    /// What a pwq shows of a queue at its limit.
    struct backlog {
        bool waiting = false; ///< items are held back by the limit
        bool all_run = false; ///< every active item has been started
        unsigned runs = 0;    ///< the number of those
    };
    /// Writes the runs to `to`, as far as there is `room`.
    [[nodiscard]] backlog backlog_of(const pool_workqueue& pwq, seen_run* to, std::size_t room) noexcept
        CMWQ_EXCLUDES(lock_);
    /// Whether that run, of this pool, goes on.
    [[nodiscard]] bool goes_on(const seen_run& r) const noexcept CMWQ_EXCLUDES(lock_);
    /// From here on nothing of the pwq becomes active, and items that were active without having started are inactive.
    /// They can still be cancelled.
    void hold_back(pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock_);
    /// Ends `hold_back()`: items that came since may run.
    void let_go(pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock_);
    /// Takes the first item of a pwq that is held back, with its PENDING, which the caller owns then; null: none is left.
    [[nodiscard]] work_base* take_held_back(pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock_);
    [[nodiscard]] queue_stats stats_of(const pool_workqueue& pwq) const noexcept CMWQ_EXCLUDES(lock_);

    // --- for the graph of waits: under the lock of the graph, which keeps the waiters -----------------------------------

    /// The waiter is not signalled any more, and may go.
    void stop_waiting(item_waiter& iw) noexcept CMWQ_EXCLUDES(lock_);
    void stop_waiting(color_waiter& cw) noexcept CMWQ_EXCLUDES(lock_);
    /// What has to happen first; at most one of these. None: it has happened, or will as soon as there is a worker.
    struct awaited_item {
        worker* run = nullptr;                 ///< the item runs there
        worker* before = nullptr;              ///< it is pending behind the run there
        pool_workqueue* inactive_on = nullptr; ///< it is pending behind the limit
        const queue_core* queue = nullptr;     ///< on which queue; null: it has happened
    };
    [[nodiscard]] awaited_item look_at(const item_waiter& iw) noexcept CMWQ_EXCLUDES(lock_);
    /// What a flush waits for.
    struct awaited_rest {
        const pool_workqueue* pwq = nullptr; ///< for whose items; null: it has happened
        std::uint64_t generation = 0;        ///< of the youngest color
        bool inactive = false;               ///< some of them are pending behind the limit
        const node_slots* slots = nullptr;   ///< which this limit is; null: of the pwq alone
    };
    [[nodiscard]] awaited_rest look_at(const color_waiter& cw) noexcept CMWQ_EXCLUDES(lock_);
    /// The run that `iw` waits for; null: it waits for none, or not any more.
    [[nodiscard]] worker* run_awaited_by(const item_waiter& iw) noexcept CMWQ_EXCLUDES(lock_);
    /// Calls f(worker&), under the lock, for the runs that `cw` waits for and that wait themselves, except those for which
    /// this search has called it before.
    template <class F>
    void for_each_waiting_run(const color_waiter& cw, std::uint64_t search, F&& f) noexcept CMWQ_EXCLUDES(lock_);
    /// An active item that does not end before a run does: it is that run, or waits behind it.
    struct held_item {
        const pool_workqueue* pwq;
        std::uint64_t generation; ///< of its color
        std::uint64_t nr_left;    ///< how many items of the pwq had left before
        std::uint32_t wait;       ///< of the run; the caller's
    };
    /// Those of a run of this pool that waits. Returns how many there are; writes them if there is `room`.
    [[nodiscard]] std::size_t held_by(worker& k, held_item* to, std::size_t room) noexcept CMWQ_EXCLUDES(lock_);
    /// The active items of a pwq.
    struct active_items {
        unsigned all;
        bool frozen;
        std::uint64_t nr_left; ///< as above
    };
    [[nodiscard]] active_items count_active(const pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock_);

    // --- reports --------------------------------------------------------------------------------------------------------

    [[nodiscard]] std::uint64_t nr_completed() const noexcept { return nr_completed_.load(relaxed); }
    /// The service thread: whether the pool has started nothing for that long although something is pending. `passed`:
    /// since the last call, as far as the process could run.
    [[nodiscard]] bool has_stalled(std::int64_t passed, std::int64_t limit) noexcept;
    /// The service thread: what waits, and what the workers do. `cpus`: how the message names those of the pool. Throws
    /// std::bad_alloc.
    [[nodiscard]] std::string describe_stall(const std::string& cpus) CMWQ_EXCLUDES(lock_);
    /// Counters of this kind of pool.
    [[nodiscard]] virtual pool_stats stats() const noexcept;

protected:
    enum class kind : bool { threads, bottom_half };
    item_pool(const pool_env& env, std::uint64_t id, unsigned number, kind k) noexcept
        : env_(env), id_(id), number_(number), is_bottom_half_(k == kind::bottom_half) {}

    // --- what differs between the kinds of pool, off the path of an item --------------------------------------------------

    /// The caller has put something on the worklist and does not run it: wakes a worker, if one is needed.
    virtual void notify_locked(deferred& d) noexcept CMWQ_REQUIRES(lock_) = 0;
    /// `let_go()` has made items active.
    virtual void released_locked(deferred& d) noexcept CMWQ_REQUIRES(lock_) = 0;
    struct staffing {
        std::size_t idle = 0;
        bool short_of_threads = false; ///< a worker is needed and could not be made
    };
    [[nodiscard]] virtual staffing staffing_locked() const noexcept CMWQ_REQUIRES(lock_) { return {}; }
    /// The record whose run all items of the worklist wait behind; null: there is none.
    [[nodiscard]] virtual worker* run_before_worklist_locked() noexcept CMWQ_REQUIRES(lock_) { return nullptr; }

    // --- lists ------------------------------------------------------------------------------------------------------------

    void drain_locked(deferred& d) noexcept CMWQ_REQUIRES(lock_);
    [[nodiscard]] work_base* take_locked(worker& self) noexcept CMWQ_REQUIRES(lock_);
    [[nodiscard]] bool unlist_to_run_locked(work_base& w) noexcept CMWQ_REQUIRES(lock_);
    void publish_pending_locked() noexcept CMWQ_REQUIRES(lock_) {
        nr_pending_.store(static_cast<unsigned>(worklist_.size()), seq_cst); // [ARM-1], [IDLE-1]
    }
    [[nodiscard]] bool anything_listed_locked() const noexcept CMWQ_REQUIRES(lock_) {
        return !worklist_.empty() || !inbox_.empty() || !grants_.empty();
    }

    // --- runs -------------------------------------------------------------------------------------------------------------

    /// An item that is about to run.
    struct started_item {
        work_base& item;
        const work_access::function function;
        const exception_sink& sink;
        const bool owns_itself;
    };
    /// From here on the item can be queued again, anywhere.
    [[nodiscard]] started_item begin_run_locked(worker& self, work_base& w) noexcept CMWQ_REQUIRES(lock_);
    /// Calls the function with the queue's handler of exceptions. False: it has none, and nothing was called.
    [[nodiscard]] static bool call_with_handler(worker& self, const started_item& r);
    void end_run_locked(worker& self, deferred& d) noexcept CMWQ_REQUIRES(lock_);
    void add_record_locked(worker& w) noexcept CMWQ_REQUIRES(lock_);

    /// The service thread and the staff thread do not wait for a worker of low priority that holds the lock and gets no
    /// CPU: they come back later. False: not now.
    [[nodiscard]] bool lock_for_service() const noexcept CMWQ_TRY_ACQUIRE(true, lock_) CMWQ_NO_TSA {
        if (low_priority_.load(relaxed)) return lock_.try_lock();
        lock_.lock();
        return true;
    }

    const pool_env& env_;              // I
    const std::uint64_t id_;           // I
    const unsigned number_;            // I
    const bool is_bottom_half_;        // I: for reports and checks, off the path of an item
    atomic<bool> low_priority_{false}; // A: its threads are in the idle class, or nicer than 0

    alignas(cache_line) inbox<work_base, item_tag> inbox_; // A
    inbox<pool_workqueue, grant_tag> grants_;              // A: pwqs that got a slot which another one gave back

    alignas(cache_line) mutable ranked_mutex<lock_rank::pool> lock_;
    atomic<unsigned> nr_pending_{0};                   // A: length of the worklist; written under L, for each item
    item_list worklist_ CMWQ_GUARDED_BY(lock_);        // L: active items, in order
    worker* cursors_ CMWQ_GUARDED_BY(lock_) = nullptr; // L: records that are half-way through the worklist
    intrusive_list<worker, busy_tag> busy_ CMWQ_GUARDED_BY(lock_); // L: records that run items, or are about to
    run_table running_ CMWQ_GUARDED_BY(lock_);                     // L: which of them runs an item
    atomic<worker*> all_{nullptr};                                 // A: every record; grows under L, never shrinks
    atomic<std::uint64_t> nr_started_{0};                          // A: written under L
    atomic<std::uint64_t> nr_completed_{0};                        // A: written under L
    atomic<int> nr_busy_{0};                                       // A: length of busy_; written under L

private:
    void drain_inbox_locked() noexcept CMWQ_REQUIRES(lock_);
    void drain_inbox_in_time_locked(unsigned limit) noexcept CMWQ_REQUIRES(lock_);
    void drain_grants_locked(deferred& d) noexcept CMWQ_REQUIRES(lock_);
    void accept_locked(work_base& w) noexcept CMWQ_REQUIRES(lock_);
    [[nodiscard]] bool take_slot_locked(pool_workqueue& pwq) noexcept CMWQ_REQUIRES(lock_);
    void give_back_slot(pool_workqueue& pwq, deferred& d) noexcept;
    void end_active_locked(pool_workqueue& pwq, deferred& d) noexcept CMWQ_REQUIRES(lock_);
    void activate_first_locked(pool_workqueue& pwq) noexcept CMWQ_REQUIRES(lock_);
    void activate_locked(pool_workqueue& pwq) noexcept CMWQ_REQUIRES(lock_);
    void push_active_locked(pool_workqueue& pwq, work_base& w) noexcept CMWQ_REQUIRES(lock_);
    void leave_worklist_locked(work_base& w) noexcept CMWQ_REQUIRES(lock_);
    void leave_locked(pool_workqueue& pwq, unsigned color, deferred& d) noexcept CMWQ_REQUIRES(lock_);
    [[nodiscard]] bool is_listed_locked(const work_base& w) const noexcept CMWQ_REQUIRES(lock_);
    template <class F>
    void take_waiters_locked(const work_base& w, F&& f) noexcept CMWQ_REQUIRES(lock_);
    void forget_item_locked(worker& self) noexcept CMWQ_REQUIRES(lock_);
    [[nodiscard]] std::uint64_t id_of_runner_locked(const work_base& w, const pool_workqueue& pwq) const noexcept
        CMWQ_REQUIRES(lock_);

    unsigned nr_activated_ CMWQ_GUARDED_BY(lock_) = 0; // L: after others had ended, since the inbox was last drained
    item_waiter* item_waiters_ CMWQ_GUARDED_BY(lock_) = nullptr; // L: waiters for items that are pending here
    std::uint64_t started_seen_ = 0;                             // S: by the watchdog
    std::int64_t stalled_for_ = 0;                               // S: nanoseconds
};

} // namespace cmwq::inline CMWQ_NS::detail
