// SPDX-License-Identifier: BSL-1.0
//
// The tasks of a group that run in a thread, and those on their way to the list of the group.
#pragma once

#include <cmwq/detail/api/group_core.hpp>
#include <cmwq/detail/engine/item/work_access.hpp>
#include <cmwq/detail/engine/pool/worker.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// A task that a thread runs, on its stack. The list of a worker names the innermost one first. While the thread is in a
/// registered wait, the list of the group names all tasks of that group that the thread runs: none of them ends before.
///
/// Letters: I set before publication · G the lock of the graph of waits
struct running_task {
    void list(worker& k) noexcept {
        by = &k;
        searched_by = 0;
        next = group.waiting;
        if (next != nullptr) next->link = &next;
        link = &group.waiting;
        *link = this;
    }
    void unlist() noexcept {
        *link = next;
        if (next != nullptr) next->link = link;
    }

    group_core& group;         // I
    running_task* const outer; // I

    worker* by = nullptr;          // G: the record under which the task runs
    running_task* next = nullptr;  // G: on the list of the group
    running_task** link = nullptr; // G: what points to this task there
    std::uint64_t searched_by = 0; // G: of the first one on that list: the last search that has visited the list
};

/// Whether the item is a task of that group. Not by the address of its function, which each copy of the library has.
CMWQ_INLINE bool is_task_of(const group_core& g, const work_base& w) noexcept {
    return work_access::is_task(w) && &static_cast<const group_task&>(w).group == &g;
}

/// Whether the item is a task for which an item of its queue waits. Exact for a caller that holds the lock of the pool in
/// which the task is, if the waiter has taken that lock since.
CMWQ_INLINE bool is_awaited_task(const work_base& w) noexcept {
    return work_access::is_task(w) && static_cast<const group_task&>(w).group.lists_all.load(relaxed);
}

/// Puts tasks that have left the local lists on the list of the group.
CMWQ_INLINE void list_moved_locked(group_core& g) noexcept CMWQ_REQUIRES(g.lock) {
    for (group_task* t = g.moved.take_all(); t != nullptr;) {
        group_task& one = *t;
        t = g.moved.unlink_next(one);
        one.listed = true;
        g.not_started.push_back(one);
    }
}

}}} // namespace cmwq::CMWQ_NS::detail
