// SPDX-License-Identifier: BSL-1.0
//
// Computes which CPUs share a pod, from a plain description of a machine.
#pragma once

#include <cmwq/affinity_scope.hpp>
#include <cmwq/detail/base/config.hpp>

#include <cstddef>
#include <map>
#include <span>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// In place of the number of a NUMA node: there is none, or more than one.
inline constexpr unsigned no_node = ~0u;

/// The place of a CPU. Cores and caches have arbitrary numbers: two CPUs with equal numbers share the core or the
/// cache.
struct cpu_location {
    unsigned cpu;
    unsigned core;
    unsigned llc; ///< the last level cache
    unsigned node;
};

/// The number of shards of a cache with that many cores: cores / target, rounded to the nearest, at least one.
[[nodiscard]] constexpr unsigned nr_cache_shards(unsigned cores, unsigned target) noexcept {
    const unsigned n = cores / target + (cores % target >= target - target / 2 ? 1 : 0);
    return n == 0 ? 1 : n;
}

/// The shard of core number `index` of `cores`. The first (cores mod shards) shards have one core more than the others.
[[nodiscard]] constexpr unsigned cache_shard_of(unsigned index, unsigned cores, unsigned shards) noexcept {
    const unsigned small = cores / shards, nr_large = cores % shards, in_large = nr_large * (small + 1);
    return index < in_large ? index / (small + 1) : nr_large + (index - in_large) / small;
}

/// Returns the number of the pod of each place. Pods are numbered in the order of their lowest CPUs. `locations` must
/// be sorted by CPU. `shard_size`, the wanted number of cores of a cache shard, must not be zero.
[[nodiscard]] inline std::vector<unsigned> pod_numbers(std::span<const cpu_location> locations, affinity_scope scope,
                                                       unsigned shard_size) {
    // The cores of each cache in the order of their lowest CPUs. A core belongs to the cache of its lowest CPU.
    struct core_rank {
        unsigned llc, index;
    };
    std::map<unsigned, unsigned> cores_of_llc;
    std::map<unsigned, core_rank> ranks;
    for (const cpu_location& p : locations) {
        if (!ranks.contains(p.core)) ranks.insert({p.core, {p.llc, cores_of_llc[p.llc]++}});
    }

    struct key {
        long long group;
        unsigned part;
        bool operator<(const key& o) const noexcept { return group != o.group ? group < o.group : part < o.part; }
    };
    const auto key_of = [&](const cpu_location& p) -> key {
        switch (scope) {
        case affinity_scope::cpu: return {p.cpu, 0};
        case affinity_scope::smt: return {p.core, 0};
        case affinity_scope::cache: return {p.llc, 0};
        case affinity_scope::numa: return {p.node, 0};
        case affinity_scope::system: return {0, 0};
        case affinity_scope::cache_shard:
        case affinity_scope::default_: break;
        }
        const core_rank rank = ranks.at(p.core);
        const unsigned cores = cores_of_llc.at(rank.llc);
        return {rank.llc, cache_shard_of(rank.index, cores, nr_cache_shards(cores, shard_size))};
    };

    std::map<key, unsigned> numbers;
    std::vector<unsigned> pods;
    pods.reserve(locations.size());
    for (const cpu_location& p : locations) {
        const auto number = static_cast<unsigned>(numbers.size());
        pods.push_back(numbers.try_emplace(key_of(p), number).first->second);
    }
    return pods;
}

}}} // namespace cmwq::CMWQ_NS::detail
