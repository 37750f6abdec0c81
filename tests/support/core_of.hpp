// SPDX-License-Identifier: BSL-1.0
//
// Access to the engine of a runtime, for tests of its internal state.
#pragma once

#include <cmwq/detail/engine/api/runtime_access.hpp>
#include <cmwq/runtime.hpp>

namespace cmwq_test {

inline cmwq::detail::runtime_core& core_of(const cmwq::runtime& rt) {
    return cmwq::detail::runtime_access::core_of(rt);
}
/// The pools that queues of equal attributes share.
inline cmwq::detail::pool_registry& shared_pools_of(const cmwq::runtime& rt) { return core_of(rt).pools().shared(); }
/// The number of workers that keep these CPUs busy.
inline int width_of(const cmwq::runtime& rt, const cmwq::cpuset& cpus) { return core_of(rt).env().cpus.width_of(cpus); }

} // namespace cmwq_test
