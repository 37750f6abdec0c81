// SPDX-License-Identifier: BSL-1.0
//
// Bodies of worker_places.

#include <cmwq/detail/base/cpu_relax.hpp>
#include <cmwq/detail/engine/threads/worker_places.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE void worker_places::configure_locked(const pool_spec& spec) noexcept {
    roams_ = ledger_.env.cpus.binds_threads() && spec.pod != spec.cpus;
    pod_size_ = static_cast<int>(spec.pod.size());
}

// Sleeps until the next wake-up. The worker of a CPU does not poll: the producer needs that CPU.
CMWQ_INLINE void worker_places::sleep(worker& self) noexcept {
    constexpr int most_looks = 4096; // also ends the loop if the clock stands still
    const std::int64_t limit = ledger_.env.options.idle_poll.count();
    if (limit == 0 || of_one_cpu_) {
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

CMWQ_INLINE thread_refusals worker_places::set_up_thread(worker& self) noexcept {
    thread_attributes a{.own = ledger_.env.threads.own()};
    self.binding = ledger_.env.cpus.binding(); // before the thread binds itself: so a change meanwhile is noticed
    if (ledger_.env.cpus.binds_threads()) a.cpus = &spec_.cpus;
    a.sched = spec_.sched;
    a.nice = spec_.nice;
    // The threads of shared pools may have any nice value, so their names contain the number that dump() shows instead.
    const unsigned shown = of_one_cpu_ ? spec_.pod.next(0) : ledger_.shown_number();
    const char* const form = of_one_cpu_ ? "cmwq/%u:%u%s" : "cmwq/u%u:%u%s";
    const char* const suffix = !of_one_cpu_ ? "" : spec_.nice < 0 ? "H" : spec_.sched == sched_class::fifo ? "F" : "";
    std::snprintf(a.name, sizeof a.name, form, shown, self.id, suffix);
    const thread_refusals refused = apply_to_this_thread(a);
    ledger_.env.events.thread_refusals_of(refused, a);
    if (refused.cpus != 0) self.binding = ledger_.env.cpus.binding() + 1; // not current: rebind_if_moved() tries again
    return refused;
}

// A thread that has queued one item often waits for it. If there are more, it probably goes on and needs its CPU.
CMWQ_INLINE bool worker_places::one_item_is_pending() noexcept {
    deferred d;
    ledger_.lock.lock();
    ledger_.drain_locked(d);
    const bool one = threads_.snapshot_locked(ledger_).pending == 1;
    ledger_.lock.unlock();
    d.perform();
    return one;
}

// Moves the worker back to its pod. A thread that may run outside its pod wakes up where the scheduler puts it. It
// moves back before its first item if the pod has a CPU for it, judged by the number of workers at work. In a pod of
// one CPU the thread that queues may need that CPU; beside it the worker would have to wait, while the CPU on which it
// has woken up stays idle: docs/dev/experiments.md, affinity scopes. For the move its mask is narrowed to the pod,
// which moves the thread, and widened again, so that the scheduler may move it elsewhere later. No lock is held, so
// another worker may take the pending items meanwhile. True: it has moved back.
CMWQ_INLINE bool worker_places::return_to_pod(worker& self) noexcept {
    if (!roams_ || spec_.pod.contains(current_cpu()) || !pending_in(ledger_, locals_)) return false;
    const int at_work = load_ != nullptr ? load_->nr_at_work() : ledger_.nr_busy();
    if (at_work >= pod_size_) return false; // only a hint, so the loads are relaxed
    if (pod_size_ == 1 && !one_item_is_pending()) return false;
    if (bind_this_thread(spec_.pod) != 0) return false; // the CPUs of the pod have just gone
    if (bind_this_thread(spec_.cpus) != 0) {
        self.binding = ledger_.env.cpus.binding() + 1; // not current: rebind_if_moved() tries again
        self.rebind_at = 0;
    }
    return true;
}

// Binds the thread again. The kernel moves the threads of a CPU that goes away, and does not move them back; before
// Linux 6.2 it also forgets their masks when a cpuset changes. While the monitor sleeps, only the workers can notice
// such changes. While CPUs are missing, each check reads the clock.
CMWQ_INLINE void worker_places::rebind(worker& self) noexcept {
    const unsigned binding = ledger_.env.cpus.binding();
    const bool outside = !spec_.cpus.contains(current_cpu()), some_missing = (binding & 1) != 0;
    const std::int64_t now = steady_now();
    if (self.binding == binding && now < self.rebind_at) return;
    self.binding = binding;
    self.rebind_at = now + (some_missing ? 100'000'000 : 10'000'000);
    const bool there = bind_this_thread(spec_.cpus) == 0;
    // Not current: it tries again before each item. The CPU may be back before anybody has noticed that it was missing.
    if (!there && !some_missing) self.binding = binding + 1;
    const bool associated = load_ == nullptr || load_->is_associated();
    if (some_missing || there != associated || (outside && !of_one_cpu_)) ledger_.env.requests.request_cpu_check();
}

}}} // namespace cmwq::CMWQ_NS::detail
