// SPDX-License-Identifier: BSL-1.0
//
// Bodies of queueing.hpp: the way of an item to a pool or a timer.

#include <cmwq/detail/engine/bh/bottom_half_pool.hpp>
#include <cmwq/detail/engine/bh/bottom_halves.hpp>
#include <cmwq/detail/engine/ledger/own_run.hpp>
#include <cmwq/detail/engine/ledger/wait_stamp.hpp>
#include <cmwq/detail/engine/ops/flush.hpp>
#include <cmwq/detail/engine/ops/queueing.hpp>
#include <cmwq/detail/engine/timers/timer_service.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

// The CPU of the caller. If a bottom half queues a bottom half, that is the CPU of its context, even if its thread
// runs on another CPU now.
CMWQ_INLINE int cpu_of_caller(const queue_core& q) noexcept {
    const run_record* const self = q.how.pool == pool_kind::dispatcher ? bottom_half_here() : nullptr;
    return static_cast<int>(self != nullptr ? self->pool.number() : current_cpu());
}

// Raises the bottom half in this thread, unless another CPU is named, or another copy of the library made the queue:
// the item would not know that it runs.
CMWQ_INLINE void push_bottom_half(queue_core& q, work_base& w, int cpu) noexcept {
    const int here = cpu_of_caller(q);
    const bool elsewhere = cpu != any_cpu && cpu != here;
    bottom_half_pool& pool = *q.routes.push_constant(w, elsewhere ? cpu : here).bottom_half;
    if (elsewhere || !q.is_of_this_copy()) pool.notify();
    else raise_bottom_half(pool);
}

CMWQ_INLINE bool push_local(queue_core& q, work_base& w, int cpu) noexcept {
    run_record* const self = own_run();
    if (self == nullptr || self->current_pwq->queue != &q || cpu != any_cpu || self->of_thread->is_rescuer())
        return false;
    pool_workqueue& pwq = *self->current_pwq; // which the run keeps alive
    item_pool& pool = self->pool;
    // The queue has got another pwq meanwhile. Relaxed: a caller that knows of an apply() sees its effects.
    if (pwq.detached.load(relaxed) || !pool.locals->is_idle(pool.ledger, w)) return false;
    assign(w, pwq);
    pool.locals->push(pool.ledger, *self->of_thread, w);
    pool.concurrency->wake_a_worker();
    return true;
}

CMWQ_INLINE void push_or_arm(queue_core& q, delayed_work_base& w, std::int64_t ns, int cpu) noexcept {
    if (ns == 0) {
        push_now(q, w, cpu);
        return;
    }
    const int where = cpu == any_cpu ? cpu_of_caller(q) : cpu;
    const pool_env& env = q.env; // the queue may be gone as soon as the timer is armed
    const std::int64_t now = env.now();
    if (q.timers.arm(q, w, where, now, now + ns)) env.requests.wake_service();
}

}}} // namespace cmwq::CMWQ_NS::detail
