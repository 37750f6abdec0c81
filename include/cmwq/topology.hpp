// SPDX-License-Identifier: BSL-1.0
//
// topology: the CPUs of a machine with their cores, last level caches and NUMA nodes, and the pods of every affinity
// scope.
#pragma once

#include <cmwq/affinity_scope.hpp>
#include <cmwq/cpuset.hpp>
#include <cmwq/detail/base/config.hpp>
#include <cmwq/detail/topo/pods.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS {

/// A machine as the library sees it. An immutable value: copies share their data. Thread safety: all members may be
/// called from any thread. Errors: all functions that make a topology may also throw std::bad_alloc.
///
/// `system()`, `synthetic()` and `from_xml()` are part of the engine: a program that uses them includes
/// `cmwq/runtime.hpp` in one file at least.
class topology {
public:
    /// CPUs that belong together in one scope.
    struct pod {
        cpuset cpus;   ///< its CPUs, at least one
        unsigned node; ///< the NUMA node of all its CPUs; `no_node` if they are of several, and for the scope `system`
    };

    /// The number that stands for no node.
    static constexpr unsigned no_node = detail::no_node;

    /// The default number of cores in a cache shard.
    static constexpr unsigned default_cache_shard_size = 8;

    /// Returns this machine, with the CPUs that the calling thread may use, which are online ones. If hwloc knows
    /// nothing about them, the result is that of `flat()`. Thread safety: any thread. Blocks: for milliseconds; it
    /// reads files. Errors: std::bad_alloc.
    [[nodiscard]] static topology system();
    /// Returns this machine, with the given CPUs, also those that the calling thread may not use. A CPU that is not
    /// online is a core and a cache of its own, on the lowest node. Otherwise as `system()`. Errors:
    /// std::invalid_argument for the empty set, std::bad_alloc.
    [[nodiscard]] static topology system(const cpuset& cpus);

    /// Returns the machine of a description in hwloc's syntax: "pack:2 numa:1 l3:2 core:4 pu:2". Errors:
    /// std::invalid_argument, with the text in the message, if it is not such a description, or describes more CPUs
    /// than a `cpuset` can hold.
    [[nodiscard]] static topology synthetic(std::string_view description);

    /// Returns the machine that `lstopo file.xml` recorded. Blocks: it reads the file. Errors, with the path in the
    /// message: std::system_error if the file cannot be read, std::invalid_argument if it is not such a record.
    [[nodiscard]] static topology from_xml(const std::string& path);

    /// Returns a machine of which only the CPUs are known: each is a core of its own, and all share one cache and node
    /// 0. Errors: std::invalid_argument for the empty set.
    [[nodiscard]] static topology flat(const cpuset& cpus) {
        std::vector<detail::cpu_location> locations;
        for (const unsigned c : cpus) locations.push_back({c, c, 0, 0});
        if (locations.empty()) throw std::invalid_argument("cmwq: a topology without CPUs");
        return topology(std::move(locations), default_cache_shard_size, kind::real);
    }

    /// Returns this machine with those of its CPUs that are in `allowed`. The remaining CPUs of a cache form a cache,
    /// with new shards. Errors: std::invalid_argument if no CPU is left.
    [[nodiscard]] topology restricted(const cpuset& allowed) const {
        std::vector<detail::cpu_location> locations;
        for (const detail::cpu_location& p : machine_->locations) {
            if (allowed.contains(p.cpu)) locations.push_back(p);
        }
        if (locations.empty()) {
            throw std::invalid_argument("cmwq: of the CPUs " + cpus().to_string() + " none is in '" +
                                        allowed.to_string() + "'");
        }
        return topology(std::move(locations), machine_->shard_size, machine_->of_kind);
    }

