// SPDX-License-Identifier: BSL-1.0
//
// Bodies of managed_workers: counting the running workers, and replacing blocked ones.
#pragma once

#include <cmwq/detail/engine/ledger/queue_face.hpp>
#include <cmwq/detail/engine/threads/managed_workers.hpp>
#include <cmwq/detail/engine/threads/sentinel.hpp>
#include <cmwq/detail/sync/clock.hpp>

#include <bit>
#include <memory>
#include <new>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE managed_workers::managed_workers(const pool_env& env, std::uint64_t id, unsigned number, serves what)
    : rescuable_pool(env, id, number, what),
      near_(std::make_unique<atomic<std::uint64_t>[]>(env.cpus.nr_cpus() / 64 + 1)),
      far_(std::make_unique<atomic<std::uint64_t>[]>(env.cpus.nr_cpus() / 64 + 1)) {
    if (what == serves::attributes && !countable_workers_.reserve(most_guests)) throw std::bad_alloc();
}

CMWQ_INLINE void managed_workers::configure(pool_spec spec, const cpuset& watching) {
    cpuset near;
    for (const unsigned index : watching) {
        if (spec.pod.contains(ledger.env.cpus.number_of(index))) near.insert(index);
    }
    if (near.empty()) near = watching;
    const cpuset far = watching - near;
    const scoped_lock g(ledger.lock);
    set_spec_locked(spec); // `spec` now has the former attributes, which are freed without the lock
    width_.store(spec_.width, relaxed);
    max_running_.store(ledger.env.cpus.width_of(spec_.cpus), relaxed);
    limit_.store(spec_.width, relaxed);
    for (unsigned i = 0; i < ledger.env.cpus.nr_cpus(); i += 64) {
        std::uint64_t words[2] = {};
        for (unsigned bit = 0; bit < 64; ++bit) {
            if (near.contains(i + bit)) words[0] |= std::uint64_t{1} << bit;
            if (far.contains(i + bit)) words[1] |= std::uint64_t{1} << bit;
        }
        near_[i / 64].store(words[0], relaxed);
        far_[i / 64].store(words[1], relaxed);
    }
}

template <class F>
void managed_workers::for_each_sentinel(sentinel_range which, F&& f) const {
    for (unsigned i = 0; i < ledger.env.cpus.nr_cpus(); i += 64) {
        std::uint64_t word = which != sentinel_range::far ? near_[i / 64].load(relaxed) : 0;
        if (which != sentinel_range::near) word |= far_[i / 64].load(relaxed);
        for (; word != 0; word &= word - 1) {
            f(i + static_cast<unsigned>(std::countr_zero(word)));
        }
    }
}

// --- for the loop of a worker ----------------------------------------------------------------------------------------

CMWQ_INLINE void managed_workers::work_begins_locked(worker& self) noexcept {
    countable_workers_.add(self);
    count(self);
}

// The worker takes no further item: its local items become those of the pool.
CMWQ_INLINE void managed_workers::work_ends_locked(worker& self) noexcept {
    if (self.announced) {
        item_list left;
        self.local.recall(left);
        accept_all_locked(left);
        take_back_announcement(self);
    }
    countable_workers_.remove(self);
    uncount(self);
}

CMWQ_INLINE void managed_workers::run_begins_locked(worker& self) noexcept {
    if (nr_overdue_may_start_ != 0 && !self.is_guest()) --nr_overdue_may_start_;
    const pool_workqueue& pwq = *self.current_pwq;
    if (!is_per_cpu_) self.local.begin_run(!pwq.frozen && !pwq.held_back);
    self.cpu_intensive = pwq.queue->cpu_intensive;
    if (self.cpu_intensive) uncount(self);
}

// Waiting for the pool lock must not count as blocking in an item. Otherwise learn_limit() would keep many workers for
// the only reason that they contend for the lock.
CMWQ_INLINE void managed_workers::lock_after_run(worker& self) noexcept {
    self.finishing.store(true, relaxed);
    if (!ledger.lock.try_lock()) {
        const std::int64_t began = steady_now();
        ledger.lock.lock();
        self.exclude(steady_now() - began);
    }
    self.finishing.store(false, relaxed);
}

