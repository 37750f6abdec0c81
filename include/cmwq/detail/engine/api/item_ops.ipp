// SPDX-License-Identifier: BSL-1.0
//
// The engine's side of the API boundary: items, and the calling thread.
#pragma once

#include <cmwq/detail/engine/api/taken_from_destroyed.ipp>
#include <cmwq/detail/engine/env/closure_memory.hpp>
#include <cmwq/detail/engine/env/library_copy.ipp>
#include <cmwq/detail/engine/pool/announced_wait.hpp>
#include <cmwq/detail/engine/pool/bottom_halves.hpp>
#include <cmwq/detail/engine/pool/directory.hpp>
#include <cmwq/detail/engine/pool/own_run.hpp>
#include <cmwq/detail/engine/queue/flush.hpp>
#include <cmwq/detail/engine/runtime/runtime_core.hpp>
#include <cmwq/detail/engine_ops.hpp>
#include <cmwq/detail/sync/backoff.hpp>
#include <cmwq/policy.hpp>

#include <cstddef>
#include <new>
#include <stdexcept>
#include <string>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

// --- queueing --------------------------------------------------------------------------------------------------------

/// Whether the caller may queue. On a draining queue only its own items may, and only without delay.
CMWQ_INLINE bool admits(const queue_core& q, bool at_once) noexcept {
    return q.is_open() || (at_once && !q.is_dead() && !q.is_shut() && runs_item_of(q));
}

/// Whether the caller may queue an item for that CPU.
CMWQ_INLINE bool accepts(const queue_core& q, bool at_once, int cpu) noexcept {
    return admits(q, at_once) && q.env.cpus.has_cpu(cpu);
}

/// The CPU of the caller. If a bottom half queues a bottom half, that is the CPU of its context, even if its thread
/// runs on another CPU now.
CMWQ_INLINE int cpu_of_caller(const queue_core& q) noexcept {
    const worker* const self = q.kind == pool_kind::dispatcher ? bottom_half_here() : nullptr;
    return static_cast<int>(self != nullptr ? self->pool.number() : current_cpu());
}

// Raises the bottom half in this thread, unless another CPU is named, or another copy of the library made the queue: the
// item would not know that it runs.
CMWQ_INLINE void push_bottom_half(queue_core& q, work_base& w, int cpu) noexcept {
    const int here = cpu_of_caller(q);
    const bool elsewhere = cpu != any_cpu && cpu != here;
    bottom_half_pool& pool = q.push_bottom_half(w, elsewhere ? cpu : here);
    if (elsewhere || !q.is_of_this_copy()) pool.notify();
    else raise_bottom_half(pool);
}

/// An item that an item of an elastic queue queues on that queue goes to the list of its worker. False: it has to go to a
/// pool.
CMWQ_INLINE bool push_local(queue_core& q, work_base& w, int cpu) noexcept {
    worker* const self = own_run();
    if (self == nullptr || self->current_pwq->queue != &q || cpu != any_cpu || self->is_on_rescuer()) return false;
    pool_workqueue& pwq = *self->current_pwq; // which the run keeps alive
    auto& pool = static_cast<managed_pool&>(*pwq.pool);
    // The queue has got another pwq meanwhile. Relaxed: a caller that knows of an apply() sees its effects.
    if (pwq.detached.load(relaxed) || !pool.is_idle(w)) return false;
    work_access::set_pwq(w, &pwq);
    pool.push_local(*self->of_thread, w);
    pool.notify();
    return true;
}

