// SPDX-License-Identifier: BSL-1.0
//
// Decisions of concurrency management: pure predicates over a snapshot of a pool. Threads carry them out.
#pragma once

#include <cmwq/detail/base/config.hpp>
#include <cmwq/stats.hpp>

#include <cstddef>
#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The state of a pool, read under its lock.
///
/// The predicates keep this invariant for managed pools: while anything is pending, `width` workers of the pool are
/// counted as running, or one more is being woken or created. No more than `limit` workers hold items, unless so many
/// of the others are blocked that fewer than `width` run, or an item was overdue. In pools that are not managed, a
/// worker is being woken or created as long as anything is pending.
struct pool_snapshot {
    unsigned pending = 0;  ///< items on the worklist; 1 if only workers have items, on their local lists
    bool managed = true;   ///< blocked workers are replaced, and no others
    int width = 1;         ///< CPUs to keep busy
    int running = 0;       ///< workers counted as runnable
    int active = 0;        ///< workers in their work loop, running or blocked; not those in waits of the library
    int limit = 1;         ///< learned: how many active workers keep the CPUs busy
    int idle = 0;          ///< workers outside their work loop, parked or about to park
    bool creating = false; ///< a thread is creating a worker now
    bool overdue = false;  ///< no item has been started for too long, although one is pending
};

/// A CPU has no running worker and an item is pending: whether a spare is needed at once. Yes if few workers are
/// blocked. If many are, one of them is likely to return before a thread has been woken and has warmed its caches, and
/// a pool that starts a spare at once ends up with hundreds of threads. In that case a detector checks whether the CPU
/// stays idle for a moment, and raises the limit.
constexpr bool spare_is_urgent(int active, int width) noexcept { return active < 12 * width; }

/// Whether one more worker has to be woken or created. If an item is pending and fewer workers than the learned limit
/// are active, a worker wakes the next one even while enough run: a load that blocks gets all its workers back together
/// instead of one for each block. An overdue item starts beside the running workers, whatever their state.
constexpr bool need_more_worker(const pool_snapshot& p) noexcept {
    return p.pending > 0 && (!p.managed || p.overdue || p.active < p.limit ||
                             (p.running < p.width && spare_is_urgent(p.active, p.width)));
}

/// A worker may run items only while another worker is idle. That one takes over when this one blocks.
constexpr bool may_start_working(const pool_snapshot& p) noexcept { return p.idle > 0; }

/// Whether a worker that has finished an item takes the next one. It is included in `running` and in `active`.
constexpr bool keep_working(const pool_snapshot& p) noexcept {
    return p.pending > 0 && (!p.managed || p.running <= p.width || p.active <= p.limit);
}

/// Whether a worker has to be created first: the last idle worker is about to start working.
constexpr bool need_to_create_worker(const pool_snapshot& p) noexcept { return p.idle == 0 && !p.creating; }

/// Why the pool needs one more worker. `busy`: the workers with an item, also those in waits of the library.
constexpr std::uint64_t pool_growth::* reason_to_grow(const pool_snapshot& p, std::size_t busy) noexcept {
    if (busy == 0) return &pool_growth::first;
    if (!p.managed) return &pool_growth::unmanaged;
    if (p.overdue) return &pool_growth::overdue;
    if (p.running >= p.width) return &pool_growth::learned;
    return busy < static_cast<std::size_t>(p.width) ? &pool_growth::parallel : &pool_growth::blocked;
}

/// Whether there are surplus idle workers: beyond the two that a pool keeps, more than a quarter of the busy ones.
constexpr bool too_many_workers(const pool_snapshot& p) noexcept { return p.idle > 2 && (p.idle - 2) * 4 >= p.active; }

}}} // namespace cmwq::CMWQ_NS::detail
