// SPDX-License-Identifier: BSL-1.0
//
// Collects the numbers of a runtime, and writes them. docs/guide/metrics.md has the series.

#include <cmwq/detail/base/printable.hpp>
#include <cmwq/detail/base/utf8.hpp>
#include <cmwq/detail/engine/report/metrics.hpp>
#include <cmwq/detail/engine/runtime/runtime_core.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/try_lock.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

// --- collecting ------------------------------------------------------------------------------------------------------

CMWQ_INLINE bool is_locked(const runtime_numbers& r, const std::string& name) {
    return std::find(r.locked.begin(), r.locked.end(), name) != r.locked.end();
}

CMWQ_INLINE void add_numbers(runtime_numbers& to, const queue_core& q, std::int64_t deadline) {
    if (is_locked(to, q.name)) return;
    pwq_stats counts;
    if (!q.pwqs.try_stats(counts, deadline)) return to.locked.push_back(q.name);
    auto same = std::find_if(to.queues.begin(), to.queues.end(),
                             [&](const queue_numbers& n) { return n.name == q.name && n.policy == q.policy; });
    if (same == to.queues.end()) same = to.queues.insert(to.queues.end(), {.name = q.name, .policy = q.policy});
    add(same->counts, counts);
    same->max_active = q.limits.max_active();
    same->rescuer |= q.own_rescuer != nullptr;
    same->run_times.add(q.times.runs.get());
    same->wait_times.add(q.times.waits.get());
}

CMWQ_INLINE runtime_numbers numbers_of(const runtime_core& rt) {
    constexpr std::int64_t patience = 100'000'000; // nanoseconds, for all locks together
    const std::int64_t deadline = steady_now() + patience;
    runtime_numbers r{.name = rt.name(), .cpus = rt.env().cpus.nr_cpus(), .queues = {}, .pools = {}};
    r.every_queue = rt.queues().for_each_until(deadline, [&](const queue_core& q) { add_numbers(r, q, deadline); });
    // A sum that lacks a queue would make the counters fall.
    std::erase_if(r.queues, [&r](const queue_numbers& q) { return is_locked(r, q.name); });
    rt.pools().for_each_pool([&](item_pool& p) {
        pool_numbers one{.number = static_cast<std::size_t>(p.id() - rt.pools().id()), .now = {}};
        if (p.try_summary(one.now, deadline) && one.now.made.first != 0) r.pools.push_back(one);
    });
    return r;
}

// --- OpenMetrics -----------------------------------------------------------------------------------------------------

/// The text form of OpenMetrics 1.0. Throws std::bad_alloc.
class open_metrics_writer {
public:
    /// Begins the next family. `unit`: the end of its name, or empty.
    void family(std::string_view name, std::string_view type, std::string_view help, std::string_view unit = {}) {
        name_ = "cmwq_" + std::string(name);
        line("# TYPE ", type);
        if (!unit.empty()) line("# UNIT ", unit);
        line("# HELP ", help);
    }
    /// A value of the family. `suffix`: of its name. `labels`: without braces.
    void value(std::string_view suffix, const std::string& labels, std::uint64_t n) {
        begin(suffix, labels);
        text_ += std::to_string(n) + '\n';
    }
    void value(std::string_view suffix, const std::string& labels, std::chrono::nanoseconds time) {
        begin(suffix, labels);
        text_ += seconds(time) + '\n';
    }
    void histogram(const std::string& labels, const duration_histogram& h) {
        constexpr std::size_t first = 6; // 1.024 us; each second class ends at a power of two
        std::uint64_t below = 0;
        for (std::size_t i = 0; i < duration_histogram::nr_classes; ++i) {
            below += h.counts[i];
            if (i < first || i % 2 != 0) continue;
            value("_bucket", labels + ",le=\"" + seconds(duration_histogram::bound_of(i)) + '"', below);
        }
        value("_bucket", labels + ",le=\"+Inf\"", below);
        value("_count", labels, below);
        value("_sum", labels, h.sum);
    }
    [[nodiscard]] std::string end() {
        text_ += "# EOF\n";
        return std::move(text_);
    }

