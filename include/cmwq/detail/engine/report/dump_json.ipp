// SPDX-License-Identifier: BSL-1.0
//
// The report of a runtime as JSON. docs/dev/dump_json.md describes the members.

#include <cmwq/detail/engine/env/pool_finder.hpp>
#include <cmwq/detail/engine/item/item_name.hpp>
#include <cmwq/detail/engine/report/json_writer.hpp>
#include <cmwq/detail/engine/report/runtime_report.hpp>
#include <cmwq/detail/engine/report/version_text.hpp>
#include <cmwq/detail/engine/waits/wait_report.hpp>
#include <cmwq/detail/sync/clock.hpp>

#include <chrono>
#include <cstddef>
#include <string>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE void write_address(json_writer& to, const void* p) {
    if (p == nullptr) to.null();
    else to.value(describe_address(p));
}

CMWQ_INLINE void write_scopes(json_writer& to, const runtime_report& r) {
    const affinity_scope chosen =
        r.default_scope == affinity_scope::default_ ? default_affinity_scope : r.default_scope;
    to.key("scopes");
    if (r.machine == nullptr) return to.null();
    to.open('[');
    for (const affinity_scope scope : affinity_scopes) {
        to.open('{');
        to.key("name").value(to_string(scope));
        to.key("default");
        if (r.settings_locked) to.null();
        else to.value(scope == chosen);
        to.key("pods").open('[');
        for (const topology::pod& p : r.machine->pods(scope)) {
            to.open('{');
            to.key("cpus").value(p.cpus.to_string());
            to.key("node");
            if (p.node == topology::no_node) to.null();
            else to.value(p.node);
            to.close('}');
        }
        to.close(']');
        to.close('}');
    }
    to.close(']');
}

CMWQ_INLINE void write_groups(json_writer& to, const item_groups& items, with_queues named) {
    to.open('{');
    to.key("count").value(items.nr_items());
    to.key("complete").value(items.complete());
    to.key("groups").open('[');
    for (const item_group& g : items.groups()) {
        to.open('{');
        to.key("count").value(g.count);
        to.key("function").value(describe_callable(g.function));
        to.key("first");
        write_address(to, g.first);
        if (named == with_queues::yes) to.key("queue").value(g.queue.text);
        to.close('}');
    }
    to.close(']');
    to.close('}');
}

CMWQ_INLINE void write_run(json_writer& to, const run_report& run, const std::string& activity) {
    to.open('{');
    to.key("worker").value(run.worker);
    to.key("tid").value(run.tid);
    to.key("rescuer").value(run.is_rescuer);
    to.key("guest").value(run.is_guest);
    to.key("nested").value(run.is_nested);
    to.key("counted").value(run.counted);
    to.key("activity").value(activity);
    to.key("item");
    write_address(to, run.item);
    to.key("function").value(describe_callable(run.function));
    to.key("queue").value(run.queue.text);
    to.key("description").value(run.description);
    to.key("queued_again").value(run.nr_behind);
    to.close('}');
}

CMWQ_INLINE void write_spec(json_writer& to, const pool_spec& spec) {
    constexpr const char* classes[] = {"normal", "batch", "idle", "fifo"};
    to.key("scheduling").value(classes[static_cast<unsigned>(spec.sched)]);
    to.key("nice").value(spec.nice);
    to.key("cpus").value(spec.cpus.to_string());
    to.key("pod_cpus").value(spec.pod.to_string());
    to.key("elastic").value(spec.managed);
}

CMWQ_INLINE void write_pool(json_writer& to, const numbered_pool& p) {
    constexpr const char* kinds[] = {"per_cpu", "shared", "bottom_half"};
    to.open('{');
    to.key("pool").value(p.number);
    to.key("kind").value(kinds[static_cast<unsigned>(p.what)]);
    if (p.what != numbered_pool::kind::shared) to.key("cpu").value(p.cpu);
    if (p.what == numbered_pool::kind::shared && !p.spec_locked) to.key("users").value(p.users);
    if (p.what != numbered_pool::kind::bottom_half && !p.spec_locked) write_spec(to, p.spec);
    to.key("locked").value(p.now.locked);
    if (!p.now.locked) {
        const worker_counts& now = p.now.workers;
        if (p.what != numbered_pool::kind::bottom_half) {
            to.key("workers").value(now.workers);
            to.key("idle").value(now.idle);
            to.key("short_of_threads").value(now.short_of_threads);
            to.key("made").open('{');
            for_each_reason([&](const char* why, std::uint64_t pool_growth::* n) { to.key(why).value(now.made.*n); });
            to.close('}');
        }
        if (now.running >= 0) {
            to.key("running").value(now.running);
            to.key("limit").value(now.limit);
        }
        to.key("pending");
        write_groups(to, p.now.pending, with_queues::yes);
        to.key("local").value(p.now.nr_local);
        to.key("runs").open('[');
        for (std::size_t i = 0; i < p.now.runs.size(); ++i) write_run(to, p.now.runs[i], p.activities[i]);
        to.close(']');
    }
    to.close('}');
}

