// SPDX-License-Identifier: BSL-1.0
//
// The engine's side of the API boundary: queues.

#include <cmwq/detail/engine/api/runtime_access.hpp>
#include <cmwq/detail/engine/bh/bottom_halves.hpp>
#include <cmwq/detail/engine/ledger/own_run.hpp>
#include <cmwq/detail/engine/ops/flush.hpp>
#include <cmwq/detail/engine/runtime/checks.hpp>
#include <cmwq/detail/engine_ops.hpp>
#include <cmwq/policy.hpp>
#include <cmwq/runtime.hpp>
#include <cmwq/stats.hpp>
#include <cmwq/workqueue.hpp>

#include <cstddef>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace cmwq { inline namespace CMWQ_NS {

namespace detail {

// --- queues ----------------------------------------------------------------------------------------------------------

CMWQ_INLINE void check_max_active(unsigned n) {
    if (n >= 1 && n <= max_active_ceiling) return;
    throw std::invalid_argument("cmwq: max_active is " + std::to_string(n) + ", it must be 1 to " +
                                std::to_string(max_active_ceiling));
}

// Refuses calls that wait for a queue, in items of that queue and in all bottom halves.
CMWQ_INLINE void refuse_to_wait_for(const queue_core& q, const char* call) {
    if (runs_item_of(q)) {
        throw_deadlock("cmwq: " + describe_own_run() + " would wait for itself in " + call + " of that queue");
    }
    refuse_in_bottom_half(call, [&] { return " of " + describe_queue(q.name); });
}

CMWQ_API queue_core* create_queue(runtime* rt, const queue_settings& settings) {
    check_max_active(settings.max_active);
    check_enumerator(settings.prio, priority::fifo, "the priority of a queue");
    if (settings.how.pool == pool_kind::dispatcher && settings.prio == priority::fifo) {
        throw std::invalid_argument("cmwq: " + describe_queue(settings.name) +
                                    ": bottom halves are normal or high, not fifo");
    }
    runtime_core& core = runtime_access::core_of(rt != nullptr ? *rt : runtime::global());
    check_copy(core, a_runtime);
    queue_settings s = settings;
    attrs of_priority;
    if (s.power_efficient && core.env().options.power_efficient) {
        if (s.prio == priority::high) of_priority.nice(-20);
        if (s.prio == priority::fifo) of_priority.scheduling(scheduling::fifo);
        s.how.pool = pool_kind::attrs_keyed; // an elastic queue: it is still managed
        s.how.local_lists = true;
        s.attributes = &of_priority;
    }
    auto q = std::make_unique<queue_core>(core, core.env(), core.timers(), s);
    if (s.rescuer && !core.is_dead()) q->make_rescuer(); // in a forked child the parent's runtime runs nothing
    core.attach(*q, s.attributes);
    q->take_exception_sink(settings.on_exception);
    return q.release();
}

CMWQ_API void destroy_queue(queue_core* q) noexcept {
    check_copy(*q, a_queue);
    if (q->gate.is_dead()) { // in a forked child: the runtime's lists may be in any state
        delete q;
        return;
    }
    q->gate.mark_dying();
    q->gate.begin_drain();
    bool refused = false;
    try {
        if (runs_item_of(*q)) refuse_to_wait_for(*q, "~workqueue()");
        if (bottom_half_here() != nullptr) {
            q->timers.expedite_all(*q);
            if (!is_empty(*q)) refuse_to_wait_for(*q, "~workqueue()");
        }
        wait_until_drained(*q, {.name = "~workqueue()", .may_throw = true, .of_pending = true});
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        refused = true;
    }
    if (refused) std::terminate(); // a destructor can neither throw nor wait for itself
    q->rt.detach(*q);
    q->end_rescuer();
    q->changes.give_back_pools();
    delete q;
}

// Takes away all items that have not started, and destroys those that own themselves. Clears PENDING of the others, and
// calls `to(work_base&)` for each, while it holds no lock. One by one: `to` may cancel or destroy other items, which
// must still be on the lists, where a cancel finds them. Returns how many items there were.
template <class F>
std::size_t drop_pending(queue_core& q, const F& to) noexcept {
    q.pwqs.hold_back();
    std::size_t n = 0;
    const auto drop = [&](work_base& w) noexcept {
        ++n;
        if (work_access::is_self_owned(w)) {
            work_access::drop(w);
        } else {
            work_access::clear_pending(w);
            to(w);
        }
    };
    for (unsigned shard = 0; work_base* w = q.timers.take_one(q, shard);) drop(*w);
    for (std::uint64_t first = 0; work_base* w = q.pwqs.take_held_back(first);) drop(*w);
    return n;
}

CMWQ_API std::size_t shut_queue_down(queue_core& q, dropped_items_to to) {
    check_copy(q, a_queue);
    refuse_to_wait_for(q, "shutdown()");
    if (q.gate.is_dead()) return 0;
    q.gate.mark_shut();   // first: while a queue only drains, its own items may still queue on it
    q.gate.begin_drain(); // never ended
    struct dropping {
        queue_core& q;
        explicit dropping(queue_core& queue) noexcept : q(queue) { q.pwqs.begin_dropping(); }
        ~dropping() { q.pwqs.end_dropping(); }
    } const held_back(q);
    std::size_t n = 0;
    std::exception_ptr error; // the first exception; the other items are dropped all the same
    const auto give = [&](work_base& w) noexcept {
        if (to.call == nullptr) return;
        try {
            to.call(to.context, w);
        } catch (...) {
            if (error == nullptr) error = std::current_exception();
        }
    };
    do { // a producer that has found the queue open may still push
        // Closes the colors first, then drops: an item that is pushed later may wait for a thaw, and is dropped in the
        // next pass.
        wait_for_queued(q, {.name = "shutdown()", .may_throw = true, .of_pending = true},
                        [&] { n += drop_pending(q, give); });
    } while (!is_empty(q));
    if (error != nullptr) std::rethrow_exception(error);
    return n;
}

CMWQ_API void flush_queue(queue_core& q) {
    check_copy(q, a_queue);
    refuse_to_wait_for(q, "flush()");
    if (!q.gate.is_dead()) wait_for_queued(q, {.name = "flush()", .may_throw = true, .of_pending = true});
}

CMWQ_API void drain_queue(queue_core& q) {
    check_copy(q, a_queue);
    refuse_to_wait_for(q, "drain()");
    if (q.gate.is_dead()) return;
    struct drain {
        queue_core& q;
        explicit drain(queue_core& queue) noexcept : q(queue) { q.gate.begin_drain(); }
        ~drain() { q.gate.end_drain(); }
    } const draining(q);
    wait_until_drained(q, {.name = "drain()", .may_throw = true, .of_pending = true});
}

CMWQ_API void set_queue_max_active(queue_core& q, unsigned max_active) {
    check_copy(q, a_queue);
    if (q.how.fifo) {
        throw std::invalid_argument("cmwq: " + describe_queue(q.name) +
                                    " runs one item at a time: its max_active is no option");
    }
    if (q.limit_is_fixed) {
        throw std::logic_error(
            "cmwq: " + describe_queue(q.name) +
            " belongs to the whole process: its max_active cannot be changed; make a queue of your own");
    }
    check_max_active(max_active);
    if (!q.gate.is_dead()) q.limits.set_max_active(max_active);
}

CMWQ_API void fix_queue_limit(queue_core& q) noexcept { q.limit_is_fixed = true; }

CMWQ_API void set_queue_min_active(queue_core& q, unsigned min_active) {
    check_copy(q, a_queue);
    if (!q.gate.is_dead()) q.limits.set_min_active(min_active);
}

CMWQ_API unsigned queue_max_active(const queue_core& q) noexcept {
    check_copy(q, a_queue);
    return q.limits.max_active();
}

CMWQ_API unsigned queue_min_active(const queue_core& q) noexcept {
    check_copy(q, a_queue);
    return q.limits.min_active();
}

CMWQ_API void apply_to_queue(queue_core& q, const attrs& wanted) {
    check_copy(q, a_queue);
    if (q.gate.is_dying()) {
        throw std::invalid_argument("cmwq: attributes for " + describe_queue(q.name) +
                                    ", which is being destroyed, or was made before a fork()");
    }
    q.rt.placing().apply(q, wanted);
}

CMWQ_API void copy_attrs_of_queue(const queue_core& q, attrs& to) {
    check_copy(q, a_queue);
    if (!q.gate.is_dead()) to = q.changes.attributes();
}

CMWQ_API void check_queue_of_group(const queue_core& q) noexcept { check_copy(q, a_queue); }

CMWQ_API std::string_view queue_name(const queue_core& q) noexcept {
    check_copy(q, a_queue);
    return q.name;
}

} // namespace detail

CMWQ_API queue_stats workqueue_base::stats() const noexcept {
    const detail::queue_core& q = *core_;
    detail::check_copy(q, detail::a_queue);
    if (q.gate.is_dead()) return {}; // threads that do not exist here may hold locks
    const detail::pwq_stats n = q.pwqs.stats();
    queue_stats s;
    static_cast<queue_counters&>(s) = n;
    s.running = n.started - n.completed;
    s.pending = n.pending;
    s.active = n.active;
    s.inactive = n.inactive;
    s.run_times = q.times.runs.get();
    s.wait_times = q.times.waits.get();
    return s;
}

CMWQ_API std::size_t workqueue_base::pending() const noexcept { return static_cast<std::size_t>(stats().pending); }

CMWQ_API std::size_t workqueue_base::active() const noexcept { return static_cast<std::size_t>(stats().active); }

}} // namespace cmwq::CMWQ_NS
