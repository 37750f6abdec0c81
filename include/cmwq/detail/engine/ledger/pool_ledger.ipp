// SPDX-License-Identifier: BSL-1.0
//
// Bodies of pool_ledger: pushing items, waiting for them, removing them, and the state of pwqs. The work on the lists
// themselves is in pool_ledger_lists.ipp.

#include <cmwq/detail/base/probe.hpp>
#include <cmwq/detail/engine/ledger/item_events.hpp>
#include <cmwq/detail/engine/ledger/node_slots.hpp>
#include <cmwq/detail/engine/ledger/pool_ledger.hpp>
#include <cmwq/detail/engine/ledger/queue_face.hpp>
#include <cmwq/detail/engine/ledger/wait_stamp.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE pool_ledger::~pool_ledger() {
    run_record* w = all_.load(relaxed);
    while (w != nullptr) {
        run_record* next = w->next_record;
        delete w;
        w = next;
    }
}

CMWQ_INLINE pool_owner& pool_workqueue::granted() noexcept {
    ledger->grant(*this);
    return ledger->owner;
}

CMWQ_INLINE unsigned pool_workqueue::number_of_pool() const noexcept { return ledger->shown_number(); }

CMWQ_INLINE void pool_ledger::add_record_locked(run_record& w) noexcept {
    w.next_record = all_.load(relaxed);
    all_.store(&w, release); // [REC-1]
}

// --- producers -------------------------------------------------------------------------------------------------------

CMWQ_INLINE void pool_ledger::push(work_base& w, bool was_queued_before) noexcept {
    work_access::set_location(w, id_ << location::id_shift | (was_queued_before ? location::may_be_running : 0));
    static_cast<void>(inbox_.push(w)); // from here on the item belongs to the pool, and may be destroyed
}

CMWQ_INLINE bool pool_ledger::runs(const work_base& w) const noexcept {
    for (const run_record* k = all_.load(acquire); k != nullptr; k = k->next_record) { // [REC-1]
        if (k->current.load(acquire) == &w) return true;                               // [RUN-1], [RUN-2]
    }
    return false;
}

// Records of workers are never removed, so a pool may have thousands whose threads have ended. If there are many
// records and few busy workers, a search in the table of runs, under the lock, is faster than the scan of all records.
CMWQ_INLINE bool pool_ledger::runs_now(const work_base& w) noexcept {
    constexpr int many = 64;
    int n = 0;
    for (const run_record* k = all_.load(acquire); k != nullptr; k = k->next_record) { // [REC-1]
        if (k->current.load(acquire) == &w) return true;                               // [RUN-1], [RUN-2]
        if (++n < many || nr_busy_.load(relaxed) >= many) continue;
        const scoped_lock g(lock);
        return running_.find(w) != nullptr;
    }
    return false;
}

CMWQ_INLINE bool pool_ledger::may_run(const work_base& w) const noexcept {
    int n = 0;
    for (const run_record* k = all_.load(acquire); k != nullptr; k = k->next_record) { // [REC-1]
        if (k->current.load(acquire) == &w || ++n == 64) return true;                  // [RUN-1], [RUN-2]
    }
    return false;
}

CMWQ_INLINE bool pool_ledger::push_behind_own_run(work_base& w, const queue_face& q) noexcept {
    deferred d;
    const scoped_lock g(lock);
    const run_record* runner = running_.find(w);
    if (runner == nullptr || runner->current_pwq->queue != &q) return false;
    assign(w, *runner->current_pwq); // which the run keeps alive
    work_access::set_location(w, id_ << location::id_shift | location::may_be_running);
    drain_locked(d); // items that were pushed before `w` are accepted before it
    accept_locked(w);
    publish_pending_locked();
    owner.notify_locked(d);
    return true;
}

// --- waiting and removing --------------------------------------------------------------------------------------------

// Returns the id of the pool that runs `w`, for the location of `w` after its removal: a thread that waits for the run
// searches in that pool. An ordered queue plugs a pwq while an older pool may still run its items, so for a plugged pwq
// all pools are searched. In all other cases it is this pool.
CMWQ_INLINE std::uint64_t pool_ledger::id_of_runner_locked(const work_base& w,
                                                           const pool_workqueue& pwq) const noexcept {
    return pwq.plugged ? env.finder->id_of_runner(w, id_) : id_;
}

