// SPDX-License-Identifier: BSL-1.0
//
// managed_workers: concurrency management. As many workers are runnable as the pool has CPUs; blocked ones are replaced.
// Bound and elastic queues have them.
#pragma once

#include <cmwq/detail/ds/arming.hpp>
#include <cmwq/detail/engine/pool/busy_workers.hpp>
#include <cmwq/detail/engine/pool/rescuable_pool.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace cmwq::inline CMWQ_NS::detail {

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

/// Letters as in worker.hpp; S is the service thread as monitor.
class managed_workers : public rescuable_pool {
public:
    /// What its threads are, and the indices of the CPUs whose sentinels watch it. Before its first use, and again when
    /// the registry gives the record of a pool that has ended to another one. Throws std::bad_alloc; nothing changed then.
    void configure(pool_spec spec, const cpuset& watching) CMWQ_EXCLUDES(lock_);
    /// Calls f(index) for the CPUs whose sentinels watch this pool: those of its pod (all, if none is there), those that
    /// could only help, or both.
    enum class watchers : unsigned char { near = 1, far = 2, all = 3 };
    template <class F>
    void for_each_watcher(watchers which, F&& f) const;

    /// The CPU of a bound pool came or went. Without it blocked workers are not replaced: all that are pending run where
    /// they can.
    void associate(bool with_its_cpu) noexcept CMWQ_EXCLUDES(lock_);
    [[nodiscard]] bool is_associated() const noexcept { return associated_.load(seq_cst); } // [CPU-1]

    [[nodiscard]] managed_workers* as_managed() noexcept override { return this; }

    // --- sentinels ------------------------------------------------------------------------------------------------------

    /// Lock-free: an idle-class thread that holds a lock may not run again for a second. `insist`: replaces blocked
    /// workers even where one of many is likely to be back soon.
    finding look_for_blocked(detector who, bool insist) noexcept;
    /// A sentinel that was armed for this pool falls asleep: [ARM-3].
    void disarmed() noexcept { armed_.disarm(); }
    /// A CPU that is not in the pod idles, and has for a moment: it may help. False: so many run that it may not.
    bool lend_cpu() noexcept;
    [[nodiscard]] int nr_running() const noexcept { return nr_running_.load(relaxed); }

    // --- blocking regions -----------------------------------------------------------------------------------------------

    void block_begins(worker& self) noexcept override;
    void block_ends(worker& self) noexcept override;

    // --- the monitor ----------------------------------------------------------------------------------------------------

    monitor_findings look_after(std::int64_t passed) noexcept override CMWQ_EXCLUDES(lock_);
    void forget_load() noexcept override { limit_.store(width_.load(relaxed), relaxed); }

    [[nodiscard]] pool_stats stats() const noexcept override;
    /// The learned limit of active workers.
    [[nodiscard]] int limit() const noexcept { return limit_.load(relaxed); }

protected:
    managed_workers(const pool_env& env, std::uint64_t id, unsigned number, serves what);

    // --- for the loop of a worker ---------------------------------------------------------------------------------------

    [[nodiscard]] pool_snapshot snapshot_locked() const noexcept CMWQ_REQUIRES(lock_);
    /// Whether items may start beside those that run.
    [[nodiscard]] bool wants_more_running() const noexcept {
        return !is_associated() || nr_running_.load(seq_cst) < width_.load(relaxed); // [IDLE-2]
    }
    [[nodiscard]] int nr_at_work() const noexcept {
        return is_associated() ? nr_running_.load(relaxed) : nr_busy_.load(relaxed);
    }
    void work_begins_locked(worker& self) noexcept CMWQ_REQUIRES(lock_);
    void work_ends_locked(worker& self) noexcept CMWQ_REQUIRES(lock_);
    void run_begins_locked(worker& self) noexcept CMWQ_REQUIRES(lock_);
    void run_ended_locked(worker& self) noexcept CMWQ_REQUIRES(lock_) { count(self); } // also if it was found blocked
    void lock_after_run(worker& self) noexcept CMWQ_ACQUIRE(lock_);
    void idle_begins_locked(worker& self) noexcept CMWQ_REQUIRES(lock_);
    /// Something waits behind running workers: arms the detectors.
    void detectors_needed() noexcept;
    void wake_a_worker() noexcept;

    [[nodiscard]] pool_snapshot current_snapshot_locked() const noexcept final CMWQ_REQUIRES(lock_) {
        return snapshot_locked();
    }
    void watch_for_blocks() noexcept final { detectors_needed(); }
    [[nodiscard]] bool reserve_record(std::size_t n) noexcept final { return counting_.reserve(n); }
    [[nodiscard]] bool lacks_running_workers() const noexcept final {
        return !is_associated() || nr_running_.load(relaxed) < width_.load(relaxed);
    }

private:
    void count(worker& w) noexcept;
    bool uncount(worker& w) noexcept;
    [[nodiscard]] bool sentinel_works() const noexcept;
    bool start_spare() noexcept;
    void raise_limit(int to) noexcept;
    void arm_far_watchers() const noexcept;
    void expire_may_block(std::int64_t threshold) noexcept;
    [[nodiscard]] bool stalled_since_last_time() noexcept;
    bool look_for_hogs(std::int64_t threshold) noexcept CMWQ_EXCLUDES(lock_);
    void look_for_overdue(std::int64_t passed, std::int64_t patience) noexcept;
    void learn_limit() noexcept CMWQ_EXCLUDES(lock_);

    // A: what those read who may come late, when the record serves another pool already: harmless to find the other's.
    atomic<int> width_{1};          // CPUs of the pod, or fewer by the quota
    atomic<int> max_running_{1};    // the same of all CPUs that its threads may use: beyond that nobody lends one
    atomic<bool> associated_{true}; // its CPU is there, if it has one
    arming armed_;                  // its sentinels are: spares a look at each of them
    const std::unique_ptr<atomic<std::uint64_t>[]> near_; // a bit for each CPU of the runtime
    const std::unique_ptr<atomic<std::uint64_t>[]> far_;  // the same

    alignas(cache_line) atomic<int> nr_running_{0}; // A: counted workers
    atomic<int> limit_{1};                          // A: learned limit of active workers
    busy_workers<worker> counting_;                 // A: those that may count; changed under L
    atomic<bool> overdue_{false};                   // A: one more worker may start; until one has
    atomic<std::uint64_t> by_guard_{0}, by_sentinel_{0}, by_monitor_{0}, spare_wakeups_{0}, nr_overdue_{0}; // A

    std::uint64_t completed_seen_ = ~std::uint64_t{0};      // S
    std::uint64_t started_before_ = 0;                      // S: at the last look for what is overdue
    std::int64_t waiting_for_ = 0;                          // S: nanoseconds in which nothing was started
    double sum_cpu_ = 0, sum_blocked_ = 0, sum_waited_ = 0; // S: moving sums, nanoseconds
};

} // namespace cmwq::inline CMWQ_NS::detail
