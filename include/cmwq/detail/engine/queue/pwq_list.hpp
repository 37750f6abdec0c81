// SPDX-License-Identifier: BSL-1.0
//
// pwq_list: the pwqs of a queue, and what is done to all of them.
#pragma once

#include <cmwq/detail/ds/intrusive_list.hpp>
#include <cmwq/detail/engine/ledger/pool_ledger.hpp>
#include <cmwq/detail/engine/ledger/pool_workqueue.hpp>
#include <cmwq/detail/sync/mutex.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// All pwqs of a queue, the oldest one first; replaced ones that have not drained are among them. Any thread may call
/// every member. A member that ends in `_locked` needs the lock.
class pwq_list {
public:
    pwq_list() noexcept = default;
    pwq_list(const pwq_list&) = delete;
    pwq_list& operator=(const pwq_list&) = delete;
    ~pwq_list() {
        while (pool_workqueue* p = list_.pop_front()) delete p;
    }

    /// Before the pool locks.
    mutable ranked_mutex<lock_rank::queue> lock;

    /// Calls `f(pool_workqueue&)` for each pwq, in the order in which they were made.
    template <class F>
    void for_each(F&& f) const CMWQ_EXCLUDES(lock) {
        const scoped_lock g(lock);
        for_each_locked(f);
    }
    /// Calls `f` for each pwq, then `g` for each. No pwq is made or freed in between.
    template <class F, class G>
    void for_each_twice(F&& f, G&& g) const CMWQ_EXCLUDES(lock) {
        const scoped_lock guard(lock);
        for_each_locked(f);
        for_each_locked(g);
    }
    template <class F>
    void for_each_locked(F&& f) const CMWQ_REQUIRES(lock) {
        for (pool_workqueue* p = list_.front(); p != nullptr; p = list_.next(*p)) f(*p);
    }

    /// Takes a new pwq over.
    void add_locked(pool_workqueue& p) noexcept CMWQ_REQUIRES(lock);
    /// Keeps the counts of a pwq that is about to be freed.
    void remove_locked(pool_workqueue& p) noexcept CMWQ_REQUIRES(lock);
    [[nodiscard]] bool empty_locked() const noexcept CMWQ_REQUIRES(lock) { return list_.empty(); }
    [[nodiscard]] pool_workqueue* front_locked() const noexcept CMWQ_REQUIRES(lock) { return list_.front(); }
    [[nodiscard]] pool_workqueue* next_locked(pool_workqueue& p) const noexcept CMWQ_REQUIRES(lock) {
        return list_.next(p);
    }

    /// The counts of all pwqs, also of those that were freed.
    [[nodiscard]] pwq_stats stats() const noexcept CMWQ_EXCLUDES(lock) {
        const scoped_lock g(lock);
        return stats_locked();
    }
    /// The same; false: one of the locks is not free before `deadline`, steady clock.
    [[nodiscard]] bool try_stats(pwq_stats& to, std::int64_t deadline) const noexcept CMWQ_EXCLUDES(lock);
    [[nodiscard]] pwq_stats stats_locked() const noexcept CMWQ_REQUIRES(lock);
    [[nodiscard]] queue_counters freed_locked() const noexcept CMWQ_REQUIRES(lock) { return freed_; }
    /// Whether any items are active: on a worklist, or running.
    [[nodiscard]] bool any_active() const noexcept CMWQ_EXCLUDES(lock);

    // --- observers ---------------------------------------------------------------------------------------------------

    /// The runtime has got its first observer, or has none any more.
    void set_observed(bool observed) noexcept CMWQ_EXCLUDES(lock);

    // --- freezing ----------------------------------------------------------------------------------------------------

    void set_frozen(bool frozen) noexcept CMWQ_EXCLUDES(lock);
    /// An item of a queue with one pool for each CPU waits for a group from now on: its tasks run also in a freeze,
    /// which waits for that item.
    void start_awaited_tasks() noexcept CMWQ_EXCLUDES(lock);
    [[nodiscard]] bool is_frozen_locked() const noexcept CMWQ_REQUIRES(lock) { return frozen_; }

    // --- dropping ----------------------------------------------------------------------------------------------------

    /// Items that hold_back() has held back do not become active until the last end_dropping(). Several callers at once
    /// share the items.
    void begin_dropping() noexcept CMWQ_EXCLUDES(lock);
    void end_dropping() noexcept CMWQ_EXCLUDES(lock);
    /// Between these two: holds back all items that have not started.
    void hold_back() noexcept CMWQ_EXCLUDES(lock);
    /// After that: removes one of them. The caller then owns its PENDING. Null: none is left. `first`: 0 at the first
    /// call; changed by each.
    [[nodiscard]] work_base* take_held_back(std::uint64_t& first) noexcept CMWQ_EXCLUDES(lock);

private:
    mutable intrusive_list<pool_workqueue, pwq_tag> list_ CMWQ_GUARDED_BY(lock);
    std::uint64_t nr_made_ CMWQ_GUARDED_BY(lock) = 0;
    queue_counters freed_ CMWQ_GUARDED_BY(lock); // the counts of the pwqs that were freed
    unsigned nr_dropping_ CMWQ_GUARDED_BY(lock) = 0;
    bool frozen_ CMWQ_GUARDED_BY(lock) = false;
};

}}} // namespace cmwq::CMWQ_NS::detail
