// SPDX-License-Identifier: BSL-1.0
//
// worker_pool, first part: items. How they come in, wait, are waited for and are taken away.
#pragma once

#include <cmwq/detail/engine/queue_core.hpp>
#include <cmwq/detail/engine/runtime_core.hpp>
#include <cmwq/detail/engine/worker_pool.hpp>

namespace cmwq::inline CMWQ_NS::detail {

inline worker_pool::~worker_pool() {
    worker* w = all_.load(relaxed);
    while (w != nullptr) {
        worker* next = w->next;
        delete w;
        w = next;
    }
}

// --- producers --------------------------------------------------------------------------------------------------------

inline bool worker_pool::push(work_base& w, bool was_queued_before) noexcept {
    work_access::set_place(w, id_ << place::id_shift | (was_queued_before ? place::may_be_running : 0));
    // From here on the item belongs to the pool, and may be gone. Whoever found the inbox empty sees to the rest.
    return inbox_.push(w);
}

inline void worker_pool::after_push() noexcept {
    // [IDLE-1] push, then look at nr_running; pairs [IDLE-2], which counts down and then looks at the inbox. All four
    // are seq_cst, so one of the two sees the other.
    if (nr_running_.load(seq_cst) != 0 || !spare_is_urgent(nr_busy_.load(relaxed))) {
        arm(); // it waits behind a running worker, which may block, or behind many blocked ones
        return;
    }
    worker* idle = watcher_.load(seq_cst);
    if (idle != nullptr) {
        idle->sleep.unpark();
    } else if (!wanted_.exchange(true, acq_rel)) {
        rt_.request_service();
    }
}

inline bool worker_pool::runs(const work_base& w) const noexcept {
    for (const worker* k = all_.load(acquire); k != nullptr; k = k->next) {
        if (k->current.load(acquire) == &w) return true; // [RUN-1], [RUN-2]
    }
    return false;
}

// --- under the lock ---------------------------------------------------------------------------------------------------

// After this every item whose push has completed is on a list of this pool. Who calls it and is not a counted worker
// kicks the pool before it unlocks: for an instant the items were neither in the inbox nor in nr_pending_.
inline void worker_pool::drain_locked() noexcept {
    work_base* w = inbox_.take_all();
    if (w == nullptr) return;
    while (w != nullptr) {
        work_base* next = inbox_.unlink_next(*w);
        accept_locked(*w);
        w = next;
    }
    publish_pending_locked();
}

inline void worker_pool::accept_locked(work_base& w) noexcept {
    pool_workqueue& pwq = *work_access::pwq(w);
    std::uint64_t p = work_access::place_of(w) | std::uint64_t{pwq.colors.enter()} << place::color_shift;
    if (pwq.has_slot()) {
        ++pwq.nr_active;
        p |= place::on_worklist;
        worklist_.push_back(w);
    } else {
        p |= place::on_inactive;
        pwq.inactive.push_back(w);
    }
    work_access::set_place(w, p);
}

// The caller publishes and kicks.
inline void worker_pool::activate_locked(pool_workqueue& pwq) noexcept {
    while (pwq.nr_active < pwq.max_active && !pwq.inactive.empty()) {
        work_base& w = *pwq.inactive.pop_front();
        ++pwq.nr_active;
        worklist_.push_back(w);
        work_access::set_place(w, (work_access::place_of(w) & ~place::list_mask) | place::on_worklist);
    }
}

inline bool worker_pool::is_listed_locked(const work_base& w) const noexcept {
    const std::uint64_t p = work_access::place_of(w);
    return work_access::pool_id(p) == id_ && (p & place::list_mask) != 0;
}

inline worker* worker_pool::runner_of_locked(const work_base& w) noexcept {
    for (worker* k = busy_.front(); k != nullptr; k = busy_.next(*k)) {
        if (k->current.load(relaxed) == &w) return k;
    }
    return nullptr;
}

inline void worker_pool::move_waiters_locked(const work_base& w, worker& to) noexcept {
    for (item_waiter** link = &item_waiters_; *link != nullptr;) {
        item_waiter* iw = *link;
        if (iw->item == &w) {
            *link = iw->next;
            iw->next = to.waiters;
            to.waiters = iw;
        } else {
            link = &iw->next;
        }
    }
}

inline void worker_pool::release_waiters_locked(const work_base& w, deferred& d) noexcept {
    for (item_waiter** link = &item_waiters_; *link != nullptr;) {
        item_waiter* iw = *link;
        if (iw->item == &w) {
            *link = iw->next;
            d.happened(iw->who);
        } else {
            link = &iw->next;
        }
    }
}

// --- waiting and taking away ------------------------------------------------------------------------------------------

inline bool worker_pool::steal(work_base& w) noexcept {
    deferred d;
    const scoped_lock g(lock_);
    drain_locked();
    const bool here = is_listed_locked(w);
    if (here) {
        const std::uint64_t p = work_access::place_of(w);
        pool_workqueue& pwq = *work_access::pwq(w);
        switch (p & place::list_mask) {
        case place::on_worklist: worklist_.remove(w); break;
        case place::on_inactive: pwq.inactive.remove(w); break;
        default: runner_of_locked(w)->scheduled.remove(w); break;
        }
        if ((p & place::has_waiters) != 0) release_waiters_locked(w, d);
        pwq.colors.leave(static_cast<unsigned>((p & place::color_mask) >> place::color_shift), d);
        if ((p & place::list_mask) != place::on_inactive) --pwq.nr_active;
        activate_locked(pwq);
        publish_pending_locked();
        work_access::set_place(w, id_ << place::id_shift);
    }
    kick_locked(d);
    return here;
}

inline worker_pool::whereabouts worker_pool::wait_for(work_base& w, item_waiter& iw, bool running_only) noexcept {
    deferred d;
    const scoped_lock g(lock_);
    drain_locked();
    kick_locked(d);
    iw.item = &w;
    if (!running_only && is_listed_locked(w)) {
        iw.who.expect();
        iw.next = item_waiters_;
        item_waiters_ = &iw;
        work_access::set_place(w, work_access::place_of(w) | place::has_waiters);
        return whereabouts::pending;
    }
    // The run that goes on may not be the one queued last: that is between its claim and its push.
    if (!running_only && work_access::pending(w)) return whereabouts::in_transit;
    worker* runner = runner_of_locked(w);
    if (runner == nullptr) return whereabouts::not_here;
    iw.who.expect();
    iw.next = runner->waiters;
    runner->waiters = &iw;
    return whereabouts::running;
}

inline void worker_pool::forget(worker& self) noexcept {
    const scoped_lock g(lock_);
    self.current.store(nullptr, release);
}

// --- queues -----------------------------------------------------------------------------------------------------------

inline bool worker_pool::close_color(pool_workqueue& pwq, color_waiter& cw) noexcept {
    deferred d;
    const scoped_lock g(lock_);
    drain_locked();
    kick_locked(d);
    return pwq.colors.close(cw);
}

inline worker_pool::traffic worker_pool::traffic_of(const pool_workqueue& pwq) noexcept {
    deferred d;
    const scoped_lock g(lock_);
    drain_locked();
    kick_locked(d);
    return {pwq.colors.nr_entered(), pwq.colors.nr_left()};
}

inline void worker_pool::set_max_active(pool_workqueue& pwq, unsigned max_active) noexcept {
    deferred d;
    const scoped_lock g(lock_);
    drain_locked();
    pwq.max_active = max_active;
    activate_locked(pwq);
    publish_pending_locked();
    kick_locked(d);
}

inline queue_stats worker_pool::stats_of(const pool_workqueue& pwq) const noexcept {
    const scoped_lock g(lock_);
    return {.started = pwq.nr_started, .completed = pwq.nr_completed};
}

inline pool_stats worker_pool::stats() const noexcept {
    const scoped_lock g(lock_);
    return {.started = nr_started_,
            .completed = nr_completed_.load(relaxed),
            .by_guard = by_guard_.load(relaxed),
            .by_sentinel = by_sentinel_.load(relaxed),
            .by_monitor = by_monitor_.load(relaxed),
            .spare_wakeups = spare_wakeups_.load(relaxed)};
}

} // namespace cmwq::inline CMWQ_NS::detail
