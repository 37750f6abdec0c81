// SPDX-License-Identifier: BSL-1.0
//
// Bodies of thread_pool: the loop of a worker, and the CPUs on which it runs.
#pragma once

#include <cmwq/detail/base/cpu_relax.hpp>
#include <cmwq/detail/engine/env/closure_memory.hpp>
#include <cmwq/detail/engine/item/group_tasks.hpp>
#include <cmwq/detail/engine/ledger/own_run.hpp>
#include <cmwq/detail/engine/threads/thread_pool.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <cstdio>
#include <new>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

template <class Workers>
template <class... Watching>
void thread_pool<Workers>::configure(pool_spec spec, const Watching&... watching) {
    roams_ =
        ledger.env.cpus.binds_threads() && spec.pod != spec.cpus; // no thread reads these members before the first item
    pod_size_ = static_cast<int>(spec.pod.size());
    Workers::configure(std::move(spec), watching...);
}

template <class Workers>
pool_stats thread_pool<Workers>::stats_locked() const noexcept {
    pool_stats s = Workers::stats_locked();
    s.repatriated = nr_repatriated_;
    return s;
}

// --- the thread of a worker ------------------------------------------------------------------------------------------

template <class Workers>
void thread_pool<Workers>::serve(worker& self) {
    const thread_refusals refused = set_up_thread(self);
    self.stack_end = 0; // the record may have served another thread
    const bool may_keep = spec_.managed && ledger.env.threads.take_descriptors(thread_probe::nr_descriptors);
    const bool keeps = self.probe.open_own(may_keep);
    if (may_keep && !keeps) ledger.env.threads.give_back_descriptors(thread_probe::nr_descriptors);
    this_thread_slots() = {.observer = &self, .current_run = &self};

    deferred d;
    bool came_home = return_to_pod(self);
    ledger.lock.lock();
    this->refused_ = refused;
    while (!self.retiring) {
        if (this->stopping_ && self.idle) {
            this->retire_locked(self);
            break;
        }
        ledger.drain_locked(d);
        if (self.idle && need_more_worker(this->snapshot_locked())) {
            if (std::exchange(came_home, false)) ++nr_repatriated_;
            this->leave_idle_locked(self);
            work_locked(self, d);
            this->idle_begins_locked(self);
            this->enter_idle_locked(self, false);
            continue; // [IDLE-2]: the inbox and nr_running_ are read after next_idle_ was published
        }
        // Items are pending behind workers that are counted as running, and perhaps only this thread knows it. But if no
        // item runs, and a worker is being made, its maker takes an item next; the monitor looks whether that takes long.
        const bool behind = this->anything_waits_locked(),
                   making = this->creating_ && this->ledger.nr_busy_locked() == 0;
        ledger.lock.unlock();
        d.perform();
        if (behind && making) ledger.env.requests.arm_monitor();
        else if (behind) this->detectors_needed();
        self.closures.give_all(ledger.env.cpus.index_of(any_cpu), ledger.env.closures);
        sleep(self);
        came_home = return_to_pod(self);
        ledger.lock.lock();
    }
    ledger.lock.unlock();
    self.probe.close_own();
    if (keeps) ledger.env.threads.give_back_descriptors(thread_probe::nr_descriptors);
    this_thread_slots() = {};
    ledger.env.finder->thread_leaves(self); // destructors of thread_local objects may still run code of the program
}

