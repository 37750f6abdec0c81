// SPDX-License-Identifier: BSL-1.0
//
// running_task: a task of a group that a thread runs, or drops.
#pragma once

#include <cmwq/detail/api/group_core.hpp>
#include <cmwq/detail/engine/threads/worker.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// A task that a thread runs, on its stack. The list of a worker names the innermost one first; that of another thread
/// names the tasks that it drops. While the thread is in a registered wait, the list of the group names all tasks of
/// that group that the thread runs: none of them ends before.
///
/// Letters: I set before publication · G the lock of the graph of waits
struct running_task {
    void list(run_record& k) noexcept {
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

    run_record* by = nullptr;      // G: the record under which the task runs
    running_task* next = nullptr;  // G: on the list of the group
    running_task** link = nullptr; // G: what points to this task there
    std::uint64_t searched_by = 0; // G: of the first one on that list: the last search that has visited the list
};

}}} // namespace cmwq::CMWQ_NS::detail
