// SPDX-License-Identifier: BSL-1.0
//
// Functions that wait for the items of a queue. The caller holds no lock.
#pragma once

#include <cmwq/detail/engine/bh/bottom_halves.hpp>
#include <cmwq/detail/engine/queue/queue_core.hpp>
#include <cmwq/detail/engine/threads/worker.hpp>
#include <cmwq/detail/engine/timers/timer_service.hpp>
#include <cmwq/detail/engine/waits/announced_wait.hpp>
#include <cmwq/detail/engine/waits/wait_graph.hpp>

#include <cstdint>
#include <new>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Whether the calling thread runs an item of that queue.
inline bool runs_item_of(const queue_core& q) noexcept {
    const run_record* const self = own_run();
    return self != nullptr && self->current_pwq->queue == &q;
}

/// Waits until all items have ended that were queued before the call. Closes the open color of each pwq, and waits for
/// them in groups of up to 64 pwqs, in the order in which the pwqs were made. So the function needs no memory except
/// its stack; the destructor of a queue could not handle std::bad_alloc. With more than 64 pwqs, a later group may
/// cover items that were queued during the wait for an earlier one. Calls `before_wait()` for each group, after the
/// colors of its pwqs have been closed. Throws std::system_error(resource_deadlock_would_occur) if the calling item
/// would wait for itself, and `by` may throw.
template <class F>
void wait_for_queued(queue_core& q, wait_call by, const F& before_wait) {
    hand_over_bottom_halves();
    constexpr unsigned group = 64;
    std::uint64_t last = 0; // serial of the last pwq of the groups so far
    bool more = true;
    while (more) {
        // Uninitialized; nodes are constructed as needed. Most queues have few pwqs, and initializing all nodes would
        // take longer than the rest.
        union room {
            room() noexcept {}
            color_waiter nodes[group];
        } room;
        color_waiter* const nodes = room.nodes;
        unsigned n = 0;
        waiter who;
        more = false;
        q.pwqs.for_each([&](pool_workqueue& p) {
            if (p.serial <= last) return;
            more = n == group;
            if (more) return;
            last = p.serial;
            color_waiter* const node = new (&nodes[n]) color_waiter{.who = &who, .pwq = &p, .pool = p.pool};
            if (p.ledger->close_color(p, *node)) ++n;
        });
        before_wait();
        const registered_wait registered(by, q, nodes, n);
        const announced_wait announced(n != 0);
        who.wait();
    }
}

inline void wait_for_queued(queue_core& q, wait_call by) {
    wait_for_queued(q, by, [] {});
}

/// Whether no item of the queue is pending or running at some instant of this call. First adds up the items that have
/// left the pwqs, then the items that have entered them. An item that queues another one does so before it leaves. So
/// if both sums are equal, no item was pending or running between the two passes, even if items have moved between
/// pwqs. The lock of the queue keeps the set of pwqs the same in both passes.
inline bool is_empty(queue_core& q) noexcept {
    std::uint64_t left = 0, entered = 0;
    q.pwqs.for_each_twice([&](pool_workqueue& p) { left += p.ledger->traffic_of(p).left; },
                          [&](pool_workqueue& p) { entered += p.ledger->traffic_of(p).entered; });
    return entered == left;
}

/// Waits until no item of the queue is left. The queue is draining: it accepts only items that its own items queue, and
/// no timers. Throws as wait_for_queued().
inline void wait_until_drained(queue_core& q, wait_call by) {
    q.timers.expedite_all(q);
    do {
        wait_for_queued(q, by);
    } while (!is_empty(q));
}

}}} // namespace cmwq::CMWQ_NS::detail
