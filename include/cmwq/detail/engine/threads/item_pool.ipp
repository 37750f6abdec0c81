// SPDX-License-Identifier: BSL-1.0
//
// Bodies of item_pool: its attributes, its state for dump() and the watchdog. Bodies of worker: the calls of a
// blocking_region in an item, which go to the pool.

#include <cmwq/detail/engine/item/item_name.hpp>
#include <cmwq/detail/engine/ledger/item_events.hpp>
#include <cmwq/detail/engine/ledger/own_run.hpp>
#include <cmwq/detail/engine/ledger/queue_face.hpp>
#include <cmwq/detail/engine/threads/item_pool.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/system.hpp>
#include <cmwq/detail/sync/try_lock.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// A run, under the lock of its pool.
inline run_report report_of_run(const run_record& w) noexcept {
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
    return r;
}

/// Calls `f(run_report)` for that run, and for the innermost task that a wait in it runs. Under the lock of the pool.
template <class F>
void for_each_run_of(const run_record& w, const F& f) {
    run_report r = report_of_run(w);
    const work_access::function task = w.inner_task.load(relaxed);
    if (task == nullptr) {
        std::copy_n(w.description, sizeof r.description, r.description);
        return f(r);
    }
    for (const hidden_description* h = w.hidden; h != nullptr; h = h->outer) {
        if (h->of_item) std::copy_n(h->text, sizeof r.description, r.description);
    }
    f(r);
    r.is_nested = true;
    r.item = nullptr;
    r.function = task;
    r.nr_behind = 0;
    std::copy_n(w.description, sizeof r.description, r.description);
    f(r);
}

CMWQ_INLINE void item_pool::configure(pool_spec spec, const cpuset& watching) {
    load::watching_cpus cpus;
    if (concurrency != nullptr) cpus = concurrency->watching(spec, watching);
    const scoped_lock g(ledger.lock);
    places->configure_locked(spec);
    threads->configure_locked(ledger, spec); // `spec` now has the former attributes, which are freed without the lock
    if (concurrency != nullptr) concurrency->configure_locked(threads->spec(), cpus);
}

CMWQ_INLINE void item_pool::associate(bool with_its_cpu) noexcept {
    deferred d;
    const scoped_lock g(ledger.lock);
    concurrency->associate(with_its_cpu); // [CPU-1]
    if (!pending()) return;
    ledger.drain_locked(d);
    ledger.owner.notify_locked(d); // items that waited behind a running worker need not wait any more
}

CMWQ_INLINE pool_stats item_pool::stats() noexcept {
    const scoped_lock g(ledger.lock);
    pool_stats s{.started = ledger.nr_started(), .completed = ledger.nr_completed()};
    ledger.for_each_record_locked([&s](const run_record& k) {
        s.completed += k.nr_ended.load(relaxed); // first: the workers go on meanwhile
        s.started += k.nr_more_started.load(relaxed);
        return true;
    });
    s.completed = std::min(s.completed, s.started);
    if (locals != nullptr) s.bias_revocations = local_lists::nr_revocations(ledger);
    if (rescue != nullptr) s.rescued = rescue->nr_rescued();
    if (threads != nullptr) s.workers_made = threads->counts_locked(ledger).made;
    if (places != nullptr) s.repatriated = places->nr_repatriated_locked();
    if (monitor_ != nullptr) s.overdue = monitor_->nr_overdue_locked();
    if (concurrency == nullptr) return s;
    const load::counts c = concurrency->numbers();
    s.by_guard = c.by_guard;
    s.by_sentinel = c.by_sentinel;
    s.by_monitor = c.by_monitor;
    s.spare_wakeups = c.spare_wakeups;
    return s;
}

CMWQ_INLINE pwq_stats item_pool::stats_of(const pool_workqueue& pwq) noexcept {
    deferred d;
    const scoped_lock g(ledger.lock);
    const pwq_stats s = stats_of_locked(pwq, d);
    ledger.owner.notify_locked(d);
    return s;
}

