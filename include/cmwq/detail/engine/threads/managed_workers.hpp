// SPDX-License-Identifier: BSL-1.0
//
// managed_workers: concurrency management. The pool keeps as many runnable workers as it has CPUs, and replaces blocked
// workers. Bound and elastic queues use it.
#pragma once

#include <cmwq/detail/ds/arming.hpp>
#include <cmwq/detail/engine/ledger/start_watch.hpp>
#include <cmwq/detail/engine/threads/burst_size.hpp>
#include <cmwq/detail/engine/threads/busy_workers.hpp>
#include <cmwq/detail/engine/threads/rescuable_pool.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The detector that found a blocked worker. The third one, the guard, is not a caller of check_for_blocked().
enum class detector : unsigned char { sentinel, monitor };

/// What a detector found.
enum class finding : unsigned char {
    nothing_pending, ///< no item is pending
    running,         ///< enough counted workers run, or wait for a CPU
    all_blocked,     ///< too few counted workers run, but so many are blocked that one may return at any moment
    replaced,        ///< too few counted workers ran; a spare has been woken
    no_spare,        ///< the same, but no worker is idle: the manager thread has been asked for one
};

/// A pool that counts its running workers and replaces the blocked ones.
///
/// Thread safety: as item_pool. The sentinels and the monitor read the pool without its lock, also after the registry
/// has given the record to another pool. Letters as in worker.hpp; S is the service thread as monitor.
class managed_workers : public rescuable_pool {
public:
    /// Sets the attributes of the pool's threads, and the indices of the CPUs whose sentinels watch the pool. Called
    /// before the first use, and again when the registry reuses the record of a pool that has ended. Throws
    /// std::bad_alloc; nothing has changed then.
    void configure(pool_spec spec, const cpuset& watching) CMWQ_EXCLUDES(ledger.lock);
    /// Calls f(index) for the CPUs whose sentinels watch this pool. `near`: the CPUs of its pod (all watching CPUs if
    /// the pod has none). `far`: the others, which can only lend their CPU.
    enum class sentinel_range : unsigned char { near = 1, far = 2, all = 3 };
    template <class F>
    void for_each_sentinel(sentinel_range which, F&& f) const;

    /// The CPU of a bound pool came or went. Without its CPU the pool is not managed: blocked workers are not replaced,
    /// every pending item gets a worker, and the workers run where they can.
    void associate(bool with_its_cpu) noexcept CMWQ_EXCLUDES(ledger.lock);
    [[nodiscard]] bool is_associated() const noexcept { return associated_.load(seq_cst); } // [CPU-1]

    [[nodiscard]] managed_workers* as_managed() noexcept override { return this; }

    // --- local items of elastic pools --------------------------------------------------------------------------------

    /// Whether no worker runs that item. The caller owns PENDING. False: perhaps one does, here or in another pool.
    [[nodiscard]] bool is_idle(const work_base& w) const noexcept;
    /// Puts an idle item on the local list of `self`, the calling thread, which runs an item of its pwq. The caller owns
    /// PENDING, and must call `notify()` as soon as it holds no lock.
    void push_local(worker& self, work_base& w) noexcept;
    /// As push_local(), unless `stop` is set. A thread that sets it, and then calls for_each_local_item(), finds the item,
    /// or `self` has seen the flag. False: nothing has changed.
    [[nodiscard]] bool push_local_unless(const atomic<bool>& stop, worker& self, work_base& w) noexcept;
    [[nodiscard]] bool pending() const noexcept final { return ledger.pending() || has_local_items(); }
    [[nodiscard]] std::uint64_t nr_started() const noexcept final {
        return ledger.nr_started() + sum_of(&run_record::nr_more_started);
    }
    [[nodiscard]] std::uint64_t nr_begun() const noexcept final {
        return ledger.nr_begun() + sum_of(&run_record::nr_follow_ups);
    }
    [[nodiscard]] std::uint64_t nr_completed() const noexcept final {
        return ledger.nr_completed() + sum_of(&run_record::nr_more_ended);
    }

    // --- waits inside items of elastic pools -------------------------------------------------------------------------

    /// The calling thread, which runs an item under `self`, is about to wait for `w`. If `w` is pending here and may
    /// start, and if the waits on the stack leave room for it, runs it inside that item. It may start beyond the limit if
    /// an item on the stack has a slot of its queue. False: `w` has not run here. Ends the program if `w` throws and its
    /// queue has no handler.
    [[nodiscard]] bool run_for_waiter(run_record& self, work_base& w) noexcept CMWQ_EXCLUDES(ledger.lock);

    // --- sentinels ---------------------------------------------------------------------------------------------------

