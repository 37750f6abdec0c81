// SPDX-License-Identifier: BSL-1.0
//
// Tasks of groups: how they are added, run and dropped.
#pragma once

#include <cmwq/detail/api/group_core.hpp>
#include <cmwq/detail/sync/mutex.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class run_record;

/// Takes a task off the list of its group.
void unlist_locked(group_core& g, group_task& t) noexcept CMWQ_REQUIRES(g.lock);
/// The task has ended, and its callable has been destroyed. The caller counts it down. False: another thread accesses
/// the task, and gives its memory back.
[[nodiscard]] bool note_end_locked(group_core& g, group_task& t, bool cancelled) noexcept CMWQ_REQUIRES(g.lock);
/// The same. Takes the lock of the group, and counts the task down.
void end_task(group_task& t, bool cancelled) noexcept;
/// Whether the end of an unlisted task needs the lock of the group. While a waiter lists all, it learns of each end.
[[nodiscard]] bool ends_with_lock(const group_core& g, bool cancelled) noexcept;
/// As end_task(), for an unlisted task that a worker has run.
void end_unlisted(run_record& self, group_task& t, bool cancelled) noexcept;
/// Runs the task in the calling thread, and destroys its callable. The task is on no list. `self`: the record of the
/// calling thread; null: the thread drops the task. A cancelled task does not run.
void perform_task(run_record* self, group_task& t, bool cancelled) noexcept;

}}} // namespace cmwq::CMWQ_NS::detail
