// SPDX-License-Identifier: BSL-1.0
//
// The engine's side of the API boundary: operations on task groups.

#include <cmwq/detail/api/group_core.hpp>
#include <cmwq/detail/engine/groups/group_counts.hpp>
#include <cmwq/detail/engine/groups/group_wait.hpp>

#include <cstdio>
#include <exception>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_API bool wait_for_group(group_core& g) {
    if (g.queue.gate.is_dead()) return false; // in a forked child the tasks never run
    return group_wait(g, {.name = "task_group::wait()", .may_throw = true, .of_pending = true}).wait();
}

CMWQ_API void cancel_group(group_core& g) noexcept {
    if (g.queue.gate.is_dead()) return;
    const scoped_lock guard(g.lock);
    g.cancelled.store(true, relaxed);
}

CMWQ_API void end_group(group_core& g) noexcept {
    if ((g.awaited.load(relaxed) && !g.has_own.load(relaxed)) || g.queue.gate.is_dead()) return;
    {
        const scoped_lock guard(g.lock);
        if (finished_locked(g)) return;
    }
    try {
        group_wait wait(g, {.name = "~task_group()", .may_throw = true, .of_pending = true});
        try {
            static_cast<void>(wait.wait());
        } catch (...) {
            if (wait.refused()) throw;
            return; // an exception of a task, for which the program does not ask
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s, called by ~task_group()\n", e.what());
        std::terminate(); // a destructor can neither throw nor wait for itself
    }
}

}}} // namespace cmwq::CMWQ_NS::detail
