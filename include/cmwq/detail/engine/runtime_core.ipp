// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cmwq/detail/engine/directory.hpp>
#include <cmwq/detail/engine/flush.hpp>
#include <cmwq/detail/engine/runtime_core.hpp>
#include <cmwq/detail/sync/system.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace cmwq::inline CMWQ_NS::detail {

// --- making and ending ------------------------------------------------------------------------------------------------

inline runtime_core::runtime_core(runtime_options o) : options_(std::move(o)) {
    if (const worker* self = this_thread_slots().current_worker; self != nullptr) {
        allowed_ = self->pool.runtime().allowed_; // a worker is bound to one CPU: that says nothing of the process
        made_on_worker_ = true;
    } else {
        for_each_allowed_cpu([&](unsigned cpu) { allowed_.insert(cpu); });
    }
    cpus_ = options_.cpus.empty() ? allowed_ : options_.cpus;
    if (const cpuset outside = cpus_ - allowed_; !outside.empty()) {
        throw std::invalid_argument("cmwq::runtime: this process may not use the CPUs " + outside.to_string() +
                                    " of the set " + cpus_.to_string() + "; it may use " + allowed_.to_string());
    }
    if (options_.idle_timeout.count() < 0 || options_.may_block_threshold.count() < 0) {
        throw std::invalid_argument("cmwq::runtime: a time-out is negative");
    }
    constexpr std::chrono::nanoseconds never{std::int64_t{1} << 61}; // can still be added to the time
    options_.idle_timeout = std::min(options_.idle_timeout, never);
    first_pool_id_ = directory::get().reserve_ids(cpus_.size() * nr_priorities);
    for (const unsigned cpu : cpus_) {
        slots_.push_back(std::make_unique<cpu_slot>(*this, first_pool_id_ + slots_.size() * nr_priorities, cpu));
        slot_of_cpu_.resize(cpu + 1, no_slot);
        slot_of_cpu_[cpu] = static_cast<unsigned>(slots_.size() - 1);
    }
    directory::get().add(*this);
    try {
        if (options_.clock != nullptr) options_.clock->attach(*this);
    } catch (...) {
        directory::get().remove(*this);
        throw;
    }
    if (const int error = start_thread(service_, &runtime_core::service_main, this); error != 0) {
        if (options_.clock != nullptr) options_.clock->detach(*this);
        directory::get().remove(*this);
        throw std::system_error(error, std::generic_category(), "cmwq::runtime: cannot make the service thread");
    }
}

inline runtime_core::~runtime_core() {
    if (const worker* self = this_thread_slots().current_worker; self != nullptr && owns(self->pool.id())) {
        std::fprintf(stderr, "cmwq: a runtime is destroyed by an item that runs on it\n");
        std::terminate();
    }
    for (;;) { // queues that were destroyed from inside
        queue_core* q = nullptr;
        {
            const scoped_lock g(queues_lock_);
            q = orphans_.pop_front();
        }
        if (q == nullptr) break;
        wait_until_drained(*q);
        delete q;
    }
    {
        const scoped_lock g(queues_lock_);
        if (queue_core* left = queues_.front(); left != nullptr) {
            std::fprintf(stderr, "cmwq: a runtime is destroyed before its queue \"%s\"\n", left->name.c_str());
            std::terminate();
        }
    }
    if (options_.clock != nullptr) options_.clock->detach(*this);
    stop_.store(true, release);
    service_sleep_.unpark();
    service_.join();
    for (auto& s : slots_) {
        if (s->guard.started()) s->guard.stop();
        for (worker_pool& p : s->pools) p.shut_down();
    }
    directory::get().remove(*this);
}

inline void runtime_core::attach(queue_core& q) noexcept {
    const scoped_lock g(queues_lock_);
    if (dead_.load(relaxed)) q.mark_dead();
    queues_.push_back(q);
}

inline void runtime_core::detach(queue_core& q) noexcept {
    const scoped_lock g(queues_lock_);
    queues_.remove(q);
}

inline void runtime_core::adopt(queue_core& q) noexcept {
    const scoped_lock g(queues_lock_);
    queues_.remove(q);
    orphans_.push_back(q);
}

