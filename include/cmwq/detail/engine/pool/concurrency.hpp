// SPDX-License-Identifier: BSL-1.0
//
// The decisions of concurrency management: pure predicates over a snapshot of a pool. The threads only carry them out.
#pragma once

#include <cmwq/detail/base/config.hpp>

namespace cmwq::inline CMWQ_NS::detail {

/// A pool as its lock holder sees it.
///
/// Invariant kept by the predicates for managed pools: while anything is pending, `width` workers of the pool are
/// counted as running, or one is being woken or made; and no more than `limit` workers hold items, unless so many of
/// the others are blocked that fewer than `width` run, or an item was overdue. In pools that are not managed somebody is
/// being woken or made as long as anything is pending.
struct pool_snapshot {
    unsigned pending = 0;  ///< items that wait on the worklist
    bool managed = true;   ///< blocked workers are replaced, and only they
    int width = 1;         ///< CPUs to keep busy
    int running = 0;       ///< workers counted as runnable
    int active = 0;        ///< workers in their work loop, running or blocked
    int limit = 1;         ///< learned: how many active workers keep the CPUs busy
    int idle = 0;          ///< workers outside of it, parked or on their way there
    bool managing = false; ///< somebody makes a worker right now
    bool overdue = false;  ///< nothing has been started for too long, although something could be
};

/// A CPU is without a running worker and something is pending: is another one needed at once? With a few blocked ones,
/// yes. With many, one of them is likely to be back before a thread has been woken and has grown warm, and a hasty pool
/// ends up with hundreds; then a detector sees whether the CPU stays idle for a moment, and raises the limit.
constexpr bool spare_is_urgent(int active, int width) noexcept { return active < 12 * width; }

/// Something waits and nobody sees to it. A worker that finds an item waiting while fewer than the learned limit are
/// active calls the next one, too: a load that blocks gets its workers back in one go instead of block by block. An item
/// that is overdue starts beside those that run, whatever they do.
constexpr bool need_more_worker(const pool_snapshot& p) noexcept {
    return p.pending > 0 && (!p.managed || p.overdue || p.active < p.limit ||
                             (p.running < p.width && spare_is_urgent(p.active, p.width)));
}

/// A worker may run items only while another one is idle, which takes over when it blocks.
constexpr bool may_start_working(const pool_snapshot& p) noexcept { return p.idle > 0; }

/// The caller has finished its item; it is one of `running` and one of `active`.
constexpr bool keep_working(const pool_snapshot& p) noexcept {
    return p.pending > 0 && (!p.managed || p.running <= p.width || p.active <= p.limit);
}

/// The last idle worker is about to start working.
constexpr bool need_to_create_worker(const pool_snapshot& p) noexcept { return p.idle == 0 && !p.managing; }

/// More idle workers than a quarter of the busy ones, beyond the two that a pool keeps.
constexpr bool too_many_workers(const pool_snapshot& p) noexcept { return p.idle > 2 && (p.idle - 2) * 4 >= p.active; }

} // namespace cmwq::inline CMWQ_NS::detail
