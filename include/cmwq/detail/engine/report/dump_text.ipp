// SPDX-License-Identifier: BSL-1.0
//
// The report of a runtime as text for people, modeled on the kernel's wq_dump and its list of busy workqueues.

#include <cmwq/detail/engine/env/pool_finder.hpp>
#include <cmwq/detail/engine/item/item_name.hpp>
#include <cmwq/detail/engine/report/runtime_report.hpp>
#include <cmwq/detail/engine/waits/wait_report.hpp>
#include <cmwq/detail/sync/clock.hpp>

#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// printf() that appends to a string, for columns. Longer output than the buffer is cut off; no caller has any.
__attribute__((format(printf, 2, 3))) inline void append(std::string& to, const char* form, ...) {
    char line[256];
    std::va_list values;
    va_start(values, form);
    std::vsnprintf(line, sizeof line, form, values);
    va_end(values);
    to += line;
}

/// A section of the report is missing.
CMWQ_INLINE void print_locked(std::string& to, const char* what) {
    append(to, "(%s: locked by another thread)\n", what);
}

CMWQ_INLINE void print_pool(std::string& to, const numbered_pool& p) {
    append(to, "pool[%02u] ", p.number);
    if (p.spec_locked) return print_locked(to, "its attributes");
    append(to, "ref=%3u ", p.users);
    switch (p.spec.sched) {
    case sched_class::normal: append(to, "nice=%3d", p.spec.nice); break;
    case sched_class::batch: append(to, "batch, nice=%3d", p.spec.nice); break;
    case sched_class::idle: to += "idle"; break;
    case sched_class::fifo: to += "fifo"; break;
    }
    const worker_counts& now = p.now.workers;
    if (p.now.locked) to += " (locked by another thread) ";
    else append(to, " idle/workers=%3zu/%3zu ", now.idle, now.workers);
    if (p.what == numbered_pool::kind::shared) {
        to += "cpus=" + p.spec.cpus.to_mask_string();
        if (p.spec.pod != p.spec.cpus) to += " pod_cpus=" + p.spec.pod.to_mask_string();
        if (p.spec.managed) to += " elastic";
    } else {
        append(to, "cpu=%3u", p.cpu);
    }
    if (now.refused.sched != 0) to += " (scheduling class refused)";
    if (now.refused.nice != 0) to += " (nice value refused)";
    if (now.refused.binding_is_forbidden()) to += " (binding refused)";
    if (now.short_of_threads) to += " (a worker is needed and could not be made)";
    to += '\n';
}

CMWQ_INLINE void print_growth(std::string& to, const runtime_report& r) {
    to += "\nPool -> workers made, by reason\n===============================\n"
          "[             first  parallel   blocked   learned   overdue unmanaged]\n";
    for (const numbered_pool& p : r.pools) {
        if (p.what == numbered_pool::kind::bottom_half || p.now.locked) continue;
        append(to, "pool[%02u] ", p.number);
        for_each_reason([&](const char*, std::uint64_t pool_growth::* n) {
            append(to, " %9llu", static_cast<unsigned long long>(p.now.workers.made.*n));
        });
        to += '\n';
    }
}

CMWQ_INLINE void print_runs(std::string& to, const numbered_pool& p) {
    if (p.now.locked) {
        append(to, "pool[%02u] ", p.number);
        print_locked(to, "its workers and items");
    }
    for (std::size_t i = 0; i < p.now.runs.size(); ++i) {
        const run_report& run = p.now.runs[i];
        append(to, "pool[%02u] %s %u, thread %ld, %s: ", p.number, run.kind_of_thread(), run.worker, run.tid,
               p.activities[i].c_str());
        to += run.item == nullptr ? describe_callable(run.function) : describe({run.item, run.function});
        to += " of " + describe_queue(run.queue.text);
        if (run.is_nested) to += ", inside another item";
        if (run.nr_behind != 0) to += ", queued again";
        to += description_in_parentheses(run.description);
        to += '\n';
    }
    if (p.now.nr_runs > p.now.runs.size())
        append(to, "pool[%02u] and %zu more\n", p.number, p.now.nr_runs - p.now.runs.size());
}

