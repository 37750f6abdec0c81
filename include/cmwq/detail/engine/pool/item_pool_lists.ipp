// SPDX-License-Identifier: BSL-1.0
//
// item_pool: its lists, under its lock. How items come in, become active, run and leave.
#pragma once

#include <cmwq/detail/engine/pool/item_pool.hpp>
#include <cmwq/detail/engine/queue/queue_core.hpp>

#include <exception>

namespace cmwq::inline CMWQ_NS::detail {

// After this every item whose push has completed is on a list of this pool. A caller that is not a counted worker kicks
// the pool before it unlocks: for an instant the items were neither in the inbox nor in nr_pending_.
CMWQ_INLINE void item_pool::drain_locked(deferred& d) noexcept {
    drain_inbox_locked();
    // Afterwards, because a slot lets an item start that has waited for its queue's limit: it goes behind all that has
    // come in until now.
    if (!grants_.empty()) drain_grants_locked(d);
}

CMWQ_INLINE void item_pool::drain_inbox_locked() noexcept {
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
CMWQ_INLINE void item_pool::drain_grants_locked(deferred& d) noexcept {
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

CMWQ_INLINE bool item_pool::take_slot_locked(pool_workqueue& pwq) noexcept {
    if (pwq.plugged || pwq.frozen || pwq.held_back) return false;
    if (pwq.slots != nullptr ? !pwq.slots->take(pwq) : pwq.nr_active >= pwq.max_active) return false;
    ++pwq.nr_active;
    return true;
}

// A slot that goes to this pool again is in grants_ then.
CMWQ_INLINE void item_pool::give_back_slot(pool_workqueue& pwq, deferred& d) noexcept {
    if (item_pool* p = pwq.slots->give_back(); p != nullptr && p != this) d.notify(*p);
}

// An active item is not any more. The caller publishes and kicks, or goes on by itself.
//
// The next one of its queue goes behind what has come in: a queue with a long backlog never has more of the worklist than
// its active items, and an item of another queue starts behind those.
CMWQ_INLINE void item_pool::end_active_locked(pool_workqueue& pwq, deferred& d) noexcept {
    if (--pwq.nr_active == 0 && pwq.frozen) env_.requests.request_freeze_check();
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
CMWQ_INLINE void item_pool::drain_inbox_in_time_locked(unsigned limit) noexcept {
    if (++nr_activated_ >= limit / 8) drain_inbox_locked();
}

CMWQ_INLINE void item_pool::accept_locked(work_base& w) noexcept {
    pool_workqueue& pwq = *work_access::pwq(w);
    std::uint64_t p = work_access::location_of(w) | std::uint64_t{pwq.colors.enter()} << location::color_shift;
    if (pwq.inactive.empty() && take_slot_locked(pwq)) {
        p |= location::on_worklist;
        push_active_locked(pwq, w);
    } else {
        p |= location::on_inactive;
        pwq.inactive.push_back(w);
        pwq.queue->note_backlog();
    }
    work_access::set_location(w, p);
}

CMWQ_INLINE void item_pool::push_active_locked(pool_workqueue& pwq, work_base& w) noexcept {
    ++pwq.nr_waiting;
    worklist_.push_back(w);
}

CMWQ_INLINE void item_pool::leave_worklist_locked(work_base& w) noexcept {
    --work_access::pwq(w)->nr_waiting;
    for (worker* k = cursors_; k != nullptr; k = k->next_cursor) {
        if (k->cursor == &w) k->cursor = worklist_.prev(w);
    }
    worklist_.remove(w);
}

// The caller has taken a slot for it.
CMWQ_INLINE void item_pool::activate_first_locked(pool_workqueue& pwq) noexcept {
    work_base& w = *pwq.inactive.pop_front();
    push_active_locked(pwq, w);
    work_access::set_location(w, location::with_list(work_access::location_of(w), location::on_worklist));
}

// The caller publishes and kicks.
CMWQ_INLINE void item_pool::activate_locked(pool_workqueue& pwq) noexcept {
    while (!pwq.inactive.empty() && take_slot_locked(pwq)) activate_first_locked(pwq);
}

// The last thing that happens to an instance.
CMWQ_INLINE void item_pool::leave_locked(pool_workqueue& pwq, unsigned color, deferred& d) noexcept {
    pwq.colors.leave(color, d);
    if (pwq.detached && pwq.drained()) pwq.queue->request_reaping();
}

CMWQ_INLINE bool item_pool::is_listed_locked(const work_base& w) const noexcept {
    const std::uint64_t p = work_access::location_of(w);
    return work_access::pool_id(p) == id_ && (p & location::list_mask) != 0;
}

CMWQ_INLINE work_base* item_pool::take_locked(worker& self) noexcept {
    if (work_base* again = self.scheduled.pop_front(); again != nullptr) return again;
    while (work_base* w = worklist_.front()) {
        if (unlist_to_run_locked(*w)) return w;
    }
    return nullptr;
}

// Takes it off the worklist. True: the caller runs it. False: a worker does that later.
CMWQ_INLINE bool item_pool::unlist_to_run_locked(work_base& w) noexcept {
    leave_worklist_locked(w);
    nr_pending_.store(static_cast<unsigned>(worklist_.size()), relaxed); // fewer: nobody needs to hear of it
    const std::uint64_t p = work_access::location_of(w);
    worker* runner = (p & location::may_be_running) != 0 ? running_.find(w) : nullptr;
    if (runner == nullptr) return true;
    // Never twice at once: it waits for the worker that still runs it.
    runner->scheduled.push_back(w);
    work_access::set_location(w, location::with_list(p, location::on_worker));
    return false;
}

// Calls f(item_waiter&) for those who wait for the pending instance of `w`. They are on the list no more, and may be
// gone after f.
template <class F>
void item_pool::take_waiters_locked(const work_base& w, F&& f) noexcept {
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

// --- runs -------------------------------------------------------------------------------------------------------------

CMWQ_INLINE item_pool::started_item item_pool::begin_run_locked(worker& self, work_base& w) noexcept {
    pool_workqueue& pwq = *work_access::pwq(w);
    const std::uint64_t p = work_access::location_of(w);
    const started_item r{w, work_access::run(w), pwq.queue->on_exception, work_access::is_self_owned(w)};
    self.current_pwq = &pwq;
    self.current_color = location::color_of(p);
    self.function = r.function;
    self.nr_runs.store(self.nr_runs.load(relaxed) + 1, relaxed);
    self.description[0] = 0;
    self.own_item = &w;
    if (!r.owns_itself) {
        self.current.store(&w, relaxed); // [RUN-1] released by clear_pending below
        running_.add(self);
    }
    if ((p & location::has_waiters) != 0) {
        take_waiters_locked(w, [&](item_waiter& iw) {
            iw.runner = &self;
            iw.next = self.waiters;
            self.waiters = &iw;
        });
    }
    ++pwq.nr_started;
    nr_started_.store(nr_started_.load(relaxed) + 1, relaxed);
    work_access::set_location(w, id_ << location::id_shift);
    work_access::clear_pending(w); // [PEND-2]
    return r;
}

CMWQ_INLINE bool item_pool::call_with_handler(worker& self, const started_item& r) {
    if (r.sink.call == nullptr) return false;
    try {
        r.function(r.item);
    } catch (...) {
        if (r.owns_itself) self.own_item = nullptr;
        r.sink.call(r.sink.context, std::current_exception());
    }
    return true;
}

CMWQ_INLINE void item_pool::end_run_locked(worker& self, deferred& d) noexcept {
    pool_workqueue& pwq = *self.current_pwq;
    forget_item_locked(self);
    ++pwq.nr_completed;
    nr_completed_.store(nr_completed_.load(relaxed) + 1, relaxed);
    while (item_waiter* iw = self.waiters) {
        self.waiters = iw->next;
        iw->happened(d);
    }
    end_active_locked(pwq, d);
    self.current_pwq = nullptr;
    leave_locked(pwq, self.current_color, d);
}

// The item of that run, or its address, is not the worker's any more.
CMWQ_INLINE void item_pool::forget_item_locked(worker& self) noexcept {
    self.own_item = nullptr;
    if (self.current.load(relaxed) == nullptr) return;
    running_.remove(self);
    self.current.store(nullptr, release); // [RUN-2]
}

} // namespace cmwq::inline CMWQ_NS::detail
