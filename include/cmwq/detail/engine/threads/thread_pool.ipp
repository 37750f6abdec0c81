// SPDX-License-Identifier: BSL-1.0
//
// Bodies of thread_pool: the loop of a worker.

#include <cmwq/detail/base/probe.hpp>
#include <cmwq/detail/engine/env/closure_memory.hpp>
#include <cmwq/detail/engine/item/task_of_group.hpp>
#include <cmwq/detail/engine/ledger/own_run.hpp>
#include <cmwq/detail/engine/ledger/run_timer.hpp>
#include <cmwq/detail/engine/threads/thread_pool.hpp>
#include <cmwq/detail/engine/threads/worker_events.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <new>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

template <class Load, class Local>
thread_pool<Load, Local>::thread_pool(const pool_env& env, std::uint64_t id, unsigned number, pool_serves what)
    : item_pool(*this, env, id, number, what,
                {.concurrency = part_of(load_),
                 .monitor = part_of(monitor_),
                 .locals = part_of(local_),
                 .threads = &workers_,
                 .places = &places_,
                 .rescue = &rescue_}),
      rescue_(*this, *this, ledger, spares_, workers_, part_of(load_)), spares_(env),
      workers_(*this, *this, ledger, spares_, working_, part_of(load_)),
      places_(what, ledger, workers_, part_of(load_), part_of(local_)), local_(working_, spares_),
      load_(ledger, spares_, working_, part_of(local_)), monitor_(ledger, load_, working_, workers_.spec()) {
    if constexpr (Load::replaces_blocked) {
        if (what == pool_serves::attributes && !working_.reserve(worker_threads::most_guests)) throw std::bad_alloc();
    }
}

// --- the thread of a worker ------------------------------------------------------------------------------------------

template <class Load, class Local>
void thread_pool<Load, Local>::serve(worker& self) {
    const thread_refusals refused = places_.set_up_thread(self);
    self.stack_end = 0; // the record may have served another thread
    const bool may_keep = spec().managed && ledger.env.threads.take_descriptors(thread_probe::nr_descriptors);
    const bool keeps = self.probe.open_own(may_keep ? state_files::kept : state_files::reopened);
    if (may_keep && !keeps) ledger.env.threads.give_back_descriptors(thread_probe::nr_descriptors);
    this_thread_slots() = {.observer = &self, .current_run = &self};

    deferred d;
    bool came_home = places_.return_to_pod(self);
    ledger.lock.lock();
    workers_.set_refused_locked(refused);
    while (!self.retiring) {
        if (workers_.is_stopping_locked() && self.idle) {
            workers_.retire_locked(self);
            break;
        }
        ledger.drain_locked(d);
        if (self.idle && need_more_worker(snapshot_locked())) {
            if (std::exchange(came_home, false)) places_.note_repatriated_locked(ledger);
            workers_.leave_idle_locked(self);
            self.woken = true;
            work_locked(self, d);
            load_.begin_idle_locked(self);
            workers_.enter_idle_locked(self);
            continue; // [IDLE-2]: the inbox and nr_running_ are read after next_idle_ was published
        }
        // Items are pending behind workers that are counted as running, and perhaps only this thread knows it. But if
        // no item runs, and a worker is being made, its maker takes an item next; the monitor looks whether that takes
        // long.
        const bool behind = anything_waits_locked(),
                   making = workers_.is_creating_locked() && ledger.nr_busy_locked() == 0;
        ledger.lock.unlock();
        d.perform();
        if (behind && making) ledger.env.requests.arm_monitor();
        else if (behind) load_.detectors_needed();
        self.closures.give_all(ledger.env.cpus.index_of(any_cpu), ledger.env.closures);
        places_.sleep(self);
        came_home = places_.return_to_pod(self);
        ledger.lock.lock();
    }
    ledger.lock.unlock();
    self.probe.close_own();
    if (keeps) ledger.env.threads.give_back_descriptors(thread_probe::nr_descriptors);
    CMWQ_PROBE(worker_end, ledger.shown_number(), self.id);
    tell_of_worker(ledger, self, &observer::worker_ended);
    this_thread_slots() = {};
    ledger.env.finder->thread_leaves(self); // destructors of thread_local objects may still run code of the program
}

