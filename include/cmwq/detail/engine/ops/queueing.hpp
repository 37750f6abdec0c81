// SPDX-License-Identifier: BSL-1.0
//
// How an item comes to its queue: who may queue it, the claim, and the way to a pool or a timer.
#pragma once

#include <cmwq/detail/engine/item/work_access.hpp>
#include <cmwq/detail/engine/ops/flush.hpp>
#include <cmwq/detail/engine/queue/queue_core.hpp>
#include <cmwq/detail/engine_ops.hpp>
#include <cmwq/policy.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Whether the caller may queue an item for that CPU, after `ns` nanoseconds. On a draining queue only its own items
/// may queue, and only without delay.
[[nodiscard]] CMWQ_HOT_INLINE bool accepts(const queue_core& q, int cpu, std::int64_t ns = 0) noexcept {
    const bool admitted = q.gate.is_open() || (ns == 0 && !q.gate.is_dead() && !q.gate.is_shut() && runs_item_of(q));
    return admitted && q.env.cpus.has_cpu(cpu);
}
/// Pushes a bottom half whose PENDING the caller owns: raises it in this thread, if it can.
void push_bottom_half(queue_core& q, work_base& w, int cpu) noexcept;
/// Of a queue with local lists: an item that one of its items queues goes to the list of the worker. False: it has to
/// go to a pool.
[[nodiscard]] bool push_local(queue_core& q, work_base& w, int cpu) noexcept;
/// Pushes an item whose PENDING the caller owns, and notifies its pool.
inline void push_now(queue_core& q, work_base& w, int cpu) noexcept {
    switch (q.how.pool) {
    case pool_kind::per_cpu: q.routes.push_constant(w, cpu).concurrency->wake_a_worker(); break;
    case pool_kind::dispatcher: push_bottom_half(q, w, cpu); break;
    case pool_kind::attrs_keyed:
        if (!q.how.local_lists || !push_local(q, w, cpu)) q.routes.push_keyed(w, cpu).notify();
        break;
    }
}
/// As push_now(), after `ns` nanoseconds.
void push_or_arm(queue_core& q, delayed_work_base& w, std::int64_t ns, int cpu) noexcept;

/// Claims the item, and calls `go()` if the claim succeeds. All checks that could refuse the item come before: a caller
/// that loses to this claim relies on the run. A closure needs no claim: only the thread that has made it queues it,
/// once.
template <class F>
queue_status claim_and(work_base& w, F&& go) noexcept {
    if (work_access::is_self_owned(w)) {
        go();
        return queue_status::queued;
    }
    switch (work_access::claim(w)) {
    case claim_result::already_pending: return queue_status::already_pending;
    case claim_result::disabled: return queue_status::disabled;
    case claim_result::claimed: break;
    }
    go();
    return queue_status::queued;
}

}}} // namespace cmwq::CMWQ_NS::detail
