// SPDX-License-Identifier: BSL-1.0
//
// Bodies of item_pool for dump(), the watchdog and the diagnosis thread: the state of the pool, stalls, and queues that
// stay at their limit.
#pragma once

#include <cmwq/detail/engine/item/item_name.hpp>
#include <cmwq/detail/engine/ledger/item_pool.hpp>
#include <cmwq/detail/engine/ledger/queue_face.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/system.hpp>
#include <cmwq/detail/sync/try_lock.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE bool item_groups::add(const work_base& w) noexcept {
    const work_access::function f = work_access::run(w);
    const queue_face* const queue = work_access::pwq(w)->queue;
    const auto same = [&](const item_group& g) { return g.function == f && g.of == queue; };
    if (groups_.empty() || !same(groups_.back())) {
        if (groups_.size() == max_groups) return false;
        groups_.push_back({.function = f, .first = &w, .count = 0, .of = queue, .queue = {}}); // there is room for it
        groups_.back().queue.copy(queue->name);
    }
    ++groups_.back().count;
    return true;
}

CMWQ_INLINE void item_groups::add(item_list& items) noexcept {
    std::size_t n = 0;
    for (work_base* w = items.front(); w != nullptr && n < max_walked && add(*w); w = items.next(*w)) ++n;
    nr_items_ += items.size();
    nr_more_ += items.size() - n;
}

// The newest ones are found first.
CMWQ_INLINE void item_groups::add_arrived(const inbox<work_base, item_tag>& items) noexcept {
    arrived_.clear();
    items.for_each([this](const work_base& w) {
        complete_ = arrived_.size() < max_walked;
        if (complete_) arrived_.push_back(&w); // there is room for it
        return complete_;
    });
    nr_items_ += arrived_.size();
    std::size_t n = 0;
    while (n < arrived_.size() && add(*arrived_[arrived_.size() - 1 - n])) ++n;
    nr_more_ += arrived_.size() - n;
}

CMWQ_INLINE void item_pool::report(pool_report& to, std::int64_t deadline) {
    to.pending.reserve(true);
    for (std::size_t room = 8;; room = to.nr_runs) { // allocates without the lock
        to.runs.reserve(room);
        to.runs.clear();
        to.pending.clear();
        to.nr_runs = to.nr_local = 0;
        if (!try_lock_until(lock_, deadline)) {
            to.locked = true;
            return;
        }
        const scoped_lock g(lock_, adopt_lock);
        to.workers = worker_counts_locked();
        to.pending.add(worklist_);
        to.pending.add_arrived(inbox_);
        for_each_record_locked([&](const run_record& w) {
            if (!w.is_nested()) to.nr_local += w.of_thread->local.size();
            if (w.current_pwq == nullptr) return true;
            if (to.nr_runs++ < room) to.runs.push_back(report_of_run(w));
            return true;
        });
        if (to.nr_runs <= room) return;
    }
}

CMWQ_INLINE run_report item_pool::report_of_run(const run_record& w) noexcept {
    const worker& thread = *w.of_thread;
    run_report r{.worker = thread.id,
                 .tid = thread.probe.tid(),
                 .is_rescuer = w.is_rescuer(),
                 .is_guest = thread.is_guest(),
                 .is_nested = w.is_nested(),
                 .counted = thread.counted.load(relaxed),
                 .item = w.current.load(relaxed),
                 .function = w.function.load(relaxed),
                 .queue = {},
                 .nr_behind = w.scheduled.size()};
    r.queue.copy(w.current_pwq->queue->name);
    std::copy_n(w.description, sizeof r.description, r.description);
    return r;
}

CMWQ_INLINE void item_pool::report(pool_workqueue& pwq, pwq_report& to, std::int64_t deadline) {
    to.inactive.reserve(false);
    if (!try_lock_until(lock_, deadline)) {
        to.locked = true;
        return;
    }
    const scoped_lock g(lock_, adopt_lock);
    to.nr_active = pwq.nr_active;
    to.nr_waiting = pwq.nr_waiting;
    to.frozen = pwq.frozen;
    to.plugged = pwq.plugged;
    to.mayday = pwq.mayday;
    to.detached = pwq.detached.load(relaxed);
    to.counts = stats_of_locked(pwq);
    to.inactive.add(pwq.inactive);
}

