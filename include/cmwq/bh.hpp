// SPDX-License-Identifier: BSL-1.0
//
// bh_disable_guard: holds back the bottom halves of the calling thread.
#pragma once

#include <cmwq/detail/engine_ops.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

namespace cmwq { inline namespace CMWQ_NS {

/// Keeps the calling thread from running bottom halves while the guard lives. Items that the thread queues on `bh`
/// queues are accepted. The thread runs them, in queueing order, when its outermost guard ends. Use it in a thread that
/// shares data with bottom halves, or that holds a lock which they take.
///
/// Guards nest. Inside of a bottom half they change nothing: items queued there wait for the end of that bottom half
/// anyway. A guard holds back the calling thread only. Another thread that queues on the same CPU, or the thread that
/// serves its timers, runs all items that are pending there, including those of the guarded thread. So a guard is not a
/// lock.
///
/// Waiting inside of a guard (`flush()`, `drain()`, `cancel_sync()`, destructors) does not wait for the end of the
/// guard: the items held back go to the bottom-half thread of their CPU first. A thread that waits for such an item in
/// another way, with the future of `async()` for instance, waits forever. A guard holds back the items of eight
/// contexts at most (a context is a CPU and a priority). Items of further contexts also go to the bottom-half threads.
///
/// Thread safety: a guard belongs to the thread that made it. Ordering: as `workqueue_base::queue()`. Progress: the end
/// of the outermost guard runs items within the budget of `bh`; the bottom-half thread runs the rest. Blocks: no.
/// Errors: none, never throws.
///
///     {
///         const cmwq::bh_disable_guard hold;
///         fast.queue(first);
///         fast.queue(second);
///     } // both run here
class bh_disable_guard {
public:
    /// Begins to hold back the bottom halves of the thread.
    [[nodiscard]] bh_disable_guard() noexcept { ++detail::this_thread_slots().bh_depth; }
    /// Ends the guard. The end of the outermost guard runs the items that were held back.
    ~bh_disable_guard() {
        detail::thread_slots& s = detail::this_thread_slots();
        if (s.bh_depth == 1 && s.nr_raised != 0) detail::run_held_back_bottom_halves();
        --s.bh_depth;
    }
    bh_disable_guard(const bh_disable_guard&) = delete;
    bh_disable_guard& operator=(const bh_disable_guard&) = delete;
};

}} // namespace cmwq::CMWQ_NS
