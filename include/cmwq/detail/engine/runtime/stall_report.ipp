// SPDX-License-Identifier: BSL-1.0
//
// The bodies of stall_report.hpp.

#include <cmwq/detail/engine/env/pool_env.hpp>
#include <cmwq/detail/engine/item/item_name.hpp>
#include <cmwq/detail/engine/pools/pool_table.hpp>
#include <cmwq/detail/engine/queue/queue_list.hpp>
#include <cmwq/detail/engine/runtime/stall_report.hpp>
#include <cmwq/detail/engine/stuck/saturation.hpp>
#include <cmwq/detail/engine/waits/wait_graph.hpp>
#include <cmwq/detail/sync/clock.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE std::string describe_stalled(const pool_env& env, item_pool& pool, stall_kind kind, std::int64_t time,
                                         unsigned& cpu) {
    std::string cpus = "unknown CPUs";
    if (pool.is_per_cpu()) {
        cpu = pool.number();
        cpus = "CPU " + std::to_string(cpu);
    } else { // copies the spec: a shared pool may get another one as soon as its last queue is gone
        constexpr std::int64_t patience = 100'000'000;
        const pool_registry::usage now = env.pools.shared().usage_of(pool, steady_now() + patience);
        if (now.users != 0) {
            cpu = now.spec.pod.next(0);
            cpus = "CPUs " + now.spec.pod.to_string();
        }
    }
    const std::string what = pool.describe_stall(cpus);
    if (what.empty()) return {};
    if (kind == stall_kind::nothing_starts)
        return "cmwq: nothing has been started for " + in_seconds(time) + ": " + what;
    return "cmwq: for " + in_seconds(time) + " an item has waited while later ones were started: " + what;
}

CMWQ_INLINE std::string stall_report_of(const pool_env& env, const queue_list& queues, std::int64_t at_least) {
    std::string text;
    const auto add = [&text](const std::string& sentence) {
        if (!sentence.empty()) text += sentence + '\n';
    };
    const auto look_at = [&](item_pool& p) {
        unsigned cpu = 0;
        const auto look = [&](std::int64_t time, stall_kind kind) {
            if (time != 0 && time >= at_least) add(describe_stalled(env, p, kind, time, cpu));
        };
        look(p.stalled_for(), stall_kind::nothing_starts);
        look(p.overtaken_for(), stall_kind::first_is_overtaken);
    };
    env.pools.for_each_pool(look_at);
    env.pools.for_each_bottom_half(look_at);
    constexpr std::int64_t patience = 100'000'000; // nanoseconds, for the two locks together
    const std::int64_t deadline = steady_now() + patience;
    const bool all = queues.for_each_until(deadline, [&](const queue_core& q) {
        const std::int64_t time = q.stuck_for(deadline);
        if (time != 0 && time >= at_least) add(describe_saturation(q, time, deadline));
        pwq_stats now;
        if (!q.freezable || !q.pwqs.try_stats(now, deadline) || now.frozen_ns == 0) return;
        const auto frozen = static_cast<std::int64_t>(now.frozen_ns);
        if (frozen < at_least) return;
        add("cmwq: " + describe_queue(q.name) + " is frozen: " + std::to_string(now.inactive) +
            (now.inactive == 1 ? " item waits" : " items wait") + " for thaw(), up to " + in_seconds(frozen));
    });
    if (!all) add("cmwq: another thread holds the lock of the list of queues");
    std::vector<wait_report> waits;
    if (!wait_graph::waits_of(env, waits, deadline)) add("cmwq: another thread holds the lock of the graph of waits");
    for (const wait_report& w : waits) {
        if (w.reported) add("cmwq: a part of a deadlock: " + describe_wait(w));
    }
    return text;
}

}}} // namespace cmwq::CMWQ_NS::detail
