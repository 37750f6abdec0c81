// SPDX-License-Identifier: BSL-1.0
//
// runtime_core, second part: which CPUs there are, and which pools serve a queue.
#pragma once

#include <cmwq/detail/engine/report/diagnosis.hpp>
#include <cmwq/detail/engine/runtime/checks.hpp>
#include <cmwq/detail/engine/runtime/runtime_core.hpp>
#include <cmwq/detail/sync/system.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

namespace cmwq::inline CMWQ_NS::detail {

CMWQ_INLINE const topology& runtime_core::topology_of_machine() const CMWQ_NO_TSA {
    if (!topology_known_.load(acquire)) { // [ONCE-1] pairs [ONCE-2]
        // hwloc opens plugins: that waits for a dlopen() of another thread, whose constructors may use this runtime. Two
        // that come at once both load, and the first one counts.
        CMWQ_ASSERT(holds_no_lock());
        topology loaded = topology::system(cpus_).with_cache_shard_size(options_.cache_shard_size);
        const scoped_lock g(topology_lock_);
        if (!topology_.has_value()) topology_ = std::move(loaded);
        topology_known_.store(true, release); // [ONCE-2]
    }
    return *topology_;
}

CMWQ_INLINE cpuset runtime_core::places_of(const cpuset& cpus) const {
    cpuset places;
    for (const unsigned cpu : cpus) places.insert(slot_of(static_cast<int>(cpu)));
    return places;
}

CMWQ_INLINE int runtime_core::width_of(const cpuset& pod) const noexcept {
    const double share = std::min(static_cast<double>(pod.size()), quota_);
    const int whole = static_cast<int>(share);
    return std::max(1, share > whole ? whole + 1 : whole);
}

// Under a quota, which the sentinels themselves use up, too, no more of them are awake than workers may run. They are the
// same ones for all pods of a queue.
CMWQ_INLINE cpuset runtime_core::watchers_of(const pool_spec& spec) const {
    const auto size = static_cast<unsigned>(spec.cpus.size()), n = static_cast<unsigned>(width_of(spec.cpus));
    if (n >= size) return spec.cpus;
    cpuset chosen;
    unsigned i = 0, taken = 0;
    for (const unsigned cpu : spec.cpus) {
        if (taken * size <= i++ * n && taken < n) {
            chosen.insert(cpu);
            ++taken;
        }
    }
    return chosen;
}

// Under a quota the widths of a queue's pods together are no more than that. Where there are more pods than CPUs' worth
// of time, neighbours are served by one pool; strict ones cannot be, and have one worker each.
CMWQ_INLINE void runtime_core::share_quota(std::vector<pool_choice>& choices, bool strict) const {
    cpuset all;
    for (const pool_choice& c : choices) all = all | c.spec.pod;
    const auto quota = static_cast<std::size_t>(width_of(all));
    if (!strict && choices.size() > quota) {
        std::vector<pool_choice> merged;
        for (std::size_t i = 0; i < choices.size(); ++i) {
            pool_choice& c = choices[i];
            if (i == 0 || i * quota / choices.size() != (i - 1) * quota / choices.size()) {
                merged.push_back(std::move(c));
                continue;
            }
            pool_choice& into = merged.back();
            into.spec.pod = into.spec.pod | c.spec.pod;
            if (into.spec.node != c.spec.node) into.spec.node = -1;
            into.places.insert(into.places.end(), c.places.begin(), c.places.end());
        }
        choices = std::move(merged);
    }
    // Each has one; the rest goes round, to those that are not full.
    std::size_t left = quota > choices.size() ? quota - choices.size() : 0;
    for (bool any = true; any && left != 0;) {
        any = false;
        for (pool_choice& c : choices) {
            if (left == 0 || static_cast<std::size_t>(c.spec.width) >= c.spec.pod.size()) continue;
            ++c.spec.width;
            --left;
            any = true;
        }
    }
}

// --- attributes to pools ----------------------------------------------------------------------------------------------

CMWQ_INLINE std::vector<pool_choice> runtime_core::choose_pools(queue_plan& plan, bool lenient) {
    const queue_core& q = *plan.queue;
    const attrs& a = plan.wanted;
    check_attrs(a);
    cpuset base = unbound_cpus_ & usable_;
    if (base.empty()) base = usable_; // they went away: what there is takes their place
    cpuset cpus = a.on_all_cpus() ? base : a.cpus() & base;
    if (cpus.empty()) {
        if (!lenient) {
            throw std::invalid_argument("cmwq: " + describe_queue(q.name) + ": of the CPUs '" + a.cpus().to_string() +
                                        "' unbound items may use none; they may use " + base.to_string());
        }
        plan.instead = cpus = base;
    }
    plan.cpus = cpus;
    pool_spec common;
    common.nice = a.nice();
    common.managed = q.managed;
    switch (a.scheduling()) {
    case scheduling::normal: common.sched = sched_class::normal; break;
    case scheduling::batch: common.sched = sched_class::batch; break;
    case scheduling::idle: common.sched = sched_class::idle; break;
    case scheduling::fifo: common.sched = sched_class::fifo; break;
    }
    const topology& machine = topology_of_machine();
    for (const unsigned cpu : cpus) {
        const auto node = static_cast<std::size_t>(std::max(0, machine.node_of(cpu)));
        if (plan.cpus_of_node.size() <= node) plan.cpus_of_node.resize(node + 1);
        ++plan.cpus_of_node[node];
    }
    const affinity_scope scope = q.fifo                                     ? affinity_scope::system
                                 : a.affinity() == affinity_scope::default_ ? default_scope_
                                                                            : a.affinity();
    std::vector<pool_choice> choices;
    for (const topology::pod& pod : machine.pods(scope)) {
        pool_choice c{common, {}};
        c.spec.pod = pod.cpus & cpus;
        if (c.spec.pod.empty()) continue;
        c.spec.cpus = a.strict() ? c.spec.pod : cpus;
        c.spec.node = machine.node_of(c.spec.pod.next(0));
        for (const unsigned cpu : c.spec.pod) {
            if (machine.node_of(cpu) != c.spec.node) c.spec.node = -1;
            c.places.push_back(slot_of(static_cast<int>(cpu)));
        }
        choices.push_back(std::move(c));
    }
    if (q.managed) share_quota(choices, a.strict());
    serve_other_places(choices);
    return choices;
}

// Callers on CPUs that the queue does not use are served by the nearest pod: that of a CPU of the same core, cache shard,
// cache or node, or else any. Among equally near ones they take turns by the order of their CPUs, once and for all, so
// that queueing counts nothing.
CMWQ_INLINE void runtime_core::serve_other_places(std::vector<pool_choice>& choices) const {
    constexpr affinity_scope near_to_far[] = {affinity_scope::smt, affinity_scope::cache_shard, affinity_scope::cache,
                                              affinity_scope::numa, affinity_scope::system};
    constexpr std::size_t nobody = ~std::size_t{0};
    std::vector<std::size_t> choice_of_place(nr_cpus(), nobody);
    cpuset used;
    for (std::size_t i = 0; i < choices.size(); ++i) {
        for (const unsigned place : choices[i].places) {
            choice_of_place[place] = i;
            used.insert(cpu_at(place));
        }
    }
    const topology& machine = topology_of_machine();
    std::map<std::pair<affinity_scope, unsigned>, std::size_t> turns;
    for (unsigned place = 0; place < nr_cpus(); ++place) {
        if (choice_of_place[place] != nobody) continue;
        const unsigned cpu = cpu_at(place);
        for (const affinity_scope scope : near_to_far) {
            const bool known = machine.cpus().contains(cpu), everywhere = scope == affinity_scope::system;
            if (!known && !everywhere) continue;
            const unsigned pod = everywhere ? 0 : machine.pod_of(scope, cpu);
            cpuset near = everywhere ? used : machine.pods(scope)[pod].cpus & used;
            if (!everywhere) near = near & machine.cpus_of_node(machine.node_of(cpu)); // caches can reach over two
            if (near.empty()) continue;
            auto chosen = near.begin();
            std::advance(chosen, static_cast<std::ptrdiff_t>(turns[{scope, pod}]++ % near.size()));
            choices[choice_of_place[slot_of(static_cast<int>(*chosen))]].places.push_back(place);
            break;
        }
    }
}

// --- changes ----------------------------------------------------------------------------------------------------------

CMWQ_INLINE void runtime_core::apply(queue_core& q, const attrs& a) {
    static_cast<void>(topology_of_machine()); // not below, under the lock
    const scoped_lock g(config_lock_);
    q.carry_out(q.plan(a, false));
}

CMWQ_INLINE std::vector<std::string> runtime_core::remap_locked() {
    std::vector<queue_plan> plans;
    std::vector<std::string> complaints;
    {
        const scoped_lock g(queues_lock_);
        for (queue_core* q = queues_.front(); q != nullptr; q = queues_.next(*q)) {
            if (!q->keyed() || q->is_dead()) continue;
            plans.push_back(q->plan(q->attributes(), true));
            const queue_plan& p = plans.back();
            if (p.instead.empty()) continue;
            complaints.push_back("cmwq: " + describe_queue(q->name) + ": none of its CPUs " +
                                 p.wanted.cpus().to_string() + " is there, it uses " + p.instead.to_string());
        }
    }
    // No queue goes meanwhile: detach() waits for the configuration lock.
    for (queue_plan& p : plans) p.queue->carry_out(std::move(p));
    return complaints;
}

CMWQ_INLINE void runtime_core::report_unavailable(const std::vector<std::string>& complaints) noexcept {
    for (const std::string& c : complaints) {
        report_once(event::kind::cpus_unavailable, ENODEV, 0, [&] { return c; });
    }
}

CMWQ_INLINE void runtime_core::set_unbound_cpus(const cpuset& cpus) {
    std::vector<std::string> complaints;
    {
        const scoped_lock g(config_lock_);
        cpuset wanted = cpus & cpus_;
        if ((wanted & usable_).empty()) {
            throw std::invalid_argument("cmwq::runtime: of the unbound CPUs '" + cpus.to_string() +
                                        "' the runtime can use none; it can use " + usable_.to_string());
        }
        std::swap(unbound_cpus_, wanted);
        try {
            complaints = remap_locked();
        } catch (...) {
            std::swap(unbound_cpus_, wanted);
            throw;
        }
    }
    request_topology_check(); // the threads of the runtime move, too
    report_unavailable(complaints);
}

CMWQ_INLINE cpuset runtime_core::unbound_cpus() const {
    const scoped_lock g(config_lock_);
    return unbound_cpus_;
}

CMWQ_INLINE void runtime_core::set_default_scope(affinity_scope scope) {
    check_scope(scope);
    std::vector<std::string> complaints;
    {
        const scoped_lock g(config_lock_);
        const affinity_scope before = std::exchange(default_scope_, scope);
        try {
            complaints = remap_locked();
        } catch (...) {
            default_scope_ = before;
            throw;
        }
    }
    report_unavailable(complaints);
}

CMWQ_INLINE affinity_scope runtime_core::default_scope() const {
    const scoped_lock g(config_lock_);
    return default_scope_;
}

// --- CPUs that come and go --------------------------------------------------------------------------------------------

CMWQ_INLINE void runtime_core::bind_helpers(const cpuset& cpus) const noexcept {
    for (const atomic<long>* tid : {&service_tid_, &staff_tid_}) {
        if (const long t = tid->load(acquire); t != 0) static_cast<void>(bind_thread(t, cpus)); // [TID-1]
    }
}

// The staff thread has the process's own mask, of which the kernel shows the CPUs that are there. Once it was bound, to
// the unbound CPUs for instance, its mask tells of no others, and a kernel before 6.2 forgets those that were not online
// at the time: it is let go for a moment.
CMWQ_INLINE cpuset runtime_core::usable_now() {
    const long tid = staff_tid_.load(acquire); // [TID-1]
    if (!binds_threads_ || tid == 0) return usable_;
    if (service_was_bound_) static_cast<void>(bind_thread(tid, allowed_));
    cpuset mask;
    for_each_allowed_cpu([&](unsigned cpu) { mask.insert(cpu); }, tid);
    if (!service_cpus_.empty()) static_cast<void>(bind_thread(tid, service_cpus_));
    cpuset now = cpus_ & mask;
    return now.empty() ? usable_ : now;
}

CMWQ_INLINE void runtime_core::check_cpus() {
    std::vector<std::string> complaints;
    {
        const scoped_lock g(config_lock_);
        if (dead_.load(relaxed)) return;
        cpuset now = usable_now();
        if (now == usable_) return;
        std::swap(usable_, now); // `now`: before
        try {
            complaints = remap_locked();
        } catch (...) {
            std::swap(usable_, now); // so that the next look tries again
            throw;
        }
        for (auto& s : slots_) {
            const bool there = usable_.contains(s->cpu);
            if (there == now.contains(s->cpu)) continue;
            for (worker_pool& p : s->pools) p.associate(there);
        }
        binding_.store(((binding() | 1) + 1) | (usable_ == cpus_ ? 0u : 1u), relaxed);
    }
    report_unavailable(complaints);
}

// Timers and housekeeping stay off the CPUs that unbound items stay off. `new_thread`: one of the two has just begun.
CMWQ_INLINE void runtime_core::keep_away_from_isolated_cpus(bool new_thread) noexcept {
    const scoped_lock g(config_lock_);
    if (!binds_threads_) return;
    try {
        const cpuset housekeeping = unbound_cpus_ == cpus_ ? cpuset{} : unbound_cpus_;
        if (housekeeping == service_cpus_ && (!new_thread || housekeeping.empty())) return;
        bind_helpers(housekeeping.empty() ? allowed_ : housekeeping);
        service_cpus_ = housekeeping; // if they are not there now, the next look binds them
        service_was_bound_ = true;
    } catch (const std::bad_alloc&) {
        check_wanted_.store(true, relaxed); // at the next opportunity
    }
}

} // namespace cmwq::inline CMWQ_NS::detail
