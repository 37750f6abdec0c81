// SPDX-License-Identifier: BSL-1.0
//
// The message about a queue that stands still at its limit.
#pragma once

#include <cmwq/detail/engine/item/item_name.hpp>
#include <cmwq/detail/engine/queue/queue_core.hpp>

#include <cstdint>
#include <string>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// `time`: for how long it has stood still, in nanoseconds. Throws std::bad_alloc.
inline std::string describe_saturation(const queue_core& q, std::int64_t time) {
    std::string text = "cmwq: " + describe_queue(q.name);
    const bool adjustable = !q.how.fifo && !q.limit_is_fixed;
    const bool is_shared = q.limits.is_shared();
    if (q.how.fifo) text += ", which runs one item at a time, stands still";
    else text += " is at its limit, max_active " + std::to_string(q.limits.max_active());
    if (is_shared) text += ", of which each NUMA node has a share";
    text += ": for " + in_seconds(time) +
            " all of its items that run have been blocked, and others wait behind them. dump() shows the items";
    if (adjustable) text += "; set_max_active() raises the limit";
    if (adjustable && is_shared) text += ", and set_min_active() to the same number lets each node use all of it";
    return text;
}

}}} // namespace cmwq::CMWQ_NS::detail
