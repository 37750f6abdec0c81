// SPDX-License-Identifier: BSL-1.0
//
// The body of service_requests::thread_leaves(), which needs the definition of worker.
#pragma once

#include <cmwq/detail/engine/env/service_requests.hpp>
#include <cmwq/detail/engine/pool/worker.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE void service_requests::thread_leaves(worker& w) noexcept {
    static_cast<void>(leaving_.push(w));
    wake_manager();
}

}}} // namespace cmwq::CMWQ_NS::detail
