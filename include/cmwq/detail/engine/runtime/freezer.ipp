// SPDX-License-Identifier: BSL-1.0
//
// runtime_core: freezing. Items of freezable queues that are active run out; no other one becomes active until the thaw.
#pragma once

#include <cmwq/detail/engine/pool/bottom_half.ipp>
#include <cmwq/detail/engine/queue/queue_core.hpp>
#include <cmwq/detail/engine/report/diagnosis.hpp>
#include <cmwq/detail/engine/runtime/runtime_core.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <stdexcept>

namespace cmwq::inline CMWQ_NS::detail {

template <class F>
void runtime_core::for_each_freezable(F&& f) const {
    const scoped_lock g(queues_lock_);
    for (queue_core* q = queues_.front(); q != nullptr; q = queues_.next(*q)) {
        if (q->freezable) f(*q);
    }
}

CMWQ_INLINE void runtime_core::freeze() {
    if (dead_.load(relaxed)) return;
    const scoped_lock c(config_lock_);
    if (nr_freezes_++ == 0) for_each_freezable([](queue_core& q) { q.set_frozen(true); });
}

CMWQ_INLINE void runtime_core::thaw() {
    if (dead_.load(relaxed)) return; // the child of a fork() in a freeze
    const scoped_lock c(config_lock_);
    if (nr_freezes_ == 0) throw std::logic_error("cmwq::runtime: thaw() without a matching freeze()");
    if (--nr_freezes_ == 0) for_each_freezable([](queue_core& q) { q.set_frozen(false); });
    request_freeze_check(); // who waits until all is frozen has waited in vain
}

CMWQ_INLINE runtime_core::freeze_state runtime_core::freezing() const noexcept {
    if (dead_.load(relaxed)) return freeze_state::frozen; // nothing runs here
    const scoped_lock c(config_lock_);
    if (nr_freezes_ == 0) return freeze_state::none;
    bool active = false;
    for_each_freezable([&](const queue_core& q) { active = active || q.is_active(); });
    return active ? freeze_state::freezing : freeze_state::frozen;
}

CMWQ_INLINE bool runtime_core::wait_frozen(std::int64_t deadline) {
    if (dead_.load(relaxed)) return true; // its locks may be held by threads that do not exist here
    if (const worker* const self = own_run();
        self != nullptr && self->current_pwq->queue->freezable && owns(self->pool.id())) {
        throw_deadlock("cmwq: " + describe_own_run() + ", which is freezable, waits until that is frozen");
    }
    refuse_in_bottom_half("a freeze is awaited");
    freeze_waiter me;
    {
        const scoped_lock g(thaw_lock_);
        me.next = freeze_waiters_;
        freeze_waiters_ = &me;
    }
    // The last one to end asks for a telling after this is on the list; or it ended before, and the look sees that.
    freeze_state now = freezing();
    for (bool in_time = true; now == freeze_state::freezing && in_time; now = freezing()) {
        if (deadline == 0) me.sleep.park();
        else in_time = me.sleep.park_until(deadline);
    }
    const scoped_lock g(thaw_lock_);
    freeze_waiter** link = &freeze_waiters_;
    while (*link != &me) link = &(*link)->next;
    *link = me.next;
    return now == freeze_state::frozen;
}

CMWQ_INLINE void runtime_core::tell_frozen() noexcept {
    const scoped_lock g(thaw_lock_); // keeps those who wait from leaving
    for (freeze_waiter* w = freeze_waiters_; w != nullptr; w = w->next) w->sleep.unpark();
}

} // namespace cmwq::inline CMWQ_NS::detail
