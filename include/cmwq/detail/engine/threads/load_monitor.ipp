// SPDX-License-Identifier: BSL-1.0
//
// Bodies of load_monitor.

#include <cmwq/detail/engine/ledger/queue_face.hpp>
#include <cmwq/detail/engine/threads/load_monitor.hpp>
#include <cmwq/detail/sync/clock.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

// Whether no item of the pool has ended since the last call.
CMWQ_INLINE bool load_monitor::stalled_since_last_time() noexcept {
    const std::uint64_t seen = load_.nr_completed();
    return std::exchange(completed_seen_, seen) == seen;
}

CMWQ_INLINE monitor_findings load_monitor::look_after(std::int64_t passed) noexcept {
    monitor_findings found;
    const live_thresholds& limits = ledger_.env.thresholds;
    expire_may_block(limits.may_block());
    found.computing = look_for_hogs(limits.cpu_hog());
    look_for_overdue(passed, limits.overdue());
    switch (load_.check_for_blocked({.who = detector::monitor, .insist = stalled_since_last_time()})) {
    case finding::nothing_pending: break;
    case finding::running: load_.arm_far_sentinels(); [[fallthrough]];
    case finding::all_blocked: found.pending = true; break;
    case finding::replaced: found.pending = found.eventful = true; break;
    case finding::no_spare: found.pending = true; break; // a worker has been requested
    }
    learn_limit();
    return found;
}

// Uncounts the workers whose may_block region has lasted for `threshold` nanoseconds.
CMWQ_INLINE void load_monitor::expire_may_block(std::int64_t threshold) noexcept {
    if (!load_.pending()) return;
    const std::int64_t now = steady_now();
    working_.for_each([&](worker& w) {
        const std::int64_t since = w.may_block_since.load(acquire); // [ALONE]
        if (since != 0 && now - since >= threshold) load_.block_begins(w);
        return true;
    });
}

// Reports runs that use the CPU for too long without waiting. The monitor must see a run in at least two checks before
// it counts the run's CPU time; if the run waits for something, the count starts again. The check does not depend on
// pending items, as long as the monitor is awake. It stays awake while a run that may become a hog computes, or waits
// for the CPU.
CMWQ_INLINE bool load_monitor::look_for_hogs(std::int64_t threshold) noexcept {
    if (threshold == 0 || !load_.is_associated()) return false;
    bool computing = false;
    working_.for_each([&](worker& w) {
        if (!w.counted.load(acquire)) { // [HINT]
            w.cpu_burst.run = 0;
            return true;
        }
        const std::uint64_t run = w.nr_runs.load(relaxed);
        std::int64_t cpu = 0;
        if (run != w.cpu_burst.run) {
            w.cpu_burst = {.run = run};
            computing = true;
            return true;
        }
        if (!w.probe.cpu_time(cpu)) return true;
        const bool used_cpu = std::exchange(w.cpu_burst.seen, cpu) != cpu;
        computing = computing || used_cpu || !w.probe.blocked(); // a run that is not blocked waits for the CPU
        if (w.cpu_burst.cpu >= 0 && cpu - w.cpu_burst.cpu < threshold) return true;
        const long nr_waits = w.probe.nr_waits();
        if (w.cpu_burst.cpu < 0 || nr_waits < 0 || nr_waits != w.cpu_burst.nr_waits) { // it may have waited
            w.cpu_burst.cpu = cpu;
            w.cpu_burst.nr_waits = nr_waits;
            return true;
        }
        if (!ledger_.lock_for_service()) return true; // found again at the next check
        const scoped_lock g(ledger_.lock, adopt_lock);
        if (w.nr_runs.load(relaxed) != run || w.current_pwq == nullptr) return true; // the run has just ended
        if (!load_.uncount(w)) return true;
        w.cpu_burst.run = 0;
        void (*const function)(work_base&) = w.function.load(relaxed);
        if (w.nr_runs.load(relaxed) != run) return true; // a local item has followed in the run, without the lock
        ++w.current_pwq->counts.cpu_hogs;
        const queue_face& queue = *w.current_pwq->queue;
        ledger_.env.events.cpu_hog(function, queue.name, spec_.pod.next(0), queue.keyed(),
                                   ledger_.env.thresholds.cpu_hog_warning());
        return true;
    });
    return computing;
}

