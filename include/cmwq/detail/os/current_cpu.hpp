// SPDX-License-Identifier: BSL-1.0
//
// The CPU of the calling thread. In a header of its own, because <cmwq/blocking_region.hpp> needs it, and must be cheap
// to include.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <sched.h>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::os {

/// The CPU that the calling thread is on, or was on a moment ago; 0 if the system does not return it.
inline unsigned current_cpu() noexcept {
    const int cpu = ::sched_getcpu();
    return cpu < 0 ? 0u : static_cast<unsigned>(cpu);
}

}}} // namespace cmwq::CMWQ_NS::detail::os