template <class Load, class Local>
void thread_pool<Load, Local>::work_locked(worker& self, deferred& d) {
    // There is always one spare: otherwise no worker could take over when this one blocks. If none can be created now,
    // this worker runs the items nevertheless; the manager thread keeps trying.
    while (!may_start_working(snapshot_locked())) {
        if (workers_.is_creating_locked()) break;
        if (workers_.create_locked(ledger, reason_to_grow(snapshot_locked(), ledger.nr_busy_locked()))) continue;
        // Producers of the items that wait behind this worker may have found it idle, and then have notified no other
        // thread.
        ledger.env.requests.arm_monitor();
        break;
    }
    begin_work_locked(self);
    do {
        work_base* w = local_.take_locked(ledger, self);
        if (w == nullptr) break;
        run_locked(self, *w, d);
        if (!ledger.has_listed_locked())
            ledger.drain_locked(d); // not for each item: its cache line belongs to the producers
    } while (!self.scheduled.empty() || keep_working(snapshot_locked()));
    end_work_locked(self);
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
template <class Load, class Local>
inline void thread_pool<Load, Local>::call(worker& self, const pool_ledger::started_item& started) {
    call_measured(self, {&started.item, started.function}, [started](run_record& k) {
        if (started.has_handler()) return pool_ledger::call_with_handler(k, started);
        thread_exit_guard end;
        started.function(started.item);
        end.reached = true;
    });
}

// Runs one item, without the lock, and then the local items that may follow in the same run. Once the function of an
// item has been entered the item is not accessed any more: it may be destroyed, or in use by another thread.
template <class Load, class Local>
void thread_pool<Load, Local>::run_locked(worker& self, work_base& w, deferred& d) {
    // The invariant of the pool: a worker is idle and can take over when this item blocks, or one is being created, or
    // none can be created.
    CMWQ_ASSERT(!spares_.empty_locked() || workers_.is_creating_locked() || workers_.is_short() || self.is_rescuer() ||
                self.is_guest());
    const auto started = ledger.begin_run_locked(self, w);
    local_.begin_run_locked(ledger, self);
    load_.begin_run_locked(self);
    // [IDLE-2] The producer of an item that has come in since the last drain may have woken this very worker, just
    // before this worker published the next one to wake. The same holds for the thread that granted a slot to this
    // pool. Then no other thread knows of these items. If enough workers run already, this worker takes the item next,
    // or the detectors find it.
    if (!ledger.has_listed_locked() && load_.wants_more_running()) ledger.drain_locked(d);
    const bool more = anything_waits_locked();
    if (more && need_more_worker(snapshot_locked()) && !spares_.empty_locked()) d.wake(spares_.front_locked()->sleep);
    ledger.lock.unlock();
    d.perform();
    if (more) load_.detectors_needed();
    places_.rebind_if_moved(self);
    if (std::exchange(self.woken, false)) {
        CMWQ_PROBE(worker_wake, ledger.shown_number(), self.id);
        if (self.current_pwq->sampling.is_observed()) tell_of_worker(ledger, self, &observer::worker_woken);
    }
    call(self, started);
    while (work_base* const next = local_.take_follow_up(ledger, self)) {
        if (self.credit.n != 0) give_back_credit_before(self, *next);
        call(self, ledger.begin_follow_up(self, *next));
    }
    if (self.credit.n != 0) give_back_credit(self);
    load_.lock_after_run(ledger, self);
    ledger.end_run_locked(self, d);
    load_.end_run_locked(self);
    local_.end_run_locked(ledger, self);
}

// --- guests ----------------------------------------------------------------------------------------------------------

// Relaxed: the mark does not change while the task is listed, or the queue has the attributes of both states.
inline bool runs_in_guest(const work_base& w, const group_core& group) noexcept {
    return is_task_of(group, w) && work_access::pwq(w)->takes_guests.load(relaxed);
}

// Items that are no tasks of the group would delay the end of the wait. Its own tasks first: if it left them to the
// pool, the workers would have to take them one by one, and would let no local item follow in a run meanwhile. Now and
// then one of the worklist, for which its own ones may wait, and no worker may be free to take it.
template <class Load, class Local>
work_base* thread_pool<Load, Local>::next_for_guest_locked(worker& self, const group_core& group,
                                                           deferred& d) noexcept {
    constexpr unsigned interval = 8;
    const auto wanted = [&group](const work_base& w) { return runs_in_guest(w, group); };
    const bool listed_first = ++self.nr_taken % interval == 0;
    work_base* const own = listed_first ? nullptr : local_.take_if_locked(ledger, self, wanted);
    if (own != nullptr) return own;
    if (!ledger.has_listed_locked()) ledger.drain_locked(d);
    work_base* const listed = ledger.first_listed_locked();
    if (listed == nullptr || !wanted(*listed))
        return listed_first ? local_.take_if_locked(ledger, self, wanted) : nullptr;
    static_cast<void>(ledger.unlist_to_run_locked(*listed));
    return listed;
}

// A guest is not counted as running: no other item waits for it. Workers take its local items.
template <class Load, class Local>
worker_loop::guest_result thread_pool<Load, Local>::run_as_guest(group_task& task, std::uintptr_t stack_end) {
    const group_core& group = task.group;
    deferred d;
    ledger.lock.lock();
    worker* const self = workers_.guest_record_locked(ledger);
    ledger.drain_locked(d);
    const std::uint64_t at = work_access::location_of(task);
    if (self == nullptr || (at & location::list_mask) != location::on_worklist || !runs_in_guest(task, group)) {
        if (self != nullptr) workers_.give_back_guest_record_locked(*self);
        notify_locked(d);
        ledger.lock.unlock();
        return (at & location::list_and_local) == 0 ? guest_result::gone : guest_result::kept_back;
    }
    const no_cancellation whole; // the thread may be cancelled, but not in the middle of a task
    thread_slots& slots = this_thread_slots();
    blocking_observer* const observer = std::exchange(slots.observer, self);
    run_record* const current = std::exchange(slots.current_run, self);
    self->probe.open_own(state_files::reopened);
    self->stack_end = stack_end;
    begin_work_locked(*self);
    self->examines_task = true;
    static_cast<void>(ledger.unlist_to_run_locked(task)); // no other thread runs a task
    work_base* next = &task;
    do {
        run_locked(*self, *next, d);
        next = next_for_guest_locked(*self, group, d);
    } while (next != nullptr);
    end_work_locked(*self);
    ledger.publish_pending_locked();
    notify_locked(d);
    ledger.lock.unlock();
    d.perform();
    self->closures.give_all(ledger.env.cpus.index_of(any_cpu), ledger.env.closures);
    self->probe.close_own();
    slots.observer = observer;
    slots.current_run = current;
    const scoped_lock g(ledger.lock);
    workers_.give_back_guest_record_locked(*self);
    return guest_result::has_run;
}

// All pools with workers. Other files know only their declarations.
template class thread_pool<load, no_local_lists>;
template class thread_pool<load, local_lists>;
template class thread_pool<no_load, no_local_lists>;

}}} // namespace cmwq::CMWQ_NS::detail
