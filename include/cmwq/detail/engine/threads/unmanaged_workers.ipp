// SPDX-License-Identifier: BSL-1.0
//
// Bodies of unmanaged_workers.
#pragma once

#include <cmwq/detail/engine/threads/unmanaged_workers.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

// Wakes a worker if items are pending: their producer may have been preempted between its push and its notification.
CMWQ_INLINE monitor_findings unmanaged_workers::look_after(std::int64_t /*passed*/) noexcept {
    if (!pending()) return {};
    return {.pending = true, .eventful = wake_idle_worker()};
}

}}} // namespace cmwq::CMWQ_NS::detail
