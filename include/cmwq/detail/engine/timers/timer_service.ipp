// SPDX-License-Identifier: BSL-1.0
//
// The bodies of timer_service.

#include <cmwq/detail/engine/timers/timer_service.hpp>

#include <algorithm>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE timer_service::timer_service(std::uint64_t first_id, const cpu_map& cpus)
    : first_id_(first_id), cpus_(cpus), nr_shards_(cpus.nr_cpus()),
      shards_(std::make_unique<timer_shard[]>(nr_shards_)), agenda_(std::make_unique<visit[]>(nr_shards_)) {}

CMWQ_INLINE unsigned timer_service::shard_for(const queue_core& q, int cpu) const noexcept {
    if (q.how.fifo && q.keyed())
        return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(&q) / sizeof q % nr_shards_);
    return cpus_.index_of(cpu);
}

// --- arming and taking away ------------------------------------------------------------------------------------------

CMWQ_INLINE bool timer_service::arm(queue_core& q, delayed_work_base& w, int cpu, std::int64_t now,
                                    std::int64_t deadline) noexcept {
    const unsigned i = shard_for(q, cpu);
    timer_shard& s = shards_[i];
    {
        const scoped_lock g(s.lock);
        if (q.gate.is_open()) {
            work_timer& t = work_access::timer(w);
            t.item = &w;
            t.queue = &q;
            t.cpu = cpu;
            t.deadline = deadline;
            const std::int64_t due = s.wheel.push(t, now);
            q.routes.armed_in(i).push_back(t);
            t.armed_in.store(first_id_ + i, release); // [TIM-1] pairs [TIM-2]: a thread that cancels finds the shard
            const std::int64_t first = s.next_visit.load(relaxed); // relaxed: under the lock
            // [SLEEP-1] This thread stores its visit, then reads how long the service thread sleeps; pairs [SLEEP-2].
            if (due < first) s.next_visit.store(due, seq_cst);
            const std::int64_t until = sleeps_until_.load(seq_cst); // [SLEEP-1]
            // A timer that is not the first of its shard checks as well: the thread that has armed the first one may be
            // stopped before it wakes the service thread. With a clock of the program that thread does not wait for
            // timers.
            return due < first ? due < until : first < until && until != not_used;
        }
    }
    q.routes.push(w, cpu).notify();
    return false;
}

CMWQ_INLINE void timer_service::remove_locked(timer_shard& s, work_timer& t) noexcept {
    s.wheel.remove(t);
    t.queue->routes.armed_in(static_cast<unsigned>(t.armed_in.load(relaxed) - first_id_)).remove(t);
    t.armed_in.store(0, release); // [ALONE]
}

CMWQ_INLINE void timer_service::fire_locked(timer_shard& s, work_timer& t, push_batch& batch) noexcept {
    remove_locked(s, t);
    batch.add(t.queue->routes.push(*t.item, t.cpu));
}

CMWQ_INLINE bool timer_service::disarm(delayed_work_base& w, std::uint64_t shard_id) noexcept {
    work_timer& t = work_access::timer(w);
    timer_shard& s = shards_[shard_id - first_id_];
    const scoped_lock g(s.lock);
    if (t.armed_in.load(relaxed) != shard_id) return false; // set and reset under this lock only
    remove_locked(s, t);
    return true;
}

CMWQ_INLINE bool timer_service::expedite(delayed_work_base& w, std::uint64_t shard_id) noexcept {
    work_timer& t = work_access::timer(w);
    timer_shard& s = shards_[shard_id - first_id_];
    push_batch batch;
    const scoped_lock g(s.lock);
    if (t.armed_in.load(relaxed) != shard_id) return false; // as above
    fire_locked(s, t, batch);
    return true;
}

