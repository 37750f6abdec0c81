// SPDX-License-Identifier: BSL-1.0
//
// The bodies of event_reporter: the messages of the events.
#pragma once

#include <cmwq/detail/engine/env/event_reporter.hpp>
#include <cmwq/detail/engine/queue/queue_core.hpp>
#include <cmwq/detail/engine/report/diagnosis.hpp>
#include <cmwq/detail/sync/system.hpp>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

// Events that are printed to stderr if the program has no listener.
constexpr bool is_hang(event::kind k) noexcept {
    return k == event::kind::stalled || k == event::kind::saturated || k == event::kind::deadlock ||
           k == event::kind::flush_dependency;
}

// If there is no memory, the event has no message: the event may be about just that.
template <class Describe>
void event_reporter::report(event::kind what, int error, unsigned cpu, const Describe& describe) noexcept {
    if (!options_.on_event && !is_hang(what)) return;
    event e{what, error, cpu, {}};
    try {
        e.message = describe();
        if (error != 0) e.message += std::string(": ") + std::strerror(error);
    } catch (const std::bad_alloc&) {
        e.message.clear(); // the kind and the error remain
    }
    if (options_.on_event) options_.on_event(e);
    else std::fprintf(stderr, "%s\n", e.message.c_str());
}

template <class Describe>
void event_reporter::report_once(event::kind what, int error, unsigned cpu, const Describe& describe) noexcept {
    const unsigned bit = 1u << static_cast<unsigned>(what);
    if ((reported_.load(relaxed) & bit) == 0 && (reported_.fetch_or(bit, relaxed) & bit) == 0)
        report(what, error, cpu, describe);
}

CMWQ_INLINE void event_reporter::thread_refusals_of(const thread_refusals& r, const thread_attributes& a) noexcept {
    const unsigned cpu = a.cpus == nullptr ? 0 : a.cpus->next(0);
    // Called inside of report(), which handles std::bad_alloc.
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

CMWQ_INLINE void event_reporter::no_sentinel(unsigned cpu, int error) noexcept {
    report_once(event::kind::sentinel_refused, error, cpu, [cpu] {
        return "cmwq: CPU " + std::to_string(cpu) + ": SCHED_IDLE refused, blocked workers are noticed by the monitor";
    });
}

CMWQ_INLINE void event_reporter::no_thread(unsigned cpu, int error) noexcept {
    report_once(event::kind::no_thread, error, cpu,
                [cpu] { return "cmwq: CPU " + std::to_string(cpu) + ": cannot make a thread"; });
}

CMWQ_INLINE void event_reporter::thread_limit(unsigned cpu) noexcept {
    report_once(event::kind::thread_limit, 0, cpu, [this] {
        return "cmwq: all " + std::to_string(options_.max_threads) +
               " threads of the runtime (max_threads) are in use: items wait for one of them";
    });
}

CMWQ_INLINE void event_reporter::rescued(const queue_core& q) noexcept {
    report(event::kind::rescued, 0, 0, [&q] {
        return "cmwq: no worker can be made for " + describe_queue(q.name) + ": its rescuer runs its items";
    });
}

CMWQ_INLINE void event_reporter::bottom_half_blocked(const queue_core& q, unsigned cpu) noexcept {
    report_once(event::kind::bh_blocked, 0, cpu,
                [&q] { return "cmwq: an item of the bottom-half " + describe_queue(q.name) + " has blocked"; });
}

CMWQ_INLINE void event_reporter::cpus_unavailable(const std::vector<std::string>& complaints) noexcept {
    for (const std::string& c : complaints) {
        report_once(event::kind::cpus_unavailable, ENODEV, 0, [&] { return c; });
    }
}

CMWQ_INLINE void event_reporter::cpu_hog(void (*function)(work_base&), const char* queue, unsigned cpu) noexcept {
    nr_hogs_.fetch_add(1, relaxed);
    auto known = std::find_if(hogs_.begin(), hogs_.end(), [&](const hog& h) { return h.function == function; });
    if (known == hogs_.end()) {
        try {
            known = hogs_.insert(hogs_.end(), {function, 0});
        } catch (const std::bad_alloc&) {
            return; // counted in total only, not for this function
        }
    }
    const std::uint64_t hits = ++known->hits, first = options_.cpu_hog_warning_threshold;
    if (first == 0 || hits % first != 0 || !std::has_single_bit(hits / first)) return;
    report(event::kind::cpu_hog, 0, cpu, [&] {
        return "cmwq: " + describe_function(function) + " of " + describe_queue(queue) + " has kept CPU " +
               std::to_string(cpu) + " from other items for too long, " + std::to_string(hits) +
               " times: it belongs on a queue that is unbound, or cpu_intensive";
    });
}

}}} // namespace cmwq::CMWQ_NS::detail
