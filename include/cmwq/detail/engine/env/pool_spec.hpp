// SPDX-License-Identifier: BSL-1.0
//
// pool_spec: the attributes of a pool in normalized form: its threads, and the CPUs that it serves. The key of the
// registry.
#pragma once

#include <cmwq/cpuset.hpp>
#include <cmwq/detail/base/thread_types.hpp>
#include <cmwq/detail/topo/pods.hpp>

#include <cstddef>
#include <functional>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Whom a pool with workers serves: the queues that have a pool for each CPU, of that CPU; or queues with equal
/// attributes, which share it.
enum class pool_serves : bool { one_cpu, attributes };

/// A plain value.
struct pool_spec {
    cpuset cpus;             ///< where its threads may run
    cpuset pod;              ///< the CPUs that it serves: all of `cpus`, or those of them that its threads prefer
    unsigned node = no_node; ///< the NUMA node of the pod; `no_node`: the pod spans several
    int nice = 0;            ///< -20 ... 19
    sched_class sched = sched_class::normal;
    bool managed = false; ///< concurrency management keeps as many workers running as `width`
    int width = 1;        ///< if managed: the number of CPUs of the pod, or its share of the quota

    friend bool operator==(const pool_spec&, const pool_spec&) = default;

    [[nodiscard]] std::size_t hash() const noexcept {
        std::size_t h = static_cast<std::size_t>(nice) * 31 + static_cast<std::size_t>(sched) * 2 + (managed ? 1u : 0u);
        const auto mix = [&h](unsigned cpu) { h = (h ^ cpu) * std::size_t{0x9e3779b97f4a7c15u}; };
        for (const unsigned cpu : cpus) mix(cpu);
        mix(cpuset::capacity);
        for (const unsigned cpu : pod) mix(cpu);
        return h;
    }
};

}}} // namespace cmwq::CMWQ_NS::detail
