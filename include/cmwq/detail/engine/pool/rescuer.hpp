// SPDX-License-Identifier: BSL-1.0
//
// rescuer: the thread that a queue has made in advance. Where a pool needs a worker and cannot have one, it runs the
// items of its queue there, one at a time.
#pragma once

#include <cmwq/cpuset.hpp>
#include <cmwq/detail/ds/intrusive_list.hpp>
#include <cmwq/detail/engine/pool/pool_workqueue.hpp>
#include <cmwq/detail/sync/mutex.hpp>
#include <cmwq/detail/sync/parker.hpp>
#include <cmwq/detail/sync/thread.hpp>

namespace cmwq::inline CMWQ_NS::detail {

class queue_core;

/// Letters: I set before publication · M lock_, behind the pool locks · A atomic
class rescuer {
public:
    /// Throws std::system_error if the thread cannot be made.
    explicit rescuer(queue_core& q);
    ~rescuer() { stop(); }
    rescuer(const rescuer&) = delete;
    rescuer& operator=(const rescuer&) = delete;

    /// A pool, whose lock is held, is short of threads, and items of `pwq` are next there. `pwq.mayday` has been set:
    /// until the rescuer resets it, the pwq stays.
    void call(pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock_);
    /// Whether other pools wait for it.
    [[nodiscard]] bool is_awaited() noexcept CMWQ_EXCLUDES(lock_);
    /// The queue may use these CPUs from here on: the thread moves there now, or after the items that it runs elsewhere.
    /// They are exchanged for others: nothing is allocated.
    void follow(cpuset& cpus) noexcept CMWQ_EXCLUDES(lock_);
    /// Its queue has drained for good. Answers the calls that have been made, for nothing as a rule, then ends the thread
    /// and joins it.
    void stop() noexcept;
    /// In a forked child: there is no such thread.
    void forget_thread() noexcept { thread_.forget(); }

private:
    static void thread_main(void* self);
    void serve(); // not noexcept: it runs items
    [[nodiscard]] pool_workqueue* next() noexcept CMWQ_EXCLUDES(lock_);
    void go_home() noexcept CMWQ_EXCLUDES(lock_);

    queue_core& queue_; // I
    thread thread_;     // I
    parker sleep_;      // A
    atomic<bool> stop_{false};
    ranked_mutex<lock_rank::rescuer> lock_; // M
    intrusive_list<pool_workqueue, mayday_tag> maydays_ CMWQ_GUARDED_BY(lock_);
    cpuset next_home_ CMWQ_GUARDED_BY(lock_); // if `moves_`
    bool moves_ CMWQ_GUARDED_BY(lock_) = false;
    cpuset home_;             // the thread's own: where it waits; empty: not known yet
    bool is_at_home_ = false; // the thread's own
};

} // namespace cmwq::inline CMWQ_NS::detail