CMWQ_INLINE void timer_service::expedite_all(queue_core& q) noexcept {
    for (unsigned i = 0; i < nr_shards_; ++i) {
        timer_shard& s = shards_[i];
        for (bool more = true; more;) {
            push_batch batch;
            const scoped_lock g(s.lock);
            const timer_ring& armed = q.routes.armed_in(i);
            while (!batch.full() && !armed.empty()) fire_locked(s, *armed.front(), batch);
            more = batch.full();
        }
    }
}

CMWQ_INLINE work_base* timer_service::take_one(queue_core& q, unsigned& shard) noexcept {
    for (; shard < nr_shards_; ++shard) {
        timer_shard& s = shards_[shard];
        const scoped_lock g(s.lock);
        if (work_timer* const t = q.routes.armed_in(shard).front(); t != nullptr) {
            remove_locked(s, *t);
            return t->item;
        }
    }
    return nullptr;
}

// --- expiry ----------------------------------------------------------------------------------------------------------

// Queues timers of one shard that are due at `until`, which is not after `now`; if there are none, lets its wheel turn.
// Either is limited, so that no other thread waits long for the lock; adds their number to `nr`. Returns when the next
// timer may be due. The wheel may have to turn before: `next_visit` says so, and the service thread comes back for it,
// with the time of then.
CMWQ_INLINE std::int64_t timer_service::expire_some(timer_shard& s, std::int64_t now, std::int64_t until,
                                                    int& nr) noexcept {
    push_batch batch;
    const scoped_lock g(s.lock);
    while (!batch.full()) {
        work_timer* const t = s.wheel.due(until);
        if (t == nullptr) break;
        fire_locked(s, *t, batch);
    }
    nr += batch.empty() ? s.wheel.turn_size : batch.nr_items();
    if (batch.empty()) s.wheel.turn(now);
    // The service thread reads it before it sleeps; arm() reads it under the lock.
    s.next_visit.store(s.wheel.next_visit(), relaxed);
    return s.wheel.next_due();
}

CMWQ_INLINE bool timer_service::expire(std::int64_t now) noexcept {
    constexpr int enough = 256; // of a shard: then those of others are next, and other work of the caller
    const scoped_lock g(expiring_);
    // A timer that is armed from here on wakes the service thread, or is found by plan_sleep().
    for (unsigned i = 0; i < nr_shards_; ++i) agenda_[i] = {shards_[i].next_visit.load(relaxed), 0};
    for (bool more = false;;) {
        unsigned first = 0;
        std::int64_t second = never; // the first visit of another shard
        for (unsigned i = 1; i < nr_shards_; ++i) {
            if (agenda_[i].due < agenda_[first].due) {
                second = agenda_[first].due;
                first = i;
            } else {
                second = std::min(second, agenda_[i].due);
            }
        }
        visit& v = agenda_[first];
        if (v.due > now || v.due == never) return more; // the time itself may have come to its end
        v.due = expire_some(shards_[first], now, std::min(now, second), v.nr);
        if (v.nr < enough || v.due > now) continue;
        v.due = never;
        more = true;
    }
}

CMWQ_INLINE std::int64_t timer_service::first_visit() const noexcept {
    std::int64_t first = never;
    for (unsigned i = 0; i < nr_shards_; ++i) first = std::min(first, shards_[i].next_visit.load(seq_cst)); // [SLEEP-2]
    return first;
}

CMWQ_INLINE std::int64_t timer_service::plan_sleep() noexcept {
    // [SLEEP-2] The service thread stores how long it sleeps, then reads the visits; pairs [SLEEP-1]. All are seq_cst:
    // it sees the visit for an armed timer, or the thread that has armed it sees that the service thread sleeps for too
    // long.
    for (std::int64_t until = first_visit();;) {
        sleeps_until_.store(std::min(until, for_ever), seq_cst); // [SLEEP-2]
        const std::int64_t again = first_visit();
        if (again >= until) return until;
        until = again;
    }
}

}}} // namespace cmwq::CMWQ_NS::detail
