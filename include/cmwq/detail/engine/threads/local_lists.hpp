// SPDX-License-Identifier: BSL-1.0
//
// local_lists: the lists of an elastic pool's workers, to which items go that their runs queue.
#pragma once

#include <cmwq/detail/engine/ledger/pool_ledger.hpp>
#include <cmwq/detail/engine/threads/busy_workers.hpp>
#include <cmwq/detail/engine/threads/spare_workers.hpp>
#include <cmwq/detail/engine/threads/worker.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/process_barrier.hpp>

#include <cstddef>
#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Locks the pool after a run. Waiting for the lock must not count as blocking in an item: otherwise the pool would
/// keep many workers for the only reason that they contend for the lock.
CMWQ_HOT_INLINE void lock_after_run(pool_ledger& ledger, worker& self) noexcept CMWQ_ACQUIRE(ledger.lock) {
    self.finishing.store(true, relaxed);
    if (!ledger.lock.try_lock()) {
        const std::int64_t began = steady_now();
        ledger.lock.lock();
        self.exclude(steady_now() - began);
    }
    self.finishing.store(false, relaxed);
}

/// Knows which workers have local items, and takes items from all of them. `ledger` is that of the pool. A worker has
/// local items only while it is among `workers`.
///
/// Thread safety: any thread may call the members that name no `self`. `self` is the record of the calling thread.
/// Letters: I set by the constructor · A atomic · L the lock of the pool
class local_lists {
public:
    local_lists(const busy_workers<worker>& workers, const spare_workers& spares) noexcept
        : workers_(workers), spares_(spares) {}
    local_lists(const local_lists&) = delete;
    local_lists& operator=(const local_lists&) = delete;

    /// Whether a worker has local items.
    [[nodiscard]] bool any() const noexcept { return nr_announced_.load(seq_cst) != 0 && find(); } // [LOC-1]
    /// The place of the oldest local item, or `oldest`, if that is older.
    [[nodiscard]] ages::place oldest_of(const ages& a, ages::place oldest) const noexcept {
        worker* from = nullptr;
        return find_oldest(a, oldest, from);
    }
    /// Calls `f(work_base&)` for the oldest local item, if that is older than `than`.
    template <class F>
    void look_at_oldest(const ages& a, ages::place than, F&& f) const noexcept {
        worker* from = nullptr;
        static_cast<void>(find_oldest(a, than, from));
        if (from != nullptr) from->local.look_at_oldest(f);
    }
    /// The number of local items. A snapshot.
    [[nodiscard]] std::size_t nr_items() const noexcept {
        std::size_t n = 0;
        workers_.for_each([&n](const worker& w) {
            n += w.local.size();
            return true;
        });
        return n;
    }
    /// Whether no worker runs that item. The caller owns PENDING. False: perhaps one does, here or in another pool.
    [[nodiscard]] bool is_idle(const pool_ledger& ledger, const work_base& w) const noexcept;
    /// The sum of these counters of all workers; 0 while no worker has local items.
    template <class T>
    [[nodiscard]] std::uint64_t sum_of(atomic<T> run_record::* counter) const noexcept;
    /// `w` is not counted as running any more: its items must not wait for it.
    void uncounted(const worker& w) noexcept {
        // [LOC-2] The worker is not counted, then this thread reads whether its list is filled; pairs note_filled().
        if (nr_announced_.load(seq_cst) != 0 && !w.local.empty()) leave();
    }

    /// Puts an idle item on the list of `self`, which runs an item of its pwq. The caller owns PENDING, and must notify
    /// the pool as soon as it holds no lock.
    void push(const pool_ledger& ledger, worker& self, work_base& w) noexcept;
    /// Assigns the item to the pwq of the current run, and pushes it, unless `stop` is set. A thread that sets it, and
    /// then looks at all local items, finds the item, or `self` has seen the flag. False: nothing has changed.
    [[nodiscard]] bool push_unless(const atomic<bool>& stop, const pool_ledger& ledger, worker& self,
                                   work_base& w) noexcept;
    /// Takes an item that follows in the current run, with the color and the slot of that run. Null: the run ends.
    [[nodiscard]] work_base* take_follow_up(pool_ledger& ledger, worker& self) noexcept CMWQ_EXCLUDES(ledger.lock) {
        return self.announced ? find_follow_up(ledger, self) : nullptr;
    }

