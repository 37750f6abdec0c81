// SPDX-License-Identifier: BSL-1.0
//
// What does not get on: pools that start nothing and items that keep their CPU, the service thread's work, and queues
// whose items are all blocked, the diagnosis thread's.
#pragma once

#include <cmwq/detail/engine/pool/worker_pool.hpp>
#include <cmwq/detail/engine/report/diagnosis.hpp>
#include <cmwq/detail/engine/runtime/runtime_core.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/system.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace cmwq::inline CMWQ_NS::detail {

// --- pools ------------------------------------------------------------------------------------------------------------

CMWQ_INLINE bool worker_pool::has_stalled(std::int64_t passed, std::int64_t limit) noexcept {
    const std::uint64_t started = nr_started_.load(relaxed);
    if (limit == 0 || started != started_seen_ || !pending()) {
        started_seen_ = started;
        stalled_for_ = 0;
        return false;
    }
    stalled_for_ += passed;
    if (stalled_for_ < limit) return false;
    stalled_for_ = 0; // and again, after as much time
    return true;
}

CMWQ_INLINE std::string worker_pool::describe_stall(const cpuset& pod) {
    constexpr std::size_t max_lines = 24;
    struct line {
        unsigned id;
        bool is_seat, counted;
        long tid;
        void (*function)(work_base&);
        char queue[64], description[sizeof worker::description];
    };
    line lines[max_lines + 1]; // one for the first item that waits
    std::size_t n = 0, busy = 0, idle = 0, waiting = 0;
    const auto name_queue = [](line& l, const queue_core& q) {
        std::snprintf(l.queue, sizeof l.queue, "%s", q.name.c_str());
    };
    bool has_first = false, short_of_threads = false;
    const std::string cpus_of_pool =
        role_ == pool_role::attrs_keyed ? "CPUs " + pod.to_string() : "CPU " + std::to_string(number_);
    {
        deferred d;
        if (!lock_for_service())
            return "a worker of low priority, of the pool of " + cpus_of_pool +
                   ", holds the lock of the pool and gets no CPU";
        const scoped_lock g(lock_, adopt_lock); // copies only: what is said about them may take its time
        drain_locked(d);                        // what nobody has taken in waits, too
        kick_locked(d);
        busy = busy_.size();
        idle = idle_.size();
        waiting = worklist_.size();
        short_of_threads = short_of_threads_.load(relaxed);
        if (const work_base* first = worklist_.front(); first != nullptr) {
            has_first = true;
            lines[max_lines].function = work_access::run(*first);
            name_queue(lines[max_lines], *work_access::pwq(*first)->queue);
        }
        for (worker* w = busy_.front(); w != nullptr && n < max_lines; w = busy_.next(*w)) {
            if (w->current_pwq == nullptr) continue;
            line& l = lines[n++];
            l.id = w->id;
            l.is_seat = w->is_seat;
            l.counted = w->counted.load(relaxed);
            l.tid = w->probe.tid();
            l.function = w->function;
            name_queue(l, *w->current_pwq->queue);
            std::copy_n(w->description, sizeof l.description, l.description);
        }
    }
    std::string text = "the pool of " + cpus_of_pool;
    text += ": " + std::to_string(waiting) + " items wait";
    if (has_first) {
        text += ", the first one is " + describe_function(lines[max_lines].function) + " of " +
                describe_queue(lines[max_lines].queue);
    }
    text += "; " + std::to_string(busy) + " workers are busy, " + std::to_string(idle) + " idle";
    if (short_of_threads) text += "; another one could not be made";
    for (std::size_t i = 0; i < n; ++i) {
        const line& l = lines[i];
        text += "\n  ";
        text += l.is_seat ? "rescuer" : "worker " + std::to_string(l.id);
        if (l.tid != 0) text += ", thread " + std::to_string(l.tid) + ", " + describe_activity(l.tid);
        text += ": " + describe_function(l.function) + " of " + describe_queue(l.queue);
        if (l.description[0] != 0) text += " (" + std::string(l.description) + ")";
    }
    if (busy > n) text += "\n  and " + std::to_string(busy - n) + " more";
    return text;
}

CMWQ_INLINE void runtime_core::report_stall(worker_pool& pool) noexcept {
    pool_spec spec;
    try { // a copy: the record of a shared pool may be configured for another one as soon as its last queue has gone
        if (pool.role() != pool_role::attrs_keyed) spec.pod = pool.spec().pod;
        else if (registry_.users_of(pool, spec) == 0) return;
    } catch (const std::bad_alloc&) {
        return; // said after as much time again
    }
    report(event::kind::stalled, 0, spec.pod.next(0), [&] {
        const auto seconds = static_cast<double>(options_.watchdog.count()) / 1e9;
        char time[32];
        std::snprintf(time, sizeof time, "%g s: ", seconds);
        return "cmwq: nothing has been started for " + (time + pool.describe_stall(spec.pod));
    });
}