inline void runtime_core::mark_dead() noexcept {
    dead_.store(true, relaxed);
    for (queue_core* q = queues_.front(); q != nullptr; q = queues_.next(*q)) q->mark_dead();
    for (queue_core* q = orphans_.front(); q != nullptr; q = orphans_.next(*q)) q->mark_dead();
    service_.forget();
    for (auto& s : slots_) {
        s->guard.forget_thread();
        for (worker_pool& p : s->pools) p.forget_threads();
    }
}

// --- the way of an item -----------------------------------------------------------------------------------------------

// A CPU that is not ours gets the slot of another one, the same each time.
inline unsigned runtime_core::slot_of(int cpu) const noexcept {
    const std::size_t n = cpu >= 0 ? static_cast<std::size_t>(cpu) : current_cpu();
    if (n < slot_of_cpu_.size() && slot_of_cpu_[n] != no_slot) return slot_of_cpu_[n];
    return static_cast<unsigned>(n % slots_.size());
}

inline worker_pool* runtime_core::push(queue_core& q, work_base& w, int cpu) noexcept {
    pool_workqueue* pwq = &q.pwqs[slot_of(cpu)];
    const std::uint64_t last = work_access::pool_id(work_access::place_of(w));
    if (last != 0 && last != pwq->pool->id() && owns(last)) {
        // Never twice at once: if a worker of another CPU still runs it, it is run there again.
        worker_pool& before = pool(last);
        pool_workqueue& there = q.pwqs[slot_index(before)];
        if (there.pool == &before && before.runs(w)) pwq = &there;
    }
    work_access::set_pwq(w, pwq);
    worker_pool* target = pwq->pool;
    return target->push(w, last != 0) ? target : nullptr;
}

// --- the service thread -----------------------------------------------------------------------------------------------

inline void runtime_core::service_main(void* self) { static_cast<runtime_core*>(self)->serve(); }

inline void runtime_core::serve() noexcept {
    thread_attributes a;
    std::snprintf(a.name, sizeof a.name, "cmwq/service");
    apply_to_this_thread(a);
    if (made_on_worker_)
        leave_inherited_binding([this](auto&& use) {
            for (const unsigned cpu : allowed_) use(cpu);
        });
    constexpr std::int64_t shortest_tick = 1'000'000, longest_tick = 8'000'000;
    std::int64_t next_tick = 0; // steady clock; 0: not monitoring
    tick_length_ = shortest_tick;
    while (!stop_.load(acquire)) {
        serve_requests();
        std::int64_t deadline = serve_clock(now());
        if (options_.clock != nullptr) deadline = 0; // that clock tells by itself
        if (monitoring_.load(acquire)) {
            const std::int64_t steady = steady_now();
            if (next_tick == 0) {
                tick_length_ = shortest_tick;
                next_tick = steady + tick_length_;
            } else if (steady >= next_tick) {
                const bool eventful = monitor_tick();
                tick_length_ = eventful ? shortest_tick : tick_length_ < longest_tick ? tick_length_ * 2 : longest_tick;
                next_tick = monitoring_.load(acquire) ? steady + tick_length_ : 0;
            }
        }
        const bool ticking = next_tick != 0;
        if (ticking && (deadline == 0 || next_tick < deadline)) deadline = next_tick;
        if (deadline == 0) service_sleep_.park();
        else service_sleep_.park_until(deadline);
    }
}

inline void runtime_core::time_passed() noexcept { serve_clock(now()); }

inline std::int64_t runtime_core::serve_clock(std::int64_t now) noexcept {
    std::int64_t next = timers_.expire(now);
    for (auto& s : slots_) {
        for (worker_pool& p : s->pools) {
            std::int64_t due = p.cull_at();
            if (due != 0 && due <= now) due = p.cull(now);
            if (due != 0 && (next == 0 || due < next)) next = due;
        }
    }
    return next;
}

inline void runtime_core::serve_requests() noexcept {
    for (auto& s : slots_) {
        for (worker_pool& p : s->pools) {
            if (!p.take_request()) continue;
            if (options_.sentinel && !s->guard.started()) {
                if (const int error = s->guard.start(); error != 0) report_no_thread(s->cpu, error);
            }
            p.staff();
        }
    }
}

inline bool runtime_core::anything_pending() const noexcept {
    for (const auto& s : slots_) {
        for (const worker_pool& p : s->pools) {
            if (p.pending()) return true;
        }
    }
    return false;
}