    /// name="text", where the text may be anything.
    static std::string label(std::string_view name, std::string_view text) {
        std::string to = std::string(name) + "=\"";
        for_each_character(text, [&to](std::string_view c) {
            if (c.empty()) to += "\xef\xbf\xbd"; // U+FFFD
            else if (c == "\n") to += "\\n";
            else if (c == "\"" || c == "\\") (to += '\\') += c;
            else to += c;
        });
        return to + '"';
    }

private:
    static std::string seconds(std::chrono::nanoseconds time) {
        constexpr std::int64_t second = 1'000'000'000;
        char to[32];
        std::snprintf(to, sizeof to, "%lld.%09lld", static_cast<long long>(time.count() / second),
                      static_cast<long long>(time.count() % second));
        return to;
    }
    void line(std::string_view what, std::string_view content) {
        text_ += what;
        ((text_ += name_) += ' ') += content;
        text_ += '\n';
    }
    void begin(std::string_view suffix, const std::string& labels) {
        (text_ += name_) += suffix;
        text_ += '{' + labels + "} ";
    }

    std::string text_, name_;
};

CMWQ_INLINE std::chrono::nanoseconds as_time(std::uint64_t ns) {
    return std::chrono::nanoseconds{static_cast<std::int64_t>(ns)};
}

CMWQ_INLINE void write_queues(open_metrics_writer& to, const runtime_numbers& r) {
    std::vector<std::string> labels;
    labels.reserve(r.queues.size());
    for (const queue_numbers& q : r.queues) {
        labels.push_back(open_metrics_writer::label("runtime", r.name) + ',' +
                         open_metrics_writer::label("queue", q.name) + ',' +
                         open_metrics_writer::label("policy", q.policy));
    }
    const auto for_each = [&](const auto& f) {
        for (std::size_t i = 0; i < r.queues.size(); ++i) f(labels[i], r.queues[i]);
    };
    const auto counter = [&](const char* name, const char* help, const auto& number) {
        to.family(name, "counter", help);
        for_each([&](const std::string& of, const queue_numbers& q) {
            to.value("_total", of, std::invoke(number, q.counts));
        });
    };
    const auto time = [&](const char* name, const char* help, std::uint64_t pwq_stats::* ns) {
        to.family(name, "counter", help, "seconds");
        for_each([&](const std::string& of, const queue_numbers& q) { to.value("_total", of, as_time(q.counts.*ns)); });
    };
    const auto gauge = [&](const char* name, const char* help, const auto& number) {
        to.family(name, "gauge", help);
        for_each(
            [&](const std::string& of, const queue_numbers& q) { to.value("", of, std::invoke(number, q.counts)); });
    };
    const auto histogram = [&](const char* name, const char* help, duration_histogram queue_numbers::* times) {
        to.family(name, "histogram", help, "seconds");
        for_each([&](const std::string& of, const queue_numbers& q) { to.histogram(of, q.*times); });
    };
    counter("items_queued", "Items that the queue has accepted; delayed ones, when their time has come",
            [](const pwq_stats& s) { return s.started + s.pending + s.cancelled; });
    counter("items_started", "Items whose function was entered", &pwq_stats::started);
    counter("items_completed", "Items whose function has returned", &pwq_stats::completed);
    counter("items_cancelled", "Items that were taken back before they started", &pwq_stats::cancelled);
    gauge("pending", "Items that have not started", &pwq_stats::pending);
    gauge("inactive", "Items that wait for a slot of the limit", &pwq_stats::inactive);
    gauge("active", "Items that have a slot of the limit", &pwq_stats::active);
    to.family("max_active", "gauge", "The limit of active items; of bound queues, for each CPU");
    for_each([&](const std::string& of, const queue_numbers& q) { to.value("", of, std::uint64_t{q.max_active}); });
    time("saturated_seconds", "How long items have waited for a slot of the limit", &pwq_stats::saturated_ns);
    time("cpu_seconds", "CPU time of the items, an estimate", &pwq_stats::cpu_ns);
    histogram("run_seconds", "How long items ran, blocked or not, an estimate", &queue_numbers::run_times);
    histogram("wait_seconds", "How long items waited until they were called, an estimate", &queue_numbers::wait_times);
    to.family("blocks", "counter", "Items that were found blocked, with others pending");
    for_each([&](const std::string& of, const queue_numbers& q) {
        to.value("_total", of + ",detector=\"guard\"", q.counts.blocks_by_guard);
        to.value("_total", of + ",detector=\"sentinel\"", q.counts.blocks_by_sentinel);
        to.value("_total", of + ",detector=\"monitor\"", q.counts.blocks_by_monitor);
    });
    counter("spare_wakeups", "Workers that were started in place of a blocked one", &pwq_stats::spare_wakeups);
    counter("cpu_hogs", "Items that kept their CPU for too long", &pwq_stats::cpu_hogs);
    counter("repatriated", "Workers that came back to their pod", &pwq_stats::repatriated);
    counter("mayday", "Calls of the rescuer", &pwq_stats::maydays);
    counter("rescued", "Items that the rescuer has run", &pwq_stats::rescued);
}

