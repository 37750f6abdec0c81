// SPDX-License-Identifier: BSL-1.0
//
// worker_pool: threads, and the items that wait for them. docs/architecture.md tells the way of an item;
// docs/memory_ordering.md registers the edges named here in brackets.
#pragma once

#include <cmwq/detail/ds/arming.hpp>
#include <cmwq/detail/ds/inbox.hpp>
#include <cmwq/detail/engine/pool/busy_workers.hpp>
#include <cmwq/detail/engine/pool/concurrency.hpp>
#include <cmwq/detail/engine/pool/idle_workers.hpp>
#include <cmwq/detail/engine/pool/pool_spec.hpp>
#include <cmwq/detail/engine/pool/run_table.hpp>
#include <cmwq/detail/engine/pool/worker.hpp>
#include <cmwq/detail/sync/mutex.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace cmwq::inline CMWQ_NS::detail {

class runtime_core;
class bh_budget;
class bh_thread;
class rescuer;

/// Which kind of pool: see `pool_kind`.
enum class pool_role : unsigned char { per_cpu, attrs_keyed, bottom_half };

/// Who found that a worker is blocked.
enum class detector : unsigned char { sentinel, monitor };

/// What a detector found.
enum class finding : unsigned char {
    nothing_pending, ///< nobody needs the CPU
    running,         ///< a counted worker is on its way, or waits for the CPU
    all_blocked,     ///< all counted workers are blocked, so many that one may be back any moment
    replaced,        ///< every counted worker was blocked; a spare has been woken
    no_spare,        ///< the same, but there is none: the staff thread has been asked for one
};

struct pool_stats {
    std::uint64_t started = 0, completed = 0;
    std::uint64_t by_guard = 0, by_sentinel = 0, by_monitor = 0, spare_wakeups = 0, repatriated = 0, rescued = 0,
                  overdue = 0;
};

/// For dump().
struct pool_summary {
    std::size_t idle, workers;
    thread_refusals refused;
};

/// Letters as in worker.hpp; S here is the service thread, ST the staff thread.
class worker_pool {
public:
    /// `number`: of its CPU, or counted by the registry; shown in the names of threads.
    worker_pool(runtime_core& rt, std::uint64_t id, pool_role role, unsigned number);
    ~worker_pool();
    worker_pool(const worker_pool&) = delete;
    worker_pool& operator=(const worker_pool&) = delete;

    /// What its threads are. Before its first use, and again when the registry gives the record of a pool that has
    /// ended to another one. `watching`: the places in the runtime of the CPUs whose sentinels look after it.
    /// Throws std::bad_alloc; nothing changed then.
    void configure(pool_spec spec, const cpuset& watching) CMWQ_EXCLUDES(lock_);