CMWQ_INLINE bool item_pool::try_stats_of(const pool_workqueue& pwq, pwq_stats& to, std::int64_t deadline) noexcept {
    if (!try_lock_until(ledger.lock, deadline)) return false;
    deferred d;
    const scoped_lock g(ledger.lock, adopt_lock);
    to = stats_of_locked(pwq, d);
    ledger.owner.notify_locked(d);
    return true;
}

CMWQ_INLINE bool item_pool::try_summary(worker_counts& to, std::int64_t deadline) const noexcept {
    if (!try_lock_until(ledger.lock, deadline)) return false;
    const scoped_lock g(ledger.lock, adopt_lock);
    to = threads->counts_locked(ledger);
    return true;
}

CMWQ_INLINE pwq_stats item_pool::stats_of_locked(const pool_workqueue& pwq, deferred& d) noexcept {
    ledger.drain_locked(d); // the items of the inbox are counted on the lists
    pwq_stats s = ledger.stats_of_locked(pwq);
    if (locals != nullptr) {
        local_lists::for_each_locked(ledger,
                                     [&](const work_base& w) { s.pending += work_access::pwq(w) == &pwq ? 1 : 0; });
    }
    return s;
}

CMWQ_INLINE void item_pool::report(pool_report& to, std::int64_t deadline) {
    to.pending.reserve_for_arrived();
    for (std::size_t room = 8;; room = to.nr_runs) { // allocates without the lock
        to.runs.reserve(room);
        to.runs.clear();
        to.pending.clear();
        to.nr_runs = 0;
        if (!try_lock_until(ledger.lock, deadline)) {
            to.locked = true;
            return;
        }
        const scoped_lock g(ledger.lock, adopt_lock);
        if (threads != nullptr) to.workers = threads->counts_locked(ledger);
        if (locals != nullptr) to.nr_local = locals->nr_items();
        ledger.list_pending_locked(to.pending);
        ledger.for_each_record_locked([&](const run_record& w) {
            if (w.current_pwq == nullptr) return true;
            for_each_run_of(w, [&](const run_report& r) {
                if (to.nr_runs++ < room) to.runs.push_back(r);
            });
            return true;
        });
        if (to.nr_runs <= room) return;
    }
}

// Without a monitor, wakes a worker if items are pending: their producer may have been preempted between its push and
// its notification.
CMWQ_INLINE monitor_findings item_pool::look_after(std::int64_t passed) noexcept {
    if (monitor_ != nullptr) return monitor_->look_after(passed);
    if (!pending()) return {};
    return {.pending = true, .eventful = threads->wake()};
}

CMWQ_INLINE void item_pool::look_for_old() noexcept {
    if (!locals->any() || !ledger.lock_for_service()) return;
    deferred d;
    const scoped_lock g(ledger.lock, adopt_lock);
    ledger.drain_locked(d); // the oldest item may be one of the inbox
    locals->look_for_old_locked(ledger);
    ledger.owner.notify_locked(d);
}

CMWQ_INLINE bool item_pool::has_stalled(std::int64_t passed, std::int64_t limit) noexcept {
    if (!stall_.has_lasted(pending(), nr_begun(), passed, limit)) return false;
    // An item in the inbox may only have to wait behind another item of its ordered queue.
    if (ledger.lock_for_service()) {
        deferred d;
        const scoped_lock g(ledger.lock, adopt_lock);
        ledger.drain_locked(d);
        ledger.owner.notify_locked(d);
    }
    return pending();
}

CMWQ_INLINE bool item_pool::is_overtaken(std::int64_t passed, std::int64_t limit) noexcept {
    constexpr std::int64_t longest = 100'000'000;
    unseen_ += passed;
    if (unseen_ < (limit != 0 ? std::min(limit / 16, longest) : longest)) return false;
    if (!pending() && overtaking_.lasted() == 0) {
        unseen_ = 0;
        return false;
    }
    if (!ledger.lock_for_service()) return false;
    deferred d;
    const scoped_lock g(ledger.lock, adopt_lock);
    ledger.drain_locked(d); // the first item may be one of the inbox
    ledger.owner.notify_locked(d);
    const ages a = ledger.env.ticks.compare();
    ages::place oldest = ledger.first_listed_place_locked(a);
    if (locals != nullptr) oldest = locals->oldest_of(a, oldest);
    const wait_stamp started = ledger.take_last_start_locked();
    return overtaking_.has_lasted(a, oldest, started != 0 ? a.of(started) : ages::none, std::exchange(unseen_, 0),
                                  limit);
}

