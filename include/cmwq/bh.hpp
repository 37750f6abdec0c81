// SPDX-License-Identifier: BSL-1.0
//
// Holding back the bottom halves of the calling thread.
#pragma once

#include <cmwq/detail/engine_ops.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

namespace cmwq::inline CMWQ_NS {

/// While one of these lives, the calling thread runs no bottom halves. What it queues on `bh` queues is accepted, and
/// run by this thread, in queueing order, when the outermost guard ends. For a thread that shares data with bottom
/// halves, or holds a lock that they take.
///
/// Guards nest. Inside of a bottom half they change nothing: what it queues waits until it has ended anyway. Only the
/// calling thread is held back: another one that queues on the same CPU, or the one that serves its timers, runs what
/// is pending there, what this thread has queued included. So a guard is no lock.
///
/// Waiting inside of a guard (`flush()`, `drain()`, `cancel_sync()`, destructors) does not wait for its end: what the
/// guard has held back goes to the bottom-half thread of its CPU first. A thread that gets its answer in another way,
/// from the future of `async()` for instance, waits for itself. More than eight contexts at once (a context is a CPU
/// and a priority) are not held back but go to those threads, too.
///
/// Thread safety: belongs to the thread that made it. Ordering: as `queue()`. Progress: the end runs items within the
/// budget of `bh`, the rest goes to the thread. Blocks: no. Errors: none, never throws.
///
///     {
///         const cmwq::bh_disable_guard hold;
///         fast.queue(first);
///         fast.queue(second);
///     } // both run here
class bh_disable_guard {
public:
    [[nodiscard]] bh_disable_guard() noexcept { ++detail::this_thread_slots().bh_depth; }
    ~bh_disable_guard() {
        detail::thread_slots& s = detail::this_thread_slots();
        if (s.bh_depth == 1 && s.nr_raised != 0) detail::run_held_back_bottom_halves();
        --s.bh_depth;
    }
    bh_disable_guard(const bh_disable_guard&) = delete;
    bh_disable_guard& operator=(const bh_disable_guard&) = delete;
};

} // namespace cmwq::inline CMWQ_NS