    [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
    [[nodiscard]] unsigned number() const noexcept { return number_; }
    [[nodiscard]] pool_role role() const noexcept { return role_; }
    [[nodiscard]] runtime_core& runtime() const noexcept { return rt_; }
    /// Of a pool that has users.
    [[nodiscard]] const pool_spec& spec() const noexcept { return spec_; }
    /// Whether blocked workers are replaced, and only they.
    [[nodiscard]] bool manages() const noexcept {
        return managed_.load(relaxed) && associated_.load(seq_cst); // [CPU-1]
    }
    /// Calls f(place) for the CPUs whose sentinels look after this pool: those of its pod (all, if none is there), those
    /// that only could help, or both.
    enum class watchers : unsigned char { near = 1, far = 2, all = 3 };
    template <class F>
    void for_each_watcher(watchers which, F&& f) const;

    // --- producers: lock-free ---------------------------------------------------------------------------------------

    /// Hands over an item whose PENDING the caller owns and whose pwq belongs to this pool. The caller owes an
    /// `after_push()`, as soon as it holds no lock.
    void push(work_base& w, bool was_queued_before) noexcept;
    /// Wakes a worker if too few run, and the detectors if enough do. Every producer calls it, not only the one that has
    /// found the inbox empty: that one may be stopped before it gets here, and leave all others waiting.
    void after_push() noexcept;
    /// The caller owns the PENDING of `w`. If a worker of this pool runs it for that queue, it is queued behind that
    /// run, whatever pool serves its CPU now.
    [[nodiscard]] bool push_behind_own_run(work_base& w, const queue_core& q) noexcept CMWQ_EXCLUDES(lock_);
    /// [RUN-1][RUN-2] Whether a worker of this pool runs that item, whose PENDING the caller owns.
    [[nodiscard]] bool runs(const work_base& w) const noexcept;
    /// The same, for who holds no lock of a pool: its time does not grow with all the workers that there have ever been.
    [[nodiscard]] bool runs_now(const work_base& w) noexcept CMWQ_EXCLUDES(lock_);
    /// The same without a lock; true also where there are too many workers to look at all of them: then a look under the
    /// lock is faster. False: what such a run did is seen.
    [[nodiscard]] bool may_run(const work_base& w) const noexcept;

    // --- waiting for items and taking them away -----------------------------------------------------------------------

    enum class whereabouts : unsigned char { not_here, in_transit, pending, running };

    /// If the item is on a list of this pool: takes it away, with its PENDING, which the caller owns then.
    [[nodiscard]] bool steal(work_base& w) noexcept CMWQ_EXCLUDES(lock_);
    /// Registers `iw` for the end of the instance queued last, or only for the one running. not_here, and
    /// in_transit (queued, but not on a list yet): not registered.
    whereabouts wait_for(work_base& w, item_waiter& iw, bool running_only) noexcept CMWQ_EXCLUDES(lock_);
    /// What the running item says that it does.
    void describe(worker& self, std::string_view what) noexcept CMWQ_EXCLUDES(lock_);
    /// The running item is destroyed by its own function: forget its address.
    void forget(worker& self) noexcept CMWQ_EXCLUDES(lock_);

    // --- queues ---------------------------------------------------------------------------------------------------------

    [[nodiscard]] bool close_color(pool_workqueue& pwq, color_waiter& cw) noexcept CMWQ_EXCLUDES(lock_);
    /// How many items of the pwq were ever accepted, and how many of them have run or were cancelled.
    struct traffic {
        std::uint64_t entered, left;
    };
    [[nodiscard]] traffic traffic_of(const pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock_);
    void set_max_active(pool_workqueue& pwq, unsigned max_active) noexcept CMWQ_EXCLUDES(lock_);
    /// Nothing is queued on it any more, and nothing is just being queued: true if it has drained. Otherwise the
    /// runtime is told when it has.
    [[nodiscard]] bool detach(pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock_);
    /// It is detached and has drained.
    [[nodiscard]] bool may_be_freed(pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock_);
    /// The next one of an ordered queue: what it has gathered may run.
    void unplug(pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock_);
    /// Whether items of the pwq may become active.
    void set_frozen(pool_workqueue& pwq, bool frozen) noexcept CMWQ_EXCLUDES(lock_);
    [[nodiscard]] unsigned nr_active_of(const pool_workqueue& pwq) const noexcept CMWQ_EXCLUDES(lock_);
    /// What a pwq tells about a queue at its limit.
    struct backlog {
        bool waiting = false; ///< items are held back by the limit
        bool all_run = false; ///< every active item has been started
        unsigned runs = 0;    ///< so many of them there are
    };
    /// Writes the runs to `to`, as far as there is `room`.
    [[nodiscard]] backlog backlog_of(const pool_workqueue& pwq, seen_run* to, std::size_t room) noexcept
        CMWQ_EXCLUDES(lock_);
    /// Whether that run, of this pool, goes on.
    [[nodiscard]] bool goes_on(const seen_run& r) const noexcept CMWQ_EXCLUDES(lock_);
    /// From here on nothing of the pwq becomes active, and what was active without having started is so no more. What is
    /// held back can still be cancelled.
    void hold_back(pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock_);
    /// The end of that: what has come since may run.
    void let_go(pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock_);
    /// Takes the first item of a pwq that is held back, with its PENDING, which the caller owns then; null: none is left.
    [[nodiscard]] work_base* take_held_back(pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock_);
    [[nodiscard]] queue_stats stats_of(const pool_workqueue& pwq) const noexcept CMWQ_EXCLUDES(lock_);

    // --- for the graph of waits: wait_graph.ipp. Under the lock of the graph, which keeps the waiters ------------------

    /// It is not told any more, and may go.
    void stop_waiting(item_waiter& iw) noexcept CMWQ_EXCLUDES(lock_);
    void stop_waiting(color_waiter& cw) noexcept CMWQ_EXCLUDES(lock_);
    /// What has to happen first; at most one of these. None: it has happened, or will as soon as there is a worker.
    struct awaited_item {
        worker* run = nullptr;                 ///< the item runs there
        worker* before = nullptr;              ///< it is pending behind the run there
        pool_workqueue* inactive_on = nullptr; ///< it is pending behind the limit
        const queue_core* queue = nullptr;     ///< unless it has happened: on which queue
    };
    [[nodiscard]] awaited_item look_at(const item_waiter& iw) noexcept CMWQ_EXCLUDES(lock_);
    /// The same for a flush.
    struct awaited_rest {
        const pool_workqueue* pwq = nullptr; ///< of which it waits for items; null: it has happened
        std::uint64_t generation = 0;        ///< of the youngest colour
        bool inactive = false;               ///< some of them are pending behind the limit
        const node_slots* slots = nullptr;   ///< which this limit is; null: of the pwq alone
    };
    [[nodiscard]] awaited_rest look_at(const color_waiter& cw) noexcept CMWQ_EXCLUDES(lock_);
    /// The run that `iw` waits for; null: it waits for none, or not any more.
    [[nodiscard]] worker* run_awaited_by(const item_waiter& iw) noexcept CMWQ_EXCLUDES(lock_);
    /// Calls f(worker&), under the lock, for the runs that `cw` waits for and that wait themselves, but for those for
    /// which this search has called it before.
    template <class F>
    void for_each_waiting_run(const color_waiter& cw, std::uint64_t search, F&& f) noexcept CMWQ_EXCLUDES(lock_);
    /// An active item that does not end before a run does: it is that run, or waits behind it.
    struct held_item {
        const pool_workqueue* pwq;
        std::uint64_t generation; ///< of its colour
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

    // --- rescue: rescuer.ipp --------------------------------------------------------------------------------------------

    /// Its queue has a rescuer: makes the place for it. Before anything is queued there. Throws std::bad_alloc.
    void make_rescuable(pool_workqueue& pwq) CMWQ_EXCLUDES(lock_);
    /// It goes.
    void end_rescuable(pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock_);
    /// The service thread: calls the rescuers of those who wait, if workers have been missing for long. Steady clock.
    void call_rescuers(std::int64_t now) noexcept CMWQ_EXCLUDES(lock_);
    /// A rescuer's thread: runs items of that pwq as long as there are no workers for them.
    void rescue(pool_workqueue& pwq, rescuer& by) CMWQ_EXCLUDES(lock_);
    /// The staff thread: ends an idle worker, so that another pool can have one within the limit of threads. False:
    /// it needs its own. `spare`: also the last one of a pool in which others run.
    [[nodiscard]] bool give_up_worker(bool spare) noexcept CMWQ_EXCLUDES(lock_);

    // --- concurrency management -----------------------------------------------------------------------------------------

    [[nodiscard]] bool pending() const noexcept {
        return !inbox_.empty() || !grants_.empty() || nr_pending_.load(seq_cst) != 0; // [ARM-2], [IDLE-2]
    }
    /// A slot of `pwq`'s queue came free for it; under the lock of the slots. The caller tells this pool.
    void grant(pool_workqueue& pwq) noexcept { static_cast<void>(grants_.push(pwq)); }
    /// Lock-free, because the sentinel calls it: an idle-class thread that holds a lock may not run again for a second.
    /// `insist`: replace them even where one of many is likely to be back soon.
    finding look_for_blocked(detector who, bool insist) noexcept;
    /// A sentinel that was armed for this pool falls asleep: [ARM-3].
    void disarmed() noexcept { armed_.disarm(); }
    /// A CPU that is not in the pod idles, and has for a moment: it may help. False: so many run that it may not.
    bool lend_cpu() noexcept;
    [[nodiscard]] int nr_running() const noexcept { return nr_running_.load(relaxed); }
    /// The monitor has found the pool busy, and that something is pending: CPUs that could help are to look, too.
    void arm_far_watchers() const noexcept;
    [[nodiscard]] std::uint64_t nr_completed() const noexcept { return nr_completed_.load(relaxed); }
    void guard_blocks(worker& self) noexcept; ///< will_block begins
    void guard_ends(worker& self) noexcept;

    // --- bottom halves: a pool without threads, whose items are run by whoever queues them ------------------------------

    /// Before its first use. `first`: the pool whose items go before those of this one, or null. Throws std::bad_alloc.
    void become_bottom_half(bh_thread& thread, worker_pool* first) CMWQ_EXCLUDES(lock_);
    /// Runs what is pending, in order, unless somebody does. The calling thread runs no item of a bottom half, but of
    /// the one that lets this one go first.
    void run_bottom_half(bh_budget& budget) noexcept CMWQ_EXCLUDES(lock_);
    /// Somebody has pushed and is not going to run it: its thread does.
    void kick_bottom_half() noexcept;

    // --- the service thread and the staff thread ------------------------------------------------------------------------

    [[nodiscard]] bool take_request() noexcept {
        // [ASK-1] The first look may come too early: the permit of the asking thread (PARK-1) brings another one.
        return wanted_.load(relaxed) && wanted_.exchange(false, seq_cst);
    }
    /// Makes a worker if something is pending and nobody is there to run it. False: that cannot be done.
    bool staff() noexcept CMWQ_EXCLUDES(lock_);
    /// Whether no item has ended since the last call.
    [[nodiscard]] bool stalled_since_last_time() noexcept {
        const std::uint64_t seen = nr_completed_.load(relaxed);
        const bool stalled = seen == completed_seen_;
        completed_seen_ = seen;
        return stalled;
    }
    /// Whether the pool has started nothing for that long although something is pending. `passed`: since the last call,
    /// as far as the process could run.
    [[nodiscard]] bool has_stalled(std::int64_t passed, std::int64_t limit) noexcept;
    /// What waits, and what the workers do. Throws std::bad_alloc.
    [[nodiscard]] std::string describe_stall(const cpuset& pod) CMWQ_EXCLUDES(lock_);
    /// Workers that have computed for so long without a pause do not count any more, so that others get a share. Returns
    /// whether some compute and have not got so far.
    bool look_for_hogs(std::int64_t threshold) noexcept CMWQ_EXCLUDES(lock_);
    /// If nothing has been started for so long although something could be, one more worker may start beside those that
    /// run. `passed`: since the last call, as far as the process could run.
    void look_for_overdue(std::int64_t passed, std::int64_t patience) noexcept;
    void expire_may_block(std::int64_t threshold) noexcept;
    /// Adapts the learned limit to what the workers did since the last call.
    void learn() noexcept CMWQ_EXCLUDES(lock_);
    /// The busy spell is over, and the next one may be of another kind.
    void unlearn() noexcept { limit_.store(width_.load(relaxed), relaxed); }
    /// The CPU of a bound pool came or went. Without it the pool is not managed, and its workers run where they can.
    void associate(bool with_its_cpu) noexcept CMWQ_EXCLUDES(lock_);
    /// Tells workers to end that have been idle for too long. Returns when to look again, 0 for not at all; runtime clock.
    std::int64_t cull(std::int64_t now) noexcept CMWQ_EXCLUDES(lock_);
    [[nodiscard]] std::int64_t cull_at() const noexcept { return cull_at_.load(acquire); } // [LOCK]
    /// No queue is left: tells all workers to end. For good, or until `configure()`, when `has_ended()`.
    void end_threads() noexcept CMWQ_EXCLUDES(lock_);
    /// Whether all threads of a pool are gone that have been told to end.
    [[nodiscard]] bool has_ended() const noexcept CMWQ_EXCLUDES(lock_) {
        if (!lock_for_service()) return false;
        const scoped_lock g(lock_, adopt_lock);
        return nr_live_ == 0 && !managing_;
    }
    /// The staff thread has joined that thread: its record can serve another one. False: not now, and to be said again.
    [[nodiscard]] bool thread_is_gone(worker& w) noexcept CMWQ_EXCLUDES(lock_);
    /// ~runtime(), behind `end_threads()`: they leave the idle class, where that is allowed.
    void let_threads_end() noexcept CMWQ_EXCLUDES(lock_);
    /// Behind that: waits until all are gone.
    void join_threads() noexcept;
    /// In a forked child: the threads do not exist.
    void forget_threads() noexcept CMWQ_NO_TSA;

    [[nodiscard]] pool_summary summary() const noexcept CMWQ_EXCLUDES(lock_);
    [[nodiscard]] pool_stats stats() const noexcept CMWQ_EXCLUDES(lock_);
    [[nodiscard]] int limit() const noexcept { return limit_.load(relaxed); }

private:
    // Items
    void drain_locked(deferred& d) noexcept CMWQ_REQUIRES(lock_);
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
    void leave_locked(pool_workqueue& pwq, unsigned color, deferred& d) noexcept CMWQ_REQUIRES(lock_);
    void publish_pending_locked() noexcept CMWQ_REQUIRES(lock_) {
        nr_pending_.store(static_cast<unsigned>(worklist_.size()), seq_cst); // [ARM-1], [IDLE-1]
    }
    [[nodiscard]] bool is_listed_locked(const work_base& w) const noexcept CMWQ_REQUIRES(lock_);
    template <class F>
    void take_waiters_locked(const work_base& w, F&& f) noexcept CMWQ_REQUIRES(lock_);
    void end_run_locked(worker& self) noexcept CMWQ_REQUIRES(lock_);
    [[nodiscard]] std::uint64_t id_of_runner_locked(const work_base& w, const pool_workqueue& pwq) const noexcept
        CMWQ_REQUIRES(lock_);
    [[nodiscard]] worker* draining_worker_locked() noexcept CMWQ_REQUIRES(lock_);

    // Workers
    // What runs items on a thread of the library is not noexcept: see run_locked().
    static void thread_main(void* self);
    void worker_main(worker& self);
    void work_locked(worker& self, deferred& d) CMWQ_REQUIRES(lock_);
    [[nodiscard]] work_base* take_locked(worker& self) noexcept CMWQ_REQUIRES(lock_);
    void leave_worklist_locked(work_base& w) noexcept CMWQ_REQUIRES(lock_);
    [[nodiscard]] bool unlist_to_run_locked(work_base& w) noexcept CMWQ_REQUIRES(lock_);
    /// The service thread and the staff thread do not wait for a worker of low priority that holds the lock and gets no
    /// CPU: they come back later. False: not now.
    [[nodiscard]] bool lock_for_service() const noexcept CMWQ_TRY_ACQUIRE(true, lock_) CMWQ_NO_TSA {
        if (low_priority_.load(relaxed)) return lock_.try_lock();
        lock_.lock();
        return true;
    }
    [[nodiscard]] bool lacks_workers() const noexcept {
        return short_of_threads_.load(relaxed) ||
               (has_rescuable_.load(relaxed) && (managing_since_.load(relaxed) != 0 || wanted_.load(relaxed)));
    }
    [[nodiscard]] bool needs_rescue_locked() const noexcept CMWQ_REQUIRES(lock_);
    [[nodiscard]] work_base* take_for_rescue_locked(worker& seat, pool_workqueue& pwq) noexcept CMWQ_REQUIRES(lock_);
    void report_rescue_locked(queue_core& q) noexcept CMWQ_REQUIRES(lock_);
    void end_rescuable_locked(pool_workqueue& pwq) noexcept CMWQ_REQUIRES(lock_);
    void retire_locked(worker& w) noexcept CMWQ_REQUIRES(lock_);
    void run_locked(worker& self, work_base& w, deferred& d) CMWQ_REQUIRES(lock_);
    void lock_after_run(worker& self) noexcept CMWQ_ACQUIRE(lock_);
    void enter_idle_locked(worker& w, bool fresh) noexcept CMWQ_REQUIRES(lock_);
    void leave_idle_locked(worker& w) noexcept CMWQ_REQUIRES(lock_);
    void publish_watcher_locked() noexcept CMWQ_REQUIRES(lock_) { watcher_.store(idle_.front(), seq_cst); } // [IDLE-2]
    bool make_worker_locked() noexcept CMWQ_REQUIRES(lock_);
    void make_room_for_runs(std::size_t nr_workers) noexcept CMWQ_EXCLUDES(lock_);
    void settle(worker& self) noexcept;
    [[nodiscard]] bool come_home(worker& self) noexcept;

    void drain_bottom_half_locked(worker& self, bh_budget& budget, deferred& d) noexcept CMWQ_REQUIRES(lock_);

    // Counting
    [[nodiscard]] pool_snapshot snapshot_locked() const noexcept CMWQ_REQUIRES(lock_);
    [[nodiscard]] bool wants_more_running() const noexcept;
    void count(worker& w) noexcept;
    bool uncount(worker& w) noexcept;
    void kick_locked(deferred& d) noexcept CMWQ_REQUIRES(lock_);
    void ask_for_worker() noexcept;
    void arm() noexcept;
    [[nodiscard]] bool sentinel_works() const noexcept;
    bool start_spare() noexcept;
    void raise_limit(int to) noexcept;

    runtime_core& rt_;                  // I
    const std::uint64_t id_;            // I
    const pool_role role_;              // I
    const unsigned number_;             // I
    pool_spec spec_;                    // I: while the pool has users
    bool roams_ = false;                // I: likewise; its threads may run outside of the pod
    int pod_size_ = 1;                  // I: likewise; CPUs
    bh_thread* bh_thread_ = nullptr;    // I: bottom_half: who does what is left
    worker_pool* goes_first_ = nullptr; // I: bottom_half: the pool that goes before this one

    // A: what those read who may come late, when the record serves another pool already: harmless to find the other's.
    atomic<int> width_{1}; // CPUs of the pod, or fewer by the quota
    atomic<int> reach_{1}; // the same of all CPUs that its threads may use: beyond that nobody lends one
    atomic<bool> managed_{false};
    atomic<bool> low_priority_{false};                        // idle class, or nicer than 0
    atomic<bool> associated_{true};                           // per_cpu: its CPU is there
    arming armed_;                                            // its sentinels are: spares a look at each of them
    const std::unique_ptr<atomic<std::uint64_t>[]> watchers_; // a bit for each CPU of the runtime: the near ones
    const std::unique_ptr<atomic<std::uint64_t>[]> helpers_;  // the same: the far ones

    alignas(cache_line) inbox<work_base, item_tag> inbox_; // A
    atomic<bool> draining_{false};                         // A: bottom_half: somebody runs what is pending
    alignas(cache_line) atomic<int> nr_running_{0};        // A: counted workers
    atomic<worker*> watcher_{nullptr};                     // A: the idle worker to wake first; written under L
    atomic<int> nr_busy_{0};                               // A: workers in their work loop; written under L
    atomic<int> limit_{1};                                 // A: learned limit of active workers
    atomic<worker*> all_{nullptr};                         // A: every record; grows under L, never shrinks
    busy_workers<worker> counting_;                        // A: those that may count; changed under L
    inbox<pool_workqueue, grant_tag> grants_;              // A: pwqs that got a slot which another one gave back
    atomic<bool> wanted_{false};                           // A: a producer found nobody to wake
    atomic<bool> overdue_{false};                          // A: one more worker may start; until one has
    atomic<std::int64_t> cull_at_{0};                      // A: when surplus workers are due, runtime clock; 0: none
    atomic<std::uint64_t> by_guard_{0}, by_sentinel_{0}, by_monitor_{0}, spare_wakeups_{0}, nr_rescued_{0},
        nr_overdue_{0}; // A
    std::uint64_t nr_repatriated_ CMWQ_GUARDED_BY(lock_) = 0;

    std::uint64_t completed_seen_ = ~std::uint64_t{0};      // S
    std::uint64_t started_before_ = 0;                      // S: at the last look for what is overdue
    std::int64_t waiting_for_ = 0;                          // S: nanoseconds in which nothing was started
    std::uint64_t started_seen_ = 0;                        // S: by the watchdog
    std::int64_t stalled_for_ = 0;                          // S: nanoseconds
    double sum_cpu_ = 0, sum_blocked_ = 0, sum_waited_ = 0; // S: the service thread's moving sums, nanoseconds

    alignas(cache_line) mutable ranked_mutex<lock_rank::pool> lock_;
    atomic<unsigned> nr_pending_{0};                   // A: length of the worklist; written under L, for each item
    unsigned nr_activated_ CMWQ_GUARDED_BY(lock_) = 0; // L: after others had ended, since the inbox was last drained
    item_list worklist_ CMWQ_GUARDED_BY(lock_);        // L: active items, in order
    idle_workers idle_ CMWQ_GUARDED_BY(lock_);         // L
    intrusive_list<worker, busy_tag> busy_ CMWQ_GUARDED_BY(lock_);    // L
    run_table running_ CMWQ_GUARDED_BY(lock_);                        // L: which of them runs an item
    intrusive_list<worker, idle_tag> retired_ CMWQ_GUARDED_BY(lock_); // L: records without a thread
    item_waiter* item_waiters_ CMWQ_GUARDED_BY(lock_) = nullptr;      // L: who waits for items that are pending here
    unsigned nr_records_ CMWQ_GUARDED_BY(lock_) = 0;
    unsigned nr_live_ CMWQ_GUARDED_BY(lock_) = 0;  // L: threads that have been made and not been joined
    bool managing_ CMWQ_GUARDED_BY(lock_) = false; // L: somebody makes a worker
    atomic<std::int64_t> managing_since_{0};       // A: the same; steady clock, 0: nobody does. Written under L
    atomic<bool> short_of_threads_{false};         // A: the last attempt to make one failed; written under L
    std::int64_t short_since_ CMWQ_GUARDED_BY(lock_) =
        0; // L: since when that holds items up; steady clock; 0: it does not
    std::int64_t retry_pause_ CMWQ_GUARDED_BY(lock_) = 0; // L: from the last failed attempt to the next one
    atomic<std::int64_t> retry_at_{0}; // A: nobody asks for a worker before; steady clock, 0: no attempt has failed
    intrusive_list<pool_workqueue, rescue_tag> rescuable_ CMWQ_GUARDED_BY(lock_); // L: pwqs of queues with a rescuer
    atomic<bool> has_rescuable_{false};                                           // A: there are such; written under L
    intrusive_list<worker, idle_tag> seats_ CMWQ_GUARDED_BY(lock_);               // L: seats without a pwq
    worker* attending_ CMWQ_GUARDED_BY(lock_) = nullptr;                          // L: seats with a rescuer on it
    bool stopping_ CMWQ_GUARDED_BY(lock_) = false;
    thread_refusals refused_ CMWQ_GUARDED_BY(lock_); // what the system refused to its last worker
    atomic<std::uint64_t> nr_started_{0};            // A: written under L
    atomic<std::uint64_t> nr_completed_{0};          // A: written under L
};

} // namespace cmwq::inline CMWQ_NS::detail
