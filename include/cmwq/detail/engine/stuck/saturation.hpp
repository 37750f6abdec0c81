// SPDX-License-Identifier: BSL-1.0
//
// The message about a queue that stands still at its limit.
#pragma once

#include <cmwq/detail/engine/item/item_name.hpp>
#include <cmwq/detail/engine/ledger/pool_report.hpp>
#include <cmwq/detail/engine/queue/queue_core.hpp>
#include <cmwq/detail/sync/try_lock.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The items that the limit keeps back, as far as locks are free before `deadline`. Throws std::bad_alloc.
inline std::string describe_kept_back(const queue_core& q, std::int64_t deadline) {
    std::size_t n = 0;
    work_access::function first = nullptr;
    if (try_lock_until(q.pwqs.lock, deadline)) {
        const scoped_lock g(q.pwqs.lock, adopt_lock);
        q.pwqs.for_each_locked([&](pool_workqueue& p) {
            pwq_report now;
            p.ledger->report(p, now, deadline);
            n += now.inactive.nr_items();
            if (first == nullptr && !now.inactive.groups().empty()) first = now.inactive.groups().front().function;
        });
    }
    if (first == nullptr) return "others wait behind them";
    return std::to_string(n) + (n == 1 ? " waits behind them: " : " wait behind them, one of them is ") +
           describe_callable(first);
}

/// `time`: for how long it has stood still, in nanoseconds. `deadline`: for locks, steady clock. Throws std::bad_alloc.
inline std::string describe_saturation(const queue_core& q, std::int64_t time, std::int64_t deadline) {
    std::string text = "cmwq: " + describe_queue(q.name);
    const bool adjustable = !q.how.fifo && !q.limit_is_fixed;
    const bool is_shared = q.limits.is_shared();
    if (q.how.fifo) text += ", which runs one item at a time, stands still";
    else text += " is at its limit, max_active " + std::to_string(q.limits.max_active());
    if (is_shared) text += ", of which each NUMA node has a share";
    text += ": for " + in_seconds(time) + " all of its items that run have been blocked, and " +
            describe_kept_back(q, deadline) + ". dump() shows the items";
    if (adjustable) text += "; set_max_active() raises the limit";
    if (adjustable && is_shared) text += ", and set_min_active() to the same number lets each node use all of it";
    return text;
}

}}} // namespace cmwq::CMWQ_NS::detail
