// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cmwq/detail/engine/queue/flush.hpp>
#include <cmwq/detail/engine/queue/queue_core.ipp>
#include <cmwq/detail/engine/report/diagnosis.hpp>
#include <cmwq/detail/engine/runtime/checks.hpp>
#include <cmwq/detail/engine/runtime/directory.hpp>
#include <cmwq/detail/engine/runtime/runtime_core.hpp>
#include <cmwq/detail/sync/system.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace cmwq::inline CMWQ_NS::detail {

// --- making and ending ------------------------------------------------------------------------------------------------

CMWQ_INLINE cpu_slot::cpu_slot(runtime_core& rt, std::uint64_t first_pool_id, unsigned cpu_number, unsigned place)
    : cpu(cpu_number), guard(rt, cpu_number), pools{{rt, first_pool_id, pool_role::per_cpu, cpu_number},
                                                    {rt, first_pool_id + 1, pool_role::per_cpu, cpu_number},
                                                    {rt, first_pool_id + 2, pool_role::per_cpu, cpu_number}},
      bottom_halves{{rt, first_pool_id + nr_priorities, pool_role::bottom_half, cpu_number},
                    {rt, first_pool_id + nr_priorities + 1, pool_role::bottom_half, cpu_number}},
      left_over(rt, cpu_number, bottom_halves[0], bottom_halves[1]) {
    bottom_halves[0].become_bottom_half(left_over, &bottom_halves[1]);
    bottom_halves[1].become_bottom_half(left_over, nullptr);
    for (unsigned p = 0; p < nr_priorities; ++p) {
        pool_spec spec{.cpus = cpuset{cpu}, .pod = cpuset{cpu}, .managed = true};
        if (p == static_cast<unsigned>(priority::high)) spec.nice = -20;
        if (p == static_cast<unsigned>(priority::fifo)) spec.sched = sched_class::fifo;
        pools[p].configure(std::move(spec), cpuset{place});
        guard.watch(pools[p], true);
    }
}

CMWQ_INLINE runtime_core::runtime_core(runtime_options o, made_for whom)
    : options_(std::move(o)), own_(priority_of_process()), first_pool_id_(directory::get().reserve_ids()),
      registry_(*this) {
    cpuset inherited;
    for_each_allowed_cpu([&](unsigned cpu) { inherited.insert(cpu); });
    if (whom == made_for::process) { // a thread that comes first may be bound to one CPU: that is its own affair
        for_each_allowed_cpu([&](unsigned cpu) { allowed_.insert(cpu); }, main_thread_id());
    } else if (const worker* self = this_thread_slots().current_worker; self != nullptr) {
        allowed_ = self->pool.runtime().allowed_; // a worker is bound to some CPUs: that says nothing of the process
    } else {
        allowed_ = inherited;
    }
    if (allowed_ != inherited) {
        leave_inherited_mask_for_ = allowed_;
        service_was_bound_ = true;
    }
    if (options_.machine.has_value()) {
        topology_ = options_.machine;
        topology_known_.store(true, relaxed);
        binds_threads_ = !topology_->simulated();
        if (!binds_threads_) allowed_ = topology_->cpus();
        if (options_.cache_shard_size != topology::default_cache_shard_size && options_.cache_shard_size != 0)
            topology_ = topology_->with_cache_shard_size(options_.cache_shard_size);
    }
    cpus_ = options_.cpus.empty() ? allowed_ : options_.cpus;
    if (const cpuset outside = cpus_ - allowed_; !outside.empty()) {
        throw std::invalid_argument("cmwq::runtime: this process may not use the CPUs " + outside.to_string() +
                                    " of the set " + cpus_.to_string() + "; it may use " + allowed_.to_string());
    }
    if (topology_.has_value() && !(cpus_ - topology_->cpus()).empty()) {
        throw std::invalid_argument("cmwq::runtime: the machine that it was given has the CPUs '" +
                                    topology_->cpus().to_string() + "', which are not all of the runtime's, " +
                                    cpus_.to_string());
    }
    check_options(options_);
    constexpr std::chrono::nanoseconds never{std::int64_t{1} << 61}; // can still be added to the time
    options_.idle_timeout = std::min(options_.idle_timeout, never);
    default_scope_ = options_.default_scope;
    unbound_cpus_ = options_.unbound_cpus.empty() ? cpus_ - isolated_cpus() : options_.unbound_cpus & cpus_;
    if (unbound_cpus_.empty()) {
        if (!options_.unbound_cpus.empty()) {
            throw std::invalid_argument("cmwq::runtime: none of the unbound CPUs " + options_.unbound_cpus.to_string() +
                                        " is one of the runtime's, " + cpus_.to_string());
        }
        unbound_cpus_ = cpus_; // all of them are isolated: then they are all that there is
    }
    usable_ = cpus_;
    quota_ = cpu_quota();
    for (const unsigned cpu : cpus_) {
        const auto place = static_cast<unsigned>(slots_.size());
        slots_.push_back(
            std::make_unique<cpu_slot>(*this, first_pool_id_ + std::uint64_t{place} * nr_pools_of_cpu, cpu, place));
        slot_of_cpu_.resize(cpu + 1, no_slot);
        slot_of_cpu_[cpu] = place;
    }
    directory::get().add(*this);
    try {
        if (options_.clock != nullptr) options_.clock->attach(*this);
    } catch (...) {
        directory::get().remove(*this);
        throw;
    }
    int error = start_thread(service_, &runtime_core::service_main, this);
    if (error == 0) error = start_thread(staff_, &runtime_core::staff_main, this);
    if (error != 0) {
        end_helpers();
        if (options_.clock != nullptr) options_.clock->detach(*this);
        directory::get().remove(*this);
        throw std::system_error(error, std::generic_category(), "cmwq::runtime: cannot make its service threads");
    }
}

