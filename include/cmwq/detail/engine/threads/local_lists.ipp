// SPDX-License-Identifier: BSL-1.0
//
// Bodies of local_lists.

#include <cmwq/detail/engine/item/group_credit.hpp>
#include <cmwq/detail/engine/threads/local_lists.hpp>

#include <algorithm>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE bool local_lists::is_idle(const pool_ledger& ledger, const work_base& w) const noexcept {
    constexpr int many = 32; // then the search in the table of runs is faster
    const std::uint64_t last = work_access::pool_id(work_access::location_of(w));
    if (last == 0) return true;
    if (last != ledger.id()) return false;
    // The records of rescuers and of nested runs are not in the array. [RUN-2] acquire: if the last nested run has
    // ended, this thread sees its effects.
    if (spares_.is_rescuable() || ledger.nr_nested() != 0) return !ledger.may_run(w);
    int n = 0;
    bool idle = true;
    workers_.for_each([&](const worker& k) {
        idle = ++n < many && k.current.load(acquire) != &w; // [RUN-1], [RUN-2]
        return idle;
    });
    return idle;
}

CMWQ_INLINE void local_lists::push(const pool_ledger& ledger, worker& self, work_base& w) noexcept {
    work_access::set_location(w, ledger.id() << location::id_shift | location::local);
    announce(self);
    self.local.push(w);
    note_filled(self);
}

CMWQ_INLINE bool local_lists::push_unless(const atomic<bool>& stop, const pool_ledger& ledger, worker& self,
                                          work_base& w) noexcept {
    work_access::set_location(w, ledger.id() << location::id_shift | location::local);
    announce(self);
    if (!self.local.push_unless(stop, w, *self.current_pwq)) {
        work_access::set_location(w, 0);
        return false; // the announcement is taken back at the end of the run
    }
    note_filled(self);
    return true;
}

// `self`, the calling thread, is about to have local items. The announcement comes before the first of them: a thread
// that finds an item on the list may recall it, and a recall looks at the lists only if there is an announcement.
CMWQ_INLINE void local_lists::announce(worker& self) noexcept {
    if (self.announced) [[likely]]
        return;
    self.announced = true;
    nr_announced_.fetch_add(1, seq_cst); // [LOC-1], [LOC-4]
}

// `self`, the calling thread, has got local items.
CMWQ_INLINE void local_lists::note_filled(const worker& self) noexcept {
    // [LOC-2] The list has been filled, then this thread reads whether it is counted; pairs uncounted().
    // Guests are never counted: recall_of_guests_locked() sees to their items.
    if (!self.counted.load(seq_cst) && !self.is_guest()) leave();
}

// A worker with local items is not counted any more, so it may be blocked. Its items must not wait for it, nor for
// other workers to run out of local items of their own: the next worker that takes an item recalls them.
//
// [LOC-3] The caller has filled a list, or has found that the worker is not counted; then it reads the flag. The worker
// that recalls takes the flag back; then it reads who is counted, and the lists. All are seq_cst: if the flag is set
// here, the recall that takes it back is still to come, and finds the items.
CMWQ_INLINE void local_lists::leave() noexcept {
    if (!has_left_items_.load(seq_cst)) has_left_items_.store(true, seq_cst); // [LOC-3]
}

CMWQ_INLINE void local_lists::recall_left_locked(pool_ledger& ledger) noexcept {
    if (!has_left_items_.load(relaxed) || !has_left_items_.exchange(false, seq_cst)) return; // [LOC-3]
    const ages a = ledger.env.ticks.compare();
    item_list recalled;
    ledger.for_each_busy_locked([&](worker& w) {
        if (!w.counted.load(seq_cst) && !w.is_guest() && !w.local.empty()) w.local.recall(recalled, a); // [LOC-3]
        return true;
    });
    accept_all_locked(ledger, recalled, a);
}