    void begin_work_locked(pool_ledger& ledger, worker& self) noexcept CMWQ_REQUIRES(ledger.lock);
    void begin_run_locked(pool_ledger& ledger, worker& self) noexcept CMWQ_REQUIRES(ledger.lock);
    void end_run_locked(pool_ledger& ledger, worker& self) noexcept CMWQ_REQUIRES(ledger.lock);
    /// `self` takes no further item: its local items become those of the pool.
    void end_work_locked(pool_ledger& ledger, worker& self) noexcept CMWQ_REQUIRES(ledger.lock);
    /// Takes the next item for `self` to run: from its list, the worklist, or the list of another worker.
    [[nodiscard]] work_base* take_locked(pool_ledger& ledger, worker& self) noexcept CMWQ_REQUIRES(ledger.lock);
    /// Takes one of the newest local items of `self`, of which `f` is true, with a color and a slot. Null: there is
    /// none, or the limit keeps it back.
    template <class F>
    [[nodiscard]] static work_base* take_if_locked(pool_ledger& ledger, worker& self, F&& f) noexcept
        CMWQ_REQUIRES(ledger.lock) {
        work_base* const w = self.local.take_back_if(f);
        return w != nullptr && admit_locked(ledger, *w) ? w : nullptr;
    }
    /// Calls `f(work_base&)` for each local item, under the pool lock and the lock of its list.
    template <class F>
    static void for_each_locked(pool_ledger& ledger, F&& f) noexcept CMWQ_REQUIRES(ledger.lock) {
        announce_visits_locked(ledger);
        ledger.for_each_busy_locked([&](worker& w) {
            w.local.for_each(f);
            return true;
        });
    }
    /// As above; takes the pool lock.
    template <class F>
    static void for_each(pool_ledger& ledger, F&& f) noexcept CMWQ_EXCLUDES(ledger.lock) {
        const scoped_lock g(ledger.lock);
        for_each_locked(ledger, f);
    }
    /// The ledger accepts all local items.
    void recall_locked(pool_ledger& ledger) noexcept CMWQ_REQUIRES(ledger.lock);
    /// How often a thread has revoked the bias of a list's lock, over all workers that the pool has had.
    [[nodiscard]] static std::uint64_t nr_revocations(const pool_ledger& ledger) noexcept;
    /// At each tick: looks whether an item of the pool is old. While one is, old ones start first.
    void look_for_old_locked(pool_ledger& ledger) noexcept CMWQ_REQUIRES(ledger.lock);

private:
    [[nodiscard]] bool find() const noexcept;
    void announce(worker& self) noexcept;
    void note_filled(const worker& self) noexcept;
    void take_back_announcement(worker& self) noexcept;
    void leave() noexcept;
    [[nodiscard]] work_base* find_follow_up(pool_ledger& ledger, worker& self) noexcept CMWQ_EXCLUDES(ledger.lock);
    static bool become_follower(pool_ledger& ledger, worker& self) noexcept CMWQ_EXCLUDES(ledger.lock);
    /// Gives an item that has left its list a color and a slot. False: the limit keeps it back.
    [[nodiscard]] static bool admit_locked(pool_ledger& ledger, work_base& w) noexcept CMWQ_REQUIRES(ledger.lock) {
        if (ledger.admit_by_age_locked(w)) return true;
        note_moved(w, moved_to::pool);
        return false;
    }
    /// This thread is about to visit all lists.
    static void announce_visits_locked(pool_ledger& ledger) noexcept CMWQ_REQUIRES(ledger.lock);
    static void accept_all_locked(pool_ledger& ledger, item_list& items, const ages& a) noexcept
        CMWQ_REQUIRES(ledger.lock);
    void recall_left_locked(pool_ledger& ledger) noexcept CMWQ_REQUIRES(ledger.lock);
    void recall_of_guests_locked(pool_ledger& ledger) noexcept CMWQ_REQUIRES(ledger.lock);
    bool note_oldest_locked(const ages& a, ages::place oldest) noexcept;
    [[nodiscard]] ages::place find_oldest(const ages& a, ages::place oldest, worker*& from) const noexcept;
    [[nodiscard]] work_base* take_old_locked(pool_ledger& ledger, worker& self) noexcept CMWQ_REQUIRES(ledger.lock);
    [[nodiscard]] work_base* take_local_locked(pool_ledger& ledger, worker& self) noexcept CMWQ_REQUIRES(ledger.lock);
    void take_half_locked(worker& from, worker& self) noexcept;
    bool take_from_others_locked(pool_ledger& ledger, worker& self) noexcept CMWQ_REQUIRES(ledger.lock);

    const busy_workers<worker>& workers_; // I
    const spare_workers& spares_;         // I
    // A: workers that may have local items. A worker counts itself when it gets the first one, and is not counted any
    // more after the end of a run that leaves it without any.
    atomic<int> nr_announced_{0};
    // A: an item is old: those go first whose stamp is not after this. 0: none is. Written under L
    atomic<wait_stamp> old_until_{0};
    atomic<bool> has_left_items_{false};      // A: a worker that is not counted has local items
    atomic<std::uint64_t> nr_recalls_{0};     // A: calls of recall_locked(); written under L
    intrusive_list<worker, idle_tag> guests_; // L: those that run tasks
};

template <class T>
std::uint64_t local_lists::sum_of(atomic<T> run_record::* counter) const noexcept {
    std::uint64_t n = 0;
    // Mostly there is none, and the sentinels must not read the lines of all workers. Tasks that a wait has run are not
    // counted then before the end of the run.
    if (nr_announced_.load(relaxed) == 0) return n;
    workers_.for_each([&](const worker& w) {
        n += (w.*counter).load(relaxed);
        return true;
    });
    return n;
}

// The numbers of a ledger, with the local items of the pool's workers. `lists`: null: they have none.
[[nodiscard]] inline bool pending_in(const pool_ledger& ledger, const local_lists* lists) noexcept {
    return ledger.pending() || (lists != nullptr && lists->any());
}
[[nodiscard]] inline std::uint64_t nr_completed_in(const pool_ledger& ledger, const local_lists* lists) noexcept {
    return ledger.nr_completed() + (lists != nullptr ? lists->sum_of(&run_record::nr_ended) : 0);
}
/// As pool_ledger::nr_begun(), with the items that have followed in runs that go on.
[[nodiscard]] inline std::uint64_t nr_begun_in(const pool_ledger& ledger, const local_lists* lists) noexcept {
    return ledger.nr_begun() + (lists != nullptr ? lists->sum_of(&run_record::nr_follow_ups) : 0);
}

}}} // namespace cmwq::CMWQ_NS::detail