CMWQ_INLINE void managed_workers::idle_begins_locked(worker& self) noexcept { self.idle_began = steady_now(); }

CMWQ_INLINE void managed_workers::wake_a_worker() noexcept {
    const int width = width_.load(relaxed);
    // [IDLE-1] The producer has pushed, then it reads nr_running_; pairs [IDLE-2], where a worker counts itself down
    // and then reads the inbox. All four are seq_cst: at least one of the two threads sees the other's write.
    if (is_associated() && (nr_running_.load(seq_cst) >= width || !spare_is_urgent(nr_active(), width))) {
        detectors_needed(); // the item waits behind running workers, which may block, or behind many blocked ones
        return;
    }
    remind_worker();
}

// --- local items -----------------------------------------------------------------------------------------------------

CMWQ_INLINE bool managed_workers::is_idle(const work_base& w) const noexcept {
    constexpr int many = 32; // then the search in the table of runs is faster
    const std::uint64_t last = work_access::pool_id(work_access::location_of(w));
    if (last == 0) return true;
    if (last != id()) return false;
    // The records of rescuers and of nested runs are not in the array. [RUN-2] acquire: if the last nested run has ended,
    // this thread sees its effects.
    if (has_rescuable_.load(relaxed) || ledger.nr_nested() != 0) return !ledger.may_run(w);
    int n = 0;
    bool idle = true;
    countable_workers_.for_each([&](const worker& k) {
        idle = ++n < many && k.current.load(acquire) != &w; // [RUN-1], [RUN-2]
        return idle;
    });
    return idle;
}

CMWQ_INLINE void managed_workers::push_local(worker& self, work_base& w) noexcept {
    work_access::set_location(w, id() << location::id_shift | location::local);
    self.local.push(w);
    announce(self);
}

CMWQ_INLINE bool managed_workers::push_local_unless(const atomic<bool>& stop, worker& self, work_base& w) noexcept {
    work_access::set_location(w, id() << location::id_shift | location::local);
    if (!self.local.push_unless(stop, w)) {
        work_access::set_location(w, 0);
        return false;
    }
    announce(self);
    return true;
}

// `self`, the calling thread, has local items.
CMWQ_INLINE void managed_workers::announce(worker& self) noexcept {
    if (!std::exchange(self.announced, true)) nr_announced_.fetch_add(1, seq_cst); // [LOC-1]
    // [LOC-2] The list has been filled, then this thread reads whether it is counted; pairs uncount().
    if (!self.counted.load(seq_cst)) leave_local_items();
}

// A worker with local items is not counted any more, so it may be blocked. Its items must not wait for it, nor for other
// workers to run out of local items of their own: the next worker that takes an item recalls them.
CMWQ_INLINE void managed_workers::leave_local_items() noexcept {
    if (!has_left_items_.load(relaxed)) has_left_items_.store(true, release); // [LOC-3]
}

CMWQ_INLINE void managed_workers::recall_left_items_locked() noexcept {
    if (!has_left_items_.load(relaxed) || !has_left_items_.exchange(false, acq_rel)) return; // [LOC-3]
    item_list recalled;
    ledger.for_each_busy_locked([&](worker& w) {
        if (!w.counted.load(relaxed) && !w.local.empty()) w.local.recall(recalled);
        return true;
    });
    accept_all_locked(recalled);
}

CMWQ_INLINE void managed_workers::take_back_announcement(worker& self) noexcept {
    self.announced = false;
    nr_announced_.fetch_sub(1, seq_cst); // [UNIFORM]
}

// Some worker has announced local items: whether one still has any.
CMWQ_INLINE bool managed_workers::find_local_items() const noexcept {
    bool found = false;
    countable_workers_.for_each([&](const worker& w) {
        found = !w.local.empty(); // [LOC-1]
        return !found;
    });
    return found;
}

