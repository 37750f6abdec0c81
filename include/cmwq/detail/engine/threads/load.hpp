// SPDX-License-Identifier: BSL-1.0
//
// load: concurrency management. It counts the running workers of a pool, and replaces blocked ones, so that as many run
// as the pool has CPUs. Bound and elastic pools have one.
#pragma once

#include <cmwq/detail/ds/arming.hpp>
#include <cmwq/detail/engine/env/pool_spec.hpp>
#include <cmwq/detail/engine/ledger/pool_ledger.hpp>
#include <cmwq/detail/engine/threads/busy_workers.hpp>
#include <cmwq/detail/engine/threads/concurrency.hpp>
#include <cmwq/detail/engine/threads/local_lists.hpp>
#include <cmwq/detail/engine/threads/spare_workers.hpp>

#include <bit>
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

/// How many workers of a pool run, and how many should.
///
/// Thread safety: any thread may call every member that does not name the pool lock or `self`, the worker of the
/// calling thread. The sentinels and the monitor read it without a lock, also after the registry has given its pool to
/// other queues: a late reader may read the values of that use, which is harmless. Letters as in worker.hpp.
class load {
public:
    static constexpr bool replaces_blocked = true;

    /// `locals`: of the pool; null: its workers have no lists. Throws std::bad_alloc.
    load(pool_ledger& ledger, spare_workers& spares, const busy_workers<worker>& working, local_lists* locals);
    load(const load&) = delete;
    load& operator=(const load&) = delete;

    // --- where it counts ---------------------------------------------------------------------------------------------

    /// The CPUs whose sentinels watch the pool, by index. `near`: those of its pod, or all if the pod has none. `far`:
    /// the others, which can only lend their CPU.
    struct watching_cpus {
        cpuset near, far;
    };
    /// Throws std::bad_alloc.
    [[nodiscard]] watching_cpus watching(const pool_spec& spec, const cpuset& all) const;
    void configure_locked(const pool_spec& spec, const watching_cpus& cpus) noexcept;
    /// Calls f(index) for the CPUs whose sentinels watch the pool.
    template <class F>
    void for_each_sentinel(F&& f) const {
        for_each(near_, f);
        for_each(far_, f);
    }
    /// The CPU of a bound pool came or went. Without its CPU the pool is not managed: blocked workers are not replaced,
    /// every pending item gets a worker, and the workers run where they can.
    void associate(bool with_its_cpu) noexcept { associated_.store(with_its_cpu, seq_cst); } // [CPU-1]
    [[nodiscard]] bool is_associated() const noexcept { return associated_.load(seq_cst); }  // [CPU-1]

    // --- the state ---------------------------------------------------------------------------------------------------

    /// Whether items are pending, local ones included.
    [[nodiscard]] bool pending() const noexcept { return pending_in(ledger_, locals_); }
    [[nodiscard]] std::uint64_t nr_completed() const noexcept { return nr_completed_in(ledger_, locals_); }
    /// As pool_ledger::nr_begun(), with the items that have followed in runs that go on.
    [[nodiscard]] std::uint64_t nr_begun() const noexcept { return nr_begun_in(ledger_, locals_); }
    [[nodiscard]] int width() const noexcept { return width_.load(relaxed); }
    [[nodiscard]] int nr_running() const noexcept { return nr_running_.load(relaxed); }
    /// The workers in their work loop, running or blocked, without those that wait inside the library.
    [[nodiscard]] int nr_active() const noexcept { return ledger_.nr_busy() - nr_waiting_.load(relaxed); }
    /// The workers that use a CPU, as far as known.
    [[nodiscard]] int nr_at_work() const noexcept { return is_associated() ? nr_running() : ledger_.nr_busy(); }
    /// Whether more workers may run beside the running ones.
    [[nodiscard]] bool wants_more_running() const noexcept {
        return !is_associated() || nr_running_.load(seq_cst) < width(); // [IDLE-2]
    }
    /// Whether items wait that a worker could start.
    [[nodiscard]] bool anything_waits_locked(const pool_ledger& ledger) const noexcept CMWQ_REQUIRES(ledger.lock) {
        return ledger.anything_listed_locked() || has_local_items();
    }
    // Inline, so that its callers compute only what they use: a worker calls it for each item.
    [[nodiscard, gnu::always_inline]] pool_snapshot snapshot_locked(const pool_ledger& ledger,
                                                                    bool creating) const noexcept
        CMWQ_REQUIRES(ledger.lock) {
        const auto listed = static_cast<unsigned>(ledger.nr_listed_locked());
        return {.pending = listed != 0         ? listed
                           : has_local_items() ? 1u
                                               : 0u,
                .managed = is_associated(),
                .width = width(),
                .running = nr_running_.load(seq_cst), // [IDLE-1], [IDLE-2]
                .active = static_cast<int>(ledger.nr_busy_locked()) - nr_waiting_.load(relaxed),
                .limit = limit(),
                .idle = static_cast<int>(spares_.size_locked()),
                .creating = creating,
                .overdue = nr_overdue_may_start_ != 0};
    }
    /// The learned limit of active workers.
    [[nodiscard]] int limit() const noexcept { return limit_.load(relaxed); }
    /// Changes the limit, unless it is not `from` any more; then sets `from` to the limit.
    [[nodiscard]] bool change_limit(int& from, int to) noexcept {
        return limit_.compare_exchange_weak(from, to, relaxed, relaxed);
    }
    void reset_limit() noexcept { limit_.store(width(), relaxed); }

