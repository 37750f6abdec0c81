// SPDX-License-Identifier: BSL-1.0
//
// rescuer: a thread that a queue creates in advance. When a pool needs a worker and cannot create one, the rescuer runs
// the items of its queue there, one at a time.
#pragma once

#include <cmwq/cpuset.hpp>
#include <cmwq/detail/ds/intrusive_list.hpp>
#include <cmwq/detail/engine/ledger/pool_workqueue.hpp>
#include <cmwq/detail/sync/mutex.hpp>
#include <cmwq/detail/sync/parker.hpp>
#include <cmwq/detail/sync/thread.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class queue_face;

/// The rescuer of a queue: the thread, the pwqs that have called it, and the CPUs on which it waits. Any thread may
/// call follow() and is_awaited(); call() is called under a pool lock.
///
/// Letters: I set before publication · M lock_, taken inside pool locks · A atomic
class rescuer {
public:
    /// Creates the thread. Throws std::system_error if that fails.
    explicit rescuer(queue_face& q);
    ~rescuer() { stop(); }
    rescuer(const rescuer&) = delete;
    rescuer& operator=(const rescuer&) = delete;

    /// A pool is short of threads, and items of `pwq` are on its worklist. The caller holds the lock of the pool and
    /// has set `pwq.mayday`: the pwq is not freed until the rescuer resets that flag.
    void call(pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock_);
    /// Whether pwqs of other pools wait for the rescuer.
    [[nodiscard]] bool is_awaited() noexcept CMWQ_EXCLUDES(lock_);
    /// Sets the CPUs on which the thread waits. It moves there at once, or after the items that it runs elsewhere.
    /// `cpus` is exchanged for other CPUs, so nothing is allocated.
    void follow(cpuset& cpus) noexcept CMWQ_EXCLUDES(lock_);
    /// The queue has drained and is about to be destroyed: serves the remaining calls, which normally find no item,
    /// then ends the thread and joins it.
    void stop() noexcept;
    /// The number of the thread, 0 before it has begun.
    [[nodiscard]] long tid() const noexcept { return tid_.load(relaxed); }
    /// For a forked child, where the thread does not exist.
    void forget_thread() noexcept { thread_.forget(); }

private:
    static void thread_main(void* self);
    void serve(); // not noexcept: serve() runs items
    /// The pwq that has waited longest for the rescuer; null: none waits.
    [[nodiscard]] pool_workqueue* next() noexcept CMWQ_EXCLUDES(lock_);
    /// Moves the thread back to the CPUs on which it waits.
    void return_to_wait_cpus() noexcept CMWQ_EXCLUDES(lock_);

    queue_face& queue_; // I
    thread thread_;     // I
    parker sleep_;      // A
    atomic<bool> stop_{false};
    atomic<long> tid_{0};                   // A: for reports
    ranked_mutex<lock_rank::rescuer> lock_; // M
    intrusive_list<pool_workqueue, mayday_tag> maydays_ CMWQ_GUARDED_BY(lock_);
    cpuset next_wait_cpus_ CMWQ_GUARDED_BY(lock_); // valid if `moves_`
    bool moves_ CMWQ_GUARDED_BY(lock_) = false;
    cpuset wait_cpus_;             // used by the thread only: the CPUs on which it waits; empty: not known yet
    bool is_on_wait_cpus_ = false; // used by the thread only
};

}}} // namespace cmwq::CMWQ_NS::detail