// Removes an item from its list, and gives back its slot. It keeps its color, and its location.
CMWQ_INLINE void pool_ledger::unlist_locked(work_base& w, deferred& d) noexcept {
    const std::uint64_t p = work_access::location_of(w);
    pool_workqueue& pwq = *work_access::pwq(w);
    switch (p & location::list_mask) {
    case location::on_worklist: leave_worklist_locked(w); break;
    case location::on_inactive: pwq.remove_inactive(w); break;
    default: running_.run_before(w).scheduled.remove(w); break;
    }
    if ((p & location::has_waiters) != 0) item_waiter::all_happened(take_waiters_locked(w), d);
    if ((p & location::list_mask) != location::on_inactive) end_active_locked(pwq, d);
    else if (pwq.slots != nullptr && pwq.inactive.empty()) pwq.slots->forget(pwq);
    publish_pending_locked();
}

// The caller has removed the item from its list, and owns its PENDING after the unlock.
CMWQ_INLINE void pool_ledger::leave_cancelled_locked(work_base& w, deferred& d) noexcept {
    pool_workqueue& pwq = *work_access::pwq(w);
    const unsigned color = location::color_of(work_access::location_of(w));
    work_access::set_location(w, id_of_runner_locked(w, pwq) << location::id_shift);
    ++pwq.counts.cancelled;
    CMWQ_PROBE(cancel_work, &w, work_access::run(w), pwq.queue->name.c_str());
    if (pwq.sampling.is_observed()) tell_of_item(w, pwq, &observer::cancelled);
    leave_locked(pwq, color, d);
}

CMWQ_INLINE bool pool_ledger::take_for_waiter(work_base& task) noexcept {
    deferred d;
    const scoped_lock g(lock);
    gather_locked(task, d);
    const bool here = is_listed_locked(task);
    if (here) {
        unlist_locked(task, d);
        work_access::set_location(task, location::with_list(work_access::location_of(task), 0));
    }
    owner.notify_locked(d);
    return here;
}

CMWQ_INLINE void pool_ledger::leave_after_waiter(pool_workqueue& pwq, unsigned color) noexcept {
    deferred d;
    const scoped_lock g(lock);
    leave_locked(pwq, color, d);
}

CMWQ_INLINE bool pool_ledger::has_slot_on_stack(const run_record& waiter, const queue_face& q) noexcept {
    for (const run_record* k = &waiter; k != nullptr; k = k->interrupted) {
        if (k->current_pwq->queue == &q) return true;
    }
    return false;
}

// If an item of this pool is kept back by the limit, and if may_start(pool_workqueue&) agrees: makes it active.
template <class F>
bool pool_ledger::start_beyond_limit(work_base& w, F&& may_start) noexcept {
    deferred d;
    const scoped_lock g(lock);
    gather_locked(w, d);
    const bool kept_back = is_listed_locked(w) &&
                           (work_access::location_of(w) & location::list_mask) == location::on_inactive &&
                           !work_access::pwq(w)->held_back && may_start(*work_access::pwq(w));
    if (kept_back) {
        activate_beyond_limit_locked(w);
        publish_pending_locked();
    }
    owner.notify_locked(d);
    return kept_back;
}

// Also in a freeze: the run of the waiter has to end, and the task is a part of it.
CMWQ_INLINE bool pool_ledger::start_task_beyond_limit(work_base& task) noexcept {
    return start_beyond_limit(task, [](const pool_workqueue& pwq) { return !pwq.plugged; });
}

// Also in a freeze of the queue: the freeze waits for the item that has the slot.
CMWQ_INLINE void pool_ledger::start_awaited_beyond_limit(work_base& w, const run_record& waiter) noexcept {
    start_beyond_limit(w, [&](const pool_workqueue& pwq) {
        return pwq.queue->how.local_lists && has_slot_on_stack(waiter, *pwq.queue);
    });
}

CMWQ_INLINE bool pool_ledger::steal(work_base& w) noexcept {
    deferred d;
    const scoped_lock g(lock);
    gather_locked(w, d);
    const bool here = is_listed_locked(w);
    if (here) {
        unlist_locked(w, d);
        leave_cancelled_locked(w, d);
    }
    owner.notify_locked(d);
    return here;
}

