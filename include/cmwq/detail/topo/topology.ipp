// SPDX-License-Identifier: BSL-1.0
//
// The bodies of topology that need hwloc: the topology of this machine, of a description, and of a recorded machine.

#include <cmwq/detail/os/file.hpp>
#include <cmwq/detail/sync/system.hpp>
#include <cmwq/detail/topo/hwloc_call.hpp>
#include <cmwq/detail/topo/hwloc_source.hpp>
#include <cmwq/topology.hpp>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS {

CMWQ_API topology topology::system() {
    cpuset allowed = detail::allowed_cpus();
    if (allowed.empty()) allowed.insert(0);
    return system(allowed);
}

CMWQ_API topology topology::system(const cpuset& cpus) {
    const detail::hwloc_call inside;
    const detail::hwloc_machine m = detail::new_hwloc_machine(inside);
    if (m == nullptr || cpus.empty()) return flat(cpus);
    // Uses neither hwloc's set of allowed CPUs, because `cpus` has it, nor CPUID, for which hwloc would bind this
    // thread to one CPU after the other: the kernel reports the same.
    hwloc_topology_set_flags(m.get(), hwloc_topology_get_flags(m.get()) | HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    hwloc_topology_set_components(m.get(), HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    // Environment variables can make hwloc load another machine, with other CPUs.
    if (hwloc_topology_load(m.get()) != 0 || hwloc_topology_is_thissystem(m.get()) == 0) return flat(cpus);

    std::vector<detail::cpu_location> locations;
    cpuset unknown = cpus;
    for (const detail::cpu_location& p : detail::locations_of(m.get())) {
        if (!cpus.contains(p.cpu)) continue;
        locations.push_back(p);
        unknown.erase(p.cpu);
    }
    if (locations.empty()) return flat(cpus);
    // CPUs that are offline or gone get a core and a cache of their own, with unique numbers.
    const unsigned lowest = std::ranges::min(locations, {}, &detail::cpu_location::node).node;
    for (const unsigned c : unknown) locations.push_back({c, cpuset::capacity + c, cpuset::capacity + c, lowest});
    return topology(std::move(locations), default_cache_shard_size, kind::real);
}

CMWQ_API topology topology::synthetic(std::string_view description) {
    const std::string text(description);
    const auto refuse = [&text](const char* why) { throw std::invalid_argument("cmwq: '" + text + "' " + why); };
    if (text.find_first_not_of(" \t\n") == std::string::npos || text.find('\0') != std::string::npos) {
        refuse("describes no machine");
    }
    if (detail::nr_synthetic_cpus(text) > cpuset::capacity) refuse("describes a machine of more than 65536 CPUs");
    const detail::hwloc_call inside;
    const detail::hwloc_machine m = detail::new_hwloc_machine(inside);
    if (m == nullptr) throw std::system_error(errno, std::generic_category(), "cmwq: hwloc_topology_init");
    if (hwloc_topology_set_synthetic(m.get(), text.c_str()) != 0 || hwloc_topology_load(m.get()) != 0) {
        refuse("describes no machine");
    }
    std::vector<detail::cpu_location> locations = detail::locations_of(m.get());
    if (!detail::fit_into_a_cpuset(locations)) refuse("numbers CPUs beyond 65535");
    return topology(std::move(locations), default_cache_shard_size, kind::simulated);
}

CMWQ_API topology topology::from_xml(const std::string& path) {
    std::string text;
    if (const int error = detail::os::read_file(path.c_str(), text); error != 0) {
        throw std::system_error(error, std::generic_category(), "cmwq: topology file '" + path + "'");
    }
    const detail::hwloc_call inside;
    const detail::hwloc_machine m = detail::new_hwloc_machine(inside);
    if (m == nullptr) throw std::system_error(errno, std::generic_category(), "cmwq: hwloc_topology_init");
    std::vector<detail::cpu_location> locations;
    if (text.size() < static_cast<std::size_t>(INT_MAX) && // the size below counts the terminating zero
        hwloc_topology_set_xmlbuffer(m.get(), text.c_str(), static_cast<int>(text.size() + 1)) == 0 &&
        hwloc_topology_load(m.get()) == 0) {
        locations = detail::locations_of(m.get());
    }
    if (!detail::fit_into_a_cpuset(locations))
        throw std::invalid_argument("cmwq: '" + path + "' is no recorded topology");
    return topology(std::move(locations), default_cache_shard_size, kind::simulated);
}

}} // namespace cmwq::CMWQ_NS
