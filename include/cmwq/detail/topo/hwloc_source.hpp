// SPDX-License-Identifier: BSL-1.0
//
// Reads a machine by hwloc. The only header that includes hwloc.h.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/topo/hwloc_call.hpp>
#include <cmwq/detail/topo/pods.hpp>
#include <cmwq/topology.hpp>

#include <hwloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#if HWLOC_API_VERSION < 0x00020100
#error "cmwq needs hwloc 2.1 or later"
#endif

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Destroys a machine of hwloc, for std::unique_ptr.
struct hwloc_deleter {
    void operator()(hwloc_topology_t t) const noexcept { hwloc_topology_destroy(t); }
};
using hwloc_machine = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, hwloc_deleter>;

/// hwloc loads its plugins with the first machine of a process, and unloads them with the last one. This keeps one for
/// ever: in a child of fork(), dlclose() may wait for a thread of the parent that does not exist there. (That thread
/// was looking up a symbol, and has marked that in its memory. glibc gives the memory to a new thread, with the mark.)
inline void keep_plugins_loaded(const hwloc_call& /*inside*/) noexcept {
    static constinit atomic<hwloc_topology_t> kept{nullptr};
    if (kept.load(relaxed) != nullptr) return; // relaxed, as below: nothing reads the machine
    hwloc_topology_t none = nullptr, fresh = nullptr;
    if (hwloc_topology_init(&fresh) != 0) return;
    if (!kept.compare_exchange_strong(none, fresh, relaxed, relaxed)) hwloc_topology_destroy(fresh);
}

/// Returns a machine that is not loaded yet, configured to contain only the objects that `locations_of()` needs. Null,
/// with errno, if hwloc cannot make one. The `hwloc_call` must live as long as the machine.
inline hwloc_machine new_hwloc_machine(const hwloc_call& inside) {
    keep_plugins_loaded(inside);
    hwloc_topology_t t = nullptr;
    if (hwloc_topology_init(&t) != 0) return nullptr;
    hwloc_machine m(t);
    hwloc_topology_set_all_types_filter(t, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_cache_types_filter(t, HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_type_filter(t, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_type_filter(t, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL);
    // hwloc attaches a node to a group, if no package or cache has the same CPUs. Without groups the node would have
    // all CPUs of its parent.
    hwloc_topology_set_type_filter(t, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
#if HWLOC_API_VERSION >= 0x00020800
    // If the library is older than the header, it refuses these flags, and only takes longer.
    hwloc_topology_set_flags(t, HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS |
                                    HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS);
#endif
    return m;
}

/// The node of each CPU. A CPU may be local to several nodes, for instance of high-bandwidth memory or of a device. Its
/// node is the one with the fewest CPUs, and of those the one with the lowest number, as in the kernel.
inline std::map<unsigned, unsigned> nodes_of_cpus(hwloc_topology_t t) {
    std::map<unsigned, std::pair<int, unsigned>> nearest; // CPU -> (number of CPUs of the node, number of the node)
    for (hwloc_obj_t o = nullptr; (o = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_NUMANODE, o)) != nullptr;) {
        const std::pair<int, unsigned> candidate(hwloc_bitmap_weight(o->cpuset), o->os_index);
        for (int c = -1; (c = hwloc_bitmap_next(o->cpuset, c)) >= 0;) {
            const auto [it, is_new] = nearest.try_emplace(static_cast<unsigned>(c), candidate);
            if (!is_new && candidate < it->second) it->second = candidate;
        }
    }
    std::map<unsigned, unsigned> nodes;
    for (const auto& [cpu, node] : nearest) nodes.emplace(cpu, node.second);
    return nodes;
}

/// The locations of all CPUs. A CPU without a node belongs to the lowest node. A CPU without a core is a core. CPUs
/// without a known cache beyond the first level count as sharing one cache if they have the same package and node.
inline std::vector<cpu_location> locations_of(hwloc_topology_t t) {
    const std::map<unsigned, unsigned> nodes = nodes_of_cpus(t);
    unsigned lowest = nodes.empty() ? 0 : no_node;
    for (const auto& [cpu, node] : nodes) lowest = node < lowest ? node : lowest;

    // The key of a core or a cache: the type and the number of an object, and the node if the CPU has no cache.
    using thing = std::tuple<int, unsigned, unsigned>;
    std::map<thing, unsigned> cores, caches;
    const auto number_in = [](std::map<thing, unsigned>& m, const thing& key) {
        return m.try_emplace(key, static_cast<unsigned>(m.size())).first->second;
    };

    std::vector<cpu_location> locations;
    for (hwloc_obj_t pu = nullptr; (pu = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_PU, pu)) != nullptr;) {
        const auto found = nodes.find(pu->os_index);
        const unsigned node = found == nodes.end() ? lowest : found->second;
        hwloc_obj_t core = pu, cache = nullptr, package = nullptr;
        for (hwloc_obj_t o = pu->parent; o != nullptr; o = o->parent) {
            if (o->type == HWLOC_OBJ_CORE) core = o;
            else if (o->type == HWLOC_OBJ_PACKAGE) package = o;
            else if (hwloc_obj_type_is_dcache(o->type) && o->type != HWLOC_OBJ_L1CACHE) cache = o;
        }
        const auto kind = [](hwloc_obj_t o) { return static_cast<int>(o->type); };
        const thing its_core(kind(core), core->logical_index, 0);
        const thing its_cache = cache != nullptr ? thing(kind(cache), cache->logical_index, 0)
                                                 : thing(-1, package != nullptr ? package->logical_index : 0, node);
        locations.push_back({pu->os_index, number_in(cores, its_core), number_in(caches, its_cache), node});
    }
    return locations;
}

/// How many CPUs a synthetic description has: the product of the numbers of its levels; `cpuset::capacity + 1` if a set
/// cannot hold that many. Attributes, in parentheses, and memory, in brackets, do not count.
inline std::size_t nr_synthetic_cpus(const std::string& description) noexcept {
    std::size_t product = 1;
    int depth = 0;
    char before = ' ';
    for (const char* p = description.c_str(); *p != 0;) {
        const bool number_may_begin = depth == 0 && (before == ' ' || before == ':');
        before = *p;
        if (*p == '(' || *p == '[') ++depth;
        if (*p == ')' || *p == ']') --depth;
        if (!number_may_begin || *p < '0' || *p > '9') {
            ++p;
            continue;
        }
        char* end = nullptr;
        const unsigned long number = std::strtoul(p, &end, 0); // as hwloc does
        p = end;
        if (number > cpuset::capacity || product * number > cpuset::capacity) return cpuset::capacity + 1;
        product *= number;
    }
    return product;
}

inline bool fit_into_a_cpuset(const std::vector<cpu_location>& locations) noexcept {
    return !locations.empty() &&
           std::ranges::all_of(locations, [](const cpu_location& p) { return p.cpu < cpuset::capacity; });
}

}}} // namespace cmwq::CMWQ_NS::detail
