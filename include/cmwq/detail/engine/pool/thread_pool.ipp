// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cmwq/detail/engine/pool/thread_pool.hpp>
#include <cmwq/detail/engine/report/diagnosis.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace cmwq::inline CMWQ_NS::detail {

template <class Workers>
template <class... Watching>
void thread_pool<Workers>::configure(pool_spec spec, const Watching&... watching) {
    roams_ = env_.cpus.binds_threads() && spec.pod != spec.cpus; // no thread uses them before the first item
    pod_size_ = static_cast<int>(spec.pod.size());
    Workers::configure(std::move(spec), watching...);
}

template <class Workers>
pool_stats thread_pool<Workers>::stats() const noexcept {
    const scoped_lock g(lock_);
    pool_stats s = Workers::stats();
    s.repatriated = nr_repatriated_;
    return s;
}

// --- the thread of a worker ------------------------------------------------------------------------------------------

template <class Workers>
void thread_pool<Workers>::serve(worker& self) {
    const thread_refusals refused = set_up_thread(self);
    const bool may_keep = spec_.managed && env_.threads.take_descriptors(thread_probe::nr_descriptors);
    const bool keeps = self.probe.open_own(may_keep);
    if (may_keep && !keeps) env_.threads.give_back_descriptors(thread_probe::nr_descriptors);
    this_thread_slots() = {.observer = &self, .current_worker = &self};

    deferred d;
    bool came_home = come_home(self);
    lock_.lock();
    this->refused_ = refused;
    while (!self.retiring) {
        if (this->stopping_ && self.idle) {
            this->retire_locked(self);
            break;
        }
        drain_locked(d);
        if (self.idle && need_more_worker(this->snapshot_locked())) {
            if (std::exchange(came_home, false)) ++nr_repatriated_;
            this->leave_idle_locked(self);
            work_locked(self, d);
            this->idle_begins_locked(self);
            this->enter_idle_locked(self, false);
            continue; // [IDLE-2]: the looks at the inbox and at nr_running come after next_idle_ was published
        }
        // Something waits behind workers that are counted as running, and nobody but this thread may know it.
        const bool behind = !worklist_.empty();
        lock_.unlock();
        d.perform();
        if (behind) this->detectors_needed();
        self.sleep.park();
        came_home = come_home(self);
        lock_.lock();
    }
    lock_.unlock();
    self.probe.close_own();
    if (keeps) env_.threads.give_back_descriptors(thread_probe::nr_descriptors);
    this_thread_slots() = {};
    env_.requests.thread_leaves(self); // objects that are thread_local may still run code of the program's
}

template <class Workers>
thread_refusals thread_pool<Workers>::set_up_thread(worker& self) noexcept {
    thread_attributes a{.own = env_.threads.own()};
    self.binding = env_.cpus.binding(); // before it binds itself: a change meanwhile is seen
    if (env_.cpus.binds_threads()) a.cpus = &spec_.cpus;
    a.sched = spec_.sched;
    a.nice = spec_.nice;
    // The threads of shared pools may have any nice value: the number of their pool says more.
    const char* const form = this->is_per_cpu() ? "cmwq/%u:%u%s" : "cmwq/u%u:%u%s";
    const char* const suffix = !this->is_per_cpu()                ? ""
                               : spec_.nice < 0                   ? "H"
                               : spec_.sched == sched_class::fifo ? "F"
                                                                  : "";
    std::snprintf(a.name, sizeof a.name, form, this->number(), self.id, suffix);
    const thread_refusals refused = apply_to_this_thread(a);
    env_.events.thread_refusals_of(refused, a);
    return refused;
}

template <class Workers>
void thread_pool<Workers>::work_locked(worker& self, deferred& d) {
    // One spare always: without it nobody could take over when this worker blocks. If none can be created now, running is
    // still better than not running; the staff thread goes on trying.
    while (!may_start_working(this->snapshot_locked())) {
        if (this->creating_) break;
        if (this->create_worker_locked()) continue;
        // Producers of items that wait behind this one have found it idle, and have notified nobody else.
        env_.requests.arm_monitor();
        break;
    }
    busy_.push_back(self);
    this->nr_busy_.store(static_cast<int>(busy_.size()), relaxed);
    this->work_begins_locked(self);
    do {
        work_base* w = this->take_locked(self);
        if (w == nullptr) break;
        run_locked(self, *w, d);
        if (worklist_.empty()) drain_locked(d); // not for each item: the inbox is its producers' cache line
    } while (!self.scheduled.empty() || keep_working(this->snapshot_locked()));
    busy_.remove(self);
    this->nr_busy_.store(static_cast<int>(busy_.size()), relaxed);
    this->work_ends_locked(self);
}

