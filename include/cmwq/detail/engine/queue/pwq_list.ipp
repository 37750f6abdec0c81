// SPDX-License-Identifier: BSL-1.0
//
// Bodies of pwq_list.

#include <cmwq/detail/engine/ledger/queue_face.hpp>
#include <cmwq/detail/engine/queue/pwq_list.hpp>
#include <cmwq/detail/engine/threads/item_pool.hpp>
#include <cmwq/detail/sync/try_lock.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE void pwq_list::add_locked(pool_workqueue& p) noexcept {
    p.serial = ++nr_made_;
    p.frozen = frozen_;
    if (p.queue->env.observing.any()) p.sampling.set_observed(true);
    list_.push_back(p);
}

CMWQ_INLINE void pwq_list::remove_locked(pool_workqueue& p) noexcept {
    add(freed_, p.pool->stats_of(p));
    list_.remove(p);
}

CMWQ_INLINE pwq_stats pwq_list::stats_locked() const noexcept {
    pwq_stats total{freed_};
    for_each_locked([&](const pool_workqueue& p) { add(total, p.pool->stats_of(p)); });
    return total;
}

CMWQ_INLINE bool pwq_list::try_stats(pwq_stats& to, std::int64_t deadline) const noexcept {
    if (!try_lock_until(lock, deadline)) return false;
    const scoped_lock g(lock, adopt_lock);
    to = pwq_stats{freed_};
    bool complete = true;
    for_each_locked([&](const pool_workqueue& p) {
        pwq_stats one;
        complete = complete && p.pool->try_stats_of(p, one, deadline);
        add(to, one);
    });
    return complete;
}

CMWQ_INLINE bool pwq_list::any_active() const noexcept {
    bool active = false;
    for_each([&](const pool_workqueue& p) { active |= p.ledger->nr_active_of(p) != 0; });
    return active;
}

CMWQ_INLINE void pwq_list::set_observed(bool observed) noexcept {
    for_each([&](pool_workqueue& p) { p.sampling.set_observed(observed); });
}

CMWQ_INLINE void pwq_list::set_frozen(bool frozen) noexcept {
    const scoped_lock g(lock);
    frozen_ = frozen;
    for_each_locked([&](pool_workqueue& p) { p.ledger->set_frozen(p, frozen); });
}

// The lock orders this with set_frozen(), which looks at the same tasks.
CMWQ_INLINE void pwq_list::start_awaited_tasks() noexcept {
    const scoped_lock g(lock);
    if (!frozen_) return;
    for_each_locked([](pool_workqueue& p) { p.ledger->set_frozen(p, true); }); // once more
}

CMWQ_INLINE void pwq_list::begin_dropping() noexcept {
    const scoped_lock g(lock);
    ++nr_dropping_;
}

CMWQ_INLINE void pwq_list::end_dropping() noexcept {
    const scoped_lock g(lock);
    if (--nr_dropping_ != 0) return;
    // A producer that found the queue open before shutdown() may push only now. Its item runs, as if queued before.
    for_each_locked([](pool_workqueue& p) { p.ledger->let_go(p); });
}

CMWQ_INLINE void pwq_list::hold_back() noexcept {
    for_each([](pool_workqueue& p) { p.ledger->hold_back(p); });
}

CMWQ_INLINE work_base* pwq_list::take_held_back(std::uint64_t& first) noexcept {
    const scoped_lock g(lock);
    for (pool_workqueue* p = list_.front(); p != nullptr; p = list_.next(*p)) {
        if (p->serial < first) continue; // no item is left in this pwq
        first = p->serial;
        if (work_base* const w = p->ledger->take_held_back(*p); w != nullptr) return w;
    }
    return nullptr;
}

}}} // namespace cmwq::CMWQ_NS::detail