// --- hogs -------------------------------------------------------------------------------------------------------------

// A run is seen by two looks at least before its CPU time is counted; if it waits for something, from there on anew. Also
// where nothing waits behind it, as long as the monitor is awake: it stays so while a run computes that may become a hog.
CMWQ_INLINE bool worker_pool::look_for_hogs(std::int64_t threshold) noexcept {
    if (threshold == 0 || !manages()) return false;
    bool computing = false;
    counting_.for_each([&](worker& w) {
        if (!w.counted.load(acquire)) { // [HINT]
            w.stint.run = 0;
            return true;
        }
        const std::uint64_t run = w.nr_runs.load(relaxed);
        std::int64_t cpu = 0;
        if (run != w.stint.run) {
            w.stint = {.run = run};
            computing = true;
            return true;
        }
        if (!w.probe.cpu_time(cpu)) return true;
        computing |= std::exchange(w.stint.seen, cpu) != cpu;
        if (w.stint.cpu >= 0 && cpu - w.stint.cpu < threshold) return true;
        const long nr_waits = w.probe.nr_waits();
        if (w.stint.cpu < 0 || nr_waits != w.stint.nr_waits) {
            w.stint.cpu = cpu;
            w.stint.nr_waits = nr_waits;
            return true;
        }
        void (*function)(work_base&) = nullptr;
        char queue[64];
        unsigned first_cpu = 0;
        {
            if (!lock_for_service()) return true; // seen again at the next look
            const scoped_lock g(lock_, adopt_lock);
            if (w.nr_runs.load(relaxed) != run || w.current_pwq == nullptr) return true; // it has just ended
            if (!uncount(w)) return true;
            w.stint.run = 0;
            function = w.function;
            std::snprintf(queue, sizeof queue, "%s", w.current_pwq->queue->name.c_str());
            first_cpu = spec_.pod.next(0); // after the lock the record may be configured for another pool
        }
        rt_.note_hog(function, queue, first_cpu);
        return true;
    });
    return computing;
}

// --- items that are overdue -------------------------------------------------------------------------------------------

// Items that pause often are never hogs, and their pauses may be too short for a detector: while one of them or another is
// always running, nothing else would start, for as long as they live.
CMWQ_INLINE void worker_pool::look_for_overdue(std::int64_t passed, std::int64_t patience) noexcept {
    const std::uint64_t started = nr_started_.load(relaxed);
    if (patience == 0 || !manages() || started != started_before_ || !pending()) {
        started_before_ = started;
        waiting_for_ = 0;
        return;
    }
    waiting_for_ += passed;
    if (waiting_for_ < patience) return;
    waiting_for_ = 0;              // one at a time: the next one after as much time again
    overdue_.store(true, relaxed); // [PARK-1] carries it, or the look of the service thread
    nr_overdue_.fetch_add(1, relaxed);
    if (worker* const idle = watcher_.load(seq_cst); idle != nullptr) idle->sleep.unpark(); // [UNIFORM]
    else ask_for_worker();
}

CMWQ_INLINE void runtime_core::note_hog(void (*function)(work_base&), const char* queue, unsigned cpu) noexcept {
    nr_hogs_.fetch_add(1, relaxed);
    auto known = std::find_if(hogs_.begin(), hogs_.end(), [&](const hog& h) { return h.function == function; });
    if (known == hogs_.end()) {
        try {
            known = hogs_.insert(hogs_.end(), {function, 0});
        } catch (const std::bad_alloc&) {
            return; // next time
        }
    }
    const std::uint64_t hits = ++known->hits, first = options_.cpu_hog_warning_threshold;
    if (first == 0 || hits % first != 0 || !std::has_single_bit(hits / first)) return;
    report(event::kind::cpu_hog, 0, cpu, [&] {
        return "cmwq: " + describe_function(function) + " of " + describe_queue(queue) + " has kept CPU " +
               std::to_string(cpu) + " from other items for too long, " + std::to_string(hits) +
               " times: it belongs on a queue that is unbound, or cpu_intensive";
    });
}

// --- queues at their limit --------------------------------------------------------------------------------------------

CMWQ_INLINE void queue_core::note_backlog() noexcept {
    if (!backlog_.load(relaxed) && !backlog_.exchange(true, seq_cst)) rt.diagnosis().watch_backlogs(); // [WATCH-3]
}

