// SPDX-License-Identifier: BSL-1.0
//
// The bodies of event_reporter: the messages of the events, and their delivery.

#include <cmwq/detail/base/probe.hpp>
#include <cmwq/detail/base/short_name.hpp>
#include <cmwq/detail/engine/env/event_reporter.hpp>
#include <cmwq/detail/engine/item/item_name.hpp>
#include <cmwq/detail/sync/system.hpp>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <string>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

// Events that are printed to stderr if the program has no listener.
constexpr bool is_hang(event::kind k) noexcept {
    return k == event::kind::stalled || k == event::kind::saturated || k == event::kind::deadlock ||
           k == event::kind::flush_dependency;
}

CMWQ_INLINE bool event_reporter::has_audience(event::kind what) const noexcept {
    return options_.on_event || is_hang(what) || observers_.any();
}

// --- delivery --------------------------------------------------------------------------------------------------------

CMWQ_INLINE void event_reporter::deliver(const event& e) noexcept {
    CMWQ_PROBE(report, e.what, e.message.c_str());
    if (observers_.any()) observers_.tell([&](observer& o) { o.reported(e); });
    if (options_.on_event) options_.on_event(e);
    else if (is_hang(e.what)) std::fprintf(stderr, "%s\n", e.message.c_str());
}

CMWQ_INLINE void event_reporter::deliver_posted() noexcept {
    for (place* p = posted_.take_all(); p != nullptr;) {
        place& one = *p;
        p = inbox<place, event_tag>::unlink_next(one);
        deliver(one.take());
        one.in_use.store(false, release); // [PLACE-1]
    }
    const std::uint64_t lost = nr_lost();
    const std::uint64_t more = lost - std::exchange(nr_told_lost_, lost);
    if (more != 0 && !options_.on_event) {
        std::fprintf(stderr, "cmwq: %llu more reports were lost: there was no room for them\n",
                     static_cast<unsigned long long>(more));
    }
}

CMWQ_INLINE bool event_reporter::all_delivered() const noexcept {
    return std::ranges::none_of(places_, [](const place& p) { return p.in_use.load(acquire); }); // [PLACE-2]
}

// --- messages --------------------------------------------------------------------------------------------------------

CMWQ_INLINE void event_reporter::thread_refusals_of(const thread_refusals& r, const thread_attributes& a) noexcept {
    const unsigned cpu = a.cpus == nullptr ? 0 : a.cpus->next(0);
    const auto says = [name = short_name(a.name)](const std::string& what) {
        return std::string("cmwq: ") + name.text + ": " + what;
    };
    if (r.sched != 0) {
        post_once(event::kind::priority_refused, r.sched, cpu, [says, s = a.sched, wanted = a.wanted_sched()] {
            const char* const name = wanted == sched_class::idle     ? "SCHED_IDLE"
                                     : wanted == sched_class::batch  ? "SCHED_BATCH"
                                     : wanted == sched_class::normal ? "SCHED_OTHER"
                                                                     : "SCHED_FIFO";
            return says(name + std::string(s == sched_class::normal
                                               ? " refused, keeps the class of the thread that started it"
                                               : " refused (RLIMIT_RTPRIO or CAP_SYS_NICE permits it), runs at normal "
                                                 "priority"));
        });
    }
    if (r.nice != 0) {
        post_once(event::kind::priority_refused, r.nice, cpu, [says, own = a.nice == 0, wanted = a.wanted_nice()] {
            return says("nice " + std::to_string(wanted) + " refused, " +
                        (own ? "keeps that of the thread that started it"
                             : "runs at normal priority; RLIMIT_NICE or CAP_SYS_NICE permits it"));
        });
    }
    if (r.binding_is_forbidden()) {
        post_once(event::kind::binding_refused, r.cpus, cpu, [says] { return says("cannot be bound to its CPUs"); });
    }
}

CMWQ_INLINE void event_reporter::no_sentinel(unsigned cpu, int error) noexcept {
    post_once(event::kind::sentinel_refused, error, cpu, [cpu] {
        return "cmwq: CPU " + std::to_string(cpu) + ": SCHED_IDLE refused, blocked workers are noticed by the monitor";
    });
}

CMWQ_INLINE void event_reporter::no_thread(unsigned cpu, int error) noexcept {
    post_once(event::kind::no_thread, error, cpu,
              [cpu] { return "cmwq: CPU " + std::to_string(cpu) + ": cannot make a thread, and tries again"; });
}

CMWQ_INLINE void event_reporter::thread_limit(unsigned cpu) noexcept {
    post_once(event::kind::thread_limit, 0, cpu, [max = options_.max_threads] {
        return "cmwq: max_threads is " + std::to_string(max) +
               ", and so many workers are in use: items wait for one of them. Raise it, or give a rescuer to queues "
               "that "
               "must go on";
    });
}

CMWQ_INLINE void event_reporter::rescued(std::string_view queue) noexcept {
    post(event::kind::rescued, 0, 0, [queue = short_name(queue)] {
        return "cmwq: no worker can be made for " + describe_queue(queue.text) + ": its rescuer runs its items";
    });
}

CMWQ_INLINE void event_reporter::bottom_half_blocked(std::string_view queue, unsigned cpu) noexcept {
    post_once(event::kind::bh_blocked, 0, cpu, [queue = short_name(queue)] {
        return "cmwq: an item of the bottom-half " + describe_queue(queue.text) + " has blocked";
    });
}

CMWQ_INLINE void event_reporter::cpu_hog(void (*function)(work_base&), std::string_view queue, unsigned cpu,
                                         bool is_keyed, unsigned first) noexcept {
    nr_hogs_.fetch_add(1, relaxed);
    auto known = std::ranges::find(hogs_, function, &hog::function);
    if (known == hogs_.end()) {
        known = std::ranges::min_element(hogs_, {}, &hog::hits);
        *known = {function, 0};
    }
    const std::uint64_t hits = ++known->hits;
    if (first == 0 || hits % first != 0 || !std::has_single_bit(hits / first)) return;
    post(event::kind::cpu_hog, 0, cpu, [function, queue = short_name(queue), cpu, is_keyed, hits] {
        return "cmwq: " + describe_callable(function) + " of " + describe_queue(queue.text) + " has kept CPU " +
               std::to_string(cpu) + " from other items for too long, " + std::to_string(hits) +
               " times: it belongs on a queue that is unbound" + (is_keyed ? "" : ", or cpu_intensive");
    });
}

}}} // namespace cmwq::CMWQ_NS::detail
