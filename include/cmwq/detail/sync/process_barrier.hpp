// SPDX-License-Identifier: BSL-1.0
//
// The barrier for all threads that biased_mutex and the waits for task groups use.
#pragma once

#include <cmwq/detail/os/process_barrier.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

using process_barrier = os::process_barrier;

}}} // namespace cmwq::CMWQ_NS::detail
