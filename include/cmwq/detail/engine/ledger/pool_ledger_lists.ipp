// SPDX-License-Identifier: BSL-1.0
//
// Bodies of pool_ledger that work on its lists, under its lock: how items are accepted, become active, run and leave.

#include <cmwq/detail/base/probe.hpp>
#include <cmwq/detail/engine/item/task_of_group.hpp>
#include <cmwq/detail/engine/ledger/node_slots.hpp>
#include <cmwq/detail/engine/ledger/own_run.hpp>
#include <cmwq/detail/engine/ledger/pool_ledger.hpp>
#include <cmwq/detail/engine/ledger/queue_face.hpp>
#include <cmwq/detail/engine/ledger/run_timer.hpp>
#include <cmwq/detail/engine/ledger/wait_stamp.hpp>

#include <exception>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

// Moves the items of the inbox to the worklist or to inactive lists, and serves the grants. After this every item whose
// push has completed is on a list of this pool, or is a local item of a worker. A caller that is not a counted worker
// calls notify_locked() before it unlocks: for a moment the items were neither in the inbox nor counted in nr_pending_,
// so other threads could not see them.
CMWQ_INLINE void pool_ledger::drain_locked(deferred& d) noexcept {
    drain_inbox_locked();
    // The grants come second, because the item that uses a granted slot has waited for its queue's limit: it goes
    // behind all items that have come in until now.
    if (!grants_.empty()) drain_grants_locked(d);
}

