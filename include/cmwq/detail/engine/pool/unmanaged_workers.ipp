// SPDX-License-Identifier: BSL-1.0
//
// Bodies of unmanaged_workers.
#pragma once

#include <cmwq/detail/engine/pool/unmanaged_workers.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

// Wakes a worker if items are pending: their producer may have been preempted between its push and its notification.
CMWQ_INLINE monitor_findings unmanaged_workers::look_after(std::int64_t /*passed*/) noexcept {
    if (!pending()) return {};
    worker* const idle = next_idle_.load(seq_cst); // [UNIFORM]
    if (idle == nullptr) {
        ask_for_worker();
        return {.pending = true};
    }
    idle->sleep.unpark();
    return {.pending = true, .eventful = true};
}

}}} // namespace cmwq::CMWQ_NS::detail