    // --- the loop of a worker ----------------------------------------------------------------------------------------

    /// Counts `self`, unless it is a rescuer or a guest, for which no item waits.
    void count(worker& self) noexcept;
    /// `w` does not run any more. False: it was not counted. Otherwise the caller checks whether items are pending.
    bool uncount(worker& w) noexcept;
    void begin_work_locked(worker& self) noexcept { count(self); }
    void end_work_locked(worker& self) noexcept { uncount(self); }
    void begin_run_locked(worker& self) noexcept;
    void end_run_locked(worker& self) noexcept;
    static void begin_idle_locked(worker& self) noexcept;
    /// Locks the pool after a run. The time of that does not count as blocking in the item.
    static void lock_after_run(pool_ledger& ledger, worker& self) noexcept CMWQ_ACQUIRE(ledger.lock) {
        detail::lock_after_run(ledger, self);
    }
    /// `n` more items may start, whatever runs, until one of these has ended.
    void let_overdue_start_locked(unsigned n) noexcept { nr_overdue_may_start_ = n; }
    [[nodiscard]] bool is_overdue_locked() const noexcept { return nr_overdue_may_start_ != 0; }

    /// Items are pending: wakes an idle worker or requests one, or leaves the items to running workers and the
    /// detectors.
    void wake_a_worker() noexcept;

    // --- detectors ---------------------------------------------------------------------------------------------------

    /// Items are pending behind running workers: arms the sentinels and the monitor.
    void detectors_needed() noexcept;
    void arm_detectors() noexcept;
    void arm_far_sentinels() const noexcept;
    /// [ARM-3] A sentinel that was armed for this pool is about to sleep.
    void disarmed() noexcept { armed_.disarm(); }
    struct blocked_check {
        detector who;
        bool insist = false; ///< wake a spare even if one of many blocked workers is likely to return soon
        int spares = 1;      ///< how many may start; each one wakes the next
    };
    /// Uncounts blocked workers, and wakes a spare if too few workers run. Lock-free: an idle-class thread that holds a
    /// lock may not run again for a second.
    finding check_for_blocked(blocked_check c) noexcept;
    /// A CPU outside the pod has been idle for a moment: starts one more worker. False: as many workers run as the
    /// pool's threads may use CPUs.
    bool lend_cpu() noexcept;

    // --- blocking regions, and waits inside the library --------------------------------------------------------------

    /// Of `w`, or the monitor for it.
    void block_begins(worker& w) noexcept;
    void block_ends(worker& self) noexcept;
    void wait_begins(worker& self) noexcept;
    void wait_ends(worker& self) noexcept;

    /// How often each detector noticed a blocked worker, and how many spares were woken.
    struct counts {
        std::uint64_t by_guard, by_sentinel, by_monitor, spare_wakeups;
    };
    [[nodiscard]] counts numbers() const noexcept {
        return {by_guard_.load(relaxed), by_sentinel_.load(relaxed), by_monitor_.load(relaxed),
                spare_wakeups_.load(relaxed)};
    }

private:
    [[nodiscard]] bool has_local_items() const noexcept { return locals_ != nullptr && locals_->any(); }
    template <class F>
    void for_each(const std::unique_ptr<atomic<std::uint64_t>[]>& set, F&& f) const {
        for (unsigned i = 0; i < ledger_.env.cpus.nr_cpus(); i += 64) {
            for (std::uint64_t word = set[i / 64].load(relaxed); word != 0; word &= word - 1)
                f(i + static_cast<unsigned>(std::countr_zero(word)));
        }
    }
    [[nodiscard]] bool sentinel_works() const noexcept;
    bool start_spares(int n) noexcept;
    void note_blocked(worker& w, detector who) noexcept;
    void raise_limit(int to) noexcept;

    pool_ledger& ledger_;
    spare_workers& spares_;
    const busy_workers<worker>& working_;
    local_lists* const locals_;

    atomic<int> width_{1};          // A: CPUs of the pod, or fewer because of the quota
    atomic<int> max_running_{1};    // A: the same for all CPUs that its threads may use: no CPU is lent beyond that
    atomic<bool> associated_{true}; // A: its CPU is present, or it is not the pool of one CPU
    arming armed_;                  // set while its sentinels are armed, so that a producer need not check each of them
    const std::unique_ptr<atomic<std::uint64_t>[]> near_; // A: a bit for each CPU index of the runtime
    const std::unique_ptr<atomic<std::uint64_t>[]> far_;  // A: likewise

    alignas(cache_line) atomic<int> nr_running_{0}; // A: counted workers
    atomic<int> nr_waiting_{0};                     // A: busy workers that wait inside the library
    atomic<int> limit_{1};                          // A: learned limit of active workers
    // L: so many more items may start beside those that run; reset when one of these ends
    unsigned nr_overdue_may_start_ = 0;
    atomic<std::uint64_t> by_guard_{0}, by_sentinel_{0}, by_monitor_{0}, spare_wakeups_{0}; // A
};

/// As load::snapshot_locked(), for a pool without a load.
[[nodiscard]] inline pool_snapshot snapshot_without_load(const pool_ledger& ledger, const spare_workers& spares,
                                                         bool creating) noexcept CMWQ_REQUIRES(ledger.lock) {
    return {.pending = static_cast<unsigned>(ledger.nr_listed_locked()),
            .managed = false,
            .active = static_cast<int>(ledger.nr_busy_locked()),
            .idle = static_cast<int>(spares.size_locked()),
            .creating = creating};
}

}}} // namespace cmwq::CMWQ_NS::detail
