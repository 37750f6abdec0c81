// SPDX-License-Identifier: BSL-1.0
//
// runtime_core: counters, and what is reported through on_event.
#pragma once

#include <cmwq/detail/engine/report/diagnosis.hpp>
#include <cmwq/detail/engine/runtime/runtime_core.hpp>

#include <cstdio>
#include <cstring>
#include <new>
#include <string>

namespace cmwq::inline CMWQ_NS::detail {

CMWQ_INLINE bool runtime_core::admit_worker() noexcept {
    if (options_.max_threads != 0) {
        unsigned n = nr_workers_.load(relaxed);
        do {
            if (n >= options_.max_threads) return false;
        } while (!nr_workers_.compare_exchange_weak(n, n + 1, acquire, relaxed)); // [ADMIT-1]
    } else {
        nr_workers_.fetch_add(1, relaxed);
    }
    return true;
}

CMWQ_INLINE void runtime_core::thread_started() noexcept {
    const unsigned n = nr_threads_.fetch_add(1, relaxed) + 1;
    unsigned peak = peak_threads_.load(relaxed);
    while (peak < n && !peak_threads_.compare_exchange_weak(peak, n, relaxed, relaxed)) {}
}

CMWQ_INLINE runtime_stats runtime_core::stats() const noexcept {
    if (dead_.load(relaxed)) return {}; // the pools' locks may be held by threads that do not exist here
    runtime_stats total{.threads = nr_threads_.load(relaxed), .peak_threads = peak_threads_.load(relaxed)};
    total.cpu_hogs = nr_hogs_.load(relaxed);
    const auto add = [&](const worker_pool& p) {
        const pool_stats one = p.stats();
        total.items_started += one.started;
        total.items_completed += one.completed;
        total.blocks_by_guard += one.by_guard;
        total.blocks_by_sentinel += one.by_sentinel;
        total.blocks_by_monitor += one.by_monitor;
        total.spare_wakeups += one.spare_wakeups;
        total.repatriated += one.repatriated;
        total.items_rescued += one.rescued;
        total.overdue += one.overdue;
    };
    for_each_pool(add);
    for_each_bottom_half(add);
    return total;
}

constexpr bool tells_of_a_hang(event::kind k) noexcept {
    return k == event::kind::stalled || k == event::kind::saturated || k == event::kind::deadlock ||
           k == event::kind::flush_dependency;
}

// Gives the message up without memory: what is reported may be just that.
template <class Describe>
void runtime_core::report(event::kind what, int error, unsigned cpu, const Describe& describe) noexcept {
    if (!options_.on_event && !tells_of_a_hang(what)) return;
    event e{what, error, cpu, {}};
    try {
        e.message = describe();
        if (error != 0) e.message += std::string(": ") + std::strerror(error);
    } catch (const std::bad_alloc&) {
        e.message.clear(); // the rest of the event says it, too
    }
    if (options_.on_event) options_.on_event(e);
    else std::fprintf(stderr, "%s\n", e.message.c_str());
}

template <class Describe>
void runtime_core::report_once(event::kind what, int error, unsigned cpu, const Describe& describe) noexcept {
    const unsigned bit = 1u << static_cast<unsigned>(what);
    if ((reported_.load(relaxed) & bit) == 0 && (reported_.fetch_or(bit, relaxed) & bit) == 0)
        report(what, error, cpu, describe);
}

CMWQ_INLINE void runtime_core::report_refusals(const thread_refusals& r, const thread_attributes& a) noexcept {
    const unsigned cpu = a.cpus == nullptr ? 0 : a.cpus->next(0);
    // Called where the report is made, which copes without memory.
    const auto says = [&a](const std::string& what) { return std::string("cmwq: ") + a.name + ": " + what; };
    if (r.sched != 0) {
        const char* const wanted = a.wanted_sched() == sched_class::idle     ? "SCHED_IDLE"
                                   : a.wanted_sched() == sched_class::batch  ? "SCHED_BATCH"
                                   : a.wanted_sched() == sched_class::normal ? "SCHED_OTHER"
                                                                             : "SCHED_FIFO";
        const char* const instead = a.sched == sched_class::normal
                                        ? " refused, keeps the class of the thread that started it"
                                        : " refused, runs at normal priority";
        report_once(event::kind::priority_refused, r.sched, cpu, [&] { return says(std::string(wanted) + instead); });
    }
    if (r.nice != 0) {
        report_once(event::kind::priority_refused, r.nice, cpu, [&] {
            return says("nice " + std::to_string(a.wanted_nice()) + " refused, " +
                        (a.nice == 0 ? "keeps that of the thread that started it" : "runs at normal priority"));
        });
    }
    if (r.cpus != 0) {
        report_once(event::kind::binding_refused, r.cpus, cpu, [&] { return says("cannot be bound to its CPUs"); });
    }
}

CMWQ_INLINE void runtime_core::report_no_sentinel(unsigned cpu, int error) noexcept {
    report_once(event::kind::sentinel_refused, error, cpu, [cpu] {
        return "cmwq: CPU " + std::to_string(cpu) + ": SCHED_IDLE refused, blocked workers are noticed by the monitor";
    });
}

CMWQ_INLINE void runtime_core::report_no_thread(unsigned cpu, int error) noexcept {
    report_once(event::kind::no_thread, error, cpu,
                [cpu] { return "cmwq: CPU " + std::to_string(cpu) + ": cannot make a thread"; });
}

CMWQ_INLINE void runtime_core::report_thread_limit(const worker_pool& pool) noexcept {
    report_once(event::kind::thread_limit, 0, pool.spec().pod.next(0), [this] {
        return "cmwq: all " + std::to_string(options_.max_threads) +
               " threads of the runtime (max_threads) are in use: items wait for one of them";
    });
}

CMWQ_INLINE void runtime_core::report_rescue(queue_core& q) noexcept {
    report(event::kind::rescued, 0, 0, [&q] {
        return "cmwq: no worker can be made for " + describe_queue(q.name) + ": its rescuer runs its items";
    });
}

CMWQ_INLINE void runtime_core::report_blocked(const queue_core& q, unsigned cpu) noexcept {
    report_once(event::kind::bh_blocked, 0, cpu,
                [&q] { return "cmwq: an item of the bottom-half " + describe_queue(q.name) + " has blocked"; });
}

CMWQ_INLINE void runtime_core::report_no_thread(const worker_pool& pool, int error) noexcept {
    report_no_thread(pool.spec().pod.next(0), error);
}

} // namespace cmwq::inline CMWQ_NS::detail
