// SPDX-License-Identifier: BSL-1.0
//
// Bodies of worker_threads: creating, waking, idling and ending workers.

#include <cmwq/detail/base/probe.hpp>
#include <cmwq/detail/engine/threads/worker_events.hpp>
#include <cmwq/detail/engine/threads/worker_threads.hpp>
#include <cmwq/detail/sync/backoff.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE void worker_threads::thread_main(void* self) {
    auto& w = *static_cast<worker*>(self);
    w.loop->serve(w);
}

CMWQ_INLINE void worker_threads::configure_locked(pool_ledger& ledger, pool_spec& spec) noexcept {
    std::swap(spec_, spec);
    ledger.set_low_priority(spec_.sched == sched_class::idle || spec_.nice > 0);
    stopping_ = false;
}

// --- creating workers ------------------------------------------------------------------------------------------------

// Creates a worker and makes it idle. Releases the lock while the thread is created. False: no worker could be created.
CMWQ_INLINE bool worker_threads::create_locked(pool_ledger& ledger, std::uint64_t pool_growth::* why) noexcept {
    if (stopping_) return false;
    creating_ = true;
    creating_since_.store(steady_now(), relaxed);
    if (spares_.is_rescuable()) ledger.env.requests.arm_monitor(); // the monitor calls the rescuers if that takes long
    worker* w = retired_.pop_front();
    const unsigned number = w != nullptr ? w->id : nr_records_++;
    if (w != nullptr) w->retiring = false;
    const bool crowded = ledger.needs_room_locked(nr_records_);
    ledger.lock.unlock();
    if (crowded) ledger.make_room(number);

    const bool fresh = w == nullptr;
    const bool admitted = ledger.env.threads.admit_worker();
    int error = admitted ? ENOMEM : 0;
    const bool has_room = load_ == nullptr || working_.reserve(number + 1 + most_guests); // nobody else looks there
    if (fresh && admitted && has_room) w = new (std::nothrow) worker(pool_, number, loop_);
    if (w != nullptr && admitted) error = ledger.env.threads.start(w->os_thread, &worker_threads::thread_main, w);
    const bool created = admitted && error == 0;
    if (created) ledger.env.threads.thread_started(); // counts only threads that were created
    else if (admitted) ledger.env.threads.dismiss_worker();

    ledger.lock.lock();
    creating_ = false;
    creating_since_.store(0, relaxed);
    if (created) {
        ++nr_live_;
        ++(made_.*why);
        short_of_threads_.store(false, relaxed);
        short_since_ = 0; // the next shortage is a new one
        retry_pause_ = 0;
        spares_.retry_at(0);
        if (fresh) ledger.add_record_locked(*w);
        CMWQ_PROBE(worker_create, ledger.shown_number(), w->id);
        tell_of_worker(ledger, *w, &observer::worker_created); // its thread needs the lock before it goes on
        // Its thread may be parked already; a thread that needs the worker wakes it.
        enter_idle_as_locked(*w, spare_workers::place::fresh);
        if (stopping_) { // the pool has begun to end meanwhile
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
CMWQ_INLINE void worker_threads::creation_failed_locked(bool admitted, int error) noexcept {
    constexpr std::int64_t first_pause = 1'000'000, longest_pause = 100'000'000;
    retry_pause_ = std::clamp(2 * retry_pause_, first_pause, longest_pause);
    spares_.retry_at(steady_now() + retry_pause_);
    if (short_of_threads_.exchange(true, relaxed)) return;
    const unsigned cpu = spec_.pod.next(0);
    if (admitted) ledger_.env.events.no_thread(cpu, error);
    else ledger_.env.events.thread_limit(cpu);
}

CMWQ_INLINE pool_snapshot worker_threads::snapshot_locked(const pool_ledger& ledger) const noexcept {
    if (load_ != nullptr) return load_->snapshot_locked(ledger, creating_);
    return snapshot_without_load(ledger, spares_, creating_);
}

CMWQ_INLINE worker_counts worker_threads::counts_locked(const pool_ledger& ledger) const noexcept {
    worker_counts n{.idle = spares_.size_locked(),
                    .workers = spares_.size_locked() + ledger.nr_busy_locked(),
                    .short_of_threads = is_short(),
                    .made = made_,
                    .refused = refused_};
    if (load_ != nullptr && load_->is_associated()) {
        n.running = load_->nr_running();
        n.limit = load_->limit();
    }
    return n;
}

CMWQ_INLINE void worker_threads::notify_locked(const pool_ledger& ledger, deferred& d) noexcept {
    const pool_snapshot s = snapshot_locked(ledger);
    if (s.pending == 0) return;
    if (need_more_worker(s)) wake_one_locked(d);
    else watch_for_blocks();
}

// Items are pending behind running workers: makes sure that a detector notices if these block.
CMWQ_INLINE void worker_threads::watch_for_blocks() noexcept {
    if (load_ != nullptr) load_->detectors_needed();
}

CMWQ_INLINE void worker_threads::wake_one_locked(deferred& d) noexcept {
    if (!spares_.empty_locked()) d.wake(spares_.front_locked()->sleep);
    else spares_.request();
}

CMWQ_INLINE bool worker_threads::ensure_worker() noexcept {
    deferred d;
    if (!ledger_.lock_for_service()) {
        spares_.request_later();
        return true;
    }
    const scoped_lock g(ledger_.lock, adopt_lock);
    ledger_.drain_locked(d);
    const pool_snapshot s = snapshot_locked(ledger_);
    if (stopping_) return true;
    if (!need_more_worker(s)) {
        short_since_ = 0;
        if (s.pending > 0) watch_for_blocks();
        return true;
    }
    if (need_to_create_worker(s) && !create_locked(ledger_, reason_to_grow(s, ledger_.nr_busy_locked()))) {
        ledger_.env.requests.arm_monitor(); // the monitor tries again at a tick
        return false;
    }
    if (!spares_.empty_locked()) {
        short_since_ = 0; // the next shortage is a new one
        d.wake(spares_.front_locked()->sleep);
    }
    return true;
}

// If the limit of threads is reached, an idle pool gives up a worker so that a busy pool can create one.
CMWQ_INLINE bool worker_threads::give_up_worker(idle_worker which) noexcept {
    worker* w = nullptr;
    {
        deferred d;
        if (!ledger_.lock_for_service()) return false;
        const scoped_lock g(ledger_.lock, adopt_lock);
        // Before the inbox is drained: a notification would request a worker, and two pools would take it from each
        // other forever.
        if (spares_.empty_locked() || stopping_) return false;
        ledger_.gather_locked(d);
        notify_locked(ledger_, d);
        if (ledger_.has_listed_locked()) return false;
        if (spares_.size_locked() < 2) {
            if (which == idle_worker::one_of_several) return false;
            if (which == idle_worker::surplus && ledger_.nr_busy_locked() != 0) return false;
        }
        w = spares_.next_to_end_locked();
        if (w == nullptr) return false;
        retire_locked(*w);
        if (spares_.empty_locked()) short_of_threads_.store(true, relaxed); // until this pool creates a worker
        ledger_.drain_locked(d); // a producer that has read next_idle_ before may wake the retired worker
        notify_locked(ledger_, d);
    }
    w->sleep.unpark();
    return true;
}

// Asks an idle worker to end. From here on it takes no item and does not count. The caller does not wait for the end of
// its thread, which depends on the scheduler and on destructors of thread_local objects. If items can still come, the
// caller drains and notifies; then it wakes the worker.
CMWQ_INLINE void worker_threads::retire_locked(worker& w) noexcept {
    leave_idle_locked(w);
    w.retiring = true;
    ledger_.env.threads.worker_ended();
}

CMWQ_INLINE bool worker_threads::thread_is_gone(worker& w) noexcept {
    if (!ledger_.lock_for_service()) return false;
    const scoped_lock g(ledger_.lock, adopt_lock);
    --nr_live_;
    retired_.push_front(w);
    return true;
}

// --- idle workers ----------------------------------------------------------------------------------------------------

CMWQ_INLINE void worker_threads::enter_idle_locked(worker& w) noexcept {
    using place = spare_workers::place;
    enter_idle_as_locked(w, spec_.pod.contains(current_cpu()) ? place::inside : place::outside);
}

CMWQ_INLINE void worker_threads::enter_idle_as_locked(worker& w, spare_workers::place where) noexcept {
    CMWQ_ASSERT(!w.idle && !w.counted.load(relaxed));
    w.idle = true;
    w.idle_since = ledger_.env.now();
    spares_.add_locked(w, where);
    if (has_surplus_locked() && cull_at_.load(relaxed) == 0) {
        cull_at_.store(w.idle_since + ledger_.env.options.idle_timeout.count(), release); // [LOCK]
        ledger_.env.requests.wake_manager();
    }
}

CMWQ_INLINE void worker_threads::leave_idle_locked(worker& w) noexcept {
    w.idle = false;
    if (w.idle_began != 0) w.exclude(steady_now() - std::exchange(w.idle_began, 0));
    spares_.remove_locked(w);
}

CMWQ_INLINE std::int64_t worker_threads::cull(std::int64_t now) noexcept {
    for (;;) {
        worker* next_to_end = nullptr;
        {
            deferred d;
            constexpr std::int64_t later = 1'000'000;
            if (!ledger_.lock_for_service()) return now + later;
            const scoped_lock g(ledger_.lock, adopt_lock);
            cull_at_.store(0, relaxed);
            next_to_end = spares_.next_to_end_locked();
            if (next_to_end == nullptr || stopping_ || !has_surplus_locked()) return 0;
            const std::int64_t due = next_to_end->idle_since + ledger_.env.options.idle_timeout.count();
            if (due > now) {
                cull_at_.store(due, release); // [LOCK]
                return due;
            }
            retire_locked(*next_to_end);
            ledger_.drain_locked(d); // a producer that has read next_idle_ before may wake the retired worker
            notify_locked(ledger_, d);
        }
        next_to_end->sleep.unpark(); // the record may serve another thread by now; waking that one is harmless
    }
}

template <class F>
void worker_threads::for_each(F&& f) const noexcept {
    ledger_.for_each_record([&](run_record& k) {
        if (!k.is_nested()) f(*k.of_thread);
    });
}

CMWQ_INLINE void worker_threads::end() noexcept {
    {
        const scoped_lock g(ledger_.lock);
        stopping_ = true; // workers that are not idle yet see it when they are
        short_since_ = 0;
        CMWQ_ASSERT(!ledger_.has_listed_locked() && !ledger_.has_arrivals());
        while (worker* w = spares_.front_locked()) retire_locked(*w);
    }
    for_each([](worker& w) { w.sleep.unpark(); });
    spares_.drop_request();
    cull_at_.store(0, relaxed);
}

CMWQ_INLINE worker* worker_threads::guest_record_locked(pool_ledger& ledger) noexcept {
    if (worker* const free = free_guest_records_.pop_front(); free != nullptr) return free;
    if (nr_guest_records_ == most_guests) return nullptr;
    const unsigned number = nr_guest_records_++;
    ledger.lock.unlock();
    auto* const fresh = new (std::nothrow) worker(pool_, number, worker::record_of::guest);
    ledger.lock.lock();
    if (fresh != nullptr) ledger.add_record_locked(*fresh);
    else --nr_guest_records_;
    return fresh;
}

CMWQ_INLINE void worker_threads::let_end() noexcept {
    // No thread begins to create a worker any more. A worker that is being created is added before `creating_` is
    // reset.
    for (backoff b;; b.pause()) {
        const scoped_lock g(ledger_.lock);
        if (!creating_) break;
    }
    if (spec_.sched != sched_class::idle) return;
    for_each([](worker& w) { w.os_thread.leave_idle_class(); });
}

CMWQ_INLINE void worker_threads::join() noexcept {
    for_each([](worker& w) { w.os_thread.join(); });
}

CMWQ_INLINE void worker_threads::forget() noexcept {
    for_each([](worker& w) {
        w.os_thread.forget();
        w.probe.forget_own();
    });
}

CMWQ_INLINE bool worker_threads::have_ended() const noexcept {
    if (!ledger_.lock_for_service()) return false;
    const scoped_lock g(ledger_.lock, adopt_lock);
    return nr_live_ == 0 && !creating_;
}

CMWQ_INLINE bool worker_threads::has_surplus_locked() const noexcept {
    return too_many_workers({.active = ledger_.nr_busy(), .idle = static_cast<int>(spares_.size_locked())});
}

// The thread that creates a worker for this pool may take long. The manager thread, which should create it, may take
// long with a worker of another pool.
CMWQ_INLINE std::int64_t worker_threads::short_since_locked(std::int64_t now) noexcept {
    if (const std::int64_t since = creating_since_.load(relaxed); short_since_ == 0)
        short_since_ = since != 0 ? since : now;
    return short_since_;
}

}}} // namespace cmwq::CMWQ_NS::detail
