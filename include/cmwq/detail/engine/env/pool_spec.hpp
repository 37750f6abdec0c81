// SPDX-License-Identifier: BSL-1.0
//
// pool_spec: what the threads of a pool are and which CPUs it serves. Normalised attributes: the key of the registry.
#pragma once

#include <cmwq/cpuset.hpp>
#include <cmwq/detail/base/thread_types.hpp>
#include <cmwq/detail/topo/pods.hpp>

#include <cstddef>
#include <functional>

namespace cmwq::inline CMWQ_NS::detail {

struct pool_spec {
    cpuset cpus;             ///< where its threads may run
    cpuset pod;              ///< the CPUs that it serves: those of `cpus`, or the ones that its threads prefer
    unsigned node = no_node; ///< of the pod; `no_node`: it spans several
    int nice = 0;            ///< -20 ... 19
    sched_class sched = sched_class::normal;
    bool managed = false; ///< as many runnable workers as `width`
    int width = 1;        ///< of a managed one: the CPUs of the pod, or its part of the quota

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

} // namespace cmwq::inline CMWQ_NS::detail