CMWQ_INLINE void write_counters(json_writer& to, const queue_counters& s) {
    for_each_counter_of_queue(
        [&](const char* name, std::uint64_t queue_counters::* member) { to.key(name).value(s.*member); });
}

CMWQ_INLINE void write_histogram(json_writer& to, const duration_histogram& h) {
    to.open('{');
    to.key("sum_ns").value(h.sum.count());
    to.key("classes").open('[');
    for (std::size_t i = 0; i < duration_histogram::nr_classes; ++i) {
        if (h.counts[i] == 0) continue;
        to.open('{');
        to.key("below_ns");
        if (const auto bound = duration_histogram::bound_of(i); bound != std::chrono::nanoseconds::max())
            to.value(bound.count());
        else to.null();
        to.key("count").value(h.counts[i]);
        to.close('}');
    }
    to.close(']');
    to.close('}');
}

CMWQ_INLINE void write_pwq(json_writer& to, const queue_report::pwq& p) {
    to.open('{');
    to.key("pool").value(pool_finder::number_of(p.pool));
    to.key("locked").value(p.now.locked);
    if (!p.now.locked) {
        to.key("active").value(p.now.nr_active);
        to.key("not_started").value(p.now.nr_waiting);
        to.key("inactive");
        write_groups(to, p.now.inactive, with_queues::no);
        to.key("frozen").value(p.now.frozen);
        to.key("plugged").value(p.now.plugged);
        to.key("mayday").value(p.now.mayday);
        to.key("replaced").value(p.now.detached);
        write_counters(to, p.now.counts);
    }
    to.close('}');
}

CMWQ_INLINE void write_queue(json_writer& to, const queue_report& q) {
    constexpr const char* priorities[] = {"normal", "high", "fifo"};
    to.open('{');
    to.key("name").value(q.name);
    to.key("kind").value(q.kind);
    to.key("managed").value(q.managed);
    to.key("priority").value(priorities[static_cast<unsigned>(q.prio)]);
    to.key("cpu_intensive").value(q.cpu_intensive);
    to.key("freezable").value(q.freezable);
    to.key("exported").value(q.exported);
    to.key("rescuer");
    if (q.has_rescuer) to.value(q.rescuer_tid);
    else to.null();
    to.key("min_active").value(q.min_active);
    to.key("max_active").value(q.max_active);
    to.key("locked").value(q.locked);
    if (!q.locked) {
        to.key("strict").value(q.strict);
        to.key("draining").value(q.draining);
        to.key("frozen").value(q.frozen);
        write_counters(to, q.counts);
        to.key("run_times");
        write_histogram(to, q.run_times);
        to.key("wait_times");
        write_histogram(to, q.wait_times);
        to.key("pool_of_cpu").open('[');
        for (const std::uint64_t id : q.pool_of_cpu) to.value(pool_finder::number_of(id));
        to.close(']');
        to.key("slots").open('[');
        for (const queue_report::slots& s : q.slots_of_nodes) {
            to.open('{');
            to.key("in_use").value(s.in_use);
            to.key("max").value(s.max);
            to.close('}');
        }
        to.close(']');
        to.key("pwqs").open('[');
        for (const queue_report::pwq& p : q.pwqs) write_pwq(to, p);
        to.close(']');
    }
    to.close('}');
}

CMWQ_INLINE void write_wait(json_writer& to, const wait_report& w, std::int64_t now) {
    to.open('{');
    to.key("item");
    write_address(to, w.who.item);
    to.key("function").value(describe_callable(w.who.function));
    to.key("queue").value(w.queue);
    to.key("call").value(w.call);
    if (w.for_item()) {
        to.key("for_item");
        write_address(to, w.item.item);
        to.key("for_function").value(describe_callable(w.item.function));
    } else {
        to.key(w.for_group ? "for_group_on" : "for_queue").value(w.awaited_queue);
    }
    to.key("milliseconds").value((now - w.since) / 1'000'000);
    to.key("text").value(describe_wait(w));
    to.close('}');
}

CMWQ_INLINE std::string to_json(const runtime_report& r) {
    json_writer to;
    to.open('{');
    to.key("format").value(1);
    to.key("version").value(version_text());
    to.key("cpus").value(r.cpus.to_string());
    write_scopes(to, r);
    to.key("unbound_cpus");
    if (r.settings_locked) to.null();
    else to.value(r.unbound_cpus.to_string());
    to.key("pools").open('[');
    for (const numbered_pool& p : r.pools) write_pool(to, p);
    to.close(']');
    to.key("queues_locked").value(r.queues_locked);
    to.key("queues").open('[');
    for (const queue_report& q : r.queues) write_queue(to, q);
    to.close(']');
    to.key("waits_locked").value(r.waits_locked);
    to.key("waits").open('[');
    const std::int64_t now = steady_now();
    for (const wait_report& w : r.waits) write_wait(to, w, now);
    to.close(']');
    to.close('}');
    return to.take() + '\n';
}

}}} // namespace cmwq::CMWQ_NS::detail