CMWQ_INLINE void write_pools(open_metrics_writer& to, const runtime_numbers& r) {
    const auto labels = [&r](const pool_numbers& p) {
        return open_metrics_writer::label("runtime", r.name) + ",pool=\"" + std::to_string(p.number) + '"';
    };
    to.family("workers", "gauge", "Worker threads; \"busy\": with an item, in pools that do not know which ones block");
    for (const pool_numbers& p : r.pools) {
        const std::string of = labels(p) + ",state=\"";
        const std::size_t busy = p.now.workers - p.now.idle;
        to.value("", of + "idle\"", p.now.idle);
        if (p.now.running < 0) {
            to.value("", of + "busy\"", busy);
        } else {
            const auto running = std::min(static_cast<std::size_t>(p.now.running), busy);
            to.value("", of + "running\"", running);
            to.value("", of + "blocked\"", busy - running);
        }
    }
    to.family("pool_grown", "counter", "Workers that were made, by the reason");
    for (const pool_numbers& p : r.pools) {
        for_each_reason([&](const char* why, std::uint64_t pool_growth::* n) {
            to.value("_total", labels(p) + ",reason=\"" + why + '"', p.now.made.*n);
        });
    }
}

CMWQ_INLINE std::string to_open_metrics(const runtime_numbers& r) {
    open_metrics_writer to;
    write_queues(to, r);
    write_pools(to, r);
    return to.end();
}

// --- a line ----------------------------------------------------------------------------------------------------------

// Unmanaged pools do not know which of their workers are blocked: all of them count as running.
CMWQ_INLINE std::string to_line(const runtime_numbers& r, long long ms) {
    std::size_t workers = 0, idle = 0, running = 0;
    std::uint64_t made = 0, pending = 0, spares = 0;
    for (const pool_numbers& p : r.pools) {
        const std::size_t busy = p.now.workers - p.now.idle;
        workers += p.now.workers;
        idle += p.now.idle;
        running += p.now.running < 0 ? busy : std::min(static_cast<std::size_t>(p.now.running), busy);
        for_each_reason([&](const char*, std::uint64_t pool_growth::* n) { made += p.now.made.*n; });
    }
    const auto add_name = [](std::string& to, const std::string& name) {
        (to += to.empty() ? "" : ",") += printable(name);
    };
    std::string saturated, locked;
    for (const queue_numbers& q : r.queues) {
        pending += q.counts.pending;
        spares += q.counts.spare_wakeups;
        if (q.counts.inactive != 0) add_name(saturated, q.name);
    }
    for (const std::string& name : r.locked) add_name(locked, name);
    if (!r.every_queue) locked = "?";
    const auto part = [](const char* name, std::uint64_t n) { return ' ' + (name + ('=' + std::to_string(n))); };
    return "cmwq " + std::to_string(ms) + "ms:" + part("cpus", r.cpus) +
           part("idlecpus", r.cpus - std::min<std::size_t>(running, r.cpus)) + part("workers", workers) +
           part("running", running) + part("blocked", workers - idle - running) + part("idle", idle) +
           part("made", made) + part("spares", spares) + part("pending", pending) +
           " saturated=" + (saturated.empty() ? "-" : saturated) + (locked.empty() ? "" : " locked=" + locked) + '\n';
}

}}} // namespace cmwq::CMWQ_NS::detail
