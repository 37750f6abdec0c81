// SPDX-License-Identifier: BSL-1.0
//
// Bodies of worker_pool, and where its threads run.

#include <cmwq/detail/base/cpu_relax.hpp>
#include <cmwq/detail/engine/threads/worker_pool.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE void worker_pool::configure(pool_spec spec, const cpuset& watching) {
    load::watching_cpus cpus;
    if (concurrency != nullptr) cpus = concurrency->watching(spec, watching);
    const scoped_lock g(ledger.lock);
    roams_ = env().cpus.binds_threads() && spec.pod != spec.cpus;
    pod_size_ = static_cast<int>(spec.pod.size());
    workers.configure_locked(ledger, spec); // `spec` now has the former attributes, which are freed without the lock
    if (concurrency != nullptr) concurrency->configure_locked(workers.spec(), cpus);
}

CMWQ_INLINE void worker_pool::associate(bool with_its_cpu) noexcept {
    deferred d;
    const scoped_lock g(ledger.lock);
    concurrency->associate(with_its_cpu); // [CPU-1]
    if (!pending()) return;
    ledger.drain_locked(d);
    notify_locked(d); // items that waited behind a running worker need not wait any more
}

CMWQ_INLINE pool_stats worker_pool::stats() const noexcept {
    const scoped_lock g(ledger.lock);
    const std::uint64_t completed = nr_completed(); // first: the workers go on meanwhile
    pool_stats s{.started = std::max(nr_started(), completed), .completed = completed};
    s.rescued = rescue.nr_rescued();
    s.repatriated = nr_repatriated_;
    if (concurrency == nullptr) return s;
    const load::counts c = concurrency->numbers();
    s.by_guard = c.by_guard;
    s.by_sentinel = c.by_sentinel;
    s.by_monitor = c.by_monitor;
    s.spare_wakeups = c.spare_wakeups;
    s.overdue = monitor_->nr_overdue_locked();
    return s;
}

// Without a monitor, wakes a worker if items are pending: their producer may have been preempted between its push and its
// notification.
CMWQ_INLINE monitor_findings worker_pool::look_after(std::int64_t passed) noexcept {
    if (monitor_ != nullptr) return monitor_->look_after(passed);
    if (!pending()) return {};
    return {.pending = true, .eventful = spares.wake()};
}

// --- the thread of a worker ------------------------------------------------------------------------------------------

// Sleeps until the next wake-up. The worker of a CPU does not poll: the producer needs that CPU.
CMWQ_INLINE void worker_pool::sleep(worker& self) noexcept {
    constexpr int most_looks = 4096; // also ends the loop if the clock stands still
    const std::int64_t limit = ledger.env.options.idle_poll.count();
    if (limit == 0 || is_per_cpu()) {
        self.sleep.park();
        return;
    }
    const std::int64_t began = steady_now();
    if (self.poll.is_worthwhile()) {
        for (int i = 0; i < most_looks && !self.sleep.has_permit() && steady_now() - began < limit; ++i) cpu_relax();
    }
    self.sleep.park();
    self.poll.note(steady_now() - began, limit);
}

CMWQ_INLINE thread_refusals worker_pool::set_up_thread(worker& self) noexcept {
    thread_attributes a{.own = ledger.env.threads.own()};
    self.binding = ledger.env.cpus.binding(); // before the thread binds itself: so a change meanwhile is noticed
    if (ledger.env.cpus.binds_threads()) a.cpus = &spec().cpus;
    a.sched = spec().sched;
    a.nice = spec().nice;
    // The threads of shared pools may have any nice value, so their names contain the number that dump() shows instead.
    const unsigned shown = is_per_cpu() ? number() : static_cast<unsigned>(id() - ledger.env.finder->id());
    const char* const form = is_per_cpu() ? "cmwq/%u:%u%s" : "cmwq/u%u:%u%s";
    const char* const suffix = !is_per_cpu()                       ? ""
                               : spec().nice < 0                   ? "H"
                               : spec().sched == sched_class::fifo ? "F"
                                                                   : "";
    std::snprintf(a.name, sizeof a.name, form, shown, self.id, suffix);
    const thread_refusals refused = apply_to_this_thread(a);
    ledger.env.events.thread_refusals_of(refused, a);
    if (refused.cpus != 0) self.binding = ledger.env.cpus.binding() + 1; // not current: rebind_if_moved() tries again
    return refused;
}

// A thread that has queued one item often waits for it. If there are more, it probably goes on and needs its CPU.
CMWQ_INLINE bool worker_pool::one_item_is_pending() noexcept {
    deferred d;
    ledger.lock.lock();
    ledger.drain_locked(d);
    const bool one = workers.snapshot_locked(ledger).pending == 1;
    ledger.lock.unlock();
    d.perform();
    return one;
}

// Moves the worker back to its pod. A thread that may run outside its pod wakes up where the scheduler puts it. It
// moves back before its first item if the pod has a CPU for it, judged by the number of workers at work. In a pod of
// one CPU the thread that queues may need that CPU; beside it the worker would have to wait, while the CPU on which it
// has woken up stays idle: docs/dev/experiments.md, affinity scopes. For the move its mask is narrowed to the pod,
// which moves the thread, and widened again, so that the scheduler may move it elsewhere later. No lock is held, so
// another worker may take the pending items meanwhile. True: it has moved back.
CMWQ_INLINE bool worker_pool::return_to_pod(worker& self) noexcept {
    if (!roams_ || spec().pod.contains(current_cpu()) || !pending()) return false;
    const int at_work = concurrency != nullptr ? concurrency->nr_at_work() : ledger.nr_busy();
    if (at_work >= pod_size_) return false; // only a hint, so the loads are relaxed
    if (pod_size_ == 1 && !one_item_is_pending()) return false;
    if (bind_this_thread(spec().pod) != 0) return false; // the CPUs of the pod have just gone
    if (bind_this_thread(spec().cpus) != 0) {
        self.binding = ledger.env.cpus.binding() + 1; // not current: rebind_if_moved() tries again
        self.rebind_at = 0;
    }
    return true;
}

// Binds the thread again. The kernel moves the threads of a CPU that goes away, and does not move them back; before Linux 6.2 it also forgets their
// masks when a cpuset changes. While the monitor sleeps, only the workers can notice such changes. While CPUs are missing,
// each check reads the clock.
CMWQ_INLINE void worker_pool::rebind(worker& self) noexcept {
    const unsigned binding = ledger.env.cpus.binding();
    const bool outside = !spec().cpus.contains(current_cpu()), some_missing = (binding & 1) != 0;
    const std::int64_t now = steady_now();
    if (self.binding == binding && now < self.rebind_at) return;
    self.binding = binding;
    self.rebind_at = now + (some_missing ? 100'000'000 : 10'000'000);
    const bool there = bind_this_thread(spec().cpus) == 0;
    // Not current: it tries again before each item. The CPU may be back before anybody has noticed that it was missing.
    if (!there && !some_missing) self.binding = binding + 1;
    const bool associated = concurrency == nullptr || concurrency->is_associated();
    if (some_missing || there != associated || (outside && !is_per_cpu())) ledger.env.requests.request_cpu_check();
}

}}} // namespace cmwq::CMWQ_NS::detail
