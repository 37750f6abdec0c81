// SPDX-License-Identifier: BSL-1.0
//
// A runtime with one CPU: a bound queue has one limit there, and while an item runs and does not block, no other worker
// of a managed pool starts an item.
#pragma once

#include <cmwq/runtime.hpp>

namespace cmwq_test {

inline cmwq::runtime_options one_cpu() { return {.cpus = cmwq::cpuset{*cmwq::runtime::global().cpus().begin()}}; }

} // namespace cmwq_test
