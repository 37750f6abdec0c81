// SPDX-License-Identifier: BSL-1.0
//
// rescuable_pool: a pool whose items rescuers run where it needs a worker and cannot have one.
#pragma once

#include <cmwq/detail/engine/pool/worker_set.hpp>

#include <cstdint>

namespace cmwq::inline CMWQ_NS::detail {

class rescuer;

/// What the monitor has found in a pool.
struct monitor_findings {
    bool pending = false;   ///< something waits
    bool eventful = false;  ///< it had to do what a sentinel should have done
    bool computing = false; ///< a run may become a CPU hog
};

/// A pool is short of threads once it could not create one, until it can, and while one is being created, or asked for.
/// If its items wait all the same, and go on waiting for 10 ms, the service thread calls the rescuers of the queues whose
/// items are next. Nothing on that way allocates: the record under which a rescuer runs items in a pool is made together
/// with the pwq.
///
/// Letters as in worker.hpp.
class rescuable_pool : public worker_set {
public:
    /// The queue of `pwq` has a rescuer: makes the record for it. Before anything is queued there. Throws std::bad_alloc.
    void make_rescuable(pool_workqueue& pwq) CMWQ_EXCLUDES(lock_);
    /// The rescuer goes, or the pwq.
    void end_rescuable(pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock_);
    /// The service thread: calls the rescuers whose items wait, if workers have been missing for long. Steady clock.
    void call_rescuers(std::int64_t now) noexcept CMWQ_EXCLUDES(lock_);
    /// A rescuer's thread: runs items of that pwq as long as there are no workers for them.
    void rescue(pool_workqueue& pwq, rescuer& by) CMWQ_EXCLUDES(lock_);

    [[nodiscard]] bool may_be_freed(pool_workqueue& pwq) noexcept override CMWQ_EXCLUDES(lock_);

    // --- the service thread as monitor -------------------------------------------------------------------------------

    /// Looks for blocked workers, hogs, and items that are overdue. `passed`: since the last call, as far as the process
    /// could run.
    virtual monitor_findings look_after(std::int64_t passed) noexcept CMWQ_EXCLUDES(lock_) = 0;
    /// The busy spell is over, and the next one may be of another kind.
    virtual void forget_load() noexcept = 0;

    [[nodiscard]] pool_stats stats() const noexcept override {
        pool_stats s = worker_set::stats();
        s.rescued = nr_rescued_.load(relaxed);
        return s;
    }

protected:
    using worker_set::worker_set;

    /// Whether fewer workers run than the pool needs.
    [[nodiscard]] virtual bool lacks_running_workers() const noexcept = 0;
    /// Runs an item on a rescuer's thread. Not noexcept.
    virtual void run_rescued_locked(worker& record, work_base& w, deferred& d) CMWQ_REQUIRES(lock_) = 0;

private:
    [[nodiscard]] bool lacks_workers() const noexcept {
        return short_of_threads_.load(relaxed) ||
               (has_rescuable_.load(relaxed) && (creating_since_.load(relaxed) != 0 || wanted_.load(relaxed)));
    }
    [[nodiscard]] bool needs_rescue_locked() const noexcept CMWQ_REQUIRES(lock_);
    [[nodiscard]] work_base* take_for_rescue_locked(worker& record, pool_workqueue& pwq) noexcept CMWQ_REQUIRES(lock_);
    void report_rescue_locked(queue_core& q) noexcept CMWQ_REQUIRES(lock_);
    void end_rescuable_locked(pool_workqueue& pwq) noexcept CMWQ_REQUIRES(lock_);

    intrusive_list<pool_workqueue, rescue_tag> rescuable_ CMWQ_GUARDED_BY(lock_); // L: pwqs of queues with a rescuer
    intrusive_list<worker, idle_tag> free_rescue_records_ CMWQ_GUARDED_BY(lock_); // L: those without a pwq
    atomic<std::uint64_t> nr_rescued_{0};                                         // A
};

} // namespace cmwq::inline CMWQ_NS::detail