CMWQ_INLINE std::uint64_t managed_workers::sum_of(atomic<std::uint32_t> run_record::* counter) const noexcept {
    std::uint64_t n = 0;
    // Mostly there is none, and the sentinels must not read the lines of all workers. Tasks that a wait has run are not
    // counted then before the end of the run.
    if (nr_announced_.load(relaxed) == 0) return n;
    countable_workers_.for_each([&](const worker& w) {
        n += (w.*counter).load(relaxed);
        return true;
    });
    return n;
}

CMWQ_INLINE void managed_workers::accept_all_locked(item_list& items) noexcept {
    if (items.empty()) return;
    while (work_base* const w = items.pop_front()) ledger.accept_locked(*w);
    ledger.publish_pending_locked();
}

// Also of workers that have not posted anything in their current run: what they post later must not follow in it.
CMWQ_INLINE void managed_workers::recall_local_items_locked() noexcept {
    if (is_per_cpu_) return;
    item_list recalled;
    ledger.for_each_busy_locked([&](worker& w) {
        w.local.recall(recalled);
        return true;
    });
    accept_all_locked(recalled);
}

// A local item follows only if nothing else of the pool waits for a worker, so the items of other queues start as soon
// as without local lists. After a number of items the worker takes the lock, and gives its slot to the next one in turn.
CMWQ_INLINE work_base* managed_workers::take_follow_up(worker& self) noexcept {
    constexpr unsigned longest_run = 64;
    if (!self.announced || self.nr_follow_ups.load(relaxed) >= longest_run || self.local.empty()) return nullptr;
    // A worker that has been uncounted must be counted again, a description be reset: ledger.end_run_locked() follows.
    if (!self.counted.load(relaxed) || self.description[0] != 0 || ledger.pending()) return nullptr;
    if (!self.owns_item && !(self.is_follower ? self.end_item_without_lock() : become_follower(self))) return nullptr;
    work_base* w = self.local.take_newest_of(*self.current_pwq, !self.is_follower);
    if (w == nullptr && !self.is_follower && !self.local.empty() && become_follower(self))
        w = self.local.take_newest_of(*self.current_pwq, false);
    if (w != nullptr) self.nr_follow_ups.store(self.nr_follow_ups.load(relaxed) + 1, relaxed);
    return w;
}

CMWQ_INLINE bool managed_workers::become_follower(worker& self) noexcept {
    lock_after_run(self);
    const bool follows = ledger.become_follower_locked(self);
    ledger.lock.unlock();
    return follows;
}

// The items of the worklist go first, because a local item can also follow in a run. But a worker that always finds
// items there takes a local one now and then, its own or another worker's, because no other worker may be free to take
// it, and its owner may be blocked; if it has many, it takes an item of the worklist now and then.
CMWQ_INLINE work_base* managed_workers::take_locked(worker& self) noexcept {
    constexpr unsigned interval = 8, many = 64;
    if (nr_announced_.load(relaxed) == 0) {
        work_base* const w = ledger.take_locked(self);
        return w != nullptr ? w : take_local_locked(self);
    }
    recall_left_items_locked();
    const bool turn = ++self.nr_taken % interval == 0;
    const bool local_first = self.scheduled.empty() && (self.local.size() > many ? !turn : turn);
    if (work_base* const w = local_first ? take_local_locked(self) : nullptr; w != nullptr) return w;
    if (work_base* const w = ledger.take_locked(self); w != nullptr) return w;
    return take_local_locked(self);
}

