// SPDX-License-Identifier: BSL-1.0
//
// rescuable_pool: a pool whose items are run by rescuers when it needs a worker and cannot create one.
#pragma once

#include <cmwq/detail/engine/threads/worker_set.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class group_task;
class rescuer;

/// The result of one check of a pool by the monitor.
struct monitor_findings {
    bool pending = false;   ///< items are pending
    bool eventful = false;  ///< the monitor had to do what a sentinel or a producer should have done
    bool computing = false; ///< a run may become a CPU hog
};

/// A pool whose items rescuers can run. The pool lacks workers after a failed attempt to create one, or after
/// give_up_worker() took its last idle one, until an attempt succeeds; and also while a worker is requested or being
/// created if some of its pwqs have a rescuer. If items are pending meanwhile, and still are after 10 ms, the service
/// thread calls the rescuers of the queues that have items on the worklist. Nothing on that path allocates: the record
/// under which a rescuer runs items in a pool is created together with the pwq.
///
/// Thread safety: as item_pool. Letters as in worker.hpp.
class rescuable_pool : public worker_set {
public:
    /// The queue of `pwq` has a rescuer: provides the record for it. Called before an item is queued there. Throws
    /// std::bad_alloc.
    void make_rescuable(pool_workqueue& pwq) CMWQ_EXCLUDES(ledger.lock);
    /// The rescuer or the pwq is about to be destroyed: takes the record back.
    void end_rescuable(pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(ledger.lock);
    /// For the service thread: calls the rescuers whose items are pending, if workers have been missing for long.
    /// `now`: steady clock.
    void call_rescuers(std::int64_t now) noexcept CMWQ_EXCLUDES(ledger.lock);
    /// For the thread of a rescuer: runs items of that pwq as long as the pool has no workers for them.
    void rescue(pool_workqueue& pwq, rescuer& by) CMWQ_EXCLUDES(ledger.lock);

    /// For a thread of the program that waits for the group of `task`, and examines the task: runs it as one of the
    /// workers, and the tasks of the group that come next. `stack_end`: of that thread. `gone`: a worker has taken the
    /// task. `kept_back`: the limit keeps it back, or it is on a local list, or the pool has enough guests. Not noexcept.
    enum class guest_result : unsigned char { has_run, gone, kept_back };
    virtual guest_result run_as_guest(group_task& task, std::uintptr_t stack_end) CMWQ_EXCLUDES(ledger.lock) = 0;

    // --- the service thread as monitor -------------------------------------------------------------------------------

    /// Checks for blocked workers, CPU hogs, and overdue items. `passed`: nanoseconds since the last call, without
    /// times in which the process could not run.
    virtual monitor_findings look_after(std::int64_t passed) noexcept CMWQ_EXCLUDES(ledger.lock) = 0;
    /// Nothing has been pending for several ticks: forgets what was learned about the load.
    virtual void reset_learned_limit() noexcept = 0;

protected:
    using worker_set::worker_set;

    [[nodiscard]] pool_stats stats_locked() const noexcept override CMWQ_REQUIRES(ledger.lock) {
        pool_stats s = worker_set::stats_locked();
        s.rescued = nr_rescued_.load(relaxed);
        return s;
    }

    /// Whether fewer workers run than the pool needs.
    [[nodiscard]] virtual bool lacks_running_workers() const noexcept = 0;
    /// Runs an item on a rescuer's thread. Not noexcept.
    virtual void run_rescued_locked(worker& record, work_base& w, deferred& d) CMWQ_REQUIRES(ledger.lock) = 0;

private:
    /// Whether the pool may need a rescuer. Without the lock only a hint.
    [[nodiscard]] bool lacks_workers() const noexcept {
        return short_of_threads_.load(relaxed) ||
               (has_rescuable_.load(relaxed) && (creating_since_.load(relaxed) != 0 || wanted_.load(relaxed)));
    }
    [[nodiscard]] bool needs_rescue_locked() const noexcept CMWQ_REQUIRES(ledger.lock);

    intrusive_list<pool_workqueue, rescue_tag> rescuable_
        CMWQ_GUARDED_BY(ledger.lock); // L: pwqs of queues with a rescuer
    intrusive_list<worker, idle_tag> free_rescue_records_ CMWQ_GUARDED_BY(ledger.lock); // L: records that no pwq uses
    atomic<std::uint64_t> nr_rescued_{0};                                               // A
};

}}} // namespace cmwq::CMWQ_NS::detail
