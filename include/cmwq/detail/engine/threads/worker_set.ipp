// SPDX-License-Identifier: BSL-1.0
//
// Bodies of worker_set: creating, waking, idling and ending workers.
#pragma once

#include <cmwq/detail/engine/threads/worker_set.hpp>
#include <cmwq/detail/sync/backoff.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE void worker_set::thread_main(void* self) {
    auto& w = *static_cast<worker*>(self);
    static_cast<worker_set&>(w.pool).serve(w);
}

CMWQ_INLINE void worker_set::set_spec_locked(pool_spec& spec) noexcept {
    std::swap(spec_, spec);
    ledger.set_low_priority(spec_.sched == sched_class::idle || spec_.nice > 0);
    stopping_ = false;
}

// --- creating workers ------------------------------------------------------------------------------------------------

// Creates a worker and makes it idle. Releases the lock while the thread is created. False: no worker could be created.
CMWQ_INLINE bool worker_set::create_worker_locked() noexcept {
    if (stopping_) return false;
    creating_ = true;
    creating_since_.store(steady_now(), relaxed);
    if (has_rescuable_.load(relaxed))
        ledger.env.requests.arm_monitor(); // the monitor calls the rescuers if that takes long
    worker* w = retired_.pop_front();
    const unsigned number = w != nullptr ? w->id : nr_records_++;
    if (w != nullptr) w->retiring = false;
    const bool crowded = ledger.needs_room_locked(nr_records_);
    ledger.lock.unlock();
    if (crowded) ledger.make_room(number);

    const bool fresh = w == nullptr;
    const bool admitted = ledger.env.threads.admit_worker();
    int error = admitted ? ENOMEM : 0;
    if (fresh && admitted && reserve_record(number + 1 + most_guests)) w = new (std::nothrow) worker(*this, number);
    if (w != nullptr && admitted) error = ledger.env.threads.start(w->os_thread, &worker_set::thread_main, w);
    const bool created = admitted && error == 0;
    if (created) ledger.env.threads.thread_started(); // counts only threads that were created
    else if (admitted) ledger.env.threads.dismiss_worker();

    ledger.lock.lock();
    creating_ = false;
    creating_since_.store(0, relaxed);
    if (created) {
        ++nr_live_;
        short_of_threads_.store(false, relaxed);
        short_since_ = 0; // the next shortage is a new one
        retry_pause_ = 0;
        retry_at_.store(0, relaxed);
        if (fresh) ledger.add_record_locked(*w);
        enter_idle_locked(*w, true); // its thread may be parked already; a thread that needs the worker wakes it
        if (stopping_) {             // the pool has begun to end meanwhile
            retire_locked(*w);
            w->sleep.unpark();
        }
        return true;
    }
    if (fresh) {
        --nr_records_;
        delete w;
    } else {
        w->retiring = true;
        retired_.push_front(*w);
    }
    creation_failed_locked(admitted, error);
    return false;
}

// A refusal may last for hours, so the pauses between attempts grow. They stay short enough to create a worker soon
// after it is possible again.
CMWQ_INLINE void worker_set::creation_failed_locked(bool admitted, int error) noexcept {
    constexpr std::int64_t first_pause = 1'000'000, longest_pause = 100'000'000;
    retry_pause_ = std::clamp(2 * retry_pause_, first_pause, longest_pause);
    retry_at_.store(steady_now() + retry_pause_, relaxed);
    if (short_of_threads_.exchange(true, relaxed)) return;
    const unsigned cpu = spec_.pod.next(0);
    if (admitted) ledger.env.events.no_thread(cpu, error);
    else ledger.env.events.thread_limit(cpu);
}

CMWQ_INLINE void worker_set::notify_locked(deferred& d) noexcept {
    const pool_snapshot s = current_snapshot_locked();
    if (s.pending == 0) return;
    if (!need_more_worker(s)) watch_for_blocks();
    else if (!idle_.empty()) d.wake(idle_.front()->sleep);
    else ask_for_worker();
}

CMWQ_INLINE void worker_set::ask_for_worker() noexcept {
    if (const std::int64_t again = retry_at_.load(relaxed); again != 0 && steady_now() < again) {
        ledger.env.requests.arm_monitor(); // the monitor requests one at a tick after that
        return;
    }
    // [ASK-1] seq_cst: this thread has made items pending, then it reads the flag; pairs with take_request(), after
    // which the manager thread checks what is pending. The manager thread is woken in either case: the thread that has set
    // the flag may be preempted before it wakes it.
    if (!wanted_.load(seq_cst)) wanted_.store(true, seq_cst);
    ledger.env.requests.wake_manager();
    if (has_rescuable_.load(relaxed))
        ledger.env.requests.arm_monitor(); // the monitor calls the rescuers if that takes long
}

CMWQ_INLINE bool worker_set::ensure_worker() noexcept {
    deferred d;
    if (!ledger.lock_for_service()) {
        wanted_.store(true, seq_cst);      // [UNIFORM]
        ledger.env.requests.arm_monitor(); // the monitor requests one again at a tick
        return true;
    }
    const scoped_lock g(ledger.lock, adopt_lock);
    ledger.drain_locked(d);
    const pool_snapshot s = current_snapshot_locked();
    if (stopping_) return true;
    if (!need_more_worker(s)) {
        short_since_ = 0;
        if (s.pending > 0) watch_for_blocks();
        return true;
    }
    if (need_to_create_worker(s) && !create_worker_locked()) {
        ledger.env.requests.arm_monitor(); // the monitor tries again at a tick
        return false;
    }
    if (!idle_.empty()) {
        short_since_ = 0; // the next shortage is a new one
        d.wake(idle_.front()->sleep);
    }
    return true;
}