CMWQ_INLINE void pool_ledger::hold_back(pool_workqueue& pwq) noexcept {
    deferred d;
    const scoped_lock g(lock);
    pwq.held_back = true; // set first, so that items still in the inbox become inactive
    gather_locked(d);
    if (pwq.slots != nullptr) pwq.slots->forget(pwq);
    item_list later;
    while (work_base* w = pwq.inactive.front()) {
        pwq.remove_inactive(*w);
        later.push_back(*w);
    }
    const auto hold = [&](work_base& w) CMWQ_REQUIRES(lock) {
        work_access::set_location(w, location::with_list(work_access::location_of(w), location::on_inactive));
        pwq.add_inactive(w);
        end_active_locked(pwq, d);
    };
    for (work_base* w = worklist_.front(); w != nullptr && pwq.nr_waiting != 0;) {
        work_base& one = *w;
        w = worklist_.next(one);
        if (work_access::pwq(one) != &pwq) continue;
        leave_worklist_locked(one);
        hold(one);
    }
    for_each_record_locked([&](run_record& k) CMWQ_REQUIRES(lock) {
        for (work_base* w = k.scheduled.front(); w != nullptr;) {
            work_base& one = *w;
            w = k.scheduled.next(one);
            if (work_access::pwq(one) != &pwq) continue;
            k.scheduled.remove(one);
            hold(one);
        }
        return true;
    });
    while (work_base* w = later.pop_front()) pwq.add_inactive(*w);
    publish_pending_locked();
    owner.notify_locked(d);
}

CMWQ_INLINE void pool_ledger::let_go(pool_workqueue& pwq) noexcept {
    deferred d;
    const scoped_lock g(lock);
    pwq.held_back = false;
    gather_locked(d);
    activate_locked(pwq);
    publish_pending_locked();
    if (!worklist_.empty()) d.notify(owner); // their producers may have found that nothing could run
}

CMWQ_INLINE work_base* pool_ledger::take_held_back(pool_workqueue& pwq) noexcept {
    deferred d;
    const scoped_lock g(lock);
    gather_locked(d);
    work_base* const w = pwq.inactive.front();
    if (w != nullptr) {
        pwq.remove_inactive(*w);
        if ((work_access::location_of(*w) & location::has_waiters) != 0)
            item_waiter::all_happened(take_waiters_locked(*w), d);
        leave_cancelled_locked(*w, d);
    }
    owner.notify_locked(d);
    return w;
}

CMWQ_INLINE pool_ledger::item_state pool_ledger::wait_for(work_base& w, item_waiter& iw, instance which) noexcept {
    deferred d;
    const scoped_lock g(lock);
    gather_locked(w, d);
    owner.notify_locked(d);
    iw.item = &w;
    if (which == instance::last_queued && is_listed_locked(w)) {
        iw.enlist(item_waiters_);
        work_access::set_location(w, work_access::location_of(w) | location::has_waiters);
        return item_state::pending;
    }
    // The running instance may not be the one queued last: that one is between its claim and its push.
    if (which == instance::last_queued && work_access::pending(w)) return item_state::in_transit;
    run_record* runner = running_.find(w);
    if (runner == nullptr) return item_state::not_here;
    iw.runner = runner;
    iw.enlist(runner->waiters);
    return item_state::running;
}

CMWQ_INLINE void pool_ledger::describe(run_record& self, std::string_view what) noexcept {
    const std::string_view text = cut_to(what, sizeof self.description - 1);
    const scoped_lock g(lock);
    self.description[text.copy(self.description, text.size())] = 0;
}

CMWQ_INLINE void pool_ledger::hide_description(run_record& self, hidden_description& to) noexcept {
    const scoped_lock g(lock);
    std::copy_n(self.description, sizeof to.text, to.text);
    to.of_item = self.inner_task.load(relaxed) == nullptr;
    to.outer = std::exchange(self.hidden, &to);
    self.description[0] = 0;
}

CMWQ_INLINE void pool_ledger::restore_description(run_record& self, const hidden_description* from) noexcept {
    const scoped_lock g(lock);
    self.description[0] = 0;
    if (from == nullptr) return;
    std::copy_n(from->text, sizeof from->text, self.description);
    self.hidden = from->outer;
}

CMWQ_INLINE void pool_ledger::forget(run_record& self) noexcept {
    const scoped_lock g(lock);
    forget_item_locked(self);
}