CMWQ_INLINE void print_groups(std::string& to, const item_groups& items, with_queues named) {
    const char* separator = " ";
    for (const item_group& g : items.groups()) {
        to += separator;
        if (g.count != 1) to += std::to_string(g.count) + '*';
        to += describe_callable(g.function);
        if (named == with_queues::yes) to += " of " + describe_queue(g.queue.text);
        separator = ", ";
    }
    if (items.nr_more() != 0) to += " and " + std::to_string(items.nr_more()) + " more";
    to += '\n';
}

CMWQ_INLINE void print_items(std::string& to, const runtime_report& r) {
    for (const numbered_pool& p : r.pools) {
        if (p.now.pending.nr_items() != 0) {
            append(to, "pool[%02u] pending %zu%s:", p.number, p.now.pending.nr_items(),
                   p.now.pending.complete() ? "" : " or more");
            print_groups(to, p.now.pending, with_queues::yes);
        }
        if (p.now.nr_local != 0) append(to, "pool[%02u] on lists of workers: %zu\n", p.number, p.now.nr_local);
    }
    for (const queue_report& q : r.queues) {
        for (const queue_report::pwq& p : q.pwqs) {
            if (p.now.inactive.nr_items() == 0) continue;
            append(to, "pool[%02u] ", pool_finder::number_of(p.pool));
            to += describe_queue(q.name);
            append(to, ", active %u (%u not started)%s%s%s, inactive %zu:", p.now.nr_active, p.now.nr_waiting,
                   p.now.frozen ? ", frozen" : "", p.now.plugged ? ", plugged" : "", p.now.mayday ? ", mayday" : "",
                   p.now.inactive.nr_items());
            print_groups(to, p.now.inactive, with_queues::no);
        }
    }
}

// "S": its pools are strict. "M": its pools are managed; the other kinds always or never are.
CMWQ_INLINE std::string flags_of(const queue_report& q) {
    const std::string_view kind = q.kind;
    std::string flags;
    if (q.strict) flags += 'S';
    if (q.managed && (kind == "unbound" || kind == "ordered")) flags += 'M';
    return flags.empty() ? flags : ',' + flags;
}

/// The first column of every table of queues.
CMWQ_INLINE void append_name(std::string& to, const queue_report& q) {
    append(to, "%-24.24s", printable(q.name).c_str());
}

CMWQ_INLINE void print_queues(std::string& to, const runtime_report& r) {
    to += "\nWorkqueue CPU -> pool\n=====================\n[    workqueue     \\     type   CPU";
    for (const unsigned cpu : r.cpus) append(to, " %3u", cpu);
    to += "]\n";
    if (r.queues_locked) print_locked(to, "the list of queues");
    for (const queue_report& q : r.queues) {
        append_name(to, q);
        append(to, " %-8s%-3s  ", q.kind, flags_of(q).c_str());
        if (q.locked) print_locked(to, "this queue");
        for (const std::uint64_t id : q.pool_of_cpu) append(to, " %3u", pool_finder::number_of(id));
        if (!q.locked) to += '\n';
    }
    to += "\nWorkqueue -> rescuer\n====================\n";
    for (const queue_report& q : r.queues) {
        if (!q.has_rescuer) continue;
        append_name(to, q);
        append(to, " thread %ld\n", q.rescuer_tid);
    }
    to += "\nUnbound WQ -> active\n====================\n[    workqueue              min  max, nr/max of each node, of "
          "the machine]\n";
    for (const queue_report& q : r.queues) {
        if (q.slots_of_nodes.empty()) continue;
        append_name(to, q);
        append(to, " %6u %4u", q.min_active, q.max_active);
        for (const queue_report::slots& s : q.slots_of_nodes) append(to, " %3u/%3u", s.in_use, s.max);
        to += '\n';
    }
}

