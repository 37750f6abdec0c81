// SPDX-License-Identifier: BSL-1.0
//
// Waiting for the end of an item.
#pragma once

#include <cmwq/detail/engine/waits/wait_graph.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Waits for the end of the instance that was queued last; if `by` does not wait for pending items, only for the end of
/// a running one. False: there was none. Throws std::system_error(resource_deadlock_would_occur) if the calling item
/// would wait for itself, and `by` may throw. An item in an elastic pool runs a pending instance itself, if it can.
bool wait_for_work(work_base& w, wait_call by);

}}} // namespace cmwq::CMWQ_NS::detail