CMWQ_INLINE std::string item_pool::describe_stall(const std::string& cpus) {
    constexpr std::size_t max_runs = 24;
    run_report runs[max_runs];
    item_group first; // the oldest item that waits
    std::size_t n = 0, listed = 0, busy = 0, waiting = 0;
    const auto set_first = [&first](const work_base& w) {
        first.function = shown_function(w);
        first.queue.copy(work_access::pwq(w)->queue->name);
    };
    worker_counts now;
    {
        constexpr std::int64_t patience = 100'000'000;
        if (!try_lock_until(ledger.lock, steady_now() + patience))
            return "another thread holds the lock of the pool of " + cpus + ", and may get no CPU";
        deferred d;
        const scoped_lock g(ledger.lock, adopt_lock); // only copies: formatting takes time and is done without the lock
        ledger.drain_locked(d); // items of the inbox are pending, or wait behind others of their ordered queues
        ledger.owner.notify_locked(d);
        busy = ledger.nr_busy_locked();
        if (threads != nullptr) now = threads->counts_locked(ledger);
        waiting = ledger.nr_listed_locked();
        if (const work_base* w = ledger.first_listed_locked(); w != nullptr) set_first(*w);
        if (locals != nullptr) {
            waiting += locals->nr_items();
            const ages a = ledger.env.ticks.compare();
            locals->look_at_oldest(a, ledger.first_listed_place_locked(a), set_first);
        }
        if (waiting == 0) return {};
        ledger.for_each_record_locked([&](const run_record& w) {
            if (w.current_pwq == nullptr) return true;
            ++listed;
            for_each_run_of(w, [&](const run_report& r) {
                if (n < max_runs) runs[n++] = r;
            });
            return n < max_runs;
        });
    }
    std::string text = "the pool of " + cpus;
    text += ": " + std::to_string(waiting) + (waiting == 1 ? " item waits" : " items wait");
    if (first.function != nullptr)
        text += ", the first one is " + describe_callable(first.function) + " of " + describe_queue(first.queue.text);
    text += "; " + std::to_string(busy) + (busy == 1 ? " worker is busy, " : " workers are busy, ") +
            std::to_string(now.idle) + " idle";
    if (now.short_of_threads) text += "; another one could not be made";
    for (std::size_t i = 0; i < n; ++i) {
        const run_report& r = runs[i];
        text += "\n  ";
        text += r.kind_of_thread();
        if (!r.is_rescuer) text += " " + std::to_string(r.worker);
        if (r.tid != 0) text += ", thread " + std::to_string(r.tid) + ", " + describe_activity(r.tid);
        text += ": " + describe_callable(r.function) + " of " + describe_queue(r.queue.text);
        text += description_in_parentheses(r.description);
        if (r.nr_behind != 0) text += ", queued again, which waits for the end of this run";
    }
    if (busy > listed) text += "\n  and " + std::to_string(busy - listed) + " more";
    return text;
}

// --- blocking regions ------------------------------------------------------------------------------------------------

CMWQ_INLINE void worker::begin_blocking(block_kind kind) noexcept {
    if (is_bottom_half()) refuse_to_block(*current_pwq->queue);
    note_block(block_reason::announced);
    if (kind != will_block && pool.env().thresholds.may_block() != 0)
        may_block_since.store(steady_now(), release); // [ALONE]
    else if (pool.concurrency != nullptr) pool.concurrency->block_begins(*this);
}

CMWQ_INLINE void worker::upgrade_blocking() noexcept {
    may_block_since.store(0, release); // [ALONE]
    if (pool.concurrency != nullptr) pool.concurrency->block_begins(*this);
}

CMWQ_INLINE void worker::end_blocking() noexcept {
    may_block_since.store(0, release); // [ALONE]
    if (pool.concurrency != nullptr) pool.concurrency->block_ends(*this);
    note_unblock();
}

}}} // namespace cmwq::CMWQ_NS::detail
