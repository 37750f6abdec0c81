// SPDX-License-Identifier: BSL-1.0
//
// The bodies of placement.

#include <cmwq/detail/engine/item/item_name.hpp>
#include <cmwq/detail/engine/pools/pool_table.hpp>
#include <cmwq/detail/engine/queue/queue_core.hpp>
#include <cmwq/detail/engine/runtime/checks.hpp>
#include <cmwq/detail/engine/runtime/placement.hpp>
#include <cmwq/detail/sync/system.hpp>
#include <cmwq/detail/sync/try_lock.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <map>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE placement::placement(const pool_env& env, queue_list& queues)
    : env_(env), queues_(queues), usable_(env.cpus.cpus()), default_scope_(env.options.default_scope),
      helpers_were_bound_(env.cpus.mask_of_process() != nullptr) {
    const cpuset &wanted = env.options.unbound_cpus, &all = env.cpus.cpus();
    unbound_cpus_ = wanted.empty() ? all - isolated_cpus() : wanted & all;
    if (!unbound_cpus_.empty()) return;
    if (!wanted.empty()) {
        throw std::invalid_argument("cmwq::runtime: none of the unbound CPUs " + wanted.to_string() +
                                    " is one of the runtime's, " + all.to_string());
    }
    unbound_cpus_ = all; // all CPUs are isolated, and there are no others
}

CMWQ_INLINE void placement::helper_began(helper which) noexcept {
    tids_[static_cast<std::size_t>(which)].store(this_thread_id(), release); // [TID-1]
    const scoped_lock g(lock_);
    bind_helpers_locked();
}

// The sum of the widths of a queue's pools is at most the quota, rounded up. If there are more pods than that,
// neighboring pods are served by one pool. Strict pods cannot be merged; each has width one then.
CMWQ_INLINE void placement::share_quota(std::vector<pool_choice>& choices, bool strict) const {
    cpuset all;
    for (const pool_choice& c : choices) all = all | c.spec.pod;
    const auto quota = static_cast<std::size_t>(env_.cpus.width_of(all));
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
            if (into.spec.node != c.spec.node) into.spec.node = topology::no_node;
            into.indices.insert(into.indices.end(), c.indices.begin(), c.indices.end());
        }
        choices = std::move(merged);
    }
    // Each pool has width one. The rest is given out one by one, in turns, to pools with fewer than their pod has CPUs.
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

// --- attributes to pools ---------------------------------------------------------------------------------------------

CMWQ_INLINE chosen_pools placement::choose_pools(const queue_face& q, const attrs& a, without_cpus what) const {
    check_attrs(a);
    chosen_pools chosen;
    cpuset base = unbound_cpus_ & usable_;
    if (base.empty()) base = usable_; // none of the unbound CPUs is present: use all that are
    cpuset cpus = a.on_all_cpus() ? base : a.cpus() & base;
    if (cpus.empty()) {
        if (what == without_cpus::refuse) {
            throw std::invalid_argument("cmwq: " + describe_queue(q.name) + ": of the CPUs '" + a.cpus().to_string() +
                                        "' unbound items may use none; they may use " + base.to_string());
        }
        chosen.instead = cpus = base;
    }
    chosen.cpus = cpus;
    pool_spec common;
    common.nice = a.nice();
    common.managed = q.how.managed;
    switch (a.scheduling()) {
    case scheduling::normal: common.sched = sched_class::normal; break;
    case scheduling::batch: common.sched = sched_class::batch; break;
    case scheduling::idle: common.sched = sched_class::idle; break;
    case scheduling::fifo: common.sched = sched_class::fifo; break;
    }
    const topology& machine = env_.cpus.machine();
    for (const unsigned cpu : cpus) {
        const unsigned found = machine.node_of(cpu);
        const std::size_t node = found == topology::no_node ? 0 : found;
        if (chosen.cpus_of_node.size() <= node) chosen.cpus_of_node.resize(node + 1);
        ++chosen.cpus_of_node[node];
    }
    const affinity_scope scope = q.how.fifo                                 ? affinity_scope::system
                                 : a.affinity() == affinity_scope::default_ ? default_scope_
                                                                            : a.affinity();
    std::vector<pool_choice>& choices = chosen.pools;
    for (const topology::pod& pod : machine.pods(scope)) {
        pool_choice c{common, {}};
        c.spec.pod = pod.cpus & cpus;
        if (c.spec.pod.empty()) continue;
        c.spec.cpus = a.strict() ? c.spec.pod : cpus;
        c.spec.node = machine.node_of(c.spec.pod.next(0));
        for (const unsigned cpu : c.spec.pod) {
            if (machine.node_of(cpu) != c.spec.node) c.spec.node = topology::no_node;
            c.indices.push_back(env_.cpus.index_of(static_cast<int>(cpu)));
        }
        choices.push_back(std::move(c));
    }
    if (q.how.managed) share_quota(choices, a.strict());
    serve_other_cpus(choices);
    return chosen;
}

