// SPDX-License-Identifier: BSL-1.0
//
// worker_pool, second part: running items, and keeping one worker runnable.
#pragma once

#include <cmwq/detail/engine/pool/bottom_half.hpp>
#include <cmwq/detail/engine/pool/sentinel.hpp>
#include <cmwq/detail/engine/pool/worker_pool.hpp>
#include <cmwq/detail/engine/queue/queue_core.hpp>
#include <cmwq/detail/engine/report/diagnosis.hpp>
#include <cmwq/detail/engine/runtime/runtime_core.hpp>
#include <cmwq/detail/sync/clock.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

namespace cmwq::inline CMWQ_NS::detail {

// --- the worker's own thread ------------------------------------------------------------------------------------------

CMWQ_INLINE void worker_pool::thread_main(void* self) {
    auto& w = *static_cast<worker*>(self);
    w.pool.worker_main(w);
}

CMWQ_INLINE void worker_pool::worker_main(worker& self) {
    thread_attributes a{.own = rt_.own()};
    self.binding = rt_.binding(); // before it binds itself: what changes meanwhile is seen
    if (rt_.binds_threads()) a.cpus = &spec_.cpus;
    a.sched = spec_.sched;
    a.nice = spec_.nice;
    const bool bound = role_ == pool_role::per_cpu; // the others may have any nice value: their number says more
    const char* const form = bound ? "cmwq/%u:%u%s" : "cmwq/u%u:%u%s";
    const char* const suffix = !bound ? "" : spec_.nice < 0 ? "H" : spec_.sched == sched_class::fifo ? "F" : "";
    std::snprintf(a.name, sizeof a.name, form, number_, self.id, suffix);
    const thread_refusals refused = apply_to_this_thread(a);
    rt_.report_refusals(refused, a);
    const bool may_keep = spec_.managed && rt_.take_descriptors(thread_probe::nr_descriptors);
    const bool keeps = self.probe.open_own(may_keep);
    if (may_keep && !keeps) rt_.give_back_descriptors(thread_probe::nr_descriptors);
    this_thread_slots() = {.observer = &self, .current_worker = &self};

    deferred d;
    bool came_home = come_home(self);
    lock_.lock();
    refused_ = refused;
    while (!self.retiring) {
        if (stopping_ && self.idle) {
            retire_locked(self);
            break;
        }
        drain_locked(d);
        if (self.idle && need_more_worker(snapshot_locked())) {
            if (std::exchange(came_home, false)) ++nr_repatriated_;
            leave_idle_locked(self);
            work_locked(self, d);
            enter_idle_locked(self, false);
            continue; // [IDLE-2]: the looks at the inbox and at nr_running come after watcher_ was published
        }
        // Something waits behind workers that are counted as running, and nobody but this thread may know it.
        const bool behind = !worklist_.empty();
        lock_.unlock();
        d.perform();
        if (behind) arm();
        self.sleep.park();
        came_home = come_home(self);
        lock_.lock();
    }
    lock_.unlock();
    self.probe.close_own();
    if (keeps) rt_.give_back_descriptors(thread_probe::nr_descriptors);
    this_thread_slots() = {};
    rt_.thread_leaves(self); // objects that are thread_local may still run code of the program's
}

CMWQ_INLINE void worker_pool::work_locked(worker& self, deferred& d) {
    // One spare always: without it nobody could take over when this worker blocks. If none can be made now, running is
    // still better than not running; the staff thread goes on trying.
    while (!may_start_working(snapshot_locked())) {
        if (managing_) break;
        if (make_worker_locked()) continue;
        // Those whose items wait behind this one have found it idle, and have told nobody else.
        rt_.arm_monitor();
        break;
    }
    busy_.push_back(self);
    counting_.add(self);
    nr_busy_.store(static_cast<int>(busy_.size()), relaxed);
    count(self);
    do {
        work_base* w = take_locked(self);
        if (w == nullptr) break;
        run_locked(self, *w, d);
        if (worklist_.empty()) drain_locked(d); // not for each item: the inbox is its producers' cache line
    } while (!self.scheduled.empty() || keep_working(snapshot_locked()));
    busy_.remove(self);
    counting_.remove(self);
    nr_busy_.store(static_cast<int>(busy_.size()), relaxed);
    uncount(self);
}

CMWQ_INLINE work_base* worker_pool::take_locked(worker& self) noexcept {
    if (work_base* again = self.scheduled.pop_front(); again != nullptr) return again;
    while (work_base* w = worklist_.front()) {
        if (unlist_to_run_locked(*w)) return w;
    }
    return nullptr;
}

// Takes it off the worklist. True: the caller runs it. False: a worker does that later.
CMWQ_INLINE bool worker_pool::unlist_to_run_locked(work_base& w) noexcept {
    leave_worklist_locked(w);
    nr_pending_.store(static_cast<unsigned>(worklist_.size()), relaxed); // fewer: nobody needs to hear of it
    const std::uint64_t p = work_access::place_of(w);
    worker* runner = (p & place::may_be_running) != 0 ? running_.find(w) : nullptr;
    if (runner == nullptr) return true;
    // Never twice at once: it waits for the worker that still runs it.
    runner->scheduled.push_back(w);
    work_access::set_place(w, place::with_list(p, place::on_worker));
    return false;
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

// Runs one item, without the lock. The item is not touched once its function has been entered: it may be gone, or be
// somebody else's.
CMWQ_INLINE void worker_pool::run_locked(worker& self, work_base& w, deferred& d) {
    // The invariant of the pool: somebody is there to take over when this item blocks, or is being made, or cannot be.
    CMWQ_ASSERT(!idle_.empty() || managing_ || short_of_threads_.load(relaxed) || self.is_seat ||
                role_ == pool_role::bottom_half);
    pool_workqueue& pwq = *work_access::pwq(w);
    const work_access::function function = work_access::run(w);
    const std::uint64_t p = work_access::place_of(w);
    const exception_sink& sink = pwq.queue->on_exception;
    self.current_pwq = &pwq;
    self.current_color = place::color_of(p);
    self.cpu_intensive = pwq.queue->cpu_intensive;
    self.function = function;
    self.nr_runs.store(self.nr_runs.load(relaxed) + 1, relaxed);
    self.description[0] = 0;
    self.own_item = &w;
    const bool owns_itself = work_access::is_self_owned(w);
    if (!owns_itself) {
        self.current.store(&w, relaxed); // [RUN-1] released by clear_pending below
        running_.add(self);
    }
    if ((p & place::has_waiters) != 0) {
        take_waiters_locked(w, [&](item_waiter& iw) {
            iw.runner = &self;
            iw.next = self.waiters;
            self.waiters = &iw;
        });
    }
    ++pwq.nr_started;
    nr_started_.store(nr_started_.load(relaxed) + 1, relaxed);
    if (overdue_.load(relaxed)) overdue_.store(false, relaxed);
    work_access::set_place(w, id_ << place::id_shift);
    work_access::clear_pending(w); // [PEND-2]; from here on it can be queued again, anywhere

    if (self.cpu_intensive) uncount(self);
    // [IDLE-2] The producer of an item that has come in since the last drain may have woken this very worker, just before
    // that published the next one to wake. A slot that was granted to this pool likewise. So nobody else knows of them.
    // Where enough run already, this worker takes it next, or the detectors see to it.
    if (worklist_.empty() && wants_more_running()) drain_locked(d);
    const bool more = !worklist_.empty() || !inbox_.empty() || !grants_.empty();
    if (more && need_more_worker(snapshot_locked()) && !idle_.empty()) d.wake(idle_.front()->sleep);
    lock_.unlock();
    d.perform();
    if (more) arm();
    if (role_ != pool_role::bottom_half) settle(self);
    const wait_watch watch(role_ == pool_role::bottom_half);

    if (sink.call != nullptr) {
        try {
            function(w);
        } catch (...) {
            if (owns_itself) self.own_item = nullptr;
            sink.call(sink.context, std::current_exception());
        }
    } else if (role_ == pool_role::bottom_half) {
        [&]() noexcept { function(w); }(); // beneath is somebody else's stack, with handlers perhaps
    } else {
        // From here down to the start of the thread nobody has a handler, and nothing is noexcept, which would be one:
        // `throw` itself ends the program, with all that was on the stack still there.
        one_way_out end;
        function(w);
        end.reached = true;
    }
    if (watch.waited()) rt_.report_blocked(*pwq.queue, number_);

    self.finishing.store(true, relaxed);
    lock_after_run(self);
    self.finishing.store(false, relaxed);
    end_run_locked(self);
    ++pwq.nr_completed;
    nr_completed_.store(nr_completed_.load(relaxed) + 1, relaxed);
    while (item_waiter* iw = self.waiters) {
        self.waiters = iw->next;
        iw->happened(d);
    }
    end_active_locked(pwq, d);
    self.current_pwq = nullptr;
    leave_locked(pwq, self.current_color, d);
    count(self); // found blocked, or did not count: it does from here on
}

// Waiting for the lock is no block of the item's. If learn() took it for one, many workers would be kept because many
// workers are in each other's way.
CMWQ_INLINE void worker_pool::lock_after_run(worker& self) noexcept {
    if (lock_.try_lock()) return;
    const std::int64_t began = steady_now();
    lock_.lock();
    self.own_time += steady_now() - began;
}

CMWQ_INLINE void worker_pool::enter_idle_locked(worker& w, bool fresh) noexcept {
    CMWQ_ASSERT(!w.idle && !w.counted.load(relaxed));
    w.idle = true;
    w.idle_since = rt_.now();
    if (managed_.load(relaxed)) w.idle_began = steady_now(); // others do not learn()
    if (fresh) idle_.push_fresh(w);
    else if (role_ == pool_role::attrs_keyed && !spec_.pod.contains(current_cpu())) idle_.push_outside(w);
    else idle_.push_inside(w);
    publish_watcher_locked();
    if (too_many_workers(snapshot_locked()) && cull_at_.load(relaxed) == 0) {
        cull_at_.store(w.idle_since + rt_.idle_timeout(), release); // [LOCK]
        rt_.request_staff();
    }
}

CMWQ_INLINE void worker_pool::leave_idle_locked(worker& w) noexcept {
    w.idle = false;
    if (w.idle_began != 0) w.own_time += steady_now() - std::exchange(w.idle_began, 0);
    idle_.remove(w);
    publish_watcher_locked();
}

// Where the scheduler has woken a thread that may run outside of its pod is a matter of chance. It comes back before its
// first item as long as the pod has a CPU for it, by the number of those who are at work: its mask is narrowed to the pod,
// which moves it, and widened, so that the scheduler may take it elsewhere later. No lock is held, and what waits may be
// taken by another worker meanwhile. True: it has come back.
CMWQ_INLINE bool worker_pool::come_home(worker& self) noexcept {
    if (!roams_ || spec_.pod.contains(current_cpu()) || !pending()) return false;
    // Relaxed: a hint. Where nobody counts who runs, the blocked ones are taken for running.
    if ((manages() ? nr_running_.load(relaxed) : nr_busy_.load(relaxed)) >= pod_size_) return false;
    if (bind_this_thread(spec_.pod) != 0) return false; // its CPUs have just gone
    if (bind_this_thread(spec_.cpus) != 0) {
        self.binding = rt_.binding() + 1; // another one than it is: settle() tries again
        self.go_home_at = 0;
    }
    return true;
}

// Threads do not stay where they were bound. The kernel moves those of a CPU that goes away, and does not move them back;
// before Linux 6.2 it also forgets what they were bound to when a cpuset changes. And it is the workers that find out
// about such changes in a runtime that nobody monitors. While CPUs are missing that costs each a look at the clock.
CMWQ_INLINE void worker_pool::settle(worker& self) noexcept {
    if (!rt_.binds_threads()) return;
    const unsigned binding = rt_.binding();
    const bool outside = !spec_.cpus.contains(current_cpu()), some_missing = (binding & 1) != 0;
    if (!outside && !some_missing && self.binding == binding) return;
    const std::int64_t now = steady_now();
    if (self.binding == binding && now < self.go_home_at) return;
    self.binding = binding;
    self.go_home_at = now + (some_missing ? 100'000'000 : 10'000'000);
    const bool there = bind_this_thread(spec_.cpus) == 0;
    if (some_missing || there != associated_.load(relaxed) || (outside && role_ == pool_role::attrs_keyed)) {
        rt_.request_topology_check();
    }
}

// --- counting ---------------------------------------------------------------------------------------------------------

CMWQ_INLINE pool_snapshot worker_pool::snapshot_locked() const noexcept {
    return {.pending = static_cast<unsigned>(worklist_.size()),
            .managed = manages(),
            .width = width_.load(relaxed),
            .running = nr_running_.load(seq_cst), // [IDLE-1], [IDLE-2]
            .active = static_cast<int>(busy_.size()),
            .limit = limit_.load(relaxed),
            .idle = static_cast<int>(idle_.size()),
            .managing = managing_,
            .overdue = overdue_.load(relaxed)};
}

CMWQ_INLINE void worker_pool::count(worker& w) noexcept {
    if (!managed_.load(relaxed) || w.is_seat) return; // also without its CPU: so the count is right when it is back
    if (w.counted.load(relaxed)) return;              // others only ever clear it
    nr_running_.fetch_add(1, seq_cst);                // [COUNT-1] first: nobody counts down what was not counted up
    w.counted.store(true, release);                   // [COUNT-1]
}

CMWQ_INLINE bool worker_pool::wants_more_running() const noexcept {
    if (role_ == pool_role::bottom_half) return false;
    return !manages() || nr_running_.load(seq_cst) < width_.load(relaxed); // [IDLE-2]
}

// [COUNT-1] The thread that wins the flag counts down. [IDLE-2] It owes a look at what is pending.
CMWQ_INLINE bool worker_pool::uncount(worker& w) noexcept {
    if (!w.counted.load(acquire) || !w.counted.exchange(false, acq_rel)) return false;
    nr_running_.fetch_sub(1, seq_cst);
    return true;
}

// For those who put something on the worklist and will not run it themselves.
CMWQ_INLINE void worker_pool::kick_locked(deferred& d) noexcept {
    const pool_snapshot s = snapshot_locked();
    if (s.pending == 0 || role_ == pool_role::bottom_half) return; // there whoever pushed sees to it
    if (!need_more_worker(s)) arm();
    else if (!idle_.empty()) d.wake(idle_.front()->sleep);
    else ask_for_worker();
}

CMWQ_INLINE void worker_pool::ask_for_worker() noexcept {
    if (const std::int64_t again = retry_at_.load(relaxed); again != 0 && steady_now() < again) {
        rt_.arm_monitor(); // which asks at a tick after that
        return;
    }
    // [ASK-1] seq_cst: something was made pending, then the look at the flag; pairs take_request(), behind which the staff
    // thread looks at what is pending. It is told in either case: the thread that has set the flag may have been stopped
    // before it got to that.
    if (!wanted_.load(seq_cst)) wanted_.store(true, seq_cst);
    rt_.request_staff();
    if (has_rescuable_.load(relaxed)) rt_.arm_monitor(); // which sees if that takes long
}

CMWQ_INLINE void worker_pool::arm() noexcept {
    if (!manages()) return; // nobody waits for a block to be noticed
    // [ARM-3] as [ARM-1], for all sentinels of the pod at once. Those of other CPUs, which only could help, are not the
    // caller's business, who may be queueing: they can be many.
    if (const arming::ticket t = armed_.arm(); t != arming::none) {
        for_each_watcher(watchers::near, [this](unsigned place) { rt_.sentinel_at(place).arm(); });
        armed_.answer(t);
    }
    rt_.arm_monitor();
}

CMWQ_INLINE void worker_pool::arm_far_watchers() const noexcept {
    for_each_watcher(watchers::far, [this](unsigned place) { rt_.sentinel_at(place).arm(); });
}

CMWQ_INLINE bool worker_pool::sentinel_works() const noexcept {
    bool works = false;
    for_each_watcher(watchers::near, [&](unsigned place) { works |= rt_.sentinel_at(place).works(); });
    return works;
}

CMWQ_INLINE void worker_pool::raise_limit(int to) noexcept {
    int seen = limit_.load(relaxed);
    while (seen < to && !limit_.compare_exchange_weak(seen, to, relaxed, relaxed)) {}
}

// A CPU idles although something is pending: one more worker than were active is the least that it needs.
CMWQ_INLINE bool worker_pool::start_spare() noexcept {
    raise_limit(nr_busy_.load(relaxed) + 1);
    worker* idle = watcher_.load(seq_cst); // [IDLE-1]
    if (idle == nullptr) {
        ask_for_worker();
        return false;
    }
    spare_wakeups_.fetch_add(1, relaxed);
    idle->sleep.unpark();
    return true;
}

CMWQ_INLINE void worker_pool::associate(bool with_its_cpu) noexcept {
    deferred d;
    const scoped_lock g(lock_);
    associated_.store(with_its_cpu, seq_cst); // [CPU-1]
    if (!pending()) return;
    drain_locked(d);
    kick_locked(d); // what waited behind a running worker waits no more
}

// --- detectors --------------------------------------------------------------------------------------------------------

CMWQ_INLINE finding worker_pool::look_for_blocked(detector who, bool insist) noexcept {
    if (!pending()) return finding::nothing_pending;
    const int width = width_.load(relaxed);
    if (manages()) {
        atomic<std::uint64_t>& found = who == detector::sentinel ? by_sentinel_ : by_monitor_;
        int running = 0;
        counting_.for_each([&](worker& w) {
            if (!w.counted.load(acquire)) return true; // [HINT]
            // Who waits for the lock of the pool will run in a moment. Only a hint, so relaxed; the probe comes first.
            if (!w.probe.blocked() || w.finishing.load(relaxed)) return ++running < width;
            if (uncount(w)) found.fetch_add(1, relaxed);
            return true;
        });
        // [UNIFORM] Enough of them run, or somebody has just started.
        if (running >= width || nr_running_.load(seq_cst) >= width) return finding::running;
        if (!insist && !spare_is_urgent(nr_busy_.load(relaxed), width)) return finding::all_blocked;
    }
    return start_spare() ? finding::replaced : finding::no_spare;
}

CMWQ_INLINE bool worker_pool::lend_cpu() noexcept {
    if (nr_running_.load(relaxed) >= reach_.load(relaxed)) return false;
    start_spare();
    return true;
}

CMWQ_INLINE void worker_pool::guard_blocks(worker& self) noexcept {
    if (!uncount(self)) return;
    const int width = width_.load(relaxed);
    if (!manages() || nr_running_.load(seq_cst) >= width || !pending()) return; // [IDLE-2]
    by_guard_.fetch_add(1, relaxed);
    if (spare_is_urgent(nr_busy_.load(relaxed), width) || !sentinel_works()) start_spare();
    else arm(); // the sentinel sees whether the CPU stays idle
}

CMWQ_INLINE void worker_pool::guard_ends(worker& self) noexcept {
    if (!self.cpu_intensive) count(self);
}

CMWQ_INLINE void worker::begin_blocking(block_kind kind) noexcept {
    if (pool.role() == pool_role::bottom_half) bottom_half_blocks(*current_pwq->queue);
    if (kind == will_block || pool.runtime().may_block_threshold() == 0) pool.guard_blocks(*this);
    else may_block_since.store(steady_now(), release); // [ALONE]
}

CMWQ_INLINE void worker::upgrade_blocking() noexcept {
    may_block_since.store(0, release); // [ALONE]
    pool.guard_blocks(*this);
}

CMWQ_INLINE void worker::end_blocking() noexcept {
    may_block_since.store(0, release); // [ALONE]
    pool.guard_ends(*this);
}

CMWQ_INLINE void worker_pool::expire_may_block(std::int64_t threshold) noexcept {
    if (!pending()) return;
    const std::int64_t now = steady_now();
    counting_.for_each([&](worker& w) {
        const std::int64_t since = w.may_block_since.load(acquire); // [ALONE]
        if (since != 0 && now - since >= threshold) guard_blocks(w);
        return true;
    });
}

} // namespace cmwq::inline CMWQ_NS::detail