// --- pwqs ------------------------------------------------------------------------------------------------------------

CMWQ_INLINE bool pool_ledger::close_color(pool_workqueue& pwq, color_waiter& cw) noexcept {
    deferred d;
    const scoped_lock g(lock);
    gather_locked(d);
    owner.notify_locked(d);
    return pwq.colors.close(cw);
}

CMWQ_INLINE pool_ledger::traffic pool_ledger::traffic_of(const pool_workqueue& pwq) noexcept {
    deferred d;
    const scoped_lock g(lock);
    gather_locked(d);
    owner.notify_locked(d);
    return {pwq.colors.nr_entered(), pwq.colors.nr_left()};
}

CMWQ_INLINE void pool_ledger::set_max_active(pool_workqueue& pwq, unsigned max_active) noexcept {
    deferred d;
    const scoped_lock g(lock);
    drain_locked(d);
    pwq.max_active = max_active;
    activate_locked(pwq);
    publish_pending_locked();
    owner.notify_locked(d);
}

CMWQ_INLINE void pool_ledger::set_slots(pool_workqueue& pwq, node_slots& slots) noexcept {
    deferred d;
    const scoped_lock g(lock);
    pwq.slots->forget(pwq); // from here on none is granted
    // Uses one that was granted before, and may register the pwq again. No run goes on with local items under the old
    // limit.
    gather_locked(d);
    pwq.slots->forget(pwq);
    pwq.slots->move_to(slots, pwq.nr_active);
    pwq.slots = &slots;
    activate_locked(pwq); // or registers the pwq
    publish_pending_locked();
    owner.notify_locked(d);
}

CMWQ_INLINE bool pool_ledger::detach(pool_workqueue& pwq, pool_workqueue* successor) noexcept {
    deferred d;
    const scoped_lock g(lock);
    gather_locked(d);
    owner.notify_locked(d);
    pwq.detached.store(true, relaxed);
    pwq.successor = successor;
    pass_turn_locked(pwq, d);
    return pwq.drained();
}

CMWQ_INLINE void pool_ledger::receive_turn() noexcept {
    deferred d;
    const scoped_lock g(lock);
    drain_locked(d);
    owner.notify_locked(d);
}

CMWQ_INLINE bool pool_ledger::may_be_freed(pool_workqueue& pwq) noexcept {
    deferred d;
    const scoped_lock g(lock);
    gather_locked(d); // the pwq may have a grant that comes too late
    owner.notify_locked(d);
    return pwq.detached.load(relaxed) && pwq.drained() && !pwq.mayday;
}

CMWQ_INLINE void pool_ledger::set_frozen(pool_workqueue& pwq, bool frozen) noexcept {
    deferred d;
    const scoped_lock g(lock);
    pwq.frozen = frozen; // set first, so that items still in the inbox become inactive
    if (frozen) pwq.frozen_at = coarse_now();
    gather_locked(d);
    if (frozen && pwq.slots != nullptr) pwq.slots->forget(pwq);
    activate_locked(pwq);
    publish_pending_locked();
    owner.notify_locked(d);
}

CMWQ_INLINE unsigned pool_ledger::nr_active_of(const pool_workqueue& pwq) const noexcept {
    const scoped_lock g(lock);
    return pwq.nr_active;
}

CMWQ_INLINE pwq_stats pool_ledger::stats_of_locked(const pool_workqueue& pwq) noexcept {
    pwq_stats s{pwq.counts};
    unsigned nr_runs = 0;
    for_each_record_locked([&](const run_record& k) {
        if (k.current_pwq != &pwq) return true;
        ++nr_runs;
        s.completed += k.nr_ended.load(relaxed); // the workers go on meanwhile
        s.started += k.nr_more_started.load(relaxed);
        k.blocks.add_to(s);
        return true;
    });
    s.completed = std::min(s.completed, s.started);
    s.inactive = pwq.inactive.size();
    s.saturated_ns = pwq.at_limit.time(!pwq.inactive.empty());
    if (pwq.frozen && !pwq.inactive.empty()) s.frozen_ns = pwq.at_limit.lasts_since(pwq.frozen_at);
    s.active = pwq.nr_active;
    s.pending = s.inactive + s.active - nr_runs; // each run has a slot
    return s;
}

}}} // namespace cmwq::CMWQ_NS::detail
