// SPDX-License-Identifier: BSL-1.0
//
// work_timer: the timer in a delayed item.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/ds/deadline_heap.hpp>
#include <cmwq/detail/ds/intrusive_ring.hpp>
#include <cmwq/detail/engine_ops.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

struct timer_tag;

/// `runtime_id` is the id of the runtime in whose timer service the timer is armed; 0: it is not armed. `shard` is the
/// shard of that service. The other members belong to the lock of that shard while the timer is armed, and to the owner
/// of PENDING otherwise.
struct work_timer : deadline_node, list_node<timer_tag> {
    atomic<std::uint64_t> runtime_id{0};
    delayed_work_base* item = nullptr;
    queue_core* queue = nullptr;
    int cpu = any_cpu;
    atomic<unsigned> shard{0}; ///< of the last arming; written under the lock of that shard
};

/// The armed timers of a queue in one shard.
using timer_ring = intrusive_ring<work_timer, timer_tag>;

}}} // namespace cmwq::CMWQ_NS::detail
