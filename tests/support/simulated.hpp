// SPDX-License-Identifier: BSL-1.0
//
// Options of a runtime on a simulated machine.
#pragma once

#include <cmwq/runtime_options.hpp>

#include <string_view>

namespace cmwq_test {

/// The machine is described as in topology::synthetic().
inline cmwq::runtime_options simulated(std::string_view machine) {
    cmwq::runtime_options o;
    o.machine = cmwq::topology::synthetic(machine);
    return o;
}

/// Two NUMA nodes with 8 CPUs each, in two caches per node.
inline cmwq::runtime_options two_nodes() { return simulated("numa:2 l3:2 core:4 pu:1"); }

} // namespace cmwq_test
