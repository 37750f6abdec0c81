// SPDX-License-Identifier: BSL-1.0
//
// worker_pool, third part: making workers, learning how many it takes, ending those that nobody needs.
#pragma once

#include <cmwq/detail/engine/pool/worker_pool.hpp>
#include <cmwq/detail/engine/runtime/runtime_core.hpp>
#include <cmwq/detail/sync/backoff.hpp>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

namespace cmwq::inline CMWQ_NS::detail {

CMWQ_INLINE void worker_pool::make_room_for_runs(std::size_t nr_workers) noexcept {
    auto room = run_table::make_room(nr_workers); // what it is exchanged for goes after the lock
    const scoped_lock g(lock_);
    running_.move_to(room);
}

// Drops the lock while the thread is made. False: none could be made.
CMWQ_INLINE bool worker_pool::make_worker_locked() noexcept {
    if (stopping_) return false;
    managing_ = true;
    managing_since_.store(steady_now(), relaxed);
    if (has_rescuable_.load(relaxed)) rt_.arm_monitor(); // which sees if it takes long
    worker* w = retired_.pop_front();
    const unsigned number = w != nullptr ? w->id : nr_records_++;
    if (w != nullptr) w->retiring = false;
    const bool crowded = running_.is_small_for(nr_records_);
    lock_.unlock();
    if (crowded) make_room_for_runs(number);

    const bool fresh = w == nullptr;
    const bool admitted = rt_.admit_worker();
    int error = admitted ? ENOMEM : 0;
    if (fresh && admitted && counting_.reserve(number + 1)) w = new (std::nothrow) worker(*this, number);
    if (w != nullptr && admitted) error = rt_.start_thread(w->os_thread, &worker_pool::thread_main, w);
    const bool made = admitted && error == 0;
    if (made) rt_.thread_started(); // nobody is counted who could not be made
    else if (admitted) rt_.dismiss_worker();

    lock_.lock();
    managing_ = false;
    managing_since_.store(0, relaxed);
    if (made) {
        ++nr_live_;
        short_of_threads_.store(false, relaxed);
        short_since_ = 0; // the next shortage is another one
        retry_pause_ = 0;
        retry_at_.store(0, relaxed);
        if (fresh) {
            w->next = all_.load(relaxed);
            all_.store(w, release); // [REC-1]
        }
        enter_idle_locked(*w, true); // its thread may be parked already: who needs it wakes it
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
    // What is refused may stay so for hours: less and less often, but a thread that is possible again is soon there.
    constexpr std::int64_t first_pause = 1'000'000, longest_pause = 100'000'000;
    retry_pause_ = std::clamp(2 * retry_pause_, first_pause, longest_pause);
    retry_at_.store(steady_now() + retry_pause_, relaxed);
    if (!short_of_threads_.exchange(true, relaxed)) {
        lock_.unlock();
        if (admitted) rt_.report_no_thread(*this, error);
        else rt_.report_thread_limit(*this);
        lock_.lock();
    }
    return false;
}

CMWQ_INLINE bool worker_pool::staff() noexcept {
    deferred d;
    if (!lock_for_service()) {
        wanted_.store(true, seq_cst); // [UNIFORM]
        rt_.arm_monitor();            // which asks again at a tick
        return true;
    }
    const scoped_lock g(lock_, adopt_lock);
    drain_locked(d);
    const pool_snapshot s = snapshot_locked();
    if (stopping_) return true;
    if (!need_more_worker(s)) {
        short_since_ = 0;
        if (s.pending > 0) arm();
        return true;
    }
    if (need_to_create_worker(s) && !make_worker_locked()) {
        rt_.arm_monitor(); // which tries again at a tick
        return false;
    }
    if (!idle_.empty()) {
        short_since_ = 0; // the next shortage is another one
        d.wake(idle_.front()->sleep);
    }
    return true;
}

// The limit of threads is reached: who has nothing to do makes room for who has.
CMWQ_INLINE bool worker_pool::give_up_worker(bool spare) noexcept {
    worker* w = nullptr;
    {
        deferred d;
        if (!lock_for_service()) return false;
        const scoped_lock g(lock_, adopt_lock);
        // Without a look at the inbox: a kick would ask for a worker, and two pools would do so by turns for ever.
        if (idle_.empty() || stopping_) return false;
        drain_locked(d);
        kick_locked(d);
        if (!worklist_.empty()) return false;
        if (!spare && idle_.size() < 2 && !busy_.empty()) return false;
        w = idle_.coldest();
        retire_locked(*w);
        if (idle_.empty()) short_of_threads_.store(true, relaxed); // until it makes one
        drain_locked(d); // who has read watcher_ before has pushed before, and may wake the one that goes
        kick_locked(d);
    }
    w->sleep.unpark();
    return true;
}

// Told to end, it takes no item any more and does not count. Nobody waits for it: when it is gone is up to the scheduler,
// and to the destructors of what is thread_local. The caller drains and kicks, if items can still come, and wakes it.
CMWQ_INLINE void worker_pool::retire_locked(worker& w) noexcept {
    leave_idle_locked(w);
    w.retiring = true;
    rt_.worker_ended();
}

CMWQ_INLINE bool worker_pool::thread_is_gone(worker& w) noexcept {
    if (!lock_for_service()) return false;
    const scoped_lock g(lock_, adopt_lock);
    --nr_live_;
    retired_.push_front(w);
    return true;
}

// Little's law: what keeps a CPU busy is one worker plus as many as are blocked while one computes. The scheduler keeps
// accounts of each thread: time on the CPU, time waiting for one; the rest it was blocked.
CMWQ_INLINE void worker_pool::learn() noexcept {
    constexpr int sample_size = 64;
    const int width = width_.load(relaxed);
    if (!manages() || limit_.load(relaxed) <= width) {
        sum_cpu_ = sum_blocked_ = sum_waited_ = 0;
        return;
    }
    struct {
        worker* by;
        std::int64_t own;
    } sample[sample_size];
    int n = 0;
    bool roams = false;
    {
        if (!lock_for_service()) return;
        // The record of a pool that has ended may just be configured for the next one.
        const scoped_lock g(lock_, adopt_lock);
        roams = spec_.pod.size() < spec_.cpus.size();
        for (worker* w = busy_.front(); w != nullptr && n < sample_size; w = busy_.next(*w))
            sample[n++] = {w, w->own_time};
    }
    double cpu = 0, blocked = 0, waited = 0;
    for (int i = 0; i < n; ++i) {
        worker& w = *sample[i].by;
        const std::int64_t own = sample[i].own - std::exchange(w.last_own, sample[i].own);
        // This thread may lose its CPU between the two: then one window seems longer by that, and the next one shorter. So
        // what a window says is summed up with its sign.
        const std::int64_t now = steady_now();
        thread_times t{};
        if (!w.probe.times(t)) continue;
        // A gap in the samples means that it was idle for long, or that nobody looked: that tells nothing. Short idle times
        // are no blocks: they would keep a limit up that is too high for the items that there are.
        constexpr std::int64_t longest_window = 25'000'000;
        if (w.sampled_at != 0 && now - w.sampled_at < longest_window) {
            const auto used = static_cast<double>(t.cpu - w.last_times.cpu);
            const auto queued = static_cast<double>(t.wait - w.last_times.wait);
            const auto rest = static_cast<double>(now - w.sampled_at - own) - used - queued;
            if (used >= 0) { // less than before: it is another thread now
                cpu += used;
                waited += queued;
                blocked += rest;
            }
        }
        w.last_times = t;
        w.sampled_at = now;
    }
    // Short windows are noisy: a moving sum, in which the last few windows count.
    sum_cpu_ = sum_cpu_ * 0.7 + cpu;
    sum_blocked_ = sum_blocked_ * 0.7 + blocked;
    sum_waited_ = sum_waited_ * 0.7 + waited;
    if (sum_cpu_ <= 0 || sum_cpu_ * 100 < sum_blocked_) return; // nothing computes: nothing to learn from
    // A margin of the order of the square root, because blocks do not come evenly.
    const double others = width * std::max(sum_blocked_, 0.0) / sum_cpu_;
    // Not <cmath>, which would be a twentieth of all that <cmwq/cmwq.hpp> includes.
    int target = others < 0.02 * width
                     ? width
                     : width + static_cast<int>(__builtin_lround(others + 0.75 * __builtin_sqrt(others)));
    // CPUs outside of the pod may have joined in. As long as nobody has to wait for one, they are not too many.
    if (roams && sum_waited_ * 20 < sum_cpu_) target = std::max(target, limit_.load(relaxed));
    int seen = limit_.load(relaxed);
    while (seen != target) {
        // One up, and only if all that there may be are active; down by halves.
        if (seen < target && nr_busy_.load(relaxed) < seen) return;
        const int next = seen < target ? seen + 1 : seen - (seen - target + 1) / 2;
        if (limit_.compare_exchange_weak(seen, next, relaxed, relaxed)) return;
    }
}

CMWQ_INLINE std::int64_t worker_pool::cull(std::int64_t now) noexcept {
    for (;;) {
        worker* coldest = nullptr;
        {
            deferred d;
            constexpr std::int64_t later = 1'000'000;
            if (!lock_for_service()) return now + later;
            const scoped_lock g(lock_, adopt_lock);
            cull_at_.store(0, relaxed);
            if (stopping_ || !too_many_workers(snapshot_locked())) return 0;
            coldest = idle_.coldest();
            const std::int64_t due = coldest->idle_since + rt_.idle_timeout();
            if (due > now) {
                cull_at_.store(due, release); // [LOCK]
                return due;
            }
            retire_locked(*coldest);
            drain_locked(d); // who has read watcher_ before has pushed before, and may wake the one that goes
            kick_locked(d);
        }
        coldest->sleep.unpark(); // its record may serve another thread by now, which is woken for nothing
    }
}

CMWQ_INLINE void worker_pool::end_threads() noexcept {
    {
        const scoped_lock g(lock_);
        stopping_ = true; // those that are not idle yet see it when they are
        short_since_ = 0;
        CMWQ_ASSERT(worklist_.empty() && inbox_.empty());
        while (worker* w = idle_.front()) retire_locked(*w);
    }
    for (worker* w = all_.load(acquire); w != nullptr; w = w->next) w->sleep.unpark(); // [REC-1]
    wanted_.store(false, relaxed);
    cull_at_.store(0, relaxed);
}

CMWQ_INLINE void worker_pool::let_threads_end() noexcept {
    // Nobody begins to make a worker any more; one that is being made is added before `managing_` ends.
    for (backoff b;; b.pause()) {
        const scoped_lock g(lock_);
        if (!managing_) break;
    }
    if (spec_.sched != sched_class::idle) return;
    for (worker* w = all_.load(acquire); w != nullptr; w = w->next) w->os_thread.leave_idle_class(); // [REC-1]
}

CMWQ_INLINE void worker_pool::join_threads() noexcept {
    for (worker* w = all_.load(acquire); w != nullptr; w = w->next) w->os_thread.join(); // [REC-1]
}

CMWQ_INLINE void worker_pool::forget_threads() noexcept {
    for (worker* w = all_.load(relaxed); w != nullptr; w = w->next) w->os_thread.forget();
}

} // namespace cmwq::inline CMWQ_NS::detail
