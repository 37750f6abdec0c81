// SPDX-License-Identifier: BSL-1.0
//
// Bodies of pool_ledger for items that come to its lists after younger ones: they go to the places of their ages.

#include <cmwq/detail/engine/ledger/pool_ledger.hpp>
#include <cmwq/detail/engine/ledger/queue_face.hpp>
#include <cmwq/detail/engine/ledger/wait_stamp.hpp>

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
// waits, keep their slots: their waiters rely on that. So does an item that the limit kept back: it may have been
// queued before `w`, although its age began later, and it would lose each slot that it gets to an item of a chain.
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
        if ((p & location::was_inactive) != 0) continue;
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

CMWQ_INLINE void pool_ledger::move_by_age_locked(work_base& w) noexcept {
    const std::uint64_t in = work_access::location_of(w) & location::list_mask;
    if (in != location::on_worklist && in != location::on_inactive) return;
    item_list& list = in == location::on_worklist ? worklist_ : work_access::pwq(w)->inactive;
    list.remove(w);
    list.insert_behind(place_by_age(list, w, nullptr, env.ticks.compare()), w);
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