CMWQ_INLINE worker_pool::backlog worker_pool::backlog_of(const pool_workqueue& pwq, seen_run* to,
                                                         std::size_t room) noexcept {
    const scoped_lock g(lock_);
    backlog b{.waiting = !pwq.inactive.empty() && !pwq.frozen && !pwq.held_back && !pwq.plugged,
              .all_run = pwq.nr_waiting == 0};
    if (!b.all_run) return b;
    for (worker* w = busy_.front(); w != nullptr; w = busy_.next(*w)) {
        if (w->current_pwq != &pwq) continue;
        if (b.runs < room) to[b.runs] = {w, &pwq, w->nr_runs.load(relaxed)};
        ++b.runs;
    }
    return b;
}

CMWQ_INLINE bool worker_pool::goes_on(const seen_run& r) const noexcept {
    const scoped_lock g(lock_);
    return r.by->current_pwq == r.pwq && r.by->nr_runs.load(relaxed) == r.number;
}

CMWQ_INLINE bool queue_core::watch_backlog(std::vector<seen_run>& runs) {
    // [WATCH-3] Taken back before the look: an item that comes to wait after the look says so again.
    if (!backlog_.exchange(false, seq_cst)) return false;
    const std::uint64_t completed = stats().completed;
    const bool stands_still = std::exchange(completed_seen_, completed) == completed;
    const std::size_t before = runs.size();
    bool waiting = false, all_run = true;
    const auto look_at = [&](pool_workqueue& p) {
        const std::size_t n = runs.size();
        worker_pool::backlog b = p.pool->backlog_of(p, nullptr, 0);
        waiting |= b.waiting;
        all_run &= b.all_run;
        for (std::size_t room = 0; stands_still && all_run && b.runs > room;) { // nothing is allocated in there
            room = b.runs;
            runs.resize(n + room);
            b = p.pool->backlog_of(p, &runs[n], room);
        }
        runs.resize(n + (stands_still && all_run ? b.runs : 0));
    };
    try {
        for_each_pwq(look_at);
    } catch (...) { // without memory: it is looked at again
        backlog_.store(true, relaxed);
        throw;
    }
    if (!waiting || !all_run) runs.resize(before);
    if (waiting) backlog_.store(true, relaxed);
    return waiting;
}

// What the runs do is asked without a lock: each answer is a system call or three. The queues may change meanwhile, or
// go; but not one whose runs are the same afterwards.
CMWQ_INLINE bool runtime_core::watch_backlogs(std::int64_t passed) noexcept {
    struct standstill {
        const queue_core* queue;
        std::size_t first, last; // its runs
        bool blocked = true;
    };
    const std::int64_t limit = backlog_limit();
    bool any = false;
    std::string saturated;
    try {
        std::vector<seen_run> runs;
        std::vector<standstill> suspects;
        {
            const scoped_lock g(queues_lock_);
            for (queue_core* q = queues_.front(); q != nullptr; q = queues_.next(*q)) {
                const std::size_t first = runs.size();
                any |= q->watch_backlog(runs);
                if (runs.size() != first) suspects.push_back({q, first, runs.size()});
                else static_cast<void>(q->note_standstill(false, passed, limit));
            }
        }
        for (standstill& s : suspects) {
            for (std::size_t i = s.first; i < s.last && s.blocked; ++i) s.blocked = runs[i].by->probe.blocked();
        }
        std::ranges::sort(suspects, std::less<>(), &standstill::queue);
        const scoped_lock g(queues_lock_);
        for (queue_core* q = queues_.front(); q != nullptr; q = queues_.next(*q)) {
            const auto s = std::ranges::lower_bound(suspects, q, std::less<>(), &standstill::queue);
            if (s == suspects.end() || s->queue != q) continue;
            for (std::size_t i = s->first; i < s->last && s->blocked; ++i) {
                s->blocked = runs[i].by->pool.goes_on(runs[i]);
            }
            if (!q->note_standstill(s->blocked, passed, limit) || !saturated.empty()) continue;
            if (!q->first_report(event::kind::saturated)) continue;
            saturated = "cmwq: " + describe_queue(q->name) + " is at its limit, max_active " +
                        std::to_string(q->max_active()) +
                        ", and all of its items that run have been blocked for long; others wait behind them";
        }
    } catch (const std::bad_alloc&) {
        any = true; // at the next look
    }
    if (!saturated.empty()) report(event::kind::saturated, 0, 0, [&] { return saturated; });
    return any;
}

} // namespace cmwq::inline CMWQ_NS::detail