// A caller on a CPU that the queue does not use is served by the nearest pod: that of a CPU of the same core, cache
// shard, cache or node, or else any. If several CPUs are equally near, the callers' CPUs are assigned to them in turns,
// in the order of their indices. The result is part of the map, so queue() needs no counter.
CMWQ_INLINE void placement::serve_other_cpus(std::vector<pool_choice>& choices) const {
    constexpr affinity_scope near_to_far[] = {affinity_scope::smt, affinity_scope::cache_shard, affinity_scope::cache,
                                              affinity_scope::numa, affinity_scope::system};
    constexpr std::size_t nobody = ~std::size_t{0};
    std::vector<std::size_t> choice_of(env_.cpus.nr_cpus(), nobody);
    cpuset used;
    for (std::size_t i = 0; i < choices.size(); ++i) {
        for (const unsigned index : choices[i].indices) {
            choice_of[index] = i;
            used.insert(env_.cpus.number_of(index));
        }
    }
    const topology& machine = env_.cpus.machine();
    std::map<std::pair<affinity_scope, unsigned>, std::size_t> turns;
    for (unsigned index = 0; index < env_.cpus.nr_cpus(); ++index) {
        if (choice_of[index] != nobody) continue;
        const unsigned cpu = env_.cpus.number_of(index);
        for (const affinity_scope scope : near_to_far) {
            const bool known = machine.cpus().contains(cpu), everywhere = scope == affinity_scope::system;
            if (!known && !everywhere) continue;
            const unsigned pod = everywhere ? 0 : machine.pod_of(scope, cpu);
            cpuset near = everywhere ? used : machine.pods(scope)[pod].cpus & used;
            if (!everywhere) near = near & machine.cpus_of_node(machine.node_of(cpu)); // a cache can span two nodes
            if (near.empty()) continue;
            auto chosen = near.begin();
            std::advance(chosen, static_cast<std::ptrdiff_t>(turns[{scope, pod}]++ % near.size()));
            choices[choice_of[env_.cpus.index_of(static_cast<int>(*chosen))]].indices.push_back(index);
            break;
        }
    }
}

// --- changes ---------------------------------------------------------------------------------------------------------

CMWQ_INLINE void placement::apply(queue_core& q, const attrs& a) {
    static_cast<void>(env_.cpus.machine()); // loads the topology before the lock is taken
    const scoped_lock g(lock_);
    apply_locked(q, a);
}

CMWQ_INLINE void placement::remap_locked(if_busy then) {
    struct replaced_cpus {
        std::string queue;
        cpuset wanted, instead;
    };
    std::vector<queue_plan> plans;
    std::optional<replaced_cpus> first; // the runtime reports only one
    queues_.for_each([&](queue_core& q) {
        if (!q.keyed() || q.gate.is_dead()) return;
        plans.push_back(plan(q, q.changes.attributes(), without_cpus::use_all));
        const queue_plan& p = plans.back();
        if (!p.chosen.instead.empty() && !first) first = {q.name, p.wanted.cpus(), p.chosen.instead};
    });
    // No queue is destroyed meanwhile: detach() waits for the configuration lock.
    for (queue_plan& p : plans) p.changes->carry_out(std::move(p), then);
    if (!first) return;
    env_.events.post_once(event::kind::cpus_unavailable, ENODEV, 0, [r = *std::move(first)] {
        return "cmwq: " + describe_queue(r.queue) + ": none of its CPUs " + r.wanted.to_string() +
               " is there, it uses " + r.instead.to_string();
    });
}

CMWQ_INLINE void placement::set_unbound_cpus(const cpuset& cpus) {
    {
        const scoped_lock g(lock_);
        cpuset wanted = cpus & env_.cpus.cpus();
        if ((wanted & usable_).empty()) {
            throw std::invalid_argument("cmwq::runtime: of the unbound CPUs '" + cpus.to_string() +
                                        "' the runtime can use none; it can use " + usable_.to_string());
        }
        std::swap(unbound_cpus_, wanted);
        try {
            remap_locked(if_busy::wait);
        } catch (...) {
            std::swap(unbound_cpus_, wanted);
            throw;
        }
    }
    env_.requests.request_cpu_check(); // the helpers move as well
}

