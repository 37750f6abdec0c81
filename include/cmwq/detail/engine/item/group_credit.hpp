// SPDX-License-Identifier: BSL-1.0
//
// group_credit: lets a worker add and end tasks of a group without the lock of the group.
#pragma once

#include <cmwq/work.hpp>

#include <cstddef>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class group_core;
class worker;

/// Counts as `n` unfinished tasks of the group. A worker gets credit from the group, many tasks at once. Each task that
/// it adds takes one from the credit, and each task that has ended in its thread gives one back. The worker gives the
/// rest back to the group before it runs anything but a task of the group, and before it waits for the group or sleeps.
/// So the group has no unfinished task if, and only if, its count is zero, and it exists as long as a worker has
/// credit.
///
/// Letters: S used by the worker itself
struct group_credit {
    group_core* group = nullptr; // S: of no meaning if n is 0
    std::size_t n = 0;           // S

    [[nodiscard]] bool belongs_to(const group_core& g) const noexcept { return n != 0 && group == &g; }
};

/// To which list an item of a local list goes.
enum class moved_to : bool { worker, pool };
/// Another thread has taken an item off the local list of its worker, or the worker has, and did not start it. The
/// caller still holds the lock of that list, or the lock of the pool. If the item is an unlisted task, a waiter must
/// learn of it.
void note_moved(work_base& w, moved_to where) noexcept;

/// Gives the credit of the calling worker back to its group.
void give_back_credit(worker& self) noexcept;
/// The same, unless `next`, which the calling worker is about to run, is a task of that group.
void give_back_credit_before(worker& self, const work_base& next) noexcept;

}}} // namespace cmwq::CMWQ_NS::detail
