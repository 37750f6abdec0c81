// SPDX-License-Identifier: BSL-1.0
//
// queue_by_policy: selects the function that queues an item at compile time, by the policy of the queue.
#pragma once

#include <cmwq/detail/engine_ops.hpp>
#include <cmwq/policy.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// As `queue_work()`, for a queue of that policy.
template <class Policy>
queue_status queue_by_policy(queue_core& q, work_base& w, int cpu) noexcept {
    if constexpr (Policy::pool == pool_kind::dispatcher) return queue_bottom_half(q, w, cpu);
    else if constexpr (Policy::pool == pool_kind::per_cpu) return queue_bound_work(q, w, cpu);
    else if constexpr (Policy::concurrency_managed) return queue_elastic_work(q, w, cpu);
    else if constexpr (Policy::fifo) return queue_ordered_work(q, w, cpu);
    else return queue_unbound_work(q, w, cpu);
}

}}} // namespace cmwq::CMWQ_NS::detail
