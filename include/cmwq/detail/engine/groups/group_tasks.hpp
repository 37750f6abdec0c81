// SPDX-License-Identifier: BSL-1.0
//
// Tasks of groups: how they are added, run and dropped.
#pragma once

#include <cmwq/detail/api/group_core.hpp>
#include <cmwq/detail/engine/ledger/run_record.hpp>
#include <cmwq/detail/engine/waits/running_task.hpp>
#include <cmwq/detail/sync/mutex.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Takes a task off the list of its group.
void unlist_locked(group_core& g, group_task& t) noexcept CMWQ_REQUIRES(g.lock);
/// A task does not run.
void note_incomplete_locked(group_core& g) noexcept CMWQ_REQUIRES(g.lock);
/// The task has ended, and its callable has been destroyed. The caller counts it down. False: another thread accesses
/// the task, and gives its memory back.
[[nodiscard]] bool note_end_locked(group_core& g, group_task& t, bool cancelled) noexcept CMWQ_REQUIRES(g.lock);
/// The same. Takes the lock of the group, and counts the task down.
void end_task(group_task& t, bool cancelled) noexcept;
/// Whether the end of an unlisted task needs the lock of the group. While a waiter lists all, it learns of each end.
[[nodiscard]] bool ends_with_lock(const group_core& g, bool cancelled) noexcept;
/// As end_task(), for an unlisted task that a worker has run.
void end_unlisted(run_record& self, group_task& t, bool cancelled) noexcept;
/// Called by the handler of an exception of a task. The group keeps the first one. The others are destroyed here, as a
/// part of their tasks.
void keep_error(group_core& g) noexcept;

/// Runs the task in the calling thread, and destroys its callable. The task is on no list. `self`: the record under
/// which it runs; null: the thread drops it. A cancelled task does not run.
CMWQ_HOT_INLINE void perform_task(run_record* self, group_task& t, bool cancelled) noexcept {
    group_core& g = t.group;
    running_task*& innermost = self != nullptr ? self->tasks : this_thread_slots().dropped;
    running_task here{.group = g, .outer = innermost};
    innermost = &here;
    const bool in_owner = self != nullptr && self == g.owner;
    if (in_owner) ++g.nr_in_owner;
    if (!cancelled) {
        try {
            t.perform(t, group_task::step::call);
        } catch (...) {
            keep_error(g);
        }
    }
    t.perform(t, group_task::step::end); // the destructor of the callable is a part of the task
    if (in_owner) --g.nr_in_owner;
    innermost = here.outer;
}

}}} // namespace cmwq::CMWQ_NS::detail
