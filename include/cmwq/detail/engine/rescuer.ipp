// SPDX-License-Identifier: BSL-1.0
//
// Rescuers, and what a pool does to be rescued.
//
// A pool is short of threads once it could not make one, until it can, and while one is being made, or asked for. If its
// items wait all the same, and go on waiting for 10 ms, the service thread calls the rescuers of the queues whose items
// are next. Nothing on that way allocates: the record under which a rescuer runs items in a pool, its seat, is made
// together with the pwq.
#pragma once

#include <cmwq/detail/engine/diagnosis.hpp>
#include <cmwq/detail/engine/queue_core.hpp>
#include <cmwq/detail/engine/rescuer.hpp>
#include <cmwq/detail/engine/runtime_core.hpp>
#include <cmwq/detail/engine/worker_pool.hpp>

#include <cstdio>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

namespace cmwq::inline CMWQ_NS::detail {

// --- the thread -------------------------------------------------------------------------------------------------------

CMWQ_INLINE rescuer::rescuer(queue_core& q) : queue_(q) {
    if (const int error = q.rt.start_thread(thread_, &rescuer::thread_main, this); error != 0) {
        throw std::system_error(error, std::generic_category(),
                                "cmwq: " + describe_queue(q.name) + ": cannot make its rescuer");
    }
}

CMWQ_INLINE void rescuer::stop() noexcept {
    stop_.store(true, release); // [STOP]
    sleep_.unpark();
    thread_.join();
}

CMWQ_INLINE void rescuer::call(pool_workqueue& pwq) noexcept {
    {
        const scoped_lock g(lock_);
        maydays_.push_back(pwq);
    }
    sleep_.unpark();
}

CMWQ_INLINE bool rescuer::is_awaited() noexcept {
    const scoped_lock g(lock_);
    return !maydays_.empty();
}

CMWQ_INLINE pool_workqueue* rescuer::next() noexcept {
    const scoped_lock g(lock_);
    return maydays_.pop_front();
}

CMWQ_INLINE void rescuer::follow(cpuset& cpus) noexcept {
    {
        const scoped_lock g(lock_);
        std::swap(next_home_, cpus);
        moves_ = true;
    }
    sleep_.unpark();
}

// Where it has run items it was bound to the CPUs of their pools.
CMWQ_INLINE void rescuer::go_home() noexcept {
    {
        const scoped_lock g(lock_);
        if (moves_) {
            std::swap(home_, next_home_);
            is_at_home_ = moves_ = false;
        }
    }
    if (is_at_home_ || home_.empty() || !queue_.rt.binds_threads()) return;
    is_at_home_ = true; // if that fails its CPUs have just gone, and it hears of it
    static_cast<void>(bind_this_thread(home_));
}

CMWQ_INLINE void rescuer::thread_main(void* self) { static_cast<rescuer*>(self)->serve(); }

CMWQ_INLINE void rescuer::serve() {
    thread_attributes a{.own = queue_.rt.own()};
    std::snprintf(a.name, sizeof a.name, "cmwq/R:%s", queue_.name.c_str());
    queue_.rt.report_refusals(apply_to_this_thread(a), a);
    for (;;) {
        const bool last = stop_.load(acquire); // [STOP]
        // Also those that workers have seen to meanwhile: it is the end of its stay that gives a pwq free.
        while (pool_workqueue* pwq = next()) {
            pwq->pool->rescue(*pwq, *this);
            is_at_home_ = false;
        }
        if (last) break;
        go_home();
        sleep_.park();
    }
}

// --- the pool ---------------------------------------------------------------------------------------------------------

CMWQ_INLINE void worker_pool::make_rescuable(pool_workqueue& pwq) {
    {
        const scoped_lock g(lock_);
        pwq.seat = seats_.pop_front();
        if (pwq.seat != nullptr) {
            rescuable_.push_back(pwq);
            has_rescuable_.store(true, relaxed);
        }
    }
    if (pwq.seat != nullptr) return;
    auto seat = std::make_unique<worker>(*this, 0, true);
    const scoped_lock g(lock_);
    seat->next = all_.load(relaxed);
    pwq.seat = seat.release();
    all_.store(pwq.seat, release); // [REC-1]; a look for a running item finds seats, too
    rescuable_.push_back(pwq);
    has_rescuable_.store(true, relaxed);
}

CMWQ_INLINE void worker_pool::end_rescuable_locked(pool_workqueue& pwq) noexcept {
    if (pwq.seat == nullptr) return;
    rescuable_.remove(pwq);
    has_rescuable_.store(!rescuable_.empty(), relaxed);
    seats_.push_front(*pwq.seat);
    pwq.seat = nullptr;
}

CMWQ_INLINE void worker_pool::end_rescuable(pool_workqueue& pwq) noexcept {
    const scoped_lock g(lock_);
    end_rescuable_locked(pwq);
}

CMWQ_INLINE void worker_pool::call_rescuers(std::int64_t now) noexcept {
    constexpr std::int64_t patience = 10'000'000;
    if (!lacks_workers()) return; // only a hint: this is the thread that looks again
    deferred d;
    if (!lock_for_service()) return;
    const scoped_lock g(lock_, adopt_lock);
    drain_locked(d);
    if (!needs_rescue_locked()) {
        short_since_ = 0;
        // Enough run, but a pool that has learned to want more would ask for a worker: at once, and again each time that
        // this comes after a failure to make one. They are watched instead, and who blocks is replaced at a tick.
        if (short_of_threads_.load(relaxed) && idle_.empty() && !worklist_.empty()) arm();
        else kick_locked(d);
        return;
    }
    // Who makes one may be in the middle of it for long. And who was to do so may be so for another pool.
    if (const std::int64_t since = managing_since_.load(relaxed); short_since_ == 0)
        short_since_ = since != 0 ? since : now;
    if (now - short_since_ < patience) return;
    for (pool_workqueue* p = rescuable_.front(); p != nullptr; p = rescuable_.next(*p)) {
        if (p->nr_waiting == 0 || p->mayday) continue;
        p->mayday = true;
        p->queue->its_rescuer->call(*p);
    }
}

// Something waits, nobody is there to take it, and nobody runs who will take it soon.
CMWQ_INLINE bool worker_pool::needs_rescue_locked() const noexcept {
    if (!lacks_workers() || !idle_.empty() || worklist_.empty()) return false;
    return !manages() || nr_running_.load(relaxed) < width_.load(relaxed);
}

// The next item of `pwq` on the worklist. Those of other queues before it were looked at already: they stay.
CMWQ_INLINE work_base* worker_pool::take_for_rescue_locked(worker& seat, pool_workqueue& pwq) noexcept {
    if (work_base* again = seat.scheduled.pop_front(); again != nullptr) return again;
    work_base* w = seat.cursor != nullptr ? worklist_.next(*seat.cursor) : worklist_.front();
    while (w != nullptr && pwq.nr_waiting != 0) {
        work_base* const next = worklist_.next(*w);
        if (work_access::pwq(*w) == &pwq) {
            if (unlist_to_run_locked(*w)) return w;
        } else {
            seat.cursor = w;
        }
        w = next;
    }
    return nullptr;
}

CMWQ_INLINE void worker_pool::report_rescue_locked(queue_core& q) noexcept {
    lock_.unlock();
    rt_.report_rescue(q);
    lock_.lock();
}

CMWQ_INLINE void worker_pool::rescue(pool_workqueue& pwq, rescuer& by) {
    constexpr int batch = 16; // in one pool, while others wait
    worker& self = *pwq.seat;
    self.probe.open_own(false);
    self.binding = rt_.binding() + 1; // another one than it is: it binds itself before its first item
    self.go_home_at = 0;
    this_thread_slots() = {.observer = &self, .current_worker = &self};
    bool again = false;
    {
        deferred d;
        const scoped_lock g(lock_);
        self.cursor = nullptr;
        self.next_attending = attending_;
        attending_ = &self;
        busy_.push_back(self);
        nr_busy_.store(static_cast<int>(busy_.size()), relaxed);
        for (int n = 0;; ++n) {
            drain_locked(d);
            if (self.scheduled.empty()) { // what waits for this run can be run by nobody else
                if (!needs_rescue_locked() || pwq.nr_waiting == 0) break;
                if (again = n >= batch && by.is_awaited(); again) break;
            }
            if (pwq.queue->first_report(event::kind::rescued)) {
                report_rescue_locked(*pwq.queue);
                continue;
            }
            work_base* const w = take_for_rescue_locked(self, pwq);
            if (w == nullptr) break;
            nr_rescued_.fetch_add(1, relaxed);
            run_locked(self, *w, d);
        }
        busy_.remove(self);
        nr_busy_.store(static_cast<int>(busy_.size()), relaxed);
        worker** link = &attending_;
        while (*link != &self) link = &(*link)->next_attending;
        *link = self.next_attending;
        publish_pending_locked();
        kick_locked(d);
        if (again) {
            by.call(pwq); // behind the others
        } else {
            pwq.mayday = false; // from here on it may go
            if (pwq.detached && pwq.drained()) rt_.request_reaping(*pwq.queue);
        }
    }
    this_thread_slots() = {};
}

} // namespace cmwq::inline CMWQ_NS::detail