// No detector notices that a guest is blocked. If it has started nothing since a worker took an item the last time, its
// items do not wait for it any longer. A guest that goes on keeps them: if all of them went to the pool, workers would
// have to take them one by one, and would let no local item follow in a run meanwhile.
CMWQ_INLINE void local_lists::recall_of_guests_locked(pool_ledger& ledger) noexcept {
    if (guests_.empty()) return;
    const ages a = ledger.env.ticks.compare();
    item_list recalled;
    for (worker* w = guests_.front(); w != nullptr; w = guests_.next(*w)) {
        const std::uint64_t started = w->nr_runs.load(relaxed) + w->nr_more_started.load(relaxed);
        if (std::exchange(w->nr_started_seen, started) == started && !w->local.empty()) w->local.recall(recalled, a);
    }
    accept_all_locked(ledger, recalled, a);
}

CMWQ_INLINE void local_lists::take_back_announcement(worker& self) noexcept {
    self.announced = false;
    nr_announced_.fetch_sub(1, seq_cst); // [UNIFORM]
}

// Some worker has announced local items: whether one still has any.
CMWQ_INLINE bool local_lists::find() const noexcept {
    bool found = false;
    workers_.for_each([&](const worker& w) {
        found = !w.local.empty(); // [LOC-1]
        return !found;
    });
    return found;
}

CMWQ_INLINE void local_lists::accept_all_locked(pool_ledger& ledger, item_list& items, const ages& a) noexcept {
    if (items.empty()) return;
    ledger.accept_by_age_locked(items, a);
    ledger.publish_pending_locked();
}

// No item that is posted later may follow in a current run, also if nothing has been posted in that run yet. So the
// recall is counted. A pool in which no worker has local items need not look at its workers, of which hundreds may be
// blocked. [LOC-4] The recall is counted, then this thread reads whether a worker has announced local items.
CMWQ_INLINE void local_lists::recall_locked(pool_ledger& ledger) noexcept {
    nr_recalls_.store(nr_recalls_.load(relaxed) + 1, seq_cst); // [LOC-4]
    if (nr_announced_.load(seq_cst) == 0) return;              // [LOC-4]
    const ages a = ledger.env.ticks.compare();
    item_list recalled;
    announce_visits_locked(ledger);
    ledger.for_each_busy_locked([&](worker& w) {
        w.local.recall(recalled, a);
        return true;
    });
    accept_all_locked(ledger, recalled, a);
}

CMWQ_INLINE void local_lists::announce_visits_locked(pool_ledger& ledger) noexcept {
    bool any = false;
    ledger.for_each_busy_locked([&any](worker& w) {
        any |= w.local.announce_visit();
        return true;
    });
    if (any) process_barrier::run(); // [BIAS-1], [BIAS-2]
}

CMWQ_INLINE std::uint64_t local_lists::nr_revocations(const pool_ledger& ledger) noexcept {
    std::uint64_t n = 0;
    ledger.for_each_record([&n](const run_record& k) {
        if (!k.is_nested()) n += k.of_thread->local.nr_revocations();
    });
    return n;
}

// A local item follows only if nothing else of the pool waits for a worker, so the items of other queues start as soon
// as without local lists. After a number of items the worker takes the lock, and gives its slot to the next one in
// turn.
CMWQ_INLINE work_base* local_lists::find_follow_up(pool_ledger& ledger, worker& self) noexcept {
    constexpr unsigned longest_run = 64;
    if (self.nr_follow_ups.load(relaxed) >= longest_run || self.local.empty()) return nullptr;
    // A worker that has been uncounted must be counted again, a description be reset: end_run_locked() follows.
    if (!self.counted.load(relaxed) || self.description[0] != 0 || ledger.pending()) return nullptr;
    if (has_left_items_.load(relaxed)) return nullptr; // they wait for a worker, too
    using end = local_items::end;
    end from = end::newest;
    if (const wait_stamp until = old_until_.load(relaxed); until != 0) { // others may be older
        const ages a = ledger.env.ticks.compare();
        if (self.local.oldest(a) > a.of(until)) return nullptr;
        from = end::oldest;
    }
    if (!self.owns_item && !(self.is_follower ? self.end_item_without_lock() : become_follower(ledger, self)))
        return nullptr;
    using wanted = local_items::wanted;
    work_base* w = self.local.take_follow_up(from, *self.current_pwq, self.is_follower ? wanted::any : wanted::closure,
                                             nr_recalls_);
    if (w == nullptr && !self.is_follower && !self.local.empty() && become_follower(ledger, self))
        w = self.local.take_follow_up(from, *self.current_pwq, wanted::any, nr_recalls_);
    if (w != nullptr)
        self.nr_follow_ups.store(static_cast<std::uint16_t>(self.nr_follow_ups.load(relaxed) + 1), relaxed);
    return w;
}