// Sleeps until the next wake-up. The worker of a CPU does not poll: the producer needs that CPU.
template <class Workers>
void thread_pool<Workers>::sleep(worker& self) noexcept {
    constexpr int most_looks = 4096; // also ends the loop if the clock stands still
    const std::int64_t limit = ledger.env.options.idle_poll.count();
    if (limit == 0 || this->is_per_cpu()) {
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

template <class Workers>
thread_refusals thread_pool<Workers>::set_up_thread(worker& self) noexcept {
    thread_attributes a{.own = ledger.env.threads.own()};
    self.binding = ledger.env.cpus.binding(); // before the thread binds itself: so a change meanwhile is noticed
    if (ledger.env.cpus.binds_threads()) a.cpus = &spec_.cpus;
    a.sched = spec_.sched;
    a.nice = spec_.nice;
    // The threads of shared pools may have any nice value, so their names contain the number that dump() shows instead.
    const unsigned number =
        this->is_per_cpu() ? this->number() : static_cast<unsigned>(this->id() - ledger.env.finder->id());
    const char* const form = this->is_per_cpu() ? "cmwq/%u:%u%s" : "cmwq/u%u:%u%s";
    const char* const suffix = !this->is_per_cpu()                ? ""
                               : spec_.nice < 0                   ? "H"
                               : spec_.sched == sched_class::fifo ? "F"
                                                                  : "";
    std::snprintf(a.name, sizeof a.name, form, number, self.id, suffix);
    const thread_refusals refused = apply_to_this_thread(a);
    ledger.env.events.thread_refusals_of(refused, a);
    if (refused.cpus != 0) self.binding = ledger.env.cpus.binding() + 1; // not current: rebind_if_moved() tries again
    return refused;
}

template <class Workers>
void thread_pool<Workers>::work_locked(worker& self, deferred& d) {
    // There is always one spare: otherwise no worker could take over when this one blocks. If none can be created now,
    // this worker runs the items nevertheless; the manager thread keeps trying.
    while (!may_start_working(this->snapshot_locked())) {
        if (this->creating_) break;
        if (this->create_worker_locked()) continue;
        // Producers of the items that wait behind this worker may have found it idle, and then have notified no other
        // thread.
        ledger.env.requests.arm_monitor();
        break;
    }
    ledger.become_busy_locked(self);
    this->work_begins_locked(self);
    do {
        work_base* w = this->take_locked(self);
        if (w == nullptr) break;
        run_locked(self, *w, d);
        if (!ledger.has_listed_locked())
            ledger.drain_locked(d); // not for each item: its cache line belongs to the producers
    } while (!self.scheduled.empty() || keep_working(this->snapshot_locked()));
    ledger.leave_busy_locked(self);
    this->work_ends_locked(self);
}

/// A work function must return or end the program. If it ends the thread by pthread_exit(), the destructor ends the
/// program: the pool cannot lose a worker for which other threads wait.
struct thread_exit_guard {
    bool reached = false;
    thread_exit_guard() noexcept = default;
    thread_exit_guard(const thread_exit_guard&) = delete;
    thread_exit_guard& operator=(const thread_exit_guard&) = delete;
    ~thread_exit_guard() {
        if (!reached) refuse_thread_exit();
    }
};

// Calls the function of an item. Not noexcept: from this frame down to the start of the thread there is no exception
// handler and no noexcept function. So without a handler of the queue, an exception ends the program at `throw`, before
// the stack is unwound.
template <class Workers>
void thread_pool<Workers>::call(worker& self, const pool_ledger::started_item& started) {
    if (pool_ledger::call_with_handler(self, started)) return;
    thread_exit_guard end;
    started.function(started.item);
    end.reached = true;
}

// Runs one item, without the lock, and then the local items that may follow in the same run. Once the function of an
// item has been entered the item is not accessed any more: it may be destroyed, or in use by another thread.
template <class Workers>
void thread_pool<Workers>::run_locked(worker& self, work_base& w, deferred& d) {
    // The invariant of the pool: a worker is idle and can take over when this item blocks, or one is being created, or
    // none can be created.
    CMWQ_ASSERT(!idle_.empty() || this->is_creating_or_short_locked() || self.is_rescuer() || self.is_guest());
    const auto started = ledger.begin_run_locked(self, w);
    this->run_begins_locked(self);
    // [IDLE-2] The producer of an item that has come in since the last drain may have woken this very worker, just
    // before this worker published the next one to wake. The same holds for the thread that granted a slot to this
    // pool. Then no other thread knows of these items. If enough workers run already, this worker takes the item next,
    // or the detectors find it.
    if (!ledger.has_listed_locked() && this->wants_more_running()) ledger.drain_locked(d);
    const bool more = this->anything_waits_locked();
    if (more && need_more_worker(this->snapshot_locked()) && !idle_.empty()) d.wake(idle_.front()->sleep);
    ledger.lock.unlock();
    d.perform();
    if (more) this->detectors_needed();
    rebind_if_moved(self);
    call(self, started);
    while (work_base* const next = this->take_follow_up(self)) {
        if (self.credit.n != 0) give_back_credit_before(self, *next);
        call(self, ledger.begin_follow_up(self, *next));
        self.nr_more_ended.store(self.nr_more_ended.load(relaxed) + 1, relaxed);
    }
    if (self.credit.n != 0) give_back_credit(self);
    this->lock_after_run(self);
    ledger.end_run_locked(self, d);
    this->run_ended_locked(self);
}

// --- guests ----------------------------------------------------------------------------------------------------------

// A free record, or a new one, which is made without the lock. Null: as many threads are guests as may be, or no memory.
template <class Workers>
worker* thread_pool<Workers>::guest_record_locked() noexcept {
    if (worker* const free = free_guest_records_.pop_front(); free != nullptr) return free;
    if (nr_guest_records_ == worker_set::most_guests) return nullptr;
    const unsigned number = nr_guest_records_++;
    ledger.lock.unlock();
    auto* const fresh = new (std::nothrow) worker(*this, number, worker::record_of::guest);
    ledger.lock.lock();
    if (fresh != nullptr) ledger.add_record_locked(*fresh);
    else --nr_guest_records_;
    return fresh;
}

// A guest is not counted as running: no other item waits for it. Workers take its local items. It goes on as long as the
// next item is a task of the group, and takes no other: these would delay the end of its wait.
template <class Workers>
rescuable_pool::guest_result thread_pool<Workers>::run_as_guest(group_task& task, std::uintptr_t stack_end) {
    const group_core& group = task.group;
    deferred d;
    ledger.lock.lock();
    worker* const self = guest_record_locked();
    ledger.drain_locked(d);
    const std::uint64_t at = work_access::location_of(task);
    // Relaxed: the mark does not change while the task is listed, or the queue has the attributes of both states.
    const auto may_run = [](const work_base& w) { return work_access::pwq(w)->takes_guests.load(relaxed); };
    if (self == nullptr || (at & location::list_mask) != location::on_worklist || !may_run(task)) {
        if (self != nullptr) free_guest_records_.push_front(*self);
        this->notify_locked(d);
        ledger.lock.unlock();
        return (at & location::list_and_local) == 0 ? guest_result::gone : guest_result::kept_back;
    }
    const no_cancellation whole; // the thread may be cancelled, but not in the middle of a task
    thread_slots& slots = this_thread_slots();
    blocking_observer* const observer = std::exchange(slots.observer, self);
    run_record* const current = std::exchange(slots.current_run, self);
    self->probe.open_own(false);
    self->stack_end = stack_end;
    ledger.become_busy_locked(*self);
    this->work_begins_locked(*self);
    self->examines_task = true;
    static_cast<void>(ledger.unlist_to_run_locked(task)); // no other thread runs a task
    run_locked(*self, task, d);
    for (;;) {
        if (!ledger.has_listed_locked()) ledger.drain_locked(d);
        work_base* const next = ledger.first_listed_locked();
        if (next == nullptr || !is_task_of(group, *next) || !may_run(*next)) break;
        static_cast<void>(ledger.unlist_to_run_locked(*next));
        run_locked(*self, *next, d);
    }
    ledger.leave_busy_locked(*self);
    this->work_ends_locked(*self);
    ledger.publish_pending_locked();
    this->notify_locked(d);
    ledger.lock.unlock();
    d.perform();
    self->closures.give_all(ledger.env.cpus.index_of(any_cpu), ledger.env.closures);
    self->probe.close_own();
    slots.observer = observer;
    slots.current_run = current;
    const scoped_lock g(ledger.lock);
    free_guest_records_.push_front(*self);
    return guest_result::has_run;
}

// --- where the thread is ---------------------------------------------------------------------------------------------

// A thread that has queued one item often waits for it. If there are more, it probably goes on and needs its CPU.
template <class Workers>
bool thread_pool<Workers>::one_item_is_pending() noexcept {
    deferred d;
    ledger.lock.lock();
    ledger.drain_locked(d);
    const bool one = this->snapshot_locked().pending == 1;
    ledger.lock.unlock();
    d.perform();
    return one;
}

// Moves the worker back to its pod. A thread that may run outside its pod wakes up where the scheduler puts it. It moves
// back before its first item if the pod has a CPU for it, judged by the number of workers at work. In a pod of one CPU the
// thread that queues may need that CPU; beside it the worker would have to wait, while the CPU on which it has woken up
// stays idle: docs/experiments.md, affinity scopes. For the move its mask is narrowed to the pod, which moves the thread,
// and widened again, so that the scheduler may move it elsewhere later. No lock is held, so another worker may take the
// pending items meanwhile. True: it has moved back.
template <class Workers>
bool thread_pool<Workers>::return_to_pod(worker& self) noexcept {
    if (!roams_ || spec_.pod.contains(current_cpu()) || !this->pending()) return false;
    if (this->nr_at_work() >= pod_size_) return false; // only a hint, so the load is relaxed
    if (pod_size_ == 1 && !one_item_is_pending()) return false;
    if (bind_this_thread(spec_.pod) != 0) return false; // the CPUs of the pod have just gone
    if (bind_this_thread(spec_.cpus) != 0) {
        self.binding = ledger.env.cpus.binding() + 1; // not current: rebind_if_moved() tries again
        self.rebind_at = 0;
    }
    return true;
}

// Binds the thread again if it is not where it was bound. The kernel moves the threads of a CPU that goes away, and
// does not move them back; before Linux 6.2 it also forgets their masks when a cpuset changes. While the monitor
// sleeps, only the workers can notice such changes. While CPUs are missing, each check reads the clock.
template <class Workers>
void thread_pool<Workers>::rebind_if_moved(worker& self) noexcept {
    if (!ledger.env.cpus.binds_threads() || self.is_guest()) return;
    const unsigned binding = ledger.env.cpus.binding();
    const bool outside = !spec_.cpus.contains(current_cpu()), some_missing = (binding & 1) != 0;
    if (!outside && !some_missing && self.binding == binding) return;
    const std::int64_t now = steady_now();
    if (self.binding == binding && now < self.rebind_at) return;
    self.binding = binding;
    self.rebind_at = now + (some_missing ? 100'000'000 : 10'000'000);
    const bool there = bind_this_thread(spec_.cpus) == 0;
    // Not current: it tries again before each item. The CPU may be back before anybody has noticed that it was missing.
    if (!there && !some_missing) self.binding = binding + 1;
    if (some_missing || there != this->is_associated() || (outside && !this->is_per_cpu()))
        ledger.env.requests.request_cpu_check();
}

}}} // namespace cmwq::CMWQ_NS::detail
