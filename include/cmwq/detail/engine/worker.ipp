// SPDX-License-Identifier: BSL-1.0
//
// worker_pool, second part: running items, and keeping one worker runnable.
#pragma once

#include <cmwq/detail/engine/queue_core.hpp>
#include <cmwq/detail/engine/runtime_core.hpp>
#include <cmwq/detail/engine/sentinel.hpp>
#include <cmwq/detail/engine/worker_pool.hpp>
#include <cmwq/detail/sync/clock.hpp>

#include <cstdio>
#include <exception>

namespace cmwq::inline CMWQ_NS::detail {

// --- the worker's own thread ------------------------------------------------------------------------------------------

inline void worker_pool::thread_main(void* self) {
    auto& w = *static_cast<worker*>(self);
    w.pool.worker_main(w);
}

inline void worker_pool::worker_main(worker& self) noexcept {
    thread_attributes a;
    a.cpu = static_cast<int>(cpu_);
    a.sched = sched_;
    const char* suffix = sched_ == sched_class::high ? "H" : sched_ == sched_class::fifo ? "F" : "";
    std::snprintf(a.name, sizeof a.name, "cmwq/%u:%u%s", cpu_, self.id, suffix);
    rt_.report_refusals(apply_to_this_thread(a), a);
    self.probe.open_own(self.id < rt_.nr_kept_probes());
    this_thread_slots() = {.observer = &self, .current_worker = &self};

    deferred d;
    lock_.lock();
    while (!self.retiring) {
        drain_locked();
        if (self.idle && need_more_worker(snapshot_locked())) {
            leave_idle_locked(self);
            work_locked(self, d);
            enter_idle_locked(self, false);
            continue; // [IDLE-2]: the looks at the inbox and at nr_running come after watcher_ was published
        }
        // Something waits behind a worker that is counted as running, and nobody but this thread may know it.
        const bool behind = !worklist_.empty();
        lock_.unlock();
        d.perform();
        if (behind) arm();
        self.sleep.park();
        lock_.lock();
    }
    lock_.unlock();
    this_thread_slots() = {};
}

inline void worker_pool::work_locked(worker& self, deferred& d) noexcept {
    // One spare always: without it nobody could take over when this worker blocks. If none can be made now, running is
    // still better than not running; the service thread goes on trying.
    while (!may_start_working(snapshot_locked())) {
        if (managing_ || !make_worker_locked()) break;
    }
    busy_.push_back(self);
    nr_busy_.store(static_cast<int>(busy_.size()), relaxed);
    count(self);
    do {
        if (worklist_.empty()) drain_locked(); // not for each item: the inbox is its producers' cache line
        work_base* w = take_locked(self);
        if (w == nullptr) break;
        run_locked(self, *w, d);
        if (worklist_.empty()) drain_locked();
    } while (!self.scheduled.empty() || keep_working(snapshot_locked()));
    busy_.remove(self);
    nr_busy_.store(static_cast<int>(busy_.size()), relaxed);
    uncount(self);
}

inline work_base* worker_pool::take_locked(worker& self) noexcept {
    if (work_base* again = self.scheduled.pop_front(); again != nullptr) return again;
    while (work_base* w = worklist_.pop_front()) {
        nr_pending_.store(static_cast<unsigned>(worklist_.size()), relaxed); // fewer: nobody needs to hear of it
        const std::uint64_t p = work_access::place_of(*w);
        worker* runner = (p & place::may_be_running) != 0 ? runner_of_locked(*w) : nullptr;
        if (runner == nullptr) return w;
        // Never twice at once: it waits for the worker that still runs it.
        runner->scheduled.push_back(*w);
        work_access::set_place(*w, (p & ~place::list_mask) | place::on_worker);
    }
    return nullptr;
}

// Runs one item, without the lock. The item is not touched once its function has been entered: it may be gone, or be
// somebody else's.
inline void worker_pool::run_locked(worker& self, work_base& w, deferred& d) noexcept {
    // The invariant of the pool: somebody is there to take over when this item blocks, or is being made, or cannot be.
    CMWQ_ASSERT(!idle_.empty() || managing_ || short_of_threads_);
    pool_workqueue& pwq = *work_access::pwq(w);
    const work_access::function function = work_access::run(w);
    const std::uint64_t p = work_access::place_of(w);
    const exception_sink& sink = pwq.queue->on_exception;
    self.current_pwq = &pwq;
    self.current_color = static_cast<unsigned>((p & place::color_mask) >> place::color_shift);
    self.cpu_intensive = pwq.queue->cpu_intensive;
    self.current.store(&w, relaxed); // [RUN-1] released by clear_pending below
    if ((p & place::has_waiters) != 0) move_waiters_locked(w, self);
    ++pwq.nr_started;
    ++nr_started_;
    work_access::set_place(w, id_ << place::id_shift);
    work_access::clear_pending(w); // [PEND-2]; from here on it can be queued again, anywhere

    if (self.cpu_intensive) {
        uncount(self);
        drain_locked(); // what came in while it counted has only armed the detectors
    }
    const bool more = !worklist_.empty() || !inbox_.empty();
    if (more && need_more_worker(snapshot_locked()) && !idle_.empty()) d.wake(idle_.front()->sleep);
    lock_.unlock();
    d.perform();
    if (more) arm();

    if (sink.call == nullptr) {
        function(w); // an exception ends the program right here, with the throw site on the stack
    } else {
        try {
            function(w);
        } catch (...) {
            sink.call(sink.context, std::current_exception());
        }
    }

    lock_.lock();
    self.current.store(nullptr, release); // [RUN-2]
    ++pwq.nr_completed;
    nr_completed_.store(nr_completed_.load(relaxed) + 1, relaxed);
    while (item_waiter* iw = self.waiters) {
        self.waiters = iw->next;
        d.happened(iw->who);
    }
    pwq.colors.leave(self.current_color, d);
    --pwq.nr_active;
    if (!pwq.inactive.empty()) {
        activate_locked(pwq);
        publish_pending_locked();
    }
    self.current_pwq = nullptr;
    count(self); // found blocked, or did not count: it does from here on
}

inline void worker_pool::enter_idle_locked(worker& w, bool coldest) noexcept {
    CMWQ_ASSERT(!w.idle && !w.counted.load(relaxed));
    w.idle = true;
    w.idle_since = rt_.now();
    if (coldest) idle_.push_back(w);
    else idle_.push_front(w);
    publish_watcher_locked();
    if (too_many_workers(snapshot_locked()) && cull_at_.load(relaxed) == 0) {
        cull_at_.store(w.idle_since + rt_.idle_timeout(), release);
        rt_.request_service();
    }
}

inline void worker_pool::leave_idle_locked(worker& w) noexcept {
    w.idle = false;
    idle_.remove(w);
    publish_watcher_locked();
}

// --- counting ---------------------------------------------------------------------------------------------------------

inline pool_snapshot worker_pool::snapshot_locked() const noexcept {
    return {.pending = static_cast<unsigned>(worklist_.size()),
            .running = nr_running_.load(seq_cst), // [IDLE-1]
            .active = static_cast<int>(busy_.size()),
            .limit = limit_.load(relaxed),
            .idle = static_cast<int>(idle_.size()),
            .managing = managing_};
}

inline void worker_pool::count(worker& w) noexcept {
    if (w.counted.load(relaxed)) return; // others only ever clear it
    nr_running_.fetch_add(1, seq_cst);   // first, so that nobody can count down what was not counted up
    w.counted.store(true, release);
}

// Whoever wins the flag counts down, and owes a look at what is pending: [IDLE-2].
inline bool worker_pool::uncount(worker& w) noexcept {
    if (!w.counted.load(acquire) || !w.counted.exchange(false, acq_rel)) return false;
    nr_running_.fetch_sub(1, seq_cst);
    return true;
}

// For those who put something on the worklist and will not run it themselves.
inline void worker_pool::kick_locked(deferred& d) noexcept {
    const pool_snapshot s = snapshot_locked();
    if (s.pending == 0) return;
    if (!need_more_worker(s)) arm();
    else if (!idle_.empty()) d.wake(idle_.front()->sleep);
    else if (!wanted_.exchange(true, acq_rel)) rt_.request_service();
}

inline void worker_pool::arm() noexcept {
    sentinel_.arm();
    rt_.arm_monitor();
}

inline void worker_pool::raise_limit(int to) noexcept {
    int seen = limit_.load(relaxed);
    while (seen < to && !limit_.compare_exchange_weak(seen, to, relaxed, relaxed)) {}
}

// The CPU idles although something is pending: one more worker than were active is the least that it needs.
inline bool worker_pool::start_spare() noexcept {
    raise_limit(nr_busy_.load(relaxed) + 1);
    worker* idle = watcher_.load(seq_cst);
    if (idle == nullptr) {
        if (!wanted_.exchange(true, acq_rel)) rt_.request_service();
        return false;
    }
    spare_wakeups_.fetch_add(1, relaxed);
    idle->sleep.unpark();
    return true;
}

// --- detectors --------------------------------------------------------------------------------------------------------

inline finding worker_pool::look_for_blocked(detector who, bool insist) noexcept {
    if (!pending()) return finding::nothing_pending;
    atomic<std::uint64_t>& found = who == detector::sentinel ? by_sentinel_ : by_monitor_;
    for (worker* w = all_.load(acquire); w != nullptr; w = w->next) {
        if (!w->counted.load(acquire)) continue;
        if (!w->probe.blocked()) return finding::running;
        if (uncount(*w)) found.fetch_add(1, relaxed);
    }
    if (nr_running_.load(seq_cst) != 0) return finding::running; // somebody has just started
    if (!insist && !spare_is_urgent(nr_busy_.load(relaxed))) return finding::all_blocked;
    return start_spare() ? finding::replaced : finding::no_spare;
}

inline void worker_pool::guard_blocks(worker& self) noexcept {
    if (!uncount(self)) return;
    if (nr_running_.load(seq_cst) != 0 || !pending()) return;
    by_guard_.fetch_add(1, relaxed);
    if (spare_is_urgent(nr_busy_.load(relaxed)) || !sentinel_.works()) start_spare();
    else arm(); // the sentinel sees whether the CPU stays idle
}

inline void worker_pool::guard_ends(worker& self) noexcept {
    if (!self.cpu_intensive) count(self);
}

inline void worker::begin_blocking(block_kind kind) noexcept {
    if (kind == will_block || pool.runtime().may_block_threshold() == 0) pool.guard_blocks(*this);
    else may_block_since.store(steady_now(), release);
}

inline void worker::upgrade_blocking() noexcept {
    may_block_since.store(0, release);
    pool.guard_blocks(*this);
}

inline void worker::end_blocking() noexcept {
    may_block_since.store(0, release);
    pool.guard_ends(*this);
}

inline void worker_pool::expire_may_block(std::int64_t threshold) noexcept {
    if (!pending()) return;
    const std::int64_t now = steady_now();
    for (worker* w = all_.load(acquire); w != nullptr; w = w->next) {
        const std::int64_t since = w->may_block_since.load(acquire);
        if (since != 0 && now - since >= threshold) guard_blocks(*w);
    }
}

} // namespace cmwq::inline CMWQ_NS::detail
