// SPDX-License-Identifier: BSL-1.0
//
// Waiting for queues.
#pragma once

#include <cmwq/detail/engine/queue_core.hpp>
#include <cmwq/detail/engine/runtime_core.hpp>
#include <cmwq/detail/engine/worker.hpp>

#include <algorithm>
#include <cstdint>

namespace cmwq::inline CMWQ_NS::detail {

/// Whether the calling thread runs an item of that queue.
inline bool runs_item_of(const queue_core& q) noexcept {
    const worker* self = this_thread_slots().current_worker;
    return self != nullptr && self->current_pwq != nullptr && self->current_pwq->queue == &q;
}

/// Waits until everything has ended that was queued before. The pwqs are closed and awaited in groups, so that this
/// needs no memory but its stack, which the destructor of a queue could not do anything about if it were missing. Up to
/// 64 CPUs are one group; beyond, a later group may cover items queued during the wait for an earlier one.
inline void wait_for_queued(queue_core& q) noexcept {
    constexpr unsigned group = 64;
    for (unsigned first = 0; first < q.nr_pwqs; first += group) {
        color_waiter nodes[group];
        waiter who;
        const unsigned last = std::min(first + group, q.nr_pwqs);
        for (unsigned i = first; i < last; ++i) {
            nodes[i - first].who = &who;
            static_cast<void>(q.pwqs[i].pool->close_color(q.pwqs[i], nodes[i - first]));
        }
        who.wait();
    }
}

/// Whether nothing of the queue is pending or running at some instant of this call. First it adds up what has left,
/// then what has entered: an item that queues another one does so before it leaves, so if both sums agree, nothing was
/// under way in between, wherever items had moved meanwhile.
inline bool is_empty(queue_core& q) noexcept {
    std::uint64_t left = 0, entered = 0;
    for (unsigned i = 0; i < q.nr_pwqs; ++i) left += q.pwqs[i].pool->traffic_of(q.pwqs[i]).left;
    for (unsigned i = 0; i < q.nr_pwqs; ++i) entered += q.pwqs[i].pool->traffic_of(q.pwqs[i]).entered;
    return entered == left;
}

/// The queue accepts only items of its own, and no timers any more: waits until there are none left.
inline void wait_until_drained(queue_core& q) noexcept {
    q.rt.timers().expedite_all(q);
    do {
        wait_for_queued(q);
    } while (!is_empty(q));
}

inline void queue_core::set_max_active(unsigned n) noexcept {
    const scoped_lock g(lock_);
    max_active_.store(n, relaxed);
    for (unsigned i = 0; i < nr_pwqs; ++i) pwqs[i].pool->set_max_active(pwqs[i], n);
}

} // namespace cmwq::inline CMWQ_NS::detail