// Returns whether it had to do what the sentinels should have done.
inline bool runtime_core::monitor_tick() noexcept {
    constexpr int patience = 8; // quiet ticks before it goes to sleep: arming it again costs its user a system call
    bool pending = false, eventful = false;
    for (auto& s : slots_) {
        for (worker_pool& p : s->pools) {
            p.expire_may_block(may_block_threshold());
            switch (p.look_for_blocked(detector::monitor, p.stalled_since_last_time())) {
            case finding::nothing_pending: break;
            case finding::running:
            case finding::all_blocked: pending = true; break;
            case finding::replaced: pending = eventful = true; break;
            case finding::no_spare: pending = true; break; // it has asked for one
            }
            p.learn();
        }
    }
    quiet_ticks_ = pending ? 0 : quiet_ticks_ + 1;
    if (quiet_ticks_ >= patience) {
        quiet_ticks_ = 0;
        for (auto& s : slots_) {
            for (worker_pool& p : s->pools) p.unlearn();
        }
        monitoring_.store(false, seq_cst); // [ARM-2]
        if (anything_pending()) monitoring_.store(true, seq_cst);
    }
    return eventful;
}

// --- counters and events ----------------------------------------------------------------------------------------------

inline void runtime_core::worker_started() noexcept {
    const unsigned n = nr_workers_.fetch_add(1, relaxed) + 1;
    unsigned peak = peak_workers_.load(relaxed);
    while (peak < n && !peak_workers_.compare_exchange_weak(peak, n, relaxed, relaxed)) {}
}

inline runtime_stats runtime_core::stats() const noexcept {
    if (dead_.load(relaxed)) return {}; // the pools' locks may be held by threads that do not exist here
    runtime_stats total{.threads = nr_workers_.load(relaxed), .peak_threads = peak_workers_.load(relaxed)};
    for (const auto& s : slots_) {
        for (const worker_pool& p : s->pools) {
            const pool_stats one = p.stats();
            total.items_started += one.started;
            total.items_completed += one.completed;
            total.blocks_by_guard += one.by_guard;
            total.blocks_by_sentinel += one.by_sentinel;
            total.blocks_by_monitor += one.by_monitor;
            total.spare_wakeups += one.spare_wakeups;
        }
    }
    return total;
}

// Builds the event only if somebody wants it, and gives it up without memory: what is reported may be just that.
template <class Describe>
void runtime_core::report(event::kind what, int error, unsigned cpu, Describe describe) noexcept {
    const unsigned bit = 1u << static_cast<unsigned>(what);
    if (!options_.on_event || (reported_.load(relaxed) & bit) != 0 || (reported_.fetch_or(bit, relaxed) & bit) != 0)
        return;
    event e{what, error, cpu, {}};
    try {
        e.message = describe() + ": " + std::strerror(error);
    } catch (const std::bad_alloc&) {
        e.message.clear(); // the rest of the event says it, too
    }
    options_.on_event(e);
}

inline void runtime_core::report_refusals(const thread_refusals& r, const thread_attributes& a) noexcept {
    const auto cpu = static_cast<unsigned>(a.cpu);
    const auto says = [&](const char* what) {
        return [&a, what] { return std::string("cmwq: ") + a.name + ": " + what; };
    };
    if (r.sched != 0) {
        switch (a.sched) {
        case sched_class::idle:
            report(event::kind::sentinel_refused, r.sched, cpu,
                   says("SCHED_IDLE refused, blocked workers are noticed by the monitor"));
            break;
        case sched_class::fifo:
            report(event::kind::priority_refused, r.sched, cpu, says("SCHED_FIFO refused, runs at normal priority"));
            break;
        default:
            report(event::kind::priority_refused, r.sched, cpu, says("nice -20 refused, runs at normal priority"));
            break;
        }
    }
    if (r.cpu != 0) report(event::kind::binding_refused, r.cpu, cpu, says("cannot be bound to its CPU"));
}

inline void runtime_core::report_no_thread(unsigned cpu, int error) noexcept {
    report(event::kind::no_thread, error, cpu,
           [cpu] { return "cmwq: CPU " + std::to_string(cpu) + ": cannot make a thread"; });
}

} // namespace cmwq::inline CMWQ_NS::detail
