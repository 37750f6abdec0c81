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

/// `armed_in` is the id of the shard in which the timer is armed, one of the ids of the runtime of that shard; 0: it is
/// not armed. The lock of the shard guards this value while it is set, and the other members; otherwise these belong to
/// the owner of PENDING.
struct work_timer : deadline_node, list_node<timer_tag> {
    atomic<std::uint64_t> armed_in{0};
    delayed_work_base* item = nullptr;
    queue_core* queue = nullptr;
    int cpu = any_cpu;
};

/// The armed timers of a queue in one shard.
using timer_ring = intrusive_ring<work_timer, timer_tag>;

}}} // namespace cmwq::CMWQ_NS::detail