    /// Uncounts blocked workers, and wakes a spare if too few workers run. Lock-free: an idle-class thread that holds a
    /// lock may not run again for a second. `insist`: wakes a spare even if one of many blocked workers is likely to
    /// return soon. `spares`: how many may start; each one wakes the next.
    finding check_for_blocked(detector who, bool insist, int spares = 1) noexcept;
    /// [ARM-3] A sentinel that was armed for this pool is about to sleep.
    void disarmed() noexcept { armed_.disarm(); }
    /// A CPU outside the pod has been idle for a moment: starts one more worker. False: as many workers run as the
    /// pool's threads may use CPUs.
    bool lend_cpu() noexcept;
    [[nodiscard]] int nr_running() const noexcept { return nr_running_.load(relaxed); }

    // --- blocking regions --------------------------------------------------------------------------------------------

    void block_begins(worker& self) noexcept override;
    void block_ends(worker& self) noexcept override;
    void wait_begins(worker& self) noexcept override;
    void wait_ends(worker& self) noexcept override;

    // --- the monitor -------------------------------------------------------------------------------------------------

    monitor_findings look_after(std::int64_t passed) noexcept override CMWQ_EXCLUDES(ledger.lock);
    void reset_learned_limit() noexcept override { limit_.store(width_.load(relaxed), relaxed); }

    /// The learned limit of active workers.
    [[nodiscard]] int limit() const noexcept { return limit_.load(relaxed); }

protected:
    managed_workers(const pool_env& env, std::uint64_t id, unsigned number, serves what);

    [[nodiscard]] pool_stats stats_locked() const noexcept override CMWQ_REQUIRES(ledger.lock);
    [[nodiscard]] worker_counts worker_counts_locked() const noexcept final CMWQ_REQUIRES(ledger.lock) {
        worker_counts n = worker_set::worker_counts_locked();
        if (!is_associated()) return n;
        n.running = nr_running_.load(relaxed);
        n.limit = limit_.load(relaxed);
        return n;
    }

    // --- for the loop of a worker ------------------------------------------------------------------------------------

    // Inline, so that its callers compute only what they use: a worker calls it for each item.
    [[nodiscard, gnu::always_inline]] pool_snapshot snapshot_locked() const noexcept CMWQ_REQUIRES(ledger.lock) {
        const auto listed = static_cast<unsigned>(ledger.nr_listed_locked());
        return {.pending = listed != 0         ? listed
                           : has_local_items() ? 1u
                                               : 0u,
                .managed = is_associated(),
                .width = width_.load(relaxed),
                .running = nr_running_.load(seq_cst), // [IDLE-1], [IDLE-2]
                .active = static_cast<int>(ledger.nr_busy_locked()) - nr_waiting_.load(relaxed),
                .limit = limit_.load(relaxed),
                .idle = static_cast<int>(idle_.size()),
                .creating = creating_,
                .overdue = nr_overdue_may_start_ != 0};
    }
    /// The workers in their work loop, running or blocked, without those that wait inside the library.
    [[nodiscard]] int nr_active() const noexcept { return ledger.nr_busy() - nr_waiting_.load(relaxed); }
    /// Whether more workers may run beside the running ones.
    [[nodiscard]] bool wants_more_running() const noexcept {
        return !is_associated() || nr_running_.load(seq_cst) < width_.load(relaxed); // [IDLE-2]
    }
    [[nodiscard]] int nr_at_work() const noexcept {
        return is_associated() ? nr_running_.load(relaxed) : ledger.nr_busy();
    }
    void work_begins_locked(worker& self) noexcept CMWQ_REQUIRES(ledger.lock);
    void work_ends_locked(worker& self) noexcept CMWQ_REQUIRES(ledger.lock);
    void run_begins_locked(worker& self) noexcept CMWQ_REQUIRES(ledger.lock);
    void run_ended_locked(worker& self) noexcept CMWQ_REQUIRES(ledger.lock);
    /// Takes the next item for `self` to run: from its local list, the worklist, or the local list of another worker.
    [[nodiscard]] work_base* take_locked(worker& self) noexcept CMWQ_REQUIRES(ledger.lock);
    /// Takes a local item that follows in the current run, with the color and the slot of that run. Null: the run ends.
    [[nodiscard]] work_base* take_follow_up(worker& self) noexcept CMWQ_EXCLUDES(ledger.lock);
    [[nodiscard]] bool anything_waits_locked() const noexcept CMWQ_REQUIRES(ledger.lock) {
        return ledger.anything_listed_locked() || has_local_items();
    }
    void lock_after_run(worker& self) noexcept CMWQ_ACQUIRE(ledger.lock);
    void recall_local_items_locked() noexcept final CMWQ_REQUIRES(ledger.lock);
    void idle_begins_locked(worker& self) noexcept CMWQ_REQUIRES(ledger.lock);
    /// Items are pending behind running workers: arms the sentinels and the monitor.
    void detectors_needed() noexcept;
    /// Items are pending: wakes an idle worker or requests one, or leaves the items to running workers and the
    /// detectors.
    void wake_a_worker() noexcept;