CMWQ_INLINE runtime_core::~runtime_core() {
    if (const worker* self = this_thread_slots().current_worker; self != nullptr && owns(self->pool.id())) {
        std::fprintf(stderr, "cmwq: a runtime is destroyed by %s, which runs on it\n", describe_own_run().c_str());
        std::terminate();
    }
    {
        const scoped_lock g(queues_lock_);
        if (queue_core* left = queues_.front(); left != nullptr) {
            std::fprintf(stderr, "cmwq: a runtime is destroyed before its queue \"%s\"\n", left->name.c_str());
            std::terminate();
        }
    }
    if (options_.clock != nullptr) options_.clock->detach(*this);
    end_helpers();
    // All are told before one is waited for: they get the CPU together, not one after the other.
    for (auto& s : slots_) {
        s->guard.tell_to_end();
        s->left_over.tell_to_end();
    }
    for_each_pool([](worker_pool& p) { p.end_threads(); });
    for (auto& s : slots_) s->guard.let_it_end();
    for_each_pool([](worker_pool& p) { p.let_threads_end(); });
    for (auto& s : slots_) {
        s->guard.join();
        s->left_over.join();
    }
    for_each_pool([](worker_pool& p) { p.join_threads(); });
    directory::get().remove(*this);
}

CMWQ_INLINE void runtime_core::end_helpers() noexcept {
    stop_.store(true, release); // [STOP]
    service_sleep_.unpark();
    staff_sleep_.unpark();
    service_.join();
    staff_.join();
    diagnosis_.stop();
}

template <class F>
void runtime_core::for_each_pool(F&& f) const {
    for (const auto& s : slots_) {
        for (worker_pool& p : s->pools) f(p);
    }
    for (std::size_t i = 0, n = registry_.size(); i < n; ++i) f(registry_.at(i));
}

template <class F>
void runtime_core::for_each_bottom_half(F&& f) const {
    for (const auto& s : slots_) {
        for (worker_pool& p : s->bottom_halves) f(p);
    }
}

CMWQ_INLINE void runtime_core::attach(queue_core& q, const attrs* a) {
    // Not below, under the lock. In a child of fork() nothing of a dead runtime is looked up any more.
    if (a != nullptr && !dead_.load(relaxed)) static_cast<void>(topology_of_machine());
    const scoped_lock c(config_lock_);
    if (dead_.load(relaxed)) {
        // A child of fork(): locks may be held by nobody that is here, and queues have gone without leaving the list.
        q.mark_dead();
        return;
    }
    if (a != nullptr) q.carry_out(q.plan(*a, false));
    else q.make_pwqs();
    if (nr_freezes_ != 0 && q.freezable) q.set_frozen(true);
    const scoped_lock g(queues_lock_);
    queues_.push_back(q);
}