CMWQ_INLINE cpuset placement::unbound_cpus() const {
    const scoped_lock g(lock_);
    return unbound_cpus_;
}

CMWQ_INLINE void placement::set_default_scope(affinity_scope scope) {
    check_scope(scope);
    const scoped_lock g(lock_);
    const affinity_scope before = std::exchange(default_scope_, scope);
    try {
        remap_locked(if_busy::wait);
    } catch (...) {
        default_scope_ = before;
        throw;
    }
}

CMWQ_INLINE affinity_scope placement::default_scope() const {
    const scoped_lock g(lock_);
    return default_scope_;
}

CMWQ_INLINE bool placement::report(cpuset& unbound, affinity_scope& scope, std::int64_t deadline) const {
    if (!try_lock_until(lock_, deadline)) return false;
    const scoped_lock g(lock_, adopt_lock);
    unbound = unbound_cpus_;
    scope = default_scope_;
    return true;
}

// --- CPUs that come and go -------------------------------------------------------------------------------------------

CMWQ_INLINE placement::helper_tids placement::tids_of_helpers() const noexcept {
    return {tids_[0].load(acquire), tids_[1].load(acquire), tids_[2].load(acquire)}; // [TID-1]
}

// The manager thread has the process's mask, of which the kernel shows the CPUs that are present. Once the thread has
// been bound, for instance to the unbound CPUs, its mask does not show other CPUs, and a kernel before 6.2 forgets the
// CPUs that were offline at that time. So its mask is widened for a moment.
CMWQ_INLINE cpuset placement::usable_now_locked() {
    const long tid = tids_[static_cast<std::size_t>(helper::manager)].load(acquire); // [TID-1]
    if (!env_.cpus.binds_threads() || tid == 0) return usable_;
    if (helpers_were_bound_) static_cast<void>(bind_thread(tid, env_.cpus.allowed()));
    const cpuset mask = allowed_cpus(tid); // empty: not known
    if (!helper_cpus_.empty()) static_cast<void>(bind_thread(tid, helper_cpus_));
    cpuset now = env_.cpus.cpus() & mask;
    return now.empty() ? usable_ : now;
}

CMWQ_INLINE void placement::check_cpus() {
    const scoped_lock g(lock_);
    check_cpus_locked(if_busy::wait);
}

CMWQ_INLINE bool placement::try_check_cpus(bool and_helpers) {
    if (!lock_.try_lock()) return false;
    const scoped_lock g(lock_, adopt_lock);
    if (and_helpers) bind_helpers_locked();
    bool finished = true;
    queues_.for_each([&](queue_core& q) { finished = (!q.keyed() || q.changes.finish()) && finished; });
    if (!finished) return false;
    check_cpus_locked(if_busy::leave);
    return true;
}

CMWQ_INLINE void placement::check_cpus_locked(if_busy then) {
    cpuset now = usable_now_locked();
    if (now == usable_) return;
    std::swap(usable_, now); // from here on `now` has the old set
    try {
        remap_locked(then);
    } catch (...) {
        std::swap(usable_, now); // so that the next check tries again
        throw;
    }
    env_.pools.for_each_cpu([&](cpu_record& r) CMWQ_NO_TSA {
        const bool there = usable_.contains(r.cpu);
        if (there == now.contains(r.cpu)) return;
        for (item_pool& p : r.pools) p.associate(there);
    });
    env_.cpus.binding_changed(usable_ != env_.cpus.cpus());
}

CMWQ_INLINE void placement::bind_helpers_locked() noexcept {
    if (!env_.cpus.binds_threads()) return;
    try {
        const cpuset housekeeping = unbound_cpus_ == env_.cpus.cpus() ? cpuset{} : unbound_cpus_;
        const helper_tids tids = tids_of_helpers();
        const bool new_thread = std::exchange(bound_tids_, tids) != tids;
        if (housekeeping == helper_cpus_ && (!new_thread || !helpers_were_bound_)) return;
        const cpuset& cpus = housekeeping.empty() ? env_.cpus.allowed() : housekeeping;
        for (const long tid : tids) {
            if (tid != 0) static_cast<void>(bind_thread(tid, cpus));
        }
        helper_cpus_ = housekeeping; // if none of these is present now, the next check binds the manager thread
        helpers_were_bound_ = true;
    } catch (const std::bad_alloc&) {
        env_.requests.defer_cpu_check();
    }
}

}}} // namespace cmwq::CMWQ_NS::detail