/// A work function returns, or the program ends: pthread_exit() would take a worker along that others wait for.
struct one_way_out {
    bool reached = false;
    one_way_out() noexcept = default;
    one_way_out(const one_way_out&) = delete;
    one_way_out& operator=(const one_way_out&) = delete;
    ~one_way_out() {
        if (reached) return;
        std::fprintf(stderr, "cmwq: %s ends the thread that runs it\n", describe_own_run().c_str());
        std::abort();
    }
};

// Runs one item, without the lock. The item is not touched once its function has been entered: it may be gone, or be in
// use by somebody else.
template <class Workers>
void thread_pool<Workers>::run_locked(worker& self, work_base& w, deferred& d) {
    // The invariant of the pool: a worker is there to take over when this item blocks, or is being created, or cannot be.
    CMWQ_ASSERT(!idle_.empty() || this->is_creating_or_short_locked() || self.is_rescue_record);
    const auto started = this->begin_run_locked(self, w);
    this->run_begins_locked(self);
    // [IDLE-2] The producer of an item that has come in since the last drain may have woken this very worker, just before
    // that published the next one to wake. A slot that was granted to this pool likewise. So nobody else knows of them.
    // Where enough run already, this worker takes it next, or the detectors see to it.
    if (worklist_.empty() && this->wants_more_running()) drain_locked(d);
    const bool more = this->anything_listed_locked();
    if (more && need_more_worker(this->snapshot_locked()) && !idle_.empty()) d.wake(idle_.front()->sleep);
    lock_.unlock();
    d.perform();
    if (more) this->detectors_needed();
    rebind_if_moved(self);
    if (!item_pool::call_with_handler(self, started)) {
        // From here down to the start of the thread nobody has a handler, and nothing is noexcept, which would be one:
        // `throw` itself ends the program, with all that was on the stack still there.
        one_way_out end;
        started.function(started.item);
        end.reached = true;
    }
    this->lock_after_run(self);
    this->end_run_locked(self, d);
    this->run_ended_locked(self);
}

// --- where the thread is ---------------------------------------------------------------------------------------------

// Where the scheduler has woken a thread that may run outside of its pod is a matter of chance. It comes back before its
// first item as long as the pod has a CPU for it, by the number of those who are at work: its mask is narrowed to the pod,
// which moves it, and widened, so that the scheduler may take it elsewhere later. No lock is held, and what waits may be
// taken by another worker meanwhile. True: it has come back.
template <class Workers>
bool thread_pool<Workers>::come_home(worker& self) noexcept {
    if (!roams_ || spec_.pod.contains(current_cpu()) || !this->pending()) return false;
    if (this->nr_at_work() >= pod_size_) return false;  // relaxed: a hint
    if (bind_this_thread(spec_.pod) != 0) return false; // its CPUs have just gone
    if (bind_this_thread(spec_.cpus) != 0) {
        self.binding = env_.cpus.binding() + 1; // another one than it is: rebind_if_moved() tries again
        self.rebind_at = 0;
    }
    return true;
}

// Threads do not stay where they were bound. The kernel moves those of a CPU that goes away, and does not move them back;
// before Linux 6.2 it also forgets what they were bound to when a cpuset changes. And it is the workers that find out
// about such changes in a runtime that nobody monitors. While CPUs are missing that costs each a look at the clock.
template <class Workers>
void thread_pool<Workers>::rebind_if_moved(worker& self) noexcept {
    if (!env_.cpus.binds_threads()) return;
    const unsigned binding = env_.cpus.binding();
    const bool outside = !spec_.cpus.contains(current_cpu()), some_missing = (binding & 1) != 0;
    if (!outside && !some_missing && self.binding == binding) return;
    const std::int64_t now = steady_now();
    if (self.binding == binding && now < self.rebind_at) return;
    self.binding = binding;
    self.rebind_at = now + (some_missing ? 100'000'000 : 10'000'000);
    const bool there = bind_this_thread(spec_.cpus) == 0;
    if (some_missing || there != this->is_associated() || (outside && !this->is_per_cpu()))
        env_.requests.request_cpu_check();
}

} // namespace cmwq::inline CMWQ_NS::detail