// The newest local item, whose data is most likely in the cache; now and then the oldest one, which others might pass
// over for ever. If there is none, items of other workers.
CMWQ_INLINE work_base* managed_workers::take_local_locked(worker& self) noexcept {
    constexpr unsigned interval = 16, most_refused = 16;
    if (self.is_rescuer()) return nullptr;
    for (unsigned refused = 0; refused < most_refused; ++refused) {
        using end = local_items::end;
        work_base* w = self.local.take(++self.nr_local_taken % interval == 0 ? end::oldest : end::newest);
        if (w == nullptr) {
            if (!take_from_others_locked(self)) return nullptr;
            w = self.local.take(end::oldest); // the items that it posts will be on this worker's list
        }
        if (w == nullptr) continue;
        if (ledger.admit_locked(*w)) return w;
        note_moved(*w, moved_to::pool);
    }
    // The limit keeps them back. All others in one step, because their owners may post more meanwhile.
    recall_local_items_locked();
    return ledger.take_locked(self);
}

// Moves local items of another worker, which may be blocked, to the list of this one. False: no worker has any.
CMWQ_INLINE bool managed_workers::take_from_others_locked(worker& self) noexcept {
    constexpr unsigned most = 32;
    if (nr_announced_.load(seq_cst) == 0) return false; // [LOC-1]
    bool found = false;
    ledger.for_each_busy_locked([&](worker& w) CMWQ_NO_TSA { // under the lock
        if (&w == &self || w.local.empty()) return true;
        announce(self);
        w.local.give_oldest(self.local, most);
        found = !self.local.empty();
        if (found) ledger.put_last_locked(w); // the next time it is the turn of others
        return !found;                        // otherwise its owner has been faster
    });
    return found;
}

CMWQ_INLINE void managed_workers::run_ended_locked(worker& self) noexcept {
    count(self); // even if it was uncounted
    if (!self.is_guest()) nr_overdue_may_start_ = 0;
    if (self.announced && self.local.empty()) take_back_announcement(self);
}

// --- counting --------------------------------------------------------------------------------------------------------

CMWQ_INLINE void managed_workers::count(worker& w) noexcept {
    if (w.record != worker::record_of::worker) return;
    if (w.counted.load(relaxed)) return; // other threads only clear it
    // Also without its CPU, so that the count is right when the CPU is back.
    nr_running_.fetch_add(1, seq_cst); // [COUNT-1] before the flag: no thread counts down what was not counted up
    w.counted.store(true, release);    // [COUNT-1]
}

// [COUNT-1] The thread that resets the flag counts down. [IDLE-2] It must then check whether items are pending.
CMWQ_INLINE bool managed_workers::uncount(worker& w) noexcept {
    if (!w.counted.load(acquire) || !w.counted.exchange(false, seq_cst)) return false;
    nr_running_.fetch_sub(1, seq_cst);
    // [LOC-2] The worker is not counted, then this thread reads whether its list is filled; pairs announce().
    if (nr_announced_.load(seq_cst) != 0 && !w.local.empty()) leave_local_items();
    return true;
}

// --- detectors -------------------------------------------------------------------------------------------------------

CMWQ_INLINE void managed_workers::detectors_needed() noexcept {
    if (!is_associated()) return; // no detector is needed: every item gets a worker
    // [ARM-3] As [ARM-1], for all sentinels of the pod at once. The sentinels of other CPUs can only help, and may be
    // many; the caller may be a producer, so it does not arm them.
    if (const arming::ticket t = armed_.arm(); t != arming::none) {
        for_each_sentinel(sentinel_range::near,
                          [this](unsigned index) { ledger.env.finder->sentinel_at(index).arm(); });
        armed_.answer(t);
    }
    ledger.env.requests.arm_monitor();
}

CMWQ_INLINE void managed_workers::arm_far_sentinels() const noexcept {
    for_each_sentinel(sentinel_range::far, [this](unsigned index) { ledger.env.finder->sentinel_at(index).arm(); });
}

// Whether a sentinel of the pod watches the pool.
CMWQ_INLINE bool managed_workers::sentinel_works() const noexcept {
    bool works = false;
    for_each_sentinel(sentinel_range::near,
                      [&](unsigned index) { works |= ledger.env.finder->sentinel_at(index).works(); });
    return works;
}