    /// Returns this machine with cache shards of about that many cores. Errors: std::invalid_argument for 0.
    [[nodiscard]] topology with_cache_shard_size(unsigned cores) const {
        if (cores == 0) throw std::invalid_argument("cmwq: cache_shard_size is 0, it must be 1 or more");
        return topology(machine_->locations, cores, machine_->of_kind);
    }
    /// Returns the approximate number of cores in a cache shard.
    [[nodiscard]] unsigned cache_shard_size() const noexcept { return machine_->shard_size; }

    /// Returns the CPUs, at least one. The reference is valid as long as any copy of this topology.
    [[nodiscard]] const cpuset& cpus() const noexcept { return machine_->cpus; }

    /// Whether `synthetic()` or `from_xml()` made it, so that the CPUs are not those of this machine.
    [[nodiscard]] bool simulated() const noexcept { return machine_->of_kind == kind::simulated; }

    /// Returns the number of NUMA nodes that have CPUs here. Nodes have the numbers of the operating system, which may
    /// have gaps. Nodes that only have memory do not count.
    [[nodiscard]] unsigned nr_nodes() const noexcept {
        return static_cast<unsigned>(pods(affinity_scope::numa).size());
    }
    /// Returns the NUMA node of a CPU, or `no_node` for a CPU that is not here.
    [[nodiscard]] unsigned node_of(unsigned cpu) const noexcept {
        const scope_pods& numa = of(affinity_scope::numa);
        return cpus().contains(cpu) ? numa.pods[numa.pod_of[cpu]].node : no_node;
    }
    /// Returns the CPUs of a NUMA node; the empty set for a node that has none here. Errors: std::bad_alloc.
    [[nodiscard]] cpuset cpus_of_node(unsigned node) const {
        for (const pod& p : pods(affinity_scope::numa)) {
            if (p.node == node) return p.cpus;
        }
        return {};
    }
    /// Whether the node has CPUs here.
    [[nodiscard]] bool has_node(unsigned node) const noexcept {
        return std::ranges::any_of(pods(affinity_scope::numa), [&](const pod& p) { return p.node == node; });
    }

    /// Returns all pods of a scope, in the order of their lowest CPUs. Every CPU is in exactly one pod. `default_`
    /// means `default_affinity_scope`. The span is valid as long as any copy of this topology.
    [[nodiscard]] std::span<const pod> pods(affinity_scope scope) const noexcept { return of(scope).pods; }

    /// Returns the index into `pods(scope)` of the pod that has the CPU. Errors: std::out_of_range for a CPU that is
    /// not here.
    [[nodiscard]] unsigned pod_of(affinity_scope scope, unsigned cpu) const {
        if (!cpus().contains(cpu)) throw std::out_of_range("cmwq: the topology has no CPU " + std::to_string(cpu));
        return of(scope).pod_of[cpu];
    }

private:
    enum class kind : bool { real, simulated };
    struct scope_pods {
        std::vector<pod> pods;
        std::vector<unsigned> pod_of; // by CPU number; meaningless where there is no such CPU
    };
    struct machine {
        std::vector<detail::cpu_location> locations; // ascending, each CPU once
        unsigned shard_size;
        kind of_kind;
        cpuset cpus;
        std::array<scope_pods, std::size(affinity_scopes)> scopes;
    };

    topology(std::vector<detail::cpu_location> locations, unsigned shard_size, kind k)
        : machine_(make(std::move(locations), shard_size, k)) {}

    static std::shared_ptr<const machine> make(std::vector<detail::cpu_location> locations, unsigned shard_size,
                                               kind k) {
        auto m = std::make_shared<machine>();
        std::ranges::sort(locations, {}, &detail::cpu_location::cpu);
        locations.erase(std::ranges::unique(locations, {}, &detail::cpu_location::cpu).begin(), locations.end());
        for (const detail::cpu_location& p : locations) m->cpus.insert(p.cpu);
        for (const affinity_scope scope : affinity_scopes) {
            m->scopes[static_cast<std::size_t>(scope)] = make_scope(locations, scope, shard_size);
        }
        m->locations = std::move(locations);
        m->shard_size = shard_size;
        m->of_kind = k;
        return m;
    }