    [[nodiscard]] pool_snapshot current_snapshot_locked() const noexcept final CMWQ_REQUIRES(ledger.lock) {
        return snapshot_locked();
    }
    void watch_for_blocks() noexcept final { detectors_needed(); }
    [[nodiscard]] bool reserve_record(std::size_t n) noexcept final { return countable_workers_.reserve(n); }
    [[nodiscard]] bool lacks_running_workers() const noexcept final {
        return !is_associated() || nr_running_.load(relaxed) < width_.load(relaxed);
    }

private:
    [[nodiscard]] bool may_run_inside_locked(const run_record& self, const work_base& w) noexcept
        CMWQ_REQUIRES(ledger.lock);
    void take_to_run_inside_locked(work_base& w) noexcept CMWQ_REQUIRES(ledger.lock);
    [[nodiscard]] run_record* nested_record_locked(worker& owner) noexcept CMWQ_REQUIRES(ledger.lock);
    void run_inside(run_record& self, run_record& record, const pool_ledger::started_item& started) noexcept
        CMWQ_EXCLUDES(ledger.lock);
    [[nodiscard]] bool become_follower(worker& self) noexcept CMWQ_EXCLUDES(ledger.lock);
    void announce(worker& self) noexcept;
    void take_back_announcement(worker& self) noexcept;
    void leave_local_items() noexcept;
    void recall_left_items_locked() noexcept CMWQ_REQUIRES(ledger.lock);
    /// Whether a worker has local items.
    [[nodiscard]] bool has_local_items() const noexcept {
        return nr_announced_.load(seq_cst) != 0 && find_local_items(); // [LOC-1]
    }
    [[nodiscard]] bool find_local_items() const noexcept;
    void accept_all_locked(item_list& items) noexcept CMWQ_REQUIRES(ledger.lock);
    [[nodiscard]] std::uint64_t sum_of(atomic<std::uint32_t> run_record::* counter) const noexcept;
    [[nodiscard]] work_base* take_local_locked(worker& self) noexcept CMWQ_REQUIRES(ledger.lock);
    [[nodiscard]] bool take_from_others_locked(worker& self) noexcept CMWQ_REQUIRES(ledger.lock);
    void count(worker& w) noexcept;
    bool uncount(worker& w) noexcept;
    [[nodiscard]] bool sentinel_works() const noexcept;
    bool start_spares(int n) noexcept;
    void raise_limit(int to) noexcept;
    void arm_far_sentinels() const noexcept;
    void expire_may_block(std::int64_t threshold) noexcept;
    [[nodiscard]] bool stalled_since_last_time() noexcept;
    bool look_for_hogs(std::int64_t threshold) noexcept CMWQ_EXCLUDES(ledger.lock);
    void look_for_overdue(std::int64_t passed, std::int64_t patience) noexcept CMWQ_EXCLUDES(ledger.lock);
    void learn_limit() noexcept CMWQ_EXCLUDES(ledger.lock);

    // A: read without the lock. A late reader may read the values of another pool that uses the record now; that is
    // harmless.
    atomic<int> width_{1};          // CPUs of the pod, or fewer because of the quota
    atomic<int> max_running_{1};    // the same for all CPUs that its threads may use: no CPU is lent beyond that
    atomic<bool> associated_{true}; // its CPU is present, or it is not the pool of one CPU
    arming armed_;                  // set while its sentinels are armed, so that a producer need not check each of them
    const std::unique_ptr<atomic<std::uint64_t>[]> near_; // a bit for each CPU index of the runtime
    const std::unique_ptr<atomic<std::uint64_t>[]> far_;  // likewise

    alignas(cache_line) atomic<int> nr_running_{0}; // A: counted workers
    atomic<int> nr_waiting_{0};                     // A: busy workers that wait inside the library
    atomic<int> limit_{1};                          // A: learned limit of active workers
    busy_workers<worker> countable_workers_;        // A: workers that may be counted; changed under L
    // A: workers that may have local items. A worker counts itself when it gets the first one, and is not counted any
    // more after the end of a run that leaves it without any.
    atomic<int> nr_announced_{0};
    atomic<bool> has_left_items_{false}; // A: a worker that is not counted has local items
    atomic<std::uint64_t> by_guard_{0}, by_sentinel_{0}, by_monitor_{0}, spare_wakeups_{0}; // A

    // L: so many more items may start beside those that run; reset when one of these ends
    unsigned nr_overdue_may_start_ CMWQ_GUARDED_BY(ledger.lock) = 0;
    std::uint64_t nr_overdue_ CMWQ_GUARDED_BY(ledger.lock) = 0; // L

    intrusive_list<run_record, busy_tag> free_nested_records_ CMWQ_GUARDED_BY(ledger.lock); // L

    std::uint64_t completed_seen_ = ~std::uint64_t{0};      // S
    start_watch overdue_watch_;                             // S
    burst_size overdue_burst_;                              // S
    double sum_cpu_ = 0, sum_blocked_ = 0, sum_waited_ = 0; // S: moving sums, nanoseconds
};

}}} // namespace cmwq::CMWQ_NS::detail