// Starts overdue items. Items that pause often are never hogs, and their pauses may be too short for a detector.
// As long as at least one of them is running at any time, no other item would start.
CMWQ_INLINE void load_monitor::look_for_overdue(std::int64_t passed, std::int64_t patience) noexcept {
    const bool concerned = patience != 0 && load_.is_associated() && load_.pending();
    if (!overdue_.has_lasted(concerned, load_.nr_begun(), passed, patience)) return;
    if (!ledger_.lock_for_service()) return; // again after the same time
    deferred d;
    const scoped_lock g(ledger_.lock, adopt_lock);
    ledger_.drain_locked(d); // perhaps the limit keeps back all items of the inbox
    if (load_.anything_waits_locked(ledger_) && !load_.is_overdue_locked()) {
        load_.let_overdue_start_locked(overdue_burst_.next(load_.nr_completed()));
        ++nr_overdue_;
    }
    ledger_.owner.notify_locked(d);
}

// Little's law: a CPU is kept busy by one worker, plus as many as are blocked while one computes. The scheduler
// accounts for each thread: time on the CPU and time waiting for a CPU. In the rest of the time the thread was blocked.
CMWQ_INLINE void load_monitor::learn_limit() noexcept {
    constexpr int sample_size = 64;
    const int width = load_.width();
    if (!load_.is_associated() || load_.limit() <= width) {
        sum_cpu_ = sum_blocked_ = sum_waited_ = 0;
        return;
    }
    struct {
        worker* by;
        bool waits;
        std::int64_t own;
    } sample[sample_size];
    int n = 0;
    bool roams = false;
    {
        if (!ledger_.lock_for_service()) return;
        // The record of a pool that has ended may be about to be configured for another pool.
        const scoped_lock g(ledger_.lock, adopt_lock);
        roams = spec_.pod.size() < spec_.cpus.size();
        ledger_.for_each_busy_locked([&](worker& w) {
            if (w.is_guest()) return true; // any thread, which does other things between two tasks
            sample[n++] = {&w, w.in_wait.load(acquire), w.excluded_time.load(relaxed)}; // [WAIT-3], in this order
            return n < sample_size;
        });
    }
    double cpu = 0, blocked = 0, waited = 0;
    for (int i = 0; i < n; ++i) {
        worker& w = *sample[i].by;
        const std::int64_t own = sample[i].own - std::exchange(w.last_own, sample[i].own);
        // This thread may be preempted between the two calls: then one window seems longer by that time, and the next
        // one shorter. So the differences are summed with their signs.
        const std::int64_t now = steady_now();
        thread_times t{};
        if (!w.probe.times(t)) continue;
        // A gap in the samples means that the worker was idle for long, or was not sampled: such a window is not
        // used. Short idle times are not blocking: counted as such they would keep a limit up that is too high for the
        // load. Nor is a wait inside the library, which is excluded when it ends: a window during one is not used.
        constexpr std::int64_t longest_window = 25'000'000;
        if (w.sampled_at != 0 && !sample[i].waits && now - w.sampled_at < longest_window) {
            const auto used = static_cast<double>(t.cpu - w.last_times.cpu);
            const auto queued = static_cast<double>(t.wait - w.last_times.wait);
            const auto rest = static_cast<double>(now - w.sampled_at - own) - used - queued;
            if (used >= 0) { // otherwise another thread uses the record now
                cpu += used;
                waited += queued;
                blocked += rest;
            }
        }
        w.last_times = t;
        w.sampled_at = sample[i].waits ? 0 : now;
    }
    // Short windows are noisy: these are moving sums over the last few windows.
    sum_cpu_ = sum_cpu_ * 0.7 + cpu;
    sum_blocked_ = sum_blocked_ * 0.7 + blocked;
    sum_waited_ = sum_waited_ * 0.7 + waited;
    if (sum_cpu_ <= 0 || sum_cpu_ * 100 < sum_blocked_) return; // almost no CPU time: no basis for a limit
    // The square root is a margin, because blocks are not evenly distributed.
    const double others = width * std::max(sum_blocked_, 0.0) / sum_cpu_;
    // Builtins instead of <cmath>: that header would be a twentieth of everything that <cmwq/cmwq.hpp> includes.
    int target = others < 0.02 * width
                     ? width
                     : width + static_cast<int>(__builtin_lround(others + 0.75 * __builtin_sqrt(others)));
    // Workers may run on CPUs outside the pod. As long as they hardly have to wait for a CPU, the limit does not fall.
    if (roams && sum_waited_ * 20 < sum_cpu_) target = std::max(target, load_.limit());
    int seen = load_.limit();
    while (seen != target) {
        // Up by one, and only if as many workers are active as allowed; down by halves.
        if (seen < target && load_.nr_active() < seen) return;
        const int next = seen < target ? seen + 1 : seen - (seen - target + 1) / 2;
        if (load_.change_limit(seen, next)) return;
    }
}

}}} // namespace cmwq::CMWQ_NS::detail