    static scope_pods make_scope(std::span<const detail::cpu_location> locations, affinity_scope scope,
                                 unsigned shard_size) {
        const std::vector<unsigned> numbers = detail::pod_numbers(locations, scope, shard_size);
        scope_pods s;
        s.pod_of.resize(locations.back().cpu + 1);
        for (std::size_t i = 0; i < locations.size(); ++i) {
            const detail::cpu_location& p = locations[i];
            s.pod_of[p.cpu] = numbers[i];
            if (numbers[i] == s.pods.size()) s.pods.push_back({{}, scope == affinity_scope::system ? no_node : p.node});
            pod& its = s.pods[numbers[i]];
            its.cpus.insert(p.cpu);
            if (its.node != p.node) its.node = no_node;
        }
        return s;
    }

    [[nodiscard]] const scope_pods& of(affinity_scope scope) const noexcept {
        const auto i = static_cast<std::size_t>(scope);
        return machine_->scopes[i < machine_->scopes.size() ? i : static_cast<std::size_t>(default_affinity_scope)];
    }

    std::shared_ptr<const machine> machine_;
};

namespace detail {

/// The text of `describe()`, with `first_line` in the place of the CPUs of unbound items. No scope has "(default)"
/// beside it if `default_scope` is empty.
[[nodiscard]] inline std::string describe_scopes(const topology& t, const std::string& first_line,
                                                 std::optional<affinity_scope> default_scope,
                                                 std::span<const affinity_scope> scopes) {
    if (default_scope == affinity_scope::default_) default_scope = default_affinity_scope;
    std::string text = "Affinity Scopes\n===============\n" + first_line;
    const auto entry = [&text](std::size_t index, const std::string& value) {
        text += " [" + std::to_string(index) + "]=" + value;
    };
    for (const affinity_scope scope : scopes) {
        const std::span<const topology::pod> pods = t.pods(scope);
        text += '\n';
        for (const char c : to_string(scope)) text += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        text += scope == default_scope ? " (default)\n" : "\n";
        text += "  nr_pods  " + std::to_string(pods.size());
        text += "\n  pod_cpus";
        for (std::size_t i = 0; i < pods.size(); ++i) entry(i, pods[i].cpus.to_mask_string());
        text += "\n  pod_node";
        for (std::size_t i = 0; i < pods.size(); ++i)
            entry(i, pods[i].node == topology::no_node ? "-1" : std::to_string(pods[i].node));
        text += "\n  cpu_pod ";
        for (const unsigned cpu : t.cpus()) entry(cpu, std::to_string(t.pod_of(scope, cpu)));
        text += '\n';
    }
    return text;
}

} // namespace detail

/// Returns a text for people: the section "Affinity Scopes" of the kernel's wq_dump, for the given scopes, with
/// "(default)" beside `default_scope`, and `unbound_cpus` as the CPUs of unbound items. Thread safety: any thread.
/// Errors: std::bad_alloc.
[[nodiscard]] inline std::string describe(const topology& t, const cpuset& unbound_cpus, affinity_scope default_scope,
                                          std::span<const affinity_scope> scopes = affinity_scopes) {
    return detail::describe_scopes(t, "wq_unbound_cpumask=" + unbound_cpus.to_mask_string() + '\n', default_scope,
                                   scopes);
}

/// Returns the same text, with all CPUs of the machine as the CPUs of unbound items. Thread safety: any thread. Errors:
/// std::bad_alloc.
[[nodiscard]] inline std::string describe(const topology& t, affinity_scope default_scope = affinity_scope::default_,
                                          std::span<const affinity_scope> scopes = affinity_scopes) {
    return describe(t, t.cpus(), default_scope, scopes);
}

}} // namespace cmwq::CMWQ_NS