// If the limit of threads is reached, an idle pool gives up a worker so that a busy pool can create one.
CMWQ_INLINE bool worker_set::give_up_worker(bool spare) noexcept {
    worker* w = nullptr;
    {
        deferred d;
        if (!ledger.lock_for_service()) return false;
        const scoped_lock g(ledger.lock, adopt_lock);
        // Before the inbox is drained: a notification would request a worker, and two pools would take it from each
        // other forever.
        if (idle_.empty() || stopping_) return false;
        ledger.gather_locked(d);
        notify_locked(d);
        if (ledger.has_listed_locked()) return false;
        if (!spare && idle_.size() < 2 && ledger.nr_busy_locked() != 0) return false;
        w = idle_.next_to_end();
        if (w == nullptr) return false;
        retire_locked(*w);
        if (idle_.empty()) short_of_threads_.store(true, relaxed); // until this pool creates a worker
        ledger.drain_locked(d); // a producer that has read next_idle_ before may wake the retired worker
        notify_locked(d);
    }
    w->sleep.unpark();
    return true;
}

// Asks an idle worker to end. From here on it takes no item and does not count. The caller does not wait for the end of
// its thread, which depends on the scheduler and on destructors of thread_local objects. If items can still come, the
// caller drains and notifies; then it wakes the worker.
CMWQ_INLINE void worker_set::retire_locked(worker& w) noexcept {
    leave_idle_locked(w);
    w.retiring = true;
    ledger.env.threads.worker_ended();
}

CMWQ_INLINE bool worker_set::thread_is_gone(worker& w) noexcept {
    if (!ledger.lock_for_service()) return false;
    const scoped_lock g(ledger.lock, adopt_lock);
    --nr_live_;
    retired_.push_front(w);
    return true;
}

// --- idle workers ----------------------------------------------------------------------------------------------------

CMWQ_INLINE void worker_set::enter_idle_locked(worker& w, bool fresh) noexcept {
    CMWQ_ASSERT(!w.idle && !w.counted.load(relaxed));
    w.idle = true;
    w.idle_since = ledger.env.now();
    if (fresh) idle_.push_fresh(w);
    else if (!spec_.pod.contains(current_cpu())) idle_.push_outside(w);
    else idle_.push_inside(w);
    publish_next_idle_locked();
    if (has_surplus_locked() && cull_at_.load(relaxed) == 0) {
        cull_at_.store(w.idle_since + ledger.env.options.idle_timeout.count(), release); // [LOCK]
        ledger.env.requests.wake_manager();
    }
}

CMWQ_INLINE void worker_set::leave_idle_locked(worker& w) noexcept {
    w.idle = false;
    if (w.idle_began != 0) w.exclude(steady_now() - std::exchange(w.idle_began, 0));
    idle_.remove(w);
    publish_next_idle_locked();
}

CMWQ_INLINE std::int64_t worker_set::cull(std::int64_t now) noexcept {
    for (;;) {
        worker* next_to_end = nullptr;
        {
            deferred d;
            constexpr std::int64_t later = 1'000'000;
            if (!ledger.lock_for_service()) return now + later;
            const scoped_lock g(ledger.lock, adopt_lock);
            cull_at_.store(0, relaxed);
            next_to_end = idle_.next_to_end();
            if (next_to_end == nullptr || stopping_ || !has_surplus_locked()) return 0;
            const std::int64_t due = next_to_end->idle_since + ledger.env.options.idle_timeout.count();
            if (due > now) {
                cull_at_.store(due, release); // [LOCK]
                return due;
            }
            retire_locked(*next_to_end);
            ledger.drain_locked(d); // a producer that has read next_idle_ before may wake the retired worker
            notify_locked(d);
        }
        next_to_end->sleep.unpark(); // the record may serve another thread by now; waking that one is harmless
    }
}

template <class F>
void worker_set::for_each_worker(F&& f) const noexcept {
    ledger.for_each_record([&](run_record& k) {
        if (!k.is_nested()) f(*k.of_thread);
    });
}

CMWQ_INLINE void worker_set::end_threads() noexcept {
    {
        const scoped_lock g(ledger.lock);
        stopping_ = true; // workers that are not idle yet see it when they are
        short_since_ = 0;
        CMWQ_ASSERT(!ledger.has_listed_locked() && !ledger.has_arrivals());
        while (worker* w = idle_.front()) retire_locked(*w);
    }
    for_each_worker([](worker& w) { w.sleep.unpark(); });
    wanted_.store(false, relaxed);
    cull_at_.store(0, relaxed);
}

CMWQ_INLINE void worker_set::let_threads_end() noexcept {
    // No thread begins to create a worker any more. A worker that is being created is added before `creating_` is
    // reset.
    for (backoff b;; b.pause()) {
        const scoped_lock g(ledger.lock);
        if (!creating_) break;
    }
    if (spec_.sched != sched_class::idle) return;
    for_each_worker([](worker& w) { w.os_thread.leave_idle_class(); });
}

CMWQ_INLINE void worker_set::join_threads() noexcept {
    for_each_worker([](worker& w) { w.os_thread.join(); });
}

CMWQ_INLINE void worker_set::forget_threads() noexcept {
    for_each_worker([](worker& w) {
        w.os_thread.forget();
        w.probe.forget_own();
    });
}

}}} // namespace cmwq::CMWQ_NS::detail
