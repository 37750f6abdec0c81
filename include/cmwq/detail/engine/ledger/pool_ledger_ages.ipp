// SPDX-License-Identifier: BSL-1.0
//
// Bodies of pool_ledger for items that come to its lists after younger ones: they go to the places of their ages.

#include <cmwq/detail/engine/ledger/pool_ledger.hpp>
#include <cmwq/detail/engine/ledger/queue_face.hpp>
#include <cmwq/detail/engine/ledger/wait_stamp.hpp>

#include <algorithm>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

inline bool is_on_worklist(const work_base& w) noexcept {
    return (work_access::location_of(w) & location::list_mask) == location::on_worklist;
}

/// Where an item goes in a list that is sorted by age: behind the result; null: to the front. `at`: null, or a place
/// for an older item.
[[nodiscard]] inline work_base* place_by_age(item_list& list, const work_base& w, work_base* at,
                                             const ages& a) noexcept {
    const ages::place own = a.of(age_of(w));
    if (at == nullptr) { // mostly only few are younger
        at = list.back();
        while (at != nullptr && own < a.of(age_of(*at))) at = list.prev(*at);
        return at;
    }
    for (work_base* next = list.next(*at); next != nullptr && own >= a.of(age_of(*next)); next = list.next(*next))
        at = next;
    return at;
}

CMWQ_INLINE ages::place pool_ledger::first_listed_place_locked(const ages& a) noexcept {
    const work_base* const w = worklist_.front();
    return w != nullptr ? a.of(age_of(*w)) : ages::none;
}

// The limit keeps `w` back, but perhaps a younger item of the pwq that has not started has a slot. Then `w` takes that
// slot, and the other item becomes the first one that waits for one. Tasks of groups, and items for which a thread
// waits, keep their slots: their waiters rely on that. So does an item whose age has begun late: it may have been
// queued before `w`, and it would lose each slot that it gets to an item of a chain.
// `steps`: how far it may look, a bound of the critical section.
CMWQ_INLINE bool pool_ledger::take_slot_of_younger_locked(work_base& w, const ages& a, int& steps) noexcept {
    pool_workqueue& pwq = *work_access::pwq(w);
    if (pwq.plugged || pwq.frozen || pwq.held_back) return false;
    const ages::place own = a.of(age_of(w));
    unsigned left = pwq.nr_waiting;
    for (work_base* k = worklist_.back(); k != nullptr && left != 0 && steps > 0; k = worklist_.prev(*k), --steps) {
        if (work_access::pwq(*k) != &pwq) continue;
        --left;
        const std::uint64_t p = work_access::location_of(*k);
        if ((p & location::late_age) != 0) continue;
        if (own >= a.of(age_of(*k))) return false;
        if (work_access::is_task(*k) || (p & location::has_waiters) != 0) continue;
        leave_worklist_locked(*k);
        publish_pending_locked();
        pwq.add_inactive(*k, nullptr);
        work_access::set_location(*k, location::with_list(p, location::on_inactive));
        work_access::set_location(w, location::with_list(work_access::location_of(w), 0));
        return true;
    }
    return false;
}

// Items may have come before the places up to which rescuers have looked.
CMWQ_INLINE void pool_ledger::forget_cursors_locked() noexcept {
    for (run_record* k = cursors_; k != nullptr; k = k->next_cursor) k->cursor = nullptr;
}

CMWQ_INLINE bool pool_ledger::admit_by_age_locked(work_base& w) noexcept {
    pool_workqueue& pwq = *work_access::pwq(w);
    if (enter_locked(pwq, w)) return true;
    const ages a = env.ticks.compare();
    int steps = 1'000;
    if (take_slot_of_younger_locked(w, a, steps)) return true;
    pwq.add_inactive(w, place_by_age(pwq.inactive, w, nullptr, a));
    return false;
}

// An item that the limit has not kept back on its arrival keeps its age when it becomes active: it was queued before
// the items of a backlog, and must not wait behind them now. But it keeps a part of its age only, because it may have
// been kept back for an hour since then, and others must not all wait behind that.
//
// Returns whether it has gone to the place of its age. It has not if that is far from both ends of the worklist: then
// its age begins now. That happens only until the backlog of that time has started.
CMWQ_INLINE bool pool_ledger::activate_by_age_locked(pool_workqueue& pwq, work_base& w) noexcept {
    constexpr wait_stamp most_kept = 100'000; // a tenth of a second
    const ages a = env.ticks.compare();
    const ages::place own = std::max(a.of(age_of(w)), a.before(most_kept));
    work_base* behind = worklist_.back();
    if (behind != nullptr && own < a.of(age_of(*behind))) { // younger ones wait: mostly all are younger
        behind = nullptr;
        work_base* next = worklist_.front();
        for (int steps = 16; steps != 0 && a.of(age_of(*next)) <= own; --steps) {
            behind = next;
            next = worklist_.next(*next);
        }
        if (a.of(age_of(*next)) < own) return false;
        forget_cursors_locked();
    }
    if (a.of(age_of(w)) < own) {
        begin_age(w, env.ticks, most_kept);
        work_access::set_location(w, work_access::location_of(w) | location::late_age);
    }
    ++pwq.nr_waiting;
    worklist_.insert_behind(behind, w);
    return true;
}

CMWQ_INLINE void pool_ledger::move_by_age_locked(work_base& w) noexcept {
    const std::uint64_t in = work_access::location_of(w) & location::list_mask;
    if (in != location::on_worklist && in != location::on_inactive) return;
    item_list& list = in == location::on_worklist ? worklist_ : work_access::pwq(w)->inactive;
    list.remove(w);
    list.insert_behind(place_by_age(list, w, nullptr, env.ticks.compare()), w);
    if (in == location::on_inactive) work_access::set_location(w, work_access::location_of(w) & ~location::late_age);
    forget_cursors_locked();
}

// A long list is walked once, not once for each item: the place of an item is behind that of the one before. The items
// may not be quite in order: an exact stamp may be younger than the next one, which is from the last tick.
CMWQ_INLINE void pool_ledger::accept_by_age_locked(item_list& items, const ages& a) noexcept {
    ++nr_sorted_;
    work_base* active_at = nullptr;
    int steps = 100'000;
    while (work_base* const w = items.pop_front()) {
        pool_workqueue& pwq = *work_access::pwq(*w);
        if (enter_locked(pwq, *w) || take_slot_of_younger_locked(*w, a, steps)) {
            if (active_at != nullptr && !is_on_worklist(*active_at)) active_at = nullptr; // `w` has taken its slot
            active_at = place_by_age(worklist_, *w, active_at, a);
            worklist_.insert_behind(active_at, *w);
            active_at = w;
            ++pwq.nr_waiting;
            work_access::set_location(*w, work_access::location_of(*w) | location::on_worklist);
        } else {
            work_base* const before = pwq.sorted_in == nr_sorted_ ? pwq.sorted_last : nullptr;
            pwq.add_inactive(*w, place_by_age(pwq.inactive, *w, before, a));
            start_awaited_task_locked(pwq, *w);
            if ((work_access::location_of(*w) & location::list_mask) != location::on_inactive) continue;
            pwq.sorted_in = nr_sorted_;
            pwq.sorted_last = w;
        }
    }
    forget_cursors_locked();
}

}}} // namespace cmwq::CMWQ_NS::detail
