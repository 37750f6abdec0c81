// SPDX-License-Identifier: BSL-1.0
//
// queue_list: the queues of a runtime.
#pragma once

#include <cmwq/detail/ds/intrusive_list.hpp>
#include <cmwq/detail/engine/queue/queue_core.hpp>
#include <cmwq/detail/sync/mutex.hpp>
#include <cmwq/detail/sync/try_lock.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Any thread may call every member that does not say otherwise. No queue is removed while a caller is inside a member.
class queue_list {
public:
    queue_list() noexcept = default;
    queue_list(const queue_list&) = delete;
    queue_list& operator=(const queue_list&) = delete;

    void add(queue_core& q) noexcept CMWQ_EXCLUDES(lock_) {
        const scoped_lock g(lock_);
        list_.push_back(q);
    }
    void remove(queue_core& q) noexcept CMWQ_EXCLUDES(lock_) {
        const scoped_lock g(lock_);
        list_.remove(q);
    }
    /// Calls f(queue_core&) for every queue, in the order in which they were added.
    template <class F>
    void for_each(F&& f) const CMWQ_EXCLUDES(lock_) {
        const scoped_lock g(lock_);
        for_each_locked(f);
    }
    /// As for_each(). False: another thread held the lock until `deadline`, steady clock, and `f` was not called.
    template <class F>
    [[nodiscard]] bool for_each_until(std::int64_t deadline, F&& f) const CMWQ_EXCLUDES(lock_) {
        if (!try_lock_until(lock_, deadline)) return false;
        const scoped_lock g(lock_, adopt_lock);
        for_each_locked(f);
        return true;
    }
    /// Calls f() under the lock, so that no queue on the list can be destroyed meanwhile.
    template <class F>
    void with_all_kept(F&& f) const CMWQ_EXCLUDES(lock_) {
        const scoped_lock g(lock_);
        f();
    }

    // --- fork() ------------------------------------------------------------------------------------------------------

    [[nodiscard]] mutex& lock_for_fork() noexcept { return lock_; }
    /// Called in the child, with that lock held.
    void mark_dead() noexcept CMWQ_NO_TSA {
        for (queue_core* q = list_.front(); q != nullptr; q = list_.next(*q)) q->mark_dead();
    }

private:
    template <class F>
    void for_each_locked(F& f) const CMWQ_REQUIRES(lock_) {
        for (queue_core* q = list_.front(); q != nullptr; q = list_.next(*q)) f(*q);
    }

    mutable ranked_mutex<lock_rank::list_of_queues> lock_;
    mutable intrusive_list<queue_core, queue_tag> list_ CMWQ_GUARDED_BY(lock_);
};

}}} // namespace cmwq::CMWQ_NS::detail
