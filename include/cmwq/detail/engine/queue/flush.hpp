// SPDX-License-Identifier: BSL-1.0
//
// Waiting for queues.
#pragma once

#include <cmwq/detail/engine/pool/bottom_halves.hpp>
#include <cmwq/detail/engine/pool/worker.hpp>
#include <cmwq/detail/engine/queue/queue_core.hpp>
#include <cmwq/detail/engine/queue/timer_service.hpp>
#include <cmwq/detail/engine/waits/wait_graph.hpp>

#include <cstdint>
#include <new>

namespace cmwq::inline CMWQ_NS::detail {

/// Whether the calling thread runs an item of that queue.
inline bool runs_item_of(const queue_core& q) noexcept {
    const worker* const self = own_run();
    return self != nullptr && self->current_pwq->queue == &q;
}

/// Waits until everything has ended that was queued before. The pwqs are closed and awaited in groups, in the order of
/// their making, so that this needs no memory but its stack, which the destructor of a queue could not do anything about
/// if it were missing. Up to 64 pwqs are one group; beyond, a later group may cover items queued during the wait for an
/// earlier one. `before_wait()` is called for each group, when its pwqs have been closed.
/// Throws std::system_error(resource_deadlock_would_occur), if `by` may: the calling item would wait for itself.
template <class F>
void wait_for_queued(queue_core& q, wait_call by, const F& before_wait) {
    hand_over_bottom_halves();
    constexpr unsigned group = 64;
    std::uint64_t last = 0; // serial of the last pwq that was looked at
    bool more = true;
    while (more) {
        // Made as they are needed: most queues have a few, and to clear all of them takes longer than to look at those.
        union room {
            room() noexcept {}
            color_waiter nodes[group];
        } room;
        color_waiter* const nodes = room.nodes;
        unsigned n = 0;
        waiter who;
        more = false;
        q.for_each_pwq([&](pool_workqueue& p) {
            if (p.serial <= last) return;
            more = n == group;
            if (more) return;
            last = p.serial;
            color_waiter* const node = new (&nodes[n]) color_waiter{.who = &who, .pwq = &p, .pool = p.pool};
            if (p.pool->close_color(p, *node)) ++n;
        });
        before_wait();
        const registered_wait registered(by, q, nodes, n);
        who.wait();
    }
}

inline void wait_for_queued(queue_core& q, wait_call by) {
    wait_for_queued(q, by, [] {});
}

/// Whether nothing of the queue is pending or running at some instant of this call. First it adds up what has left,
/// then what has entered: an item that queues another one does so before it leaves, so if both sums agree, nothing was
/// under way in between, wherever items had moved meanwhile. A pwq that was freed in between had drained: both sums
/// count only those that last.
inline bool is_empty(queue_core& q) noexcept {
    std::uint64_t left = 0, entered = 0;
    q.for_each_pwq_twice([&](pool_workqueue& p) { left += p.pool->traffic_of(p).left; },
                         [&](pool_workqueue& p) { entered += p.pool->traffic_of(p).entered; });
    return entered == left;
}

/// The queue accepts only items of its own, and no timers any more: waits until there are none left. Throws as
/// wait_for_queued().
inline void wait_until_drained(queue_core& q, wait_call by) {
    q.timers.expedite_all(q);
    do {
        wait_for_queued(q, by);
    } while (!is_empty(q));
}

} // namespace cmwq::inline CMWQ_NS::detail
