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

/// The function by which reports tell the item from others: that of the item, or of the task, because all tasks have
/// one. An address to compare with and to look up.
inline work_access::function shown_function(const group_task& t) noexcept {
    using any_function = void (*)(); // which the compilers let pass
    return reinterpret_cast<work_access::function>(reinterpret_cast<any_function>(t.perform));
}
inline work_access::function shown_function(const work_base& w) noexcept {
    return work_access::is_task(w) ? shown_function(static_cast<const group_task&>(w)) : work_access::run(w);
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
