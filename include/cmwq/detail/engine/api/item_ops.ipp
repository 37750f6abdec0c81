// SPDX-License-Identifier: BSL-1.0
//
// The engine's side of the API boundary: items, and the calling thread.

#include <cmwq/detail/engine/bh/bottom_halves.hpp>
#include <cmwq/detail/engine/env/closure_memory.hpp>
#include <cmwq/detail/engine/env/directory.hpp>
#include <cmwq/detail/engine/ledger/own_run.hpp>
#include <cmwq/detail/engine/ops/grab.hpp>
#include <cmwq/detail/engine/ops/item_wait.hpp>
#include <cmwq/detail/engine/ops/queueing.hpp>
#include <cmwq/detail/engine/ops/taken_from_destroyed.hpp>
#include <cmwq/detail/engine_ops.hpp>

#include <cstddef>
#include <new>
#include <stdexcept>
#include <string>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

// --- queueing --------------------------------------------------------------------------------------------------------

CMWQ_API queue_status queue_work(queue_core& q, work_base& w, int cpu) noexcept {
    if (!accepts(q, cpu)) return queue_status::rejected;
    return claim_and(w, [&] { push_now(q, w, cpu); });
}

CMWQ_API queue_status queue_work_on_node(queue_core& q, work_base& w, unsigned node) noexcept {
    if (!accepts(q, any_cpu) || !q.env.cpus.has_node(node)) return queue_status::rejected;
    return claim_and(w, [&] { q.routes.push_keyed(w, any_cpu, node).notify(); });
}

CMWQ_API queue_status queue_work_after(queue_core& q, delayed_work_base& w, std::int64_t ns, int cpu) noexcept {
    if (!accepts(q, cpu, ns)) return queue_status::rejected;
    return claim_and(w, [&] { push_or_arm(q, w, ns, cpu); });
}

// --- taking away -----------------------------------------------------------------------------------------------------

CMWQ_INLINE bool runs_here(const work_base& w) noexcept {
    const run_record* self = this_thread_slots().current_run;
    return self != nullptr && self->own_item == &w;
}

/// The record under which the calling thread runs the item, even if it has interrupted it for a bottom half; null: the
/// thread does not run the item.
CMWQ_INLINE run_record* runner_here(const work_base& w) noexcept {
    run_record* self = this_thread_slots().current_run;
    while (self != nullptr && self->own_item != &w) self = self->interrupted;
    return self;
}

CMWQ_API queue_status modify_work(queue_core& q, delayed_work_base& w, std::int64_t ns, int cpu) noexcept {
    if (!accepts(q, cpu, ns)) return queue_status::rejected;
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
    const directory::lookup at(id);
    if (at.dead) return false;
    check_found(at, id, w);
    return at.runtime != nullptr && at.runtime->pool(id).ledger.runs(w);
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
    if (run_record* const self = runner_here(w); self != nullptr) {
        self->pool.ledger.forget(*self);
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
    run_record* const self = this_thread_slots().current_run;
    void* const p = self != nullptr ? self->of_thread->closures.take(q.env.closures)
                                    : q.env.closures.take(q.env.cpus.index_of(any_cpu));
    return p != nullptr ? p : ::operator new(closure_block);
}

CMWQ_API void free_closure(void* closure, std::size_t size) noexcept {
    run_record* const self = size > closure_block ? nullptr : this_thread_slots().current_run;
    if (self != nullptr) self->of_thread->closures.give(closure, self->pool.env().closures);
    else ::operator delete(closure);
}

CMWQ_API work_base* work_of_this_thread() noexcept {
    const run_record* self = this_thread_slots().current_run;
    return self == nullptr ? nullptr : self->own_item;
}

CMWQ_API std::string name_of_function(void (*function)(work_base&)) { return describe_callable(function); }

CMWQ_API workqueue_base* queue_of_this_thread() noexcept {
    const run_record* self = this_thread_slots().current_run;
    return self == nullptr || self->current_pwq == nullptr ? nullptr : self->current_pwq->queue->core.front;
}

CMWQ_API bool on_rescuer_thread() noexcept {
    const run_record* self = this_thread_slots().current_run;
    return self != nullptr && self->of_thread->is_rescuer();
}

CMWQ_API void describe_this_run(std::string_view what) noexcept {
    if (run_record* self = this_thread_slots().current_run; self != nullptr) self->pool.ledger.describe(*self, what);
}

}}} // namespace cmwq::CMWQ_NS::detail