CMWQ_INLINE void pool_ledger::drain_inbox_locked() noexcept {
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

// Serves the grants: each of these pwqs comes with a slot, or has its turn in an ordered queue.
CMWQ_INLINE void pool_ledger::drain_grants_locked(deferred& d) noexcept {
    while (pool_workqueue* p = grants_.take_all()) {
        while (p != nullptr) {
            pool_workqueue* next = grants_.unlink_next(*p);
            if (std::exchange(p->has_turn, false)) { // it has never waited for a slot: it is plugged
                p->plugged = false;
                activate_locked(*p); // or registers the pwq for a slot
                pass_turn_locked(*p, d);
                p = next;
                continue;
            }
            p->slots->grant_received(*p);
            if (p->inactive.empty() || p->frozen || p->held_back) { // its items were cancelled, or must wait
                give_back_slot(*p, d);
            } else {
                ++p->nr_active;
                activate_first_locked(*p);
                activate_locked(*p); // or registers the pwq for the next slot, behind the others
            }
            p = next;
        }
    }
    publish_pending_locked();
}

// Takes a slot of the limit for one more active item. False: no slot is free, or no item of the pwq may become active.
CMWQ_INLINE bool pool_ledger::take_slot_locked(pool_workqueue& pwq) noexcept {
    if (pwq.plugged || pwq.frozen || pwq.held_back) return false;
    if (pwq.slots != nullptr ? !take_shared_slot(pwq) : pwq.nr_active >= pwq.max_active) return false;
    ++pwq.nr_active;
    return true;
}

CMWQ_INLINE bool pool_ledger::take_shared_slot(pool_workqueue& pwq) noexcept {
    const node_slots::taken t = pwq.slots->take(pwq);
    if (t.granted_to != nullptr) t.granted_to->notify(); // rare; allowed under a lock, too
    return t.yes;
}

// If this pool is granted the slot again, the grant is in grants_ after the call.
CMWQ_INLINE void pool_ledger::give_back_slot(pool_workqueue& pwq, deferred& d) noexcept {
    if (pool_owner* p = pwq.slots->give_back(); p != nullptr && p != &owner) d.notify(*p);
    if (pwq.slots->is_down()) pwq.queue->request_reaping();
}

// An item of `pwq` is no longer active. The caller then calls publish_pending_locked() and notify_locked(), or takes
// pending items itself.
//
// The next item of the queue goes behind all items that have come in. So a queue with a long backlog never occupies
// more of the worklist than its active items, and an item of another queue starts behind those.
CMWQ_INLINE void pool_ledger::end_active_locked(pool_workqueue& pwq, deferred& d) noexcept {
    if (--pwq.nr_active == 0 && pwq.frozen) env.requests.request_freeze_check();
    if (pwq.slots != nullptr) {
        // Not while another pwq of the pool has been granted a slot: a backlog would pass it by for ever.
        if (grants_.empty() && keep_slot_locked(pwq)) return;
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

// The slot that an item leaves goes to the next item of the same pwq, if no other pwq waits for one. This spares the
// lock of the slots, a grant, and a registration for the next slot for each item of a backlog.
CMWQ_INLINE bool pool_ledger::keep_slot_locked(pool_workqueue& pwq) noexcept {
    if (pwq.inactive.empty() || pwq.plugged || pwq.frozen || pwq.held_back) return false;
    if (!pwq.slots->has_no_other_waiter()) return false;
    drain_inbox_in_time_locked(pwq.slots->max());
    ++pwq.nr_active;
    activate_first_locked(pwq);
    if (pwq.inactive.empty()) pwq.slots->forget(pwq);
    publish_pending_locked();
    return true;
}

// The cache line of the inbox belongs to the producers. So the inbox is not drained before each item that becomes
// active, but once for each eighth of the limit.
CMWQ_INLINE void pool_ledger::drain_inbox_in_time_locked(unsigned limit) noexcept {
    if (++nr_activated_ >= limit / 8) drain_inbox_locked();
}

CMWQ_INLINE void pool_ledger::accept_locked(work_base& w) noexcept {
    pool_workqueue& pwq = *work_access::pwq(w);
    if (admit_locked(w)) {
        push_active_locked(pwq, w);
        work_access::set_location(w, work_access::location_of(w) | location::on_worklist);
    } else {
        start_awaited_task_locked(pwq, w);
    }
}

// Gives an item its color. True: it has taken a slot of the limit, and is on no list yet. False: it is on the inactive
// list of its pwq.
CMWQ_INLINE bool pool_ledger::admit_locked(work_base& w) noexcept {
    pool_workqueue& pwq = *work_access::pwq(w);
    if (enter_locked(pwq, w)) return true;
    pwq.add_inactive(w);
    work_access::set_location(w, work_access::location_of(w) | location::late_age);
    return false;
}

// Gives an item its color. True: it has taken a slot of the limit. False: it belongs on the inactive list of its pwq.
CMWQ_INLINE bool pool_ledger::enter_locked(pool_workqueue& pwq, work_base& w) noexcept {
    const std::uint64_t before = work_access::location_of(w) & ~location::color_mask;
    const std::uint64_t p = before | std::uint64_t{pwq.colors.enter()} << location::color_shift;
    if (pwq.inactive.empty() && take_slot_locked(pwq)) {
        CMWQ_PROBE(activate_work, &w);
        work_access::set_location(w, p);
        return true;
    }
    pwq.queue->note_backlog();
    work_access::set_location(w, p | location::on_inactive);
    return false;
}

CMWQ_INLINE void pool_ledger::push_active_locked(pool_workqueue& pwq, work_base& w) noexcept {
    ++pwq.nr_waiting;
    worklist_.push_back(w);
}

CMWQ_INLINE void pool_ledger::leave_worklist_locked(work_base& w) noexcept {
    --work_access::pwq(w)->nr_waiting;
    for (run_record* k = cursors_; k != nullptr; k = k->next_cursor) {
        if (k->cursor == &w) k->cursor = worklist_.prev(w);
    }
    worklist_.remove(w);
}

// Makes an inactive item active. The caller has taken a slot for it.
CMWQ_INLINE void pool_ledger::make_active_locked(pool_workqueue& pwq, work_base& w) noexcept {
    CMWQ_PROBE(activate_work, &w);
    pwq.inactive.remove(w);
    if ((work_access::location_of(w) & location::late_age) != 0 || !activate_by_age_locked(pwq, w)) {
        push_active_locked(pwq, w);
        begin_age(w, env.ticks);
        work_access::set_location(w, work_access::location_of(w) | location::late_age);
    }
    work_access::set_location(w, location::with_list(work_access::location_of(w), location::on_worklist));
    pwq.has_removed_inactive();
}

CMWQ_INLINE void pool_ledger::activate_first_locked(pool_workqueue& pwq) noexcept {
    make_active_locked(pwq, pwq.inactive.first());
}

CMWQ_INLINE void pool_ledger::activate_beyond_limit_locked(work_base& w) noexcept {
    pool_workqueue& pwq = *work_access::pwq(w);
    make_active_locked(pwq, w);
    if (pwq.slots != nullptr) {
        pwq.slots->take_beyond_max();
        if (pwq.inactive.empty()) pwq.slots->forget(pwq);
    }
    ++pwq.nr_active;
}

// Makes items active until no slot is free. The caller then calls publish_pending_locked() and notify_locked().
CMWQ_INLINE void pool_ledger::activate_locked(pool_workqueue& pwq) noexcept {
    while (!pwq.inactive.empty() && take_slot_locked(pwq)) activate_first_locked(pwq);
    if (!pwq.frozen || pwq.slots != nullptr) return;
    for (work_base* w = pwq.inactive.front(); w != nullptr && pwq.nr_active < pwq.max_active;) {
        work_base& one = *w;
        w = pwq.inactive.next(one);
        start_awaited_task_locked(pwq, one);
    }
}

// A freeze waits for the items that run. One of them may be on another CPU, and wait for a task that is inactive here.
// (The policies with slots need no such rule: their waiters take any task of the group themselves.)
CMWQ_INLINE void pool_ledger::start_awaited_task_locked(pool_workqueue& pwq, work_base& w) noexcept {
    if (!pwq.frozen || pwq.held_back || pwq.slots != nullptr) return;
    if (pwq.nr_active >= pwq.max_active || !is_awaited_task(w)) return;
    ++pwq.nr_active;
    make_active_locked(pwq, w);
}

// The last step of an instance: it leaves its color. `pwq` may be freed once the lock has been released.
CMWQ_INLINE void pool_ledger::leave_locked(pool_workqueue& pwq, unsigned color, deferred& d) noexcept {
    pwq.colors.leave(color, d);
    if (!pwq.detached.load(relaxed) || !pwq.drained()) return;
    pass_turn_locked(pwq, d);
    pwq.queue->request_reaping();
}

// If the pwq of an ordered queue is detached and has drained, the next one may begin. That one still exists: it is
// freed after this one, which needs this lock.
CMWQ_INLINE void pool_ledger::pass_turn_locked(pool_workqueue& pwq, deferred& d) noexcept {
    if (pwq.successor == nullptr || pwq.plugged || !pwq.drained()) return;
    pool_workqueue& next = *std::exchange(pwq.successor, nullptr);
    next.has_turn = true; // the push publishes it
    d.notify(next.granted());
}

CMWQ_INLINE bool pool_ledger::is_listed_locked(const work_base& w) const noexcept {
    const std::uint64_t p = work_access::location_of(w);
    return work_access::pool_id(p) == id_ && (p & location::list_mask) != 0;
}

CMWQ_INLINE work_base* pool_ledger::take_locked(run_record& self) noexcept {
    if (work_base* again = self.scheduled.pop_front(); again != nullptr) return again;
    while (work_base* w = worklist_.front()) {
        if (unlist_to_run_locked(*w)) return w;
    }
    return nullptr;
}

CMWQ_INLINE bool pool_ledger::unlist_to_run_locked(work_base& w) noexcept {
    leave_worklist_locked(w);
    nr_pending_.store(static_cast<unsigned>(worklist_.size()), relaxed); // relaxed: a lower number wakes no thread
    const std::uint64_t p = work_access::location_of(w);
    run_record* runner = (p & location::may_be_running) != 0 ? running_.find(w) : nullptr;
    if (runner == nullptr) return true;
    // An item never runs twice at the same time: this instance waits for the worker that still runs the item.
    runner->scheduled.push_back(w);
    work_access::set_location(w, location::with_list(p, location::on_worker));
    return false;
}

// --- the items of one queue ------------------------------------------------------------------------------------------

CMWQ_INLINE void pool_ledger::begin_taking_locked(run_record& self) noexcept {
    self.cursor = nullptr;
    self.next_cursor = cursors_;
    cursors_ = &self;
}

CMWQ_INLINE void pool_ledger::end_taking_locked(run_record& self) noexcept {
    run_record** link = &cursors_;
    while (*link != &self) link = &(*link)->next_cursor;
    *link = self.next_cursor;
}

// Items of other queues before the cursor have been skipped already.
CMWQ_INLINE work_base* pool_ledger::take_of_locked(run_record& self, const pool_workqueue& pwq) noexcept {
    if (work_base* again = self.scheduled.pop_front(); again != nullptr) return again;
    work_base* w = self.cursor != nullptr ? worklist_.next(*self.cursor) : worklist_.front();
    while (w != nullptr && pwq.nr_waiting != 0) {
        work_base* const next = worklist_.next(*w);
        if (work_access::pwq(*w) == &pwq) {
            if (unlist_to_run_locked(*w)) return w;
        } else {
            self.cursor = w;
        }
        w = next;
    }
    return nullptr;
}

// --- waiters, and the records of runs --------------------------------------------------------------------------------

// Calls f(item_waiter&) for each waiter of the pending instance of `w`, after removing it from the list. The waiter may
// be destroyed after f.
CMWQ_INLINE item_waiter* pool_ledger::take_waiters_locked(const work_base& w) noexcept {
    item_waiter* taken = nullptr;
    for (item_waiter** link = &item_waiters_; *link != nullptr;) {
        item_waiter& iw = **link;
        if (iw.item != &w) {
            link = &iw.next;
            continue;
        }
        *link = iw.next;
        iw.next = std::exchange(taken, &iw);
    }
    return taken;
}

CMWQ_INLINE void pool_ledger::begin_nested_locked(run_record& self, run_record& outer) noexcept {
    self.interrupted = &outer;
    self.of_thread = outer.of_thread;
    nested_.push_back(self);
    nr_nested_.store(static_cast<int>(nested_.size()), relaxed); // PEND-2 publishes it, like RUN-1
}

CMWQ_INLINE void pool_ledger::end_nested_locked(run_record& self) noexcept {
    nested_.remove(self);
    nr_nested_.store(static_cast<int>(nested_.size()), release); // [RUN-2]
    while (work_base* const again = self.scheduled.pop_front()) {
        push_active_locked(*work_access::pwq(*again), *again);
        begin_age(*again, env.ticks);
        work_access::set_location(*again, location::with_list(work_access::location_of(*again), location::on_worklist));
    }
    give_back_locked(self);
}

// Only an item that no worker runs may start: not one that waits behind its run, and not one that was queued again and
// waits on the worklist; and no item of a queue that keeps an order. Beyond the limit, an item of the same queue waits
// below it, so no more items than the limit compute.
CMWQ_INLINE bool pool_ledger::take_to_run_inside_locked(const run_record& self, work_base& w) noexcept {
    if (!is_listed_locked(w)) return false;
    const std::uint64_t p = work_access::location_of(w);
    const pool_workqueue& pwq = *work_access::pwq(w);
    const std::uint64_t list = p & location::list_mask;
    if (list == location::on_worker || pwq.held_back || !pwq.queue->how.local_lists) return false;
    // The limit keeps it back, or a freeze, which waits for the item that has the slot.
    if ((list == location::on_inactive || pwq.frozen) && !has_slot_on_stack(self, *pwq.queue)) return false;
    if ((p & location::may_be_running) != 0 && running_.find(w) != nullptr) return false;
    if (list == location::on_inactive) activate_beyond_limit_locked(w);
    leave_worklist_locked(w);
    return true;
}

CMWQ_INLINE void pool_ledger::make_room(std::size_t nr_runs) noexcept {
    auto room = run_table::make_room(nr_runs); // the former table is freed after the lock is released
    const scoped_lock g(lock);
    running_.move_to(room);
}

// --- runs ------------------------------------------------------------------------------------------------------------

CMWQ_INLINE pool_ledger::started_item pool_ledger::begin_run_locked(run_record& self, work_base& w) noexcept {
    pool_workqueue& pwq = *work_access::pwq(w);
    const std::uint64_t p = work_access::location_of(w);
    const started_item r{w, work_access::run(w), pwq.queue->on_exception, work_access::is_self_owned(w)};
    self.current_pwq = &pwq;
    self.current_color = location::color_of(p);
    self.function.store(r.function, relaxed);
    self.owns_item = r.owns_itself;
    self.nr_runs.store(self.nr_runs.load(relaxed) + 1, relaxed);
    self.description[0] = 0;
    self.own_item = &w;
    if (!r.owns_itself) {
        // [RUN-1] clear_pending() below releases it. [RUN-2] release: a thread that finds this item in the record,
        // instead of the one before, sees the effects of that run.
        self.current.store(&w, release);
        running_.add(self);
    }
    if ((p & location::has_waiters) != 0) {
        self.waiters = take_waiters_locked(w);
        for (item_waiter* iw = self.waiters; iw != nullptr; iw = iw->next) iw->runner = &self;
    }
    if (pwq.slots != nullptr && pwq.queue->how.fifo) pwq.runs_one.store(true, relaxed); // [NEXT-1]: publishes nothing
    ++pwq.counts.started;
    end_wait_locked(pwq, w);
    nr_started_.store(nr_started_.load(relaxed) + 1, relaxed);
    if (self.is_nested() || self.is_guest()) nr_inside_.store(nr_inside_.load(relaxed) + 1, relaxed);
    else last_start_ = work_access::queued_at(w);
    work_access::set_location(w, id_ << location::id_shift);
    if (!r.owns_itself) work_access::clear_pending(w); // [PEND-2]
    return r;
}

CMWQ_INLINE pool_ledger::started_item pool_ledger::begin_follow_up(run_record& self, work_base& w) const noexcept {
    const started_item r{w, work_access::run(w), self.current_pwq->queue->on_exception, work_access::is_self_owned(w)};
    self.own_item = &w;
    self.owns_item = r.owns_itself;
    self.function.store(r.function, relaxed);
    self.nr_runs.store(self.nr_runs.load(relaxed) + 1, relaxed);
    self.nr_ended.store(self.nr_ended.load(relaxed) + 1, relaxed); // the item before it
    self.nr_more_started.store(self.nr_more_started.load(relaxed) + 1, relaxed);
    end_wait(self, w);
    if (!r.owns_itself) self.current.store(&w, release); // [RUN-1], [RUN-2] as in begin_run_locked()
    work_access::set_location(w, id_ << location::id_shift);
    if (!r.owns_itself) work_access::clear_pending(w); // [PEND-2]
    return r;
}

CMWQ_INLINE bool pool_ledger::become_follower_locked(run_record& self) noexcept {
    if (self.waiters != nullptr || !self.scheduled.empty()) return false;
    forget_item_locked(self);
    return running_.add_follower(self);
}

CMWQ_INLINE void pool_ledger::call_with_handler(run_record& self, const started_item& r) {
    try {
        r.function(r.item);
    } catch (...) {
        refuse_thread_exit_in_handler();
        if (r.owns_itself) self.own_item = nullptr;
        r.sink.call(r.sink.context, std::current_exception());
    }
}

CMWQ_INLINE void pool_ledger::call_above_other_code(run_record& self, const started_item& r) noexcept {
    call_measured(self, {&r.item, r.function}, [&r](run_record& k) {
        if (r.has_handler()) return call_with_handler(k, r);
        try {
            r.function(r.item);
        } catch (...) {
            refuse_thread_exit_in_handler();
            std::terminate();
        }
    });
}

// Counts the items that the worker has run beside the first one in the run that ends.
CMWQ_INLINE void pool_ledger::count_more_locked(run_record& self) noexcept {
    pool_workqueue& pwq = *self.current_pwq;
    const std::uint64_t more = self.nr_more_started.load(relaxed); // all of them have ended
    const std::uint64_t inside = more - self.nr_follow_ups.load(relaxed);
    self.nr_more_started.store(0, relaxed);
    self.nr_ended.store(0, relaxed);
    self.nr_follow_ups.store(0, relaxed);
    pwq.counts.started += more;
    pwq.counts.completed += more;
    nr_started_.store(nr_started_.load(relaxed) + more, relaxed);
    if (inside != 0) nr_inside_.store(nr_inside_.load(relaxed) + inside, relaxed);
    nr_completed_.store(nr_completed_.load(relaxed) + more, relaxed);
}

CMWQ_INLINE void pool_ledger::end_run_locked(run_record& self, deferred& d) noexcept {
    pool_workqueue& pwq = *self.current_pwq;
    forget_item_locked(self);
    if (self.is_follower) running_.remove_follower(self);
    if (self.nr_more_started.load(relaxed) != 0) count_more_locked(self);
    ++pwq.counts.completed;
    self.move_counts_to(pwq);
    nr_completed_.store(nr_completed_.load(relaxed) + 1, relaxed);
    item_waiter::all_happened(std::exchange(self.waiters, nullptr), d);
    end_active_locked(pwq, d);
    // [NEXT-1] All four are seq_cst: the flag, then the inbox here; the inbox, then the flag in the producer, which
    // notifies no worker if the flag is set. At least one of the two sees the other's write. Before this worker runs
    // another item or goes idle, it looks at the inbox, or has woken a worker that does.
    if (pwq.runs_one.load(relaxed)) pwq.runs_one.store(false, seq_cst);
    self.current_pwq = nullptr;
    leave_locked(pwq, self.current_color, d);
}

// Resets the worker's pointers to its item, which may be destroyed or reused from here on.
CMWQ_INLINE void pool_ledger::forget_item_locked(run_record& self) noexcept {
    self.own_item = nullptr;
    if (self.current.load(relaxed) == nullptr) return;
    running_.remove(self);
    self.current.store(nullptr, release); // [RUN-2]
}

}}} // namespace cmwq::CMWQ_NS::detail