CMWQ_INLINE bool local_lists::become_follower(pool_ledger& ledger, worker& self) noexcept {
    lock_after_run(ledger, self);
    const bool follows = ledger.become_follower_locked(self);
    ledger.lock.unlock();
    return follows;
}

// The items of the worklist go first, because a local item can also follow in a run. But a worker that always finds
// items there takes a local one now and then, its own or another worker's, because no other worker may be free to take
// it, and its owner may be blocked; if it has many, it takes an item of the worklist now and then.
CMWQ_INLINE work_base* local_lists::take_locked(pool_ledger& ledger, worker& self) noexcept {
    constexpr unsigned interval = 8, many = 64;
    if (nr_announced_.load(relaxed) == 0) {
        work_base* const w = ledger.take_locked(self);
        return w != nullptr ? w : take_local_locked(ledger, self);
    }
    recall_left_locked(ledger);
    recall_of_guests_locked(ledger);
    if (old_until_.load(relaxed) != 0 && self.scheduled.empty() && !self.is_rescuer()) {
        if (work_base* const w = take_old_locked(ledger, self); w != nullptr) return w;
    }
    const bool turn = ++self.nr_taken % interval == 0;
    const bool local_first = self.scheduled.empty() && (self.local.size() > many ? !turn : turn);
    if (work_base* const w = local_first ? take_local_locked(ledger, self) : nullptr; w != nullptr) return w;
    if (work_base* const w = ledger.take_locked(self); w != nullptr) return w;
    return take_local_locked(ledger, self);
}

// --- while an item is old --------------------------------------------------------------------------------------------
//
// A worker prefers the newest items, and those of its own list. So an item could wait for as long as others come: a
// bound for their number is none for the time. But after some milliseconds an item is old, and from then on, until no
// item of the pool is, the oldest of all lists goes first.
//
// Each list is sorted by age, so its first item says enough. What was queued little later than the oldest item may
// start in any order: then a worker can stay with its own list, also without the lock.

// Eight milliseconds, and one. With two instead of eight, trees of short items took 6 % longer, because few of their
// items ran while their data was in the cache.
constexpr wait_stamp old_after = 8'000, little_later = 1'000;

// The place of the oldest item of the pool. Returns whether it is old.
CMWQ_INLINE bool local_lists::note_oldest_locked(const ages& a, ages::place oldest) noexcept {
    const wait_stamp until = a.is_older(oldest, old_after) ? a.stamp_at(oldest + little_later) : 0;
    if (old_until_.load(relaxed) != until) old_until_.store(until, relaxed);
    return until != 0;
}

// `from`: set to another worker than `self` if that has the oldest item.
CMWQ_INLINE ages::place local_lists::find_oldest(const ages& a, ages::place oldest, worker*& from) const noexcept {
    workers_.for_each([&](worker& w) {
        if (const ages::place its = w.local.oldest(a); its < oldest) oldest = its, from = &w;
        return true;
    });
    return oldest;
}

CMWQ_INLINE void local_lists::look_for_old_locked(pool_ledger& ledger) noexcept {
    const ages a = ledger.env.ticks.compare();
    note_oldest_locked(a, oldest_of(a, ledger.first_listed_place_locked(a)));
}

