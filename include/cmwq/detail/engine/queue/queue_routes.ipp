// SPDX-License-Identifier: BSL-1.0
//
// Bodies of queue_routes.

#include <cmwq/detail/engine/pools/pool_table.hpp>
#include <cmwq/detail/engine/queue/queue_routes.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

// Chooses the pwq for an item, so that it never runs twice at once. If a worker of another pool still runs the item,
// the pwq of that pool is chosen, if it serves the queue; otherwise `behind()` may put the item behind that run.
// Returns the pwq; null: `behind()` has done so.
template <class F>
pool_workqueue* queue_routes::pwq_for(const work_base& w, const pwq_map& m, unsigned index, F&& behind) noexcept {
    pool_workqueue* pwq = m.of_cpu[index];
    const std::uint64_t last = work_access::pool_id(work_access::location_of(w));
    if (last == 0 || last == pwq->pool->id() || !queue_.env.pools.owns(last)) return pwq;
    item_pool& before = queue_.env.pools.pool(last);
    if (!before.ledger.runs_now(w)) return pwq;
    bool serves = false;
    for (pool_workqueue* there : m.of_cpu) {
        if (there->pool != &before) continue;
        pwq = there;
        serves = true;
    }
    return serves || !behind(before) ? pwq : nullptr;
}

template <class Pool>
Pool& queue_routes::push_to(pool_workqueue& pwq, work_base& w) noexcept {
    const bool was_queued_before = work_access::pool_id(work_access::location_of(w)) != 0;
    work_access::set_pwq(w, &pwq);
    Pool& pool = static_cast<Pool&>(*pwq.pool); // read first: the pwq may be gone as soon as the item has been pushed
    pool.ledger.push(w, was_queued_before);
    return pool;
}

CMWQ_INLINE bound_pool& queue_routes::push_per_cpu(work_base& w, int cpu) noexcept {
    const pwq_map& m = *map_.load(seq_cst); // [UNIFORM] the map of a per_cpu queue never changes
    return push_to<bound_pool>(*pwq_for(w, m, queue_.env.cpus.index_of(cpu), [](item_pool&) { return false; }), w);
}

CMWQ_INLINE bottom_half_pool& queue_routes::push_bottom_half(work_base& w, int cpu) noexcept {
    const pwq_map& m = *map_.load(seq_cst); // [UNIFORM] as above
    return push_to<bottom_half_pool>(*pwq_for(w, m, queue_.env.cpus.index_of(cpu), [](item_pool&) { return false; }),
                                     w);
}

template <class Pool, order Order>
pushed<Pool> queue_routes::push_keyed_at(work_base& w, unsigned index, unsigned node) noexcept {
    pushed<Pool> result{grace_reader(*readers, index)};
    const pwq_map& m = *map_.load(seq_cst); // [GRACE-1]
    if (node != no_node) index = queue_.env.cpus.index_on_node(index, node);
    pool_workqueue* pwq = m.of_cpu[index];
    // An ordered queue runs no item in its new pool before all items in the old pool have ended, so it needs no check.
    if constexpr (Order == order::none) {
        pwq = pwq_for(w, m, index, [&](item_pool& before) {
            return before.ledger.push_behind_own_run(w, queue_); // a pool replaced by apply(), or of another queue
        });
    }
    if (pwq == nullptr) return result;
    result.pool = &push_to<Pool>(*pwq, w);
    // The worker that runs an item of the queue looks for this one afterwards. Another worker could only put it on a
    // list. The grace period keeps the pwq.
    if constexpr (Order == order::fifo) {
        if (pwq->runs_one.load(seq_cst)) { // [NEXT-1]
            queue_.note_backlog();
            result.pool = nullptr;
        }
    }
    return result;
}

template <class Pool, order Order>
pushed<Pool> queue_routes::push_keyed(work_base& w, int cpu) noexcept {
    return push_keyed_at<Pool, Order>(w, queue_.env.cpus.index_of(cpu), no_node);
}

CMWQ_INLINE pushed<> queue_routes::push_keyed(work_base& w, int cpu, unsigned node) noexcept {
    const unsigned index = queue_.env.cpus.index_of(cpu);
    return queue_.fifo ? push_keyed_at<item_pool, order::fifo>(w, index, node)
                       : push_keyed_at<item_pool, order::none>(w, index, node);
}

CMWQ_INLINE pushed<> queue_routes::push(work_base& w, int cpu) noexcept {
    switch (queue_.kind) {
    case pool_kind::per_cpu: return {{}, &push_per_cpu(w, cpu)};
    case pool_kind::dispatcher: return {{}, &push_bottom_half(w, cpu)};
    case pool_kind::attrs_keyed: break;
    }
    return push_keyed(w, cpu, no_node);
}

// For the API, by policy.
template pushed<elastic_pool> queue_routes::push_keyed<elastic_pool, order::none>(work_base& w, int cpu) noexcept;
template pushed<unbound_pool> queue_routes::push_keyed<unbound_pool, order::none>(work_base& w, int cpu) noexcept;
template pushed<unbound_pool> queue_routes::push_keyed<unbound_pool, order::fifo>(work_base& w, int cpu) noexcept;

}}} // namespace cmwq::CMWQ_NS::detail
