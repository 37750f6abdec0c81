// SPDX-License-Identifier: BSL-1.0
//
// Tasks of groups, as the pools see them.
#pragma once

#include <cmwq/detail/api/group_core.hpp>
#include <cmwq/detail/engine/item/work_access.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Whether the item is a task of that group. Not by the address of its function, which each copy of the library has.
inline bool is_task_of(const group_core& g, const work_base& w) noexcept {
    return work_access::is_task(w) && &static_cast<const group_task&>(w).group == &g;
}

/// Whether the item is a task for which an item of its queue waits. Exact for a caller that holds the lock of the pool
/// in which the task is, if the waiter has taken that lock since.
inline bool is_awaited_task(const work_base& w) noexcept {
    return work_access::is_task(w) && static_cast<const group_task&>(w).group.lists_all.load(relaxed);
}

/// Puts tasks that have left the local lists on the list of the group.
inline void list_moved_locked(group_core& g) noexcept CMWQ_REQUIRES(g.lock) {
    for (group_task* t = g.moved.take_all(); t != nullptr;) {
        group_task& one = *t;
        t = g.moved.unlink_next(one);
        one.listed = true;
        g.not_started.push_back(one);
    }
}

}}} // namespace cmwq::CMWQ_NS::detail
