// SPDX-License-Identifier: BSL-1.0
//
// Collects the report of a runtime. Every lock is tried for a limited time: a debugger may have stopped its owner, or
// the owner may wait for such a thread.

#include <cmwq/detail/engine/report/runtime_report.hpp>
#include <cmwq/detail/engine/runtime/runtime_core.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/system.hpp>
#include <cmwq/detail/sync/try_lock.hpp>

#include <string>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE const char* kind_of(const queue_core& q) noexcept {
    switch (q.how.pool) {
    case pool_kind::per_cpu: return "percpu";
    case pool_kind::attrs_keyed: return q.how.fifo ? "ordered" : q.how.local_lists ? "elastic" : "unbound";
    case pool_kind::dispatcher: break;
    }
    return "bh";
}

CMWQ_INLINE queue_report queue_core::report(std::int64_t deadline) const {
    queue_report r;
    r.name = name;
    r.kind = kind_of(*this);
    r.managed = how.managed;
    r.prio = prio;
    r.cpu_intensive = cpu_intensive;
    r.freezable = freezable;
    r.exported = exported;
    r.rescuer_tid = rescuer_ == nullptr ? 0 : rescuer_->tid();
    r.has_rescuer = rescuer_ != nullptr;
    r.min_active = limits.min_active();
    r.max_active = limits.max_active();
    r.draining = gate.is_draining();
    if (!try_lock_until(pwqs.lock, deadline)) {
        r.locked = true;
        return r;
    }
    const scoped_lock g(pwqs.lock, adopt_lock);
    r.strict = keyed() && changes.is_strict_locked();
    r.frozen = pwqs.is_frozen_locked();
    for (const pool_workqueue* p : routes.map()->of_cpu) r.pool_of_cpu.push_back(p->pool->id());
    if (keyed())
        limits.for_each_slots_locked([&](const node_slots& s) { r.slots_of_nodes.push_back({s.in_use(), s.max()}); });
    r.run_times = times.runs.get();
    r.wait_times = times.waits.get();
    r.counts = pwqs.freed_locked();
    pwqs.for_each_locked([&](pool_workqueue& p) {
        r.pwqs.push_back({.pool = p.pool->id(), .now = {}});
        pwq_report& now = r.pwqs.back().now;
        p.ledger->report(p, now, deadline);
        add(r.counts, now.counts);
    });
    return r;
}

CMWQ_INLINE numbered_pool describe_pool(item_pool& p, std::int64_t deadline) {
    numbered_pool one;
    one.number = p.ledger.shown_number();
    p.report(one.now, deadline);
    for (const run_report& run : one.now.runs) one.activities.push_back(describe_activity(run.tid));
    return one;
}

CMWQ_INLINE runtime_report runtime_core::report() const {
    constexpr std::int64_t patience = 100'000'000; // nanoseconds, for all locks together
    const std::int64_t deadline = steady_now() + patience;
    runtime_report r;
    r.machine = cpus_.machine_if_loaded();
    r.cpus = cpus_.cpus();
    r.settings_locked = !placement_.report(r.unbound_cpus, r.default_scope, deadline);
    pools_.for_each_pool([&](item_pool& p) {
        numbered_pool one = describe_pool(p, deadline);
        if (p.is_per_cpu()) {
            if (!one.now.locked && one.now.workers.workers == 0 && one.now.pending.nr_items() == 0) return;
            one.cpu = p.number();
            one.spec = p.spec();
        } else {
            one.what = numbered_pool::kind::shared;
            pool_registry::usage u = pools_.shared().usage_of(p, deadline);
            if (!u.locked && u.users == 0) return;
            one.spec_locked = u.locked;
            one.users = u.users;
            one.spec = std::move(u.spec);
        }
        r.pools.push_back(std::move(one));
    });
    pools_.for_each_bottom_half([&](bottom_half_pool& p) {
        numbered_pool one = describe_pool(p, deadline);
        if (!one.now.locked && one.now.nr_runs == 0 && one.now.pending.nr_items() == 0) return;
        one.what = numbered_pool::kind::bottom_half;
        one.cpu = p.number();
        r.pools.push_back(std::move(one));
    });
    r.waits_locked = !wait_graph::waits_of(env_, r.waits, deadline);
    r.queues_locked =
        !queues_.for_each_until(deadline, [&](const queue_core& q) { r.queues.push_back(q.report(deadline)); });
    return r;
}

}}} // namespace cmwq::CMWQ_NS::detail
