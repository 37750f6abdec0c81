// SPDX-License-Identifier: BSL-1.0
//
// Bodies of bottom_half_pool: how a thread drains the pool.

#include <cmwq/detail/engine/bh/bottom_half_pool.hpp>
#include <cmwq/detail/engine/ledger/queue_face.hpp>
#include <cmwq/detail/sync/system.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE bottom_half_pool::bottom_half_pool(const pool_env& env, std::uint64_t id, unsigned cpu, bh_wakeup& wakeup,
                                               bottom_half_pool* higher_priority)
    : item_pool(*this, env, id, cpu, pool_serves::one_cpu, {.bottom_half = this}),
      record_(*new worker(*this, 0, worker::record_of::bottom_half)), wakeup_(wakeup),
      higher_priority_(higher_priority) {
    const scoped_lock g(ledger.lock);
    ledger.add_record_locked(record_);
    ledger.become_busy_locked(record_); // permanently: searches for runs walk that list
    ledger.set_only_record_locked(record_);
}

CMWQ_INLINE void bottom_half_pool::notify() noexcept {
    if (!draining_.load(seq_cst)) wakeup_.notify(); // [BH-1]
    else ledger.env.requests.arm_monitor(); // the draining thread runs it; if that stalls, the watchdog reports it
}

CMWQ_INLINE void bottom_half_pool::run(bh_budget& budget) noexcept {
    thread_slots& slots = this_thread_slots();
    const std::uint64_t id = this->id();
    // [BH-1] This thread has pushed, then it reads `draining_`; pairs [BH-2], where the draining thread resets
    // `draining_` and then reads the inbox. All are seq_cst: at least one of the two threads sees the other's write.
    if (!draining_.load(seq_cst)) {
        const no_cancellation whole; // the thread may be cancelled, but not in the middle of an item
        deferred d;
        const scoped_lock g(ledger.lock);
        if (!draining_.load(relaxed)) { // becomes true under the lock only: no other thread can drain now
            draining_.store(true, relaxed);
            worker& self = record_;
            blocking_observer* const observer = std::exchange(slots.observer, &self);
            self.interrupted = std::exchange(slots.current_run, &self);
            drain_all_locked(self, budget, d);
            slots.observer = observer;
            slots.current_run = self.interrupted;
        }
    } else {
        ledger.env.requests.arm_monitor(); // the draining thread runs it; if that stalls, the watchdog reports it
    }
    slots.forget_raised(id); // all items of this thread have run, or another thread is responsible for them
}

// Resets `draining_` and checks the inbox in one critical section. Other threads take from the inbox only under the
// lock, so every item that the check does not find in the inbox was on the worklist before.
CMWQ_INLINE void bottom_half_pool::drain_all_locked(worker& self, bh_budget& budget, deferred& d) noexcept {
    std::size_t round = 0;
    for (;;) {
        if (higher_priority_ != nullptr && higher_priority_->pending()) {
            ledger.lock.unlock();
            bh_budget turn(bh_budget::limit::turn);
            higher_priority_->run(budget.takes_turns() ? turn : budget);
            ledger.lock.lock();
            if (round != 0 && !budget.go_on()) break;
        }
        if (round == 0) {
            ledger.drain_locked(d);
            round = ledger.nr_listed_locked();
            if (round == 0) {
                draining_.store(false, seq_cst); // [BH-2]
                if (!ledger.has_arrivals()) return;
                draining_.store(true, relaxed);
                continue;
            }
            if (!budget.begin_round()) break;
        }
        work_base* const w = ledger.take_locked(self);
        if (w == nullptr) { // cancelled
            round = 0;
            continue;
        }
        --round;
        run_locked(self, *w, d);
        if ((ledger.has_listed_locked() || ledger.has_arrivals()) && !budget.go_on()) break;
    }
    draining_.store(false, seq_cst); // [BH-2]
    wakeup_.notify();                // after the store: otherwise it could find `draining_` set and park again
}

CMWQ_INLINE void bottom_half_pool::run_locked(worker& self, work_base& w, deferred& d) noexcept {
    const auto started = ledger.begin_run_locked(self, w);
    const queue_face& q = *self.current_pwq->queue;
    ledger.lock.unlock();
    d.perform();
    const wait_probe probe;
    ledger.call_above_other_code(self, started);
    if (probe.waited()) ledger.env.events.bottom_half_blocked(q.name, number());
    ledger.lock.lock();
    ledger.end_run_locked(self, d);
}

}}} // namespace cmwq::CMWQ_NS::detail