/// A duration in a column of nine characters.
CMWQ_INLINE void append_duration(std::string& to, std::chrono::nanoseconds d) {
    const auto ns = static_cast<double>(d.count());
    if (d == std::chrono::nanoseconds::max()) append(to, " %9s", "longer");
    else if (ns < 1e6) append(to, " %6.1f us", ns / 1e3);
    else if (ns < 1e9) append(to, " %6.1f ms", ns / 1e6);
    else append(to, " %7.1f s", ns / 1e9);
}

CMWQ_INLINE void print_counters(std::string& to, const runtime_report& r) {
    to += "\nWorkqueue -> counters\n=====================\n"
          "[    workqueue                   started   running  at limit    blocks    spares     hogs   repatr  mayday "
          "rescued]\n";
    for (const queue_report& q : r.queues) {
        if (q.locked) continue;
        const queue_counters& c = q.counts;
        const auto column = [&to](int width, std::uint64_t n) {
            append(to, " %*llu", width, static_cast<unsigned long long>(n));
        };
        append_name(to, q);
        column(13, c.started);
        column(9, c.started - c.completed);
        append_duration(to, std::chrono::nanoseconds{static_cast<std::int64_t>(c.saturated_ns)});
        column(9, c.blocks_by_guard + c.blocks_by_sentinel + c.blocks_by_monitor);
        column(9, c.spare_wakeups);
        column(8, c.cpu_hogs);
        column(8, c.repatriated);
        column(7, c.maydays);
        column(7, c.rescued);
        to += '\n';
    }
}

CMWQ_INLINE void print_times(std::string& to, const runtime_report& r) {
    to += "\nWorkqueue -> times of its items\n===============================\n"
          "[    workqueue                CPU time  mean run   50 % in   99 % in mean wait   50 % in   99 % in]\n";
    for (const queue_report& q : r.queues) {
        if (q.locked) continue;
        append_name(to, q);
        to += "     ";
        append_duration(to, std::chrono::nanoseconds{static_cast<std::int64_t>(q.counts.cpu_ns)});
        for (const duration_histogram* h : {&q.run_times, &q.wait_times}) {
            append_duration(to, h->mean());
            append_duration(to, h->quantile(0.5));
            append_duration(to, h->quantile(0.99));
        }
        to += '\n';
    }
}

CMWQ_INLINE void print_scopes(std::string& to, const runtime_report& r) {
    std::string settings;
    std::optional<affinity_scope> default_scope;
    if (r.settings_locked) {
        print_locked(settings, "the unbound CPUs and the default scope");
    } else {
        settings = "wq_unbound_cpumask=" + r.unbound_cpus.to_mask_string() + '\n';
        default_scope = r.default_scope;
    }
    if (r.machine != nullptr) {
        to += describe_scopes(*r.machine, settings, default_scope, affinity_scopes);
    } else {
        to += "Affinity Scopes\n===============\n" + settings;
        to += "(the scopes: not known yet; the first attribute-keyed queue reads the topology)\n";
    }
    if (!r.settings_locked) to += "\nUnbound CPUs: " + r.unbound_cpus.to_string() + '\n';
}

CMWQ_INLINE std::string to_text(const runtime_report& r) {
    std::string text;
    print_scopes(text, r);
    text += "\nWorker Pools\n============\n";
    for (const numbered_pool& p : r.pools) {
        if (p.what != numbered_pool::kind::bottom_half) print_pool(text, p);
    }
    print_growth(text, r);
    print_queues(text, r);
    print_counters(text, r);
    print_times(text, r);
    text += "\nBusy workers\n============\n";
    for (const numbered_pool& p : r.pools) print_runs(text, p);
    text += "\nPending items\n=============\n";
    print_items(text, r);
    text += "\nWaiting items\n=============\n";
    if (r.waits_locked) print_locked(text, "the graph of waits");
    const std::int64_t now = steady_now();
    for (const wait_report& w : r.waits) {
        text += describe_wait(w);
        append(text, ", for %lld ms\n", static_cast<long long>((now - w.since) / 1'000'000));
    }
    return text;
}

}}} // namespace cmwq::CMWQ_NS::detail