CMWQ_INLINE void runtime_core::detach(queue_core& q) noexcept {
    const scoped_lock c(config_lock_); // a change that goes on may have a plan for it
    const scoped_lock g(queues_lock_);
    queues_.remove(q);
}

CMWQ_INLINE void runtime_core::mark_dead() noexcept {
    dead_.store(true, relaxed);
    for (queue_core* q = queues_.front(); q != nullptr; q = queues_.next(*q)) q->mark_dead();
    service_.forget();
    staff_.forget();
    diagnosis_.forget_thread();
    for (auto& s : slots_) {
        s->guard.forget_thread();
        s->left_over.forget_thread();
    }
    for_each_pool([](worker_pool& p) { p.forget_threads(); });
}

// --- the way of an item -----------------------------------------------------------------------------------------------

// A CPU that is not ours gets the slot of another one, the same each time.
CMWQ_INLINE unsigned runtime_core::slot_of(int cpu) const noexcept {
    const std::size_t n = cpu >= 0 ? static_cast<std::size_t>(cpu) : current_cpu();
    if (n < slot_of_cpu_.size() && slot_of_cpu_[n] != no_slot) return slot_of_cpu_[n];
    return static_cast<unsigned>(n % slots_.size());
}

// A place whose CPU is on that node: the one given if it is, or else one that depends on it, so that callers on different
// CPUs go to different ones. If the runtime has none there, the one given.
CMWQ_INLINE unsigned runtime_core::place_on_node(unsigned place, int node) const noexcept {
    const topology& machine = topology_of_machine(); // loaded long ago: the queue has attributes
    if (machine.node_of(cpu_at(place)) == node) return place;
    const auto is_there = [&](unsigned p) { return machine.node_of(cpu_at(p)) == node; };
    unsigned nr_there = 0;
    for (unsigned p = 0; p < nr_cpus(); ++p) nr_there += is_there(p) ? 1 : 0;
    if (nr_there == 0) return place;
    unsigned nth = place % nr_there, p = 0;
    while (!is_there(p) || nth-- != 0) ++p;
    return p;
}

CMWQ_INLINE pushed runtime_core::push(queue_core& q, work_base& w, int cpu, int node) noexcept {
    unsigned place = slot_of(cpu);
    pushed result{q.keyed() ? grace_period::reader(*q.grace, place) : grace_period::reader()};
    const pwq_map& m = *q.map.load(seq_cst); // [GRACE-1]
    if (node >= 0) place = place_on_node(place, node);
    pool_workqueue* pwq = m.of_place[place];
    const std::uint64_t last = work_access::pool_id(work_access::place_of(w));
    // Never twice at once: if a worker of another pool still runs it, it is run there again. An ordered queue runs
    // nothing in its new pool before all is done in the old one, so that its order needs no exception.
    if (last != 0 && last != pwq->pool->id() && owns(last) && !(q.keyed() && q.fifo)) {
        worker_pool& before = pool(last);
        if (before.runs_now(w)) {
            bool serves = false;
            for (pool_workqueue* there : m.of_place) {
                if (there->pool != &before) continue;
                pwq = there;
                serves = true;
            }
            // A pool that apply() has replaced since, or one of another queue.
            if (!serves && q.keyed() && before.push_behind_own_run(w, q)) return result;
        }
    }
    work_access::set_pwq(w, pwq);
    result.tell = pwq->pool; // read now: the pwq may be gone as soon as the item has been pushed
    result.tell->push(w, last != 0);
    return result;
}

CMWQ_INLINE void runtime_core::stay_loaded() noexcept {
    static constinit atomic<bool> done{false};
    if (done.load(relaxed)) return; // relaxed: nothing hangs on it, and twice is as good as once
    keep_loaded(reinterpret_cast<const void*>(&runtime_core::service_main));
    done.store(true, relaxed);
}

// --- the service thread; the staff thread: staff.ipp ------------------------------------------------------------------

CMWQ_INLINE void runtime_core::service_main(void* self) { static_cast<runtime_core*>(self)->serve(); }