CMWQ_INLINE void push_now(queue_core& q, work_base& w, int cpu) noexcept {
    if (q.kind == pool_kind::dispatcher) push_bottom_half(q, w, cpu);
    else if (!(q.keyed() && q.managed) || !push_local(q, w, cpu)) q.push(w, cpu).notify();
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

/// Claims the item, and calls `go()` if the claim succeeds. All checks that could refuse the item come before: a caller
/// that loses to this claim relies on the run. A closure needs no claim: only the thread that has made it queues it, once.
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

template <class Pool, order Order>
queue_status queue_keyed(queue_core& q, work_base& w, int cpu) noexcept {
    if (!accepts(q, true, cpu)) return queue_status::rejected;
    return claim_and(w, [&] { q.push_keyed<Pool, Order>(w, cpu).notify(); });
}

CMWQ_API queue_status queue_work(queue_core& q, work_base& w, int cpu) noexcept {
    if (!accepts(q, true, cpu)) return queue_status::rejected;
    return claim_and(w, [&] { push_now(q, w, cpu); });
}

CMWQ_API queue_status queue_elastic_work(queue_core& q, work_base& w, int cpu) noexcept {
    if (!accepts(q, true, cpu)) return queue_status::rejected;
    return claim_and(w, [&] {
        if (!push_local(q, w, cpu)) q.push_keyed<managed_pool, order::none>(w, cpu).notify();
    });
}

CMWQ_API queue_status queue_unbound_work(queue_core& q, work_base& w, int cpu) noexcept {
    return queue_keyed<unmanaged_pool, order::none>(q, w, cpu);
}

CMWQ_API queue_status queue_ordered_work(queue_core& q, work_base& w, int cpu) noexcept {
    return queue_keyed<unmanaged_pool, order::fifo>(q, w, cpu);
}

CMWQ_API queue_status queue_bound_work(queue_core& q, work_base& w, int cpu) noexcept {
    if (q.keyed()) [[unlikely]]
        return queue_elastic_work(q, w, cpu); // a bound queue with power_efficient
    if (!accepts(q, true, cpu)) return queue_status::rejected;
    return claim_and(w, [&] { q.push_per_cpu(w, cpu).notify(); });
}

CMWQ_API queue_status queue_bottom_half(queue_core& q, work_base& w, int cpu) noexcept {
    if (!accepts(q, true, cpu)) return queue_status::rejected;
    return claim_and(w, [&] { push_bottom_half(q, w, cpu); });
}

CMWQ_API queue_status queue_work_on_node(queue_core& q, work_base& w, unsigned node) noexcept {
    if (!accepts(q, true, any_cpu) || !q.env.cpus.has_node(node)) return queue_status::rejected;
    return claim_and(w, [&] { q.push_keyed(w, any_cpu, node).notify(); });
}

CMWQ_API queue_status queue_work_after(queue_core& q, delayed_work_base& w, std::int64_t ns, int cpu) noexcept {
    if (!accepts(q, ns == 0, cpu)) return queue_status::rejected;
    return claim_and(w, [&] { push_or_arm(q, w, ns, cpu); });
}

// --- taking away -----------------------------------------------------------------------------------------------------

/// If the runtime was not found, either it is gone, or another copy of the library has made it. Ends the program in the
/// second case.
CMWQ_INLINE void check_found(const directory::look& at, std::uint64_t pool_id, const work_base& w) noexcept {
    if (at.runtime == nullptr && !directory::get().has_issued(pool_id)) refuse_item_of_other_copy(w);
}

/// Takes a pending instance away from its timer, its worklist or its inactive list. True: the caller owns PENDING.
/// False: no instance was pending. Waits only while another thread is between its claim and its push.
///
/// `how(look, armed, take)` calls `take()` and returns its result: whether the instance was found, among the timers of
/// the runtime (`armed`) or in one of its pools.
template <class How>
bool grab_pending(work_base& w, How&& how) noexcept {
    for (backoff b;; b.pause()) {
        if (work_access::is_delayed(w)) {
            if (const std::uint64_t id = work_access::timer(w).armed_in.load(acquire); id != 0) { // [TIM-2]
                const directory::look at(id);
                if (at.dead) {
                    work_access::abandon(w);
                    return true;
                }
                check_found(at, id, w);
                const auto take = [&] {
                    return at.runtime->core.timers().disarm(static_cast<delayed_work_base&>(w), id);
                };
                if (at.runtime != nullptr && how(at, true, take)) return true;
            }
        }
        if (!work_access::pending(w)) return false;
        if (const std::uint64_t id = work_access::pool_id(work_access::location_of(w)); id != 0) {
            const directory::look at(id);
            if (at.dead) {
                work_access::abandon(w);
                return true;
            }
            check_found(at, id, w);
            const auto take = [&] { return at.runtime->pool(id).steal(w); };
            if (at.runtime != nullptr && how(at, false, take)) return true;
        }
    }
}

CMWQ_INLINE bool grab_pending(work_base& w) noexcept {
    return grab_pending(w, [](const directory::look&, bool, const auto& take) { return take(); });
}

/// The item of an elastic queue that the calling thread runs, and that waits for another one: these items have no order,
/// so it may run that one, or let it start beyond the limit.
class elastic_waiter {
public:
    elastic_waiter() noexcept : self_(own_run()) {
        if (self_ == nullptr) return;
        const queue_core& q = self_->current_pwq->queue->core;
        if (!q.keyed() || !q.managed) self_ = nullptr;
    }
    /// Runs `w` if it is pending in the pool of the thread. False: it has not run here.
    [[nodiscard]] bool run(work_base& w) const noexcept {
        if (self_ == nullptr) return false;
        auto& pool = static_cast<managed_pool&>(self_->pool);
        return work_access::pool_id(work_access::location_of(w)) == pool.id() && pool.run_for_waiter(*self_, w);
    }
    /// Lets `w` start in place of the waiter, if a limit keeps it back.
    void let_start(work_base& w, std::uint64_t pool_id) const noexcept {
        if (self_ == nullptr) return;
        const directory::look at(pool_id);
        if (at.runtime != nullptr) at.runtime->pool(pool_id).start_awaited_beyond_limit(w, *self_);
    }

private:
    worker* self_; // null: the thread runs no such item
};

/// Waits for the end of the instance that was queued last; if `by` does not wait for pending items, only for the end of
/// a running one. False: there was none. Throws std::system_error(resource_deadlock_would_occur) if the calling item
/// would wait for itself, and `by` may throw. An item of an elastic queue runs a pending instance itself, if it can.
CMWQ_INLINE bool wait_for_work(work_base& w, wait_call by) {
    const bool running_only = !by.of_pending;
    const item_name name = name_of(w);
    bool was_armed = false;
    const elastic_waiter helper;
    for (backoff b;; b.pause()) {
        if (!running_only && work_access::is_delayed(w)) {
            // Queues the item of an armed timer at once, also if the timer was armed since the last pass of the loop.
            if (const std::uint64_t id = work_access::timer(w).armed_in.load(acquire); id != 0) { // [TIM-2]
                const directory::look at(id);
                if (at.dead) return false;
                check_found(at, id, w);
                if (at.runtime != nullptr)
                    was_armed |= at.runtime->core.timers().expedite(static_cast<delayed_work_base&>(w), id);
            }
        }
        const bool pending = work_access::pending(w);
        const std::uint64_t id = work_access::pool_id(work_access::location_of(w));
        if (id != 0) {
            if (!running_only && helper.run(w)) return true;
            item_waiter iw;
            item_pool::item_state found = item_pool::item_state::not_here;
            {
                const directory::look at(id);
                if (at.dead) return false;
                check_found(at, id, w);
                // [RUN-1][RUN-2] With `running_only` no thread can claim PENDING, so the scan sees a worker that runs
                // the item. Mostly there is none, and no lock is taken. A pending instance is not waited for then.
                if (at.runtime != nullptr && (!running_only || at.runtime->pool(id).may_run(w))) {
                    found = at.runtime->pool(id).wait_for(w, iw, running_only);
                }
            }
            if (found == item_pool::item_state::in_transit) continue;
            if (found != item_pool::item_state::not_here) {
                hand_over_bottom_halves();
                // It may have come to the pool since the first attempt. From here on `iw` learns of its end.
                if (found == item_pool::item_state::pending && !helper.run(w)) helper.let_start(w, id);
                const registered_wait registered(by, name, iw, id);
                const announced_wait announced;
                iw.who.wait();
                return true;
            }
        }
        if (running_only || !pending) return was_armed; // if it was armed, it has run since
    }
}

CMWQ_INLINE bool runs_here(const work_base& w) noexcept {
    const worker* self = this_thread_slots().current_worker;
    return self != nullptr && self->own_item == &w;
}

/// The record under which the calling thread runs the item, even if it has interrupted it for a bottom half; null: the
/// thread does not run the item.
CMWQ_INLINE worker* runner_here(const work_base& w) noexcept {
    worker* self = this_thread_slots().current_worker;
    while (self != nullptr && self->own_item != &w) self = self->interrupted;
    return self;
}

CMWQ_API queue_status modify_work(queue_core& q, delayed_work_base& w, std::int64_t ns, int cpu) noexcept {
    if (!accepts(q, ns == 0, cpu)) return queue_status::rejected;
    queue_status status = queue_status::queued;
    for (;;) {
        const claim_result c = work_access::claim(w);
        if (c == claim_result::disabled) return queue_status::disabled;
        if (c == claim_result::claimed) break;
        if (!grab_pending(w)) continue; // a worker has just taken it: claim the next instance
        // If another thread disables the item meanwhile, that thread searches until it finds the instance, takes it
        // away, and returns that it was pending.
        status = queue_status::modified;
        break;
    }
    push_or_arm(q, w, ns, cpu);
    return status;
}

CMWQ_INLINE void refuse_to_wait_for(const work_base& w, const char* call) {
    if (runs_here(w)) throw_deadlock("cmwq: " + describe_own_run() + " would wait for itself in " + call);
    refuse_in_bottom_half(call, [&] { return " of " + describe(name_of(w)); });
}

CMWQ_API bool flush_work(work_base& w) {
    refuse_to_wait_for(w, "flush()");
    return wait_for_work(w, {.name = "flush()", .may_throw = true, .of_pending = true});
}

CMWQ_API bool cancel_work(work_base& w) noexcept {
    if (!grab_pending(w)) return false;
    work_access::clear_pending(w);
    return true;
}

CMWQ_INLINE void raise_depth_or_throw(work_base& w) {
    if (work_access::raise_depth(w)) return;
    throw std::length_error("cmwq: " + describe(name_of(w)) + " is disabled 65535 times");
}

CMWQ_API bool disable_work(work_base& w) {
    raise_depth_or_throw(w);
    return cancel_work(w);
}

CMWQ_INLINE bool disable_and_wait(work_base& w, const char* call) {
    refuse_to_wait_for(w, call);
    const bool was_pending = disable_work(w);
    try {
        wait_for_work(w, {.name = call, .may_throw = true, .of_pending = false});
    } catch (...) {
        work_access::lower_depth(w);
        throw;
    }
    return was_pending;
}

CMWQ_API bool disable_work_sync(work_base& w) { return disable_and_wait(w, "disable_sync()"); }

CMWQ_API bool cancel_work_sync(work_base& w) {
    const bool was_pending = disable_and_wait(w, "cancel_sync()");
    work_access::lower_depth(w);
    return was_pending;
}

CMWQ_API bool enable_work(work_base& w) {
    switch (work_access::lower_depth(w)) {
    case work_access::lowered::enabled: return true;
    case work_access::lowered::still_disabled: return false;
    case work_access::lowered::was_not_disabled: break;
    }
    throw std::logic_error("cmwq: enable() of " + describe(name_of(w)) + " without a matching disable()");
}

CMWQ_API bool work_running(const work_base& w) noexcept {
    const std::uint64_t id = work_access::pool_id(work_access::location_of(w));
    if (id == 0) return false;
    const directory::look at(id);
    if (at.dead) return false;
    check_found(at, id, w);
    return at.runtime != nullptr && at.runtime->pool(id).runs(w);
}

CMWQ_API void end_of_work(work_base& w) noexcept {
    // No thread may queue an item that is being destroyed. Disabling it also stops its own run from queueing it again.
    work_access::raise_depth(w);
#if CMWQ_ASSERTS
    const auto take = [&w](const auto&... how) { return take_from_destroyed(w, how...); };
    if (grab_pending(w, take)) work_access::clear_pending(w);
#else
    cancel_work(w);
#endif
    if (worker* const self = runner_here(w); self != nullptr) {
        self->pool.forget(*self);
    } else {
        wait_for_work(w, {.name = "~work()", .may_throw = false, .of_pending = false});
    }
}

// --- this thread: bottom halves --------------------------------------------------------------------------------------

CMWQ_API void run_held_back_bottom_halves() noexcept {
    bh_budget budget(bh_budget::limit::softirq);
    run_raised(this_thread_slots(), budget);
}

// --- this thread -----------------------------------------------------------------------------------------------------

CMWQ_API void* allocate_closure(queue_core& q, std::size_t size) {
    if (size > closure_block) return ::operator new(size);
    worker* const self = this_thread_slots().current_worker;
    void* const p = self != nullptr ? self->of_thread->closures.take(q.env.closures)
                                    : q.env.closures.take(q.env.cpus.index_of(any_cpu));
    return p != nullptr ? p : ::operator new(closure_block);
}

CMWQ_API void free_closure(void* closure, std::size_t size) noexcept {
    worker* const self = size > closure_block ? nullptr : this_thread_slots().current_worker;
    if (self != nullptr) self->of_thread->closures.give(closure, self->pool.env().closures);
    else ::operator delete(closure);
}

CMWQ_API work_base* work_of_this_thread() noexcept {
    const worker* self = this_thread_slots().current_worker;
    return self == nullptr ? nullptr : self->own_item;
}

CMWQ_API workqueue_base* queue_of_this_thread() noexcept {
    const worker* self = this_thread_slots().current_worker;
    return self == nullptr || self->current_pwq == nullptr ? nullptr : self->current_pwq->queue->core.front;
}

CMWQ_API bool on_rescuer_thread() noexcept {
    const worker* self = this_thread_slots().current_worker;
    return self != nullptr && self->is_on_rescuer();
}

CMWQ_API void describe_this_run(std::string_view what) noexcept {
    if (worker* self = this_thread_slots().current_worker; self != nullptr) self->pool.describe(*self, what);
}

}}} // namespace cmwq::CMWQ_NS::detail
