// SPDX-License-Identifier: BSL-1.0
//
// The bodies of cpu_map.

#include <cmwq/detail/engine/env/cpu_map.hpp>
#include <cmwq/detail/sync/system.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE cpu_map::cpu_map(const runtime_options& o, made_for whom, const cpuset* of_caller)
    : cache_shard_size_(o.cache_shard_size) {
    find_allowed(whom, of_caller);
    if (o.machine.has_value()) {
        topology_ = o.machine;
        topology_known_.store(true, relaxed);
        binds_threads_ = !topology_->simulated();
        if (!binds_threads_) allowed_ = topology_->cpus();
        if (o.cache_shard_size != topology::default_cache_shard_size && o.cache_shard_size != 0)
            topology_ = topology_->with_cache_shard_size(o.cache_shard_size);
    }
    cpus_ = o.cpus.empty() ? allowed_ : o.cpus;
    if (const cpuset outside = cpus_ - allowed_; !outside.empty()) {
        throw std::invalid_argument("cmwq::runtime: this process may not use the CPUs " + outside.to_string() +
                                    " of the set " + cpus_.to_string() + "; it may use " + allowed_.to_string());
    }
    if (topology_.has_value() && !(cpus_ - topology_->cpus()).empty()) {
        throw std::invalid_argument("cmwq::runtime: the machine that it was given has the CPUs '" +
                                    topology_->cpus().to_string() + "', which are not all of the runtime's, " +
                                    cpus_.to_string());
    }
    quota_ = cpu_quota();
    for (const unsigned cpu : cpus_) {
        index_of_.resize(cpu + 1, no_index);
        index_of_[cpu] = nr_cpus();
        number_of_.push_back(cpu);
    }
}

CMWQ_INLINE void cpu_map::find_allowed(made_for whom, const cpuset* of_caller) {
    cpuset inherited = allowed_cpus();
    if (inherited.empty()) inherited.insert(0);
    if (whom == made_for::process) { // the calling thread may be bound to fewer CPUs than the process
        allowed_ = allowed_cpus(main_thread_id());
        if (allowed_.empty()) allowed_ = inherited;
    } else if (of_caller != nullptr) {
        allowed_ = *of_caller;
    } else {
        allowed_ = inherited;
    }
    if (allowed_ != inherited) leave_inherited_mask_for_ = allowed_;
}

CMWQ_INLINE cpuset cpu_map::indices_of(const cpuset& cpus) const {
    cpuset indices;
    for (const unsigned cpu : cpus) indices.insert(index_of(static_cast<int>(cpu)));
    return indices;
}

CMWQ_INLINE unsigned cpu_map::index_on_node(unsigned index, unsigned node) const noexcept {
    const topology& t = machine();
    if (t.node_of(number_of(index)) == node) return index;
    const auto is_there = [&](unsigned i) { return t.node_of(number_of(i)) == node; };
    unsigned nr_there = 0;
    for (unsigned i = 0; i < nr_cpus(); ++i) nr_there += is_there(i) ? 1u : 0u;
    if (nr_there == 0) return index;
    unsigned nth = index % nr_there, i = 0;
    while (!is_there(i) || nth-- != 0) ++i;
    return i;
}

CMWQ_INLINE const topology& cpu_map::machine() const CMWQ_NO_TSA {
    if (machine_if_loaded() == nullptr) {
        // hwloc opens plugins, and therefore waits for a dlopen() of another thread, whose constructors may use this
        // runtime. So no lock is held. Of two concurrent calls, both load the topology, and the first result is kept.
        CMWQ_ASSERT(holds_no_lock());
        topology loaded = topology::system(cpus_).with_cache_shard_size(cache_shard_size_);
        const scoped_lock g(topology_lock_);
        if (!topology_.has_value()) topology_ = std::move(loaded);
        topology_known_.store(true, release); // [ONCE-2]
    }
    return *topology_;
}

CMWQ_INLINE int cpu_map::width_of(const cpuset& pod) const noexcept {
    const double share = std::min(static_cast<double>(pod.size()), quota_);
    const int whole = static_cast<int>(share);
    return std::max(1, share > whole ? whole + 1 : whole);
}

// Sentinels consume the quota as well. So under a quota only as many sentinels watch as workers may run. All pods of a
// queue have the same ones.
CMWQ_INLINE cpuset cpu_map::sentinel_cpus_of(const pool_spec& spec) const {
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

}}} // namespace cmwq::CMWQ_NS::detail