CMWQ_INLINE void managed_workers::raise_limit(int to) noexcept {
    int seen = limit_.load(relaxed);
    while (seen < to && !limit_.compare_exchange_weak(seen, to, relaxed, relaxed)) {}
}

// A CPU is idle although items are pending: raises the limit to at least `n` more workers than are active.
CMWQ_INLINE bool managed_workers::start_spares(int n) noexcept {
    raise_limit(nr_active() + n);
    worker* idle = next_idle_.load(seq_cst); // [IDLE-1]
    if (idle == nullptr) {
        ask_for_worker();
        return false;
    }
    spare_wakeups_.fetch_add(1, relaxed);
    idle->sleep.unpark();
    return true;
}

CMWQ_INLINE void managed_workers::associate(bool with_its_cpu) noexcept {
    deferred d;
    const scoped_lock g(ledger.lock);
    associated_.store(with_its_cpu, seq_cst); // [CPU-1]
    if (!pending()) return;
    ledger.drain_locked(d);
    notify_locked(d); // items that waited behind a running worker need not wait any more
}

// --- detectors -------------------------------------------------------------------------------------------------------

CMWQ_INLINE finding managed_workers::check_for_blocked(detector who, bool insist, int spares) noexcept {
    if (!pending()) return finding::nothing_pending;
    const int width = width_.load(relaxed);
    if (is_associated()) {
        atomic<std::uint64_t>& found = who == detector::sentinel ? by_sentinel_ : by_monitor_;
        int running = 0;
        countable_workers_.for_each([&](worker& w) {
            if (!w.counted.load(acquire)) return true; // [HINT]
            // A worker that waits for the lock of the pool will run in a moment. Only a hint, so the load of
            // `finishing` is relaxed; it comes after the probe.
            if (!w.probe.blocked() || w.finishing.load(relaxed)) return ++running < width;
            if (uncount(w)) found.fetch_add(1, relaxed);
            return true;
        });
        // [UNIFORM] Enough workers run, or a worker has just started.
        if (running >= width || nr_running_.load(seq_cst) >= width) return finding::running;
        if (!insist && !spare_is_urgent(nr_active(), width)) return finding::all_blocked;
    }
    return start_spares(spares) ? finding::replaced : finding::no_spare;
}

CMWQ_INLINE bool managed_workers::lend_cpu() noexcept {
    if (nr_running_.load(relaxed) >= max_running_.load(relaxed)) return false;
    start_spares(1);
    return true;
}

CMWQ_INLINE void managed_workers::block_begins(worker& self) noexcept {
    if (!uncount(self)) return;
    const int width = width_.load(relaxed);
    if (!is_associated() || nr_running_.load(seq_cst) >= width || !pending()) return; // [IDLE-2]
    by_guard_.fetch_add(1, relaxed);
    if (spare_is_urgent(nr_active(), width) || !sentinel_works()) start_spares(1);
    else detectors_needed(); // the sentinel checks whether the CPU stays idle
}

CMWQ_INLINE void managed_workers::block_ends(worker& self) noexcept {
    if (!self.cpu_intensive) count(self);
}

// The worker waits for other items, so it is no reason to expect that a blocked worker will be back soon. And that time
// must not count as blocking in an item, like the time that lock_after_run() waits.
CMWQ_INLINE void managed_workers::wait_begins(worker& self) noexcept {
    self.wait_began = steady_now();
    self.in_wait.store(true, relaxed);
    nr_waiting_.fetch_add(1, relaxed); // before the worker is counted down: who sees that sees this as well
    block_begins(self);
}

CMWQ_INLINE void managed_workers::wait_ends(worker& self) noexcept {
    self.exclude(steady_now() - self.wait_began);
    nr_waiting_.fetch_sub(1, relaxed);
    self.in_wait.store(false, release);    // [WAIT-2] after the time was excluded
    if (self.depth == 0) block_ends(self); // otherwise a blocking_region goes on
}

}}} // namespace cmwq::CMWQ_NS::detail
