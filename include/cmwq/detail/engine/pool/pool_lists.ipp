// SPDX-License-Identifier: BSL-1.0
//
// The lists of a pool, under its lock: how items come in, become active, and leave.
#pragma once

#include <cmwq/detail/engine/pool/worker_pool.hpp>
#include <cmwq/detail/engine/runtime/runtime_core.hpp>

namespace cmwq::inline CMWQ_NS::detail {

// After this every item whose push has completed is on a list of this pool. A caller that is not a counted worker kicks
// the pool before it unlocks: for an instant the items were neither in the inbox nor in nr_pending_.
CMWQ_INLINE void worker_pool::drain_locked(deferred& d) noexcept {
    drain_inbox_locked();
    // Afterwards, because a slot lets an item start that has waited for its queue's limit: it goes behind all that has
    // come in until now.
    if (!grants_.empty()) drain_grants_locked(d);
}

CMWQ_INLINE void worker_pool::drain_inbox_locked() noexcept {
    nr_activated_ = 0;
    work_base* w = inbox_.take_all();
    if (w == nullptr) return;
    while (w != nullptr) {
        work_base* next = inbox_.unlink_next(*w);
        accept_locked(*w);
        w = next;
    }
    publish_pending_locked();
}

// Each of these pwqs comes with a slot.
CMWQ_INLINE void worker_pool::drain_grants_locked(deferred& d) noexcept {
    while (pool_workqueue* p = grants_.take_all()) {
        while (p != nullptr) {
            pool_workqueue* next = grants_.unlink_next(*p);
            p->slots->grant_received(*p);
            if (p->inactive.empty() || p->frozen || p->held_back) { // what waited was cancelled, or has to wait
                give_back_slot(*p, d);
            } else {
                ++p->nr_active;
                activate_first_locked(*p);
                activate_locked(*p); // or wait for the next slot, behind the others
            }
            p = next;
        }
    }
    publish_pending_locked();
}

CMWQ_INLINE bool worker_pool::take_slot_locked(pool_workqueue& pwq) noexcept {
    if (pwq.plugged || pwq.frozen || pwq.held_back) return false;
    if (pwq.slots != nullptr ? !pwq.slots->take(pwq) : pwq.nr_active >= pwq.max_active) return false;
    ++pwq.nr_active;
    return true;
}

// A slot that goes to this pool again is in grants_ then.
CMWQ_INLINE void worker_pool::give_back_slot(pool_workqueue& pwq, deferred& d) noexcept {
    if (worker_pool* p = pwq.slots->give_back(); p != nullptr && p != this) d.tell(*p);
}

// An active item is not any more. The caller publishes and kicks, or goes on by itself.
//
// The next one of its queue goes behind what has come in: a queue with a long backlog never has more of the worklist than
// its active items, and an item of another queue starts behind those.
CMWQ_INLINE void worker_pool::end_active_locked(pool_workqueue& pwq, deferred& d) noexcept {
    if (--pwq.nr_active == 0 && pwq.frozen) rt_.request_freeze_check();
    if (pwq.slots != nullptr) {
        give_back_slot(pwq, d);
        if (grants_.empty()) return;
        drain_inbox_in_time_locked(pwq.slots->max());
        drain_grants_locked(d);
    } else if (!pwq.inactive.empty()) {
        drain_inbox_in_time_locked(pwq.max_active);
        activate_locked(pwq);
        publish_pending_locked();
    }
}

// The inbox is its producers' cache line. So it is not drained before each item that becomes active, but after an eighth
// of those that may be.
CMWQ_INLINE void worker_pool::drain_inbox_in_time_locked(unsigned limit) noexcept {
    if (++nr_activated_ >= limit / 8) drain_inbox_locked();
}

CMWQ_INLINE void worker_pool::accept_locked(work_base& w) noexcept {
    pool_workqueue& pwq = *work_access::pwq(w);
    std::uint64_t p = work_access::place_of(w) | std::uint64_t{pwq.colors.enter()} << place::color_shift;
    if (pwq.inactive.empty() && take_slot_locked(pwq)) {
        p |= place::on_worklist;
        push_active_locked(pwq, w);
    } else {
        p |= place::on_inactive;
        pwq.inactive.push_back(w);
        pwq.queue->note_backlog();
    }
    work_access::set_place(w, p);
}

CMWQ_INLINE void worker_pool::push_active_locked(pool_workqueue& pwq, work_base& w) noexcept {
    ++pwq.nr_waiting;
    worklist_.push_back(w);
}

CMWQ_INLINE void worker_pool::leave_worklist_locked(work_base& w) noexcept {
    --work_access::pwq(w)->nr_waiting;
    for (worker* seat = attending_; seat != nullptr; seat = seat->next_attending) {
        if (seat->cursor == &w) seat->cursor = worklist_.prev(w);
    }
    worklist_.remove(w);
}

// The caller has taken a slot for it.
CMWQ_INLINE void worker_pool::activate_first_locked(pool_workqueue& pwq) noexcept {
    work_base& w = *pwq.inactive.pop_front();
    push_active_locked(pwq, w);
    work_access::set_place(w, place::with_list(work_access::place_of(w), place::on_worklist));
}

// The caller publishes and kicks.
CMWQ_INLINE void worker_pool::activate_locked(pool_workqueue& pwq) noexcept {
    while (!pwq.inactive.empty() && take_slot_locked(pwq)) activate_first_locked(pwq);
}

// The last thing that happens to an instance.
CMWQ_INLINE void worker_pool::leave_locked(pool_workqueue& pwq, unsigned color, deferred& d) noexcept {
    pwq.colors.leave(color, d);
    if (pwq.detached && pwq.drained()) rt_.request_reaping(*pwq.queue);
}

CMWQ_INLINE bool worker_pool::is_listed_locked(const work_base& w) const noexcept {
    const std::uint64_t p = work_access::place_of(w);
    return work_access::pool_id(p) == id_ && (p & place::list_mask) != 0;
}

// The item of that run, or its address, is not the worker's any more.
CMWQ_INLINE void worker_pool::end_run_locked(worker& self) noexcept {
    self.own_item = nullptr;
    if (self.current.load(relaxed) == nullptr) return;
    running_.remove(self);
    self.current.store(nullptr, release); // [RUN-2]
}

// Calls f(item_waiter&) for those who wait for the pending instance of `w`. They are on the list no more, and may be
// gone after f.
template <class F>
void worker_pool::take_waiters_locked(const work_base& w, F&& f) noexcept {
    for (item_waiter** link = &item_waiters_; *link != nullptr;) {
        item_waiter* iw = *link;
        if (iw->item == &w) {
            *link = iw->next;
            f(*iw);
        } else {
            link = &iw->next;
        }
    }
}

} // namespace cmwq::inline CMWQ_NS::detail
