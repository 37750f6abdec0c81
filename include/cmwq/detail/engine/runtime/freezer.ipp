// SPDX-License-Identifier: BSL-1.0
//
// The bodies of freezer.

#include <cmwq/detail/engine/runtime/freezer.hpp>
#include <cmwq/detail/engine/waits/announced_wait.hpp>

#include <stdexcept>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

template <class F>
void freezer::for_each_freezable(F&& f) const {
    queues_.for_each([&](queue_core& q) {
        if (q.freezable) f(q);
    });
}

CMWQ_INLINE void freezer::freeze() noexcept {
    const scoped_lock c(placement_.lock());
    if (nr_freezes_++ == 0) for_each_freezable([](queue_core& q) { q.pwqs.set_frozen(true); });
}

CMWQ_INLINE void freezer::thaw() {
    const scoped_lock c(placement_.lock());
    if (nr_freezes_ == 0) throw std::logic_error("cmwq::runtime: thaw() without a matching freeze()");
    if (--nr_freezes_ == 0) for_each_freezable([](queue_core& q) { q.pwqs.set_frozen(false); });
    requests_.request_freeze_check(); // wakes the threads in wait(), which now returns false
}

CMWQ_INLINE freezer::state freezer::state_now() const noexcept {
    const scoped_lock c(placement_.lock());
    if (nr_freezes_ == 0) return state::none;
    bool active = false;
    for_each_freezable([&](const queue_core& q) { active = active || q.pwqs.any_active(); });
    return active ? state::freezing : state::frozen;
}

CMWQ_INLINE bool freezer::wait(std::int64_t deadline) noexcept {
    waiter_node me;
    {
        const scoped_lock g(waiters_lock_);
        me.next = waiters_;
        waiters_ = &me;
    }
    const announced_wait announced;
    // Either the last active item ends after `me` is on the list, and then requests a wake-up; or it has ended before,
    // and state_now() sees that.
    state now = state_now();
    for (bool in_time = true; now == state::freezing && in_time; now = state_now()) {
        if (deadline == 0) me.sleep.park();
        else in_time = me.sleep.park_until(deadline);
    }
    const scoped_lock g(waiters_lock_);
    waiter_node** link = &waiters_;
    while (*link != &me) link = &(*link)->next;
    *link = me.next;
    return now == state::frozen;
}

CMWQ_INLINE void freezer::wake_waiters() noexcept {
    const scoped_lock g(waiters_lock_); // a waiting thread cannot take its node off the list now
    for (waiter_node* w = waiters_; w != nullptr; w = w->next) w->sleep.unpark();
}

}}} // namespace cmwq::CMWQ_NS::detail
