// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cmwq/detail/engine/pool/bottom_half_pool.hpp>
#include <cmwq/detail/engine/pool/bottom_halves.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <utility>

namespace cmwq::inline CMWQ_NS::detail {

CMWQ_INLINE bottom_half_pool::bottom_half_pool(const pool_env& env, std::uint64_t id, unsigned cpu, bh_thread& thread,
                                               bottom_half_pool* higher_priority)
    : item_pool(env, id, cpu, kind::bottom_half), thread_(thread), higher_priority_(higher_priority) {
    auto* record = new worker(*this, 0); // the thread that drains runs items under this record
    const scoped_lock g(lock_);
    add_record_locked(*record);
    busy_.push_back(*record); // for good: runs are looked for there
}

CMWQ_INLINE void bottom_half_pool::notify() noexcept {
    if (!draining_.load(seq_cst)) thread_.notify(); // [BH-1]
    else env_.requests.arm_monitor();               // the thread that drains sees it, if it ever gets there
}

CMWQ_INLINE void bottom_half_pool::run(bh_budget& budget) noexcept {
    thread_slots& slots = this_thread_slots();
    const std::uint64_t id = id_;
    // [BH-1] pushed, then the look whether somebody drains; pairs [BH-2], who gives that up and then looks at the inbox.
    // All seq_cst: one of the two sees the other.
    if (!draining_.load(seq_cst)) {
        deferred d;
        const scoped_lock g(lock_);
        if (!draining_.load(relaxed)) { // becomes true under the lock only
            draining_.store(true, relaxed);
            worker& self = *all_.load(relaxed);
            blocking_observer* const observer = std::exchange(slots.observer, &self);
            self.interrupted = std::exchange(slots.current_worker, &self);
            drain_all_locked(self, budget, d);
            slots.observer = observer;
            slots.current_worker = self.interrupted;
        }
    } else {
        env_.requests.arm_monitor(); // the thread that drains sees it, if it ever gets there
    }
    forget_raised(slots, id); // all that this thread has pushed is done, or another one sees to it
}

// Gives `draining_` back under the lock, together with the look behind it: others take from the inbox only under the
// lock, so what the look does not find there was on the worklist before.
CMWQ_INLINE void bottom_half_pool::drain_all_locked(worker& self, bh_budget& budget, deferred& d) noexcept {
    std::size_t round = 0;
    for (;;) {
        if (higher_priority_ != nullptr && higher_priority_->pending()) {
            lock_.unlock();
            bh_budget turn(bh_budget::limit::turn);
            higher_priority_->run(budget.takes_turns() ? turn : budget);
            lock_.lock();
            if (round != 0 && !budget.go_on()) break;
        }
        if (round == 0) {
            drain_locked(d);
            round = worklist_.size();
            if (round == 0) {
                draining_.store(false, seq_cst); // [BH-2]
                if (inbox_.empty()) return;
                draining_.store(true, relaxed);
                continue;
            }
            if (!budget.begin_round()) break;
        }
        work_base* const w = take_locked(self);
        if (w == nullptr) { // cancelled
            round = 0;
            continue;
        }
        --round;
        run_locked(self, *w, d);
        if ((!worklist_.empty() || !inbox_.empty()) && !budget.go_on()) break;
    }
    draining_.store(false, seq_cst); // [BH-2]
    thread_.notify();                // after the store, or it might find somebody draining, and go back to sleep
}

CMWQ_INLINE void bottom_half_pool::run_locked(worker& self, work_base& w, deferred& d) noexcept {
    const started_item started = begin_run_locked(self, w);
    const queue_core& q = *self.current_pwq->queue;
    lock_.unlock();
    d.perform();
    const wait_watch watch;
    // noexcept: below it is somebody else's stack, with handlers perhaps.
    if (!call_with_handler(self, started)) started.function(started.item);
    if (watch.waited()) env_.events.bottom_half_blocked(q, number());
    lock_.lock();
    end_run_locked(self, d);
}

} // namespace cmwq::inline CMWQ_NS::detail