// Null: no item is old any more, or the limit keeps the old ones back.
CMWQ_INLINE work_base* local_lists::take_old_locked(pool_ledger& ledger, worker& self) noexcept {
    constexpr int most_refused = 16;
    for (int refused = 0; refused < most_refused;) {
        const ages a = ledger.env.ticks.compare();
        const ages::place own = self.local.oldest(a), listed = ledger.first_listed_place_locked(a);
        ages::place until = a.of(old_until_.load(relaxed));
        worker* from = &self;
        if (std::min(own, listed) > until) { // others may have older ones
            const ages::place oldest = find_oldest(a, std::min(own, listed), from);
            if (!note_oldest_locked(a, oldest)) return nullptr;
            until = oldest + little_later;
        }
        if (own > until && listed <= until) return ledger.take_locked(self);
        if (own == ages::none && from != &self) {
            take_half_locked(*from, self);
            from = &self;
        }
        work_base* const w = from == &self ? self.local.take(local_items::end::oldest) : from->local.give_oldest();
        if (w == nullptr) continue; // the owner was faster
        if (from != &self) note_moved(*w, moved_to::worker);
        if (admit_locked(ledger, *w)) return w;
        ++refused;
    }
    return nullptr;
}

// --- otherwise -------------------------------------------------------------------------------------------------------

// The newest local item, whose data is most likely in the cache; now and then the oldest one, which others might pass
// over for ever. If there is none, items of other workers.
CMWQ_INLINE work_base* local_lists::take_local_locked(pool_ledger& ledger, worker& self) noexcept {
    constexpr unsigned interval = 16, most_refused = 16;
    if (self.is_rescuer()) return nullptr;
    for (unsigned refused = 0; refused < most_refused; ++refused) {
        using end = local_items::end;
        const bool turn = ++self.nr_local_taken % interval == 0;
        work_base* w = self.local.take(turn ? end::oldest : end::newest);
        if (w == nullptr) {
            if (!take_from_others_locked(ledger, self)) return nullptr;
            w = self.local.take(end::oldest); // the items that it posts will be on this worker's list
        }
        if (w == nullptr) continue;
        if (admit_locked(ledger, *w)) return w;
    }
    // The limit keeps them back. All others in one step, because their owners may post more meanwhile.
    recall_locked(ledger);
    return ledger.take_locked(self);
}

// Moves the older half of the items of another worker to the list of this one, which is empty.
CMWQ_INLINE void local_lists::take_half_locked(worker& from, worker& self) noexcept {
    constexpr unsigned most = 32;
    announce(self);
    from.local.give_oldest(self.local, most);
    note_filled(self);
}

// Moves local items of another worker, which may be blocked, to the list of this one. False: no worker has any.
CMWQ_INLINE bool local_lists::take_from_others_locked(pool_ledger& ledger, worker& self) noexcept {
    if (nr_announced_.load(seq_cst) == 0) return false; // [LOC-1]
    bool found = false;
    ledger.for_each_busy_locked([&](worker& w) CMWQ_NO_TSA { // under the lock
        if (&w == &self || w.local.empty()) return true;
        take_half_locked(w, self);
        found = !self.local.empty();
        if (found) ledger.put_last_locked(w); // the next time it is the turn of others
        return !found;                        // otherwise its owner has been faster
    });
    return found;
}

CMWQ_INLINE void local_lists::begin_work_locked(pool_ledger& /*ledger*/, worker& self) noexcept {
    if (self.is_guest()) guests_.push_back(self);
}

CMWQ_INLINE void local_lists::begin_run_locked(pool_ledger& /*ledger*/, worker& self) noexcept {
    const pool_workqueue& pwq = *self.current_pwq;
    self.local.begin_run(!pwq.frozen && !pwq.held_back, nr_recalls_.load(relaxed)); // relaxed: under the lock
}

CMWQ_INLINE void local_lists::end_run_locked(pool_ledger& /*ledger*/, worker& self) noexcept {
    if (self.announced && self.local.empty()) take_back_announcement(self);
}

CMWQ_INLINE void local_lists::end_work_locked(pool_ledger& ledger, worker& self) noexcept {
    if (self.is_guest()) guests_.remove(self);
    if (!self.announced) return;
    item_list left;
    const ages a = ledger.env.ticks.compare();
    self.local.give_back(left, a);
    accept_all_locked(ledger, left, a);
    take_back_announcement(self);
}

}}} // namespace cmwq::CMWQ_NS::detail