CMWQ_INLINE void runtime_core::serve() noexcept {
    thread_attributes a{.own = own_};
    std::snprintf(a.name, sizeof a.name, "cmwq/service");
    if (!leave_inherited_mask_for_.empty()) a.cpus = &leave_inherited_mask_for_;
    report_refusals(apply_to_this_thread(a), a);
    service_tid_.store(this_thread_id(), release); // [TID-1]
    keep_away_from_isolated_cpus(true);
    constexpr std::int64_t shortest_tick = 1'000'000, longest_tick = 8'000'000;
    std::int64_t next_tick = 0; // steady clock; 0: not monitoring
    tick_length_ = shortest_tick;
    while (!stop_.load(acquire)) {                                        // [STOP]
        if (freeze_check_wanted_.exchange(false, acq_rel)) tell_frozen(); // [LOCK]
        std::int64_t deadline = timers_.expire(now());
        if (options_.clock != nullptr) deadline = 0; // that clock tells by itself
        if (monitoring_.is_armed()) {
            monitoring_.answer();
            const std::int64_t steady = steady_now();
            if (next_tick == 0) {
                tick_length_ = shortest_tick;
                next_tick = steady + tick_length_;
                ticked_at_ = steady;
            } else if (steady >= next_tick) {
                // Who could not run for long, in a virtual machine that was stopped for instance, has not watched.
                constexpr std::int64_t longest_gap = 100'000'000;
                const std::int64_t passed = std::min(steady - std::exchange(ticked_at_, steady), longest_gap);
                const bool eventful = monitor_tick(passed);
                tick_length_ = eventful ? shortest_tick : tick_length_ < longest_tick ? tick_length_ * 2 : longest_tick;
                next_tick = monitoring_.is_armed() ? steady + tick_length_ : 0;
            }
        }
        const bool ticking = next_tick != 0;
        if (ticking && (deadline == 0 || next_tick < deadline)) deadline = next_tick;
        if (deadline == 0) service_sleep_.park();
        else service_sleep_.park_until(deadline);
    }
}

CMWQ_INLINE void runtime_core::time_passed() noexcept {
    const std::int64_t time = now();
    static_cast<void>(timers_.expire(time));
    static_cast<void>(cull_all(time));
}

CMWQ_INLINE bool runtime_core::anything_pending() const noexcept {
    bool pending = false;
    for_each_pool([&](const worker_pool& p) { pending |= p.pending(); });
    for_each_bottom_half([&](const worker_pool& p) { pending |= p.pending(); });
    for (const auto& s : slots_) pending |= s->left_over.wanted();
    return pending;
}

// Returns whether it had to do what the sentinels should have done.
CMWQ_INLINE bool runtime_core::monitor_tick(std::int64_t passed) noexcept {
    constexpr int patience = 8; // quiet ticks before it goes to sleep: arming it again costs its user a system call
    const std::int64_t now = steady_now();
    bool pending = false, eventful = false, computing = false;
    for_each_pool([&](worker_pool& p) {
        p.expire_may_block(may_block_threshold());
        computing |= p.look_for_hogs(options_.cpu_hog_threshold.count());
        p.look_for_overdue(passed, options_.overdue_after.count());
        switch (p.look_for_blocked(detector::monitor, p.stalled_since_last_time())) {
        case finding::nothing_pending: break;
        case finding::running: p.arm_far_watchers(); [[fallthrough]];
        case finding::all_blocked: pending = true; break;
        case finding::replaced: pending = eventful = true; break;
        case finding::no_spare: pending = true; break; // it has asked for one
        }
        p.call_rescuers(now);
        p.learn();
        if (p.has_stalled(passed, options_.watchdog.count())) report_stall(p);
    });
    for_each_bottom_half([&](worker_pool& p) {
        pending |= p.pending();
        if (p.has_stalled(passed, options_.watchdog.count())) report_stall(p);
    });
    bool wanted = false;
    for (const auto& s : slots_) wanted |= s->left_over.wanted();
    if (wanted) request_staff(); // which could not make that thread, and tries again
    pending |= wanted;
    if (now >= check_due_) {
        constexpr std::int64_t interval = 100'000'000;
        check_due_ = now + interval;
        routine_check_wanted_.store(true, release); // [ALONE]
        request_staff();
    }
    quiet_ticks_ = pending || computing ? 0 : quiet_ticks_ + 1;
    if (quiet_ticks_ >= patience) {
        quiet_ticks_ = 0;
        for_each_pool([](worker_pool& p) { p.unlearn(); });
        monitoring_.disarm(); // [ARM-2]
        if (anything_pending()) {
            monitoring_.stay_armed();
        } else {
            for (auto& s : slots_) s->guard.leave_idle_class();
        }
    }
    return eventful;
}

} // namespace cmwq::inline CMWQ_NS::detail
