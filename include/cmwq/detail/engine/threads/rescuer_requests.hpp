// SPDX-License-Identifier: BSL-1.0
//
// rescuer_requests: requests of pools and of the queue to the thread of a rescuer, which sleeps here.
#pragma once

#include <cmwq/cpuset.hpp>
#include <cmwq/detail/ds/intrusive_list.hpp>
#include <cmwq/detail/engine/ledger/pool_workqueue.hpp>
#include <cmwq/detail/sync/mutex.hpp>
#include <cmwq/detail/sync/parker.hpp>

#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The pwqs that have called a rescuer, and the CPUs on which it waits. Any thread may call every member that does not
/// say otherwise, also under a pool lock.
///
/// Letters: M lock_, taken inside pool locks · A atomic
class rescuer_requests {
public:
    rescuer_requests() noexcept = default;
    rescuer_requests(const rescuer_requests&) = delete;
    rescuer_requests& operator=(const rescuer_requests&) = delete;

    /// A pool is short of threads, and items of `pwq` are on its worklist. The caller holds the lock of the pool and
    /// has set `pwq.mayday`: the pwq is not freed until the rescuer resets that flag.
    void call(pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(lock_) {
        {
            const scoped_lock g(lock_);
            maydays_.push_back(pwq);
        }
        sleep_.unpark();
    }
    /// Whether pwqs of other pools wait for the rescuer.
    [[nodiscard]] bool is_awaited() noexcept CMWQ_EXCLUDES(lock_) {
        const scoped_lock g(lock_);
        return !maydays_.empty();
    }
    /// Sets the CPUs on which the thread waits. It moves there at once, or after the items that it runs elsewhere.
    /// `cpus` is exchanged for other CPUs, so nothing is allocated.
    void follow(cpuset& cpus) noexcept CMWQ_EXCLUDES(lock_) {
        {
            const scoped_lock g(lock_);
            std::swap(next_wait_cpus_, cpus);
            moves_ = true;
        }
        sleep_.unpark();
    }
    /// Asks the thread to serve the remaining calls, and then to end.
    void request_end() noexcept {
        stop_.store(true, release); // [STOP]
        sleep_.unpark();
    }

    // --- the thread of the rescuer -----------------------------------------------------------------------------------

    /// The pwq that has waited longest; null: none waits.
    [[nodiscard]] pool_workqueue* next() noexcept CMWQ_EXCLUDES(lock_) {
        const scoped_lock g(lock_);
        return maydays_.pop_front();
    }
    /// Whether `cpus` has been replaced by other CPUs on which the thread is to wait.
    [[nodiscard]] bool take_cpus(cpuset& cpus) noexcept CMWQ_EXCLUDES(lock_) {
        const scoped_lock g(lock_);
        if (!moves_) return false;
        std::swap(cpus, next_wait_cpus_);
        moves_ = false;
        return true;
    }
    [[nodiscard]] bool must_end() const noexcept { return stop_.load(acquire); } // [STOP]
    /// Waits for a request.
    void wait() noexcept { sleep_.park(); }

private:
    parker sleep_;                          // A
    atomic<bool> stop_{false};              // A
    ranked_mutex<lock_rank::rescuer> lock_; // M
    intrusive_list<pool_workqueue, mayday_tag> maydays_ CMWQ_GUARDED_BY(lock_);
    cpuset next_wait_cpus_ CMWQ_GUARDED_BY(lock_); // valid if `moves_`
    bool moves_ CMWQ_GUARDED_BY(lock_) = false;
};

}}} // namespace cmwq::CMWQ_NS::detail