CMWQ_INLINE bool item_pool::has_stalled(std::int64_t passed, std::int64_t limit) noexcept {
    if (!stall_.has_lasted(limit != 0 && pending(), nr_begun(), passed, limit)) return false;
    // An item in the inbox may only have to wait behind another item of its ordered queue.
    if (lock_for_service()) {
        deferred d;
        const scoped_lock g(lock_, adopt_lock);
        drain_locked(d);
        notify_locked(d);
    }
    return pending();
}

CMWQ_INLINE std::string item_pool::describe_stall(const std::string& cpus) {
    constexpr std::size_t max_runs = 24;
    run_report runs[max_runs];
    item_group first; // the items at the front of the worklist
    std::size_t n = 0, busy = 0, waiting = 0;
    worker_counts now;
    {
        constexpr std::int64_t patience = 100'000'000;
        if (!try_lock_until(lock_, steady_now() + patience))
            return "another thread holds the lock of the pool of " + cpus + ", and may get no CPU";
        deferred d;
        const scoped_lock g(lock_, adopt_lock); // only copies: formatting takes time and is done without the lock
        gather_locked(d);                       // items in the inbox are pending, too
        notify_locked(d);
        busy = busy_.size();
        now = worker_counts_locked();
        waiting = worklist_.size();
        if (const work_base* w = worklist_.front(); w != nullptr) {
            first.function = work_access::run(*w);
            first.queue.copy(work_access::pwq(*w)->queue->name);
        }
        for_each_record_locked([&](const run_record& w) {
            if (w.current_pwq == nullptr) return true;
            runs[n++] = report_of_run(w);
            return n < max_runs;
        });
    }
    std::string text = "the pool of " + cpus;
    text += ": " + std::to_string(waiting) + (waiting == 1 ? " item waits" : " items wait");
    if (first.function != nullptr)
        text += ", the first one is " + describe_function(first.function) + " of " + describe_queue(first.queue.text);
    text += "; " + std::to_string(busy) + (busy == 1 ? " worker is busy, " : " workers are busy, ") +
            std::to_string(now.idle) + " idle";
    if (now.short_of_threads) text += "; another one could not be made";
    for (std::size_t i = 0; i < n; ++i) {
        const run_report& r = runs[i];
        text += "\n  ";
        text += r.is_rescuer ? "rescuer" : "worker " + std::to_string(r.worker);
        if (r.tid != 0) text += ", thread " + std::to_string(r.tid) + ", " + describe_activity(r.tid);
        text += ": " + describe_function(r.function) + " of " + describe_queue(r.queue.text);
        if (r.description[0] != 0) text += " (" + std::string(r.description) + ")";
    }
    if (busy > n) text += "\n  and " + std::to_string(busy - n) + " more";
    return text;
}

CMWQ_INLINE item_pool::backlog item_pool::backlog_of(const pool_workqueue& pwq, seen_run* to,
                                                     std::size_t room) noexcept {
    deferred d;
    const scoped_lock g(lock_);
    gather_locked(d);
    notify_locked(d);
    backlog b{.waiting = !pwq.inactive.empty() && !pwq.frozen && !pwq.held_back && !pwq.plugged,
              .all_run = pwq.nr_waiting == 0};
    if (!b.all_run) return b;
    for_each_record_locked([&](run_record& w) {
        if (w.current_pwq != &pwq) return true;
        if (b.runs < room) to[b.runs] = {&w, w.of_thread, &pwq, w.nr_runs.load(relaxed)};
        ++b.runs;
        return true;
    });
    return b;
}

CMWQ_INLINE bool item_pool::goes_on(const seen_run& r) const noexcept {
    const scoped_lock g(lock_);
    return r.by->current_pwq == r.pwq && r.by->nr_runs.load(relaxed) == r.number;
}

}}} // namespace cmwq::CMWQ_NS::detail
