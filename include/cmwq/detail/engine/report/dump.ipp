// SPDX-License-Identifier: BSL-1.0
//
// The bodies of runtime_core::dump() and its helpers: the state of a runtime as text, modeled on the kernel's wq_dump.
#pragma once

#include <cmwq/detail/engine/report/diagnosis.hpp>
#include <cmwq/detail/engine/runtime/runtime_core.hpp>
#include <cmwq/detail/engine/waits/wait_graph.hpp>
#include <cmwq/detail/sync/clock.hpp>

#include <cstdarg>
#include <cstdio>
#include <string>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// printf() that appends to a string, for columns. Longer output than the buffer is cut off; no caller has any.
__attribute__((format(printf, 2, 3))) inline void print(std::string& to, const char* form, ...) {
    char line[256];
    std::va_list values;
    va_start(values, form);
    std::vsnprintf(line, sizeof line, form, values);
    va_end(values);
    to += line;
}

CMWQ_INLINE void dump_pool(std::string& to, std::size_t number, const rescuable_pool& pool,
                           const pool_registry& registry) {
    const pool_summary now = pool.summary();
    const bool shared = !pool.is_per_cpu();
    pool_spec spec;
    const unsigned users = shared ? registry.users_of(pool, spec) : 1;
    if (users == 0 || (!shared && now.workers == 0)) return;
    if (!shared) spec = pool.spec();
    print(to, "pool[%02zu] ref=%3u ", number, users);
    switch (spec.sched) {
    case sched_class::normal: print(to, "nice=%3d", spec.nice); break;
    case sched_class::batch: print(to, "batch, nice=%3d", spec.nice); break;
    case sched_class::idle: to += "idle"; break;
    case sched_class::fifo: to += "fifo"; break;
    }
    print(to, " idle/workers=%3zu/%3zu ", now.idle, now.workers);
    if (shared) {
        to += "cpus=" + spec.cpus.to_mask_string();
        if (spec.pod != spec.cpus) to += " pod_cpus=" + spec.pod.to_mask_string();
        if (spec.managed) to += " elastic";
    } else {
        print(to, "cpu=%3u", pool.number());
    }
    if (now.refused.sched != 0) to += " (scheduling class refused)";
    if (now.refused.nice != 0) to += " (nice value refused)";
    if (now.refused.cpus != 0) to += " (binding refused)";
    to += '\n';
}

CMWQ_INLINE const char* kind_of(const queue_core& q) noexcept {
    switch (q.kind) {
    case pool_kind::per_cpu: return "percpu";
    case pool_kind::attrs_keyed: return q.fifo ? "ordered" : q.managed ? "elastic" : "unbound";
    case pool_kind::dispatcher: break;
    }
    return "bh";
}

CMWQ_INLINE std::string runtime_core::dump() const {
    std::string text;
    if (is_dead()) return text; // threads that do not exist here may hold locks
    const cpuset unbound = placement_.unbound_cpus();
    text += describe(cpus_.machine(), unbound, placement_.default_scope());
    text += "\nUnbound CPUs: " + unbound.to_string() + "\n\nWorker Pools\n============\n";
    const auto number = [this](const item_pool& p) { return static_cast<std::size_t>(p.id() - pools_.id()); };
    pools_.for_each_pool([&](const rescuable_pool& p) { dump_pool(text, number(p), p, pools_.shared()); });

    text += "\nWorkqueue CPU -> pool\n=====================\n[    workqueue     \\     type   CPU";
    for (const unsigned cpu : cpus_.cpus()) print(text, " %3u", cpu);
    text += "]\n";
    std::string limits, waiting; // `waiting` first: the lock of the graph comes before that of the list of queues
    for (const wait_report& w : wait_graph::get().waits_of(env_)) {
        waiting += describe_wait(w);
        print(waiting, ", for %lld ms\n", static_cast<long long>((steady_now() - w.since) / 1'000'000));
    }
    queues_.for_each([&](const queue_core& q) {
        print(text, "%-24.24s %-8s%s   ", q.name.c_str(), kind_of(q), q.keyed() && q.is_strict() ? ",S" : "  ");
        for (const pool_workqueue* p : q.pwqs_by_cpu()) {
            print(text, " %3zu", number(*p->pool));
        }
        text += '\n';
        if (q.keyed()) q.dump_limits(limits);
    });
    text +=
        "\nUnbound WQ -> active\n====================\n[    workqueue              min  max, nr/max of each node, of "
        "pools that span nodes]\n" +
        limits;
    text += "\nWaiting items\n=============\n" + waiting;
    return text;
}

CMWQ_INLINE std::vector<const pool_workqueue*> queue_core::pwqs_by_cpu() const {
    const scoped_lock g(lock_);
    const pwq_map& m = *map.load(relaxed); // changed under the lock only
    return {m.of_cpu.begin(), m.of_cpu.end()};
}

CMWQ_INLINE bool queue_core::is_strict() const noexcept {
    const scoped_lock g(lock_);
    return attrs_.strict();
}

CMWQ_INLINE void queue_core::dump_limits(std::string& to) const {
    const scoped_lock g(lock_);
    print(to, "%-24.24s %6u %4u", name.c_str(), min_active(), max_active());
    for (const auto& slots : slots_of_nodes_) print(to, " %3u/%3u", slots->in_use(), slots->max());
    print(to, " %3u/%3u\n", spanning_slots_.in_use(), spanning_slots_.max());
}

}}} // namespace cmwq::CMWQ_NS::detail
