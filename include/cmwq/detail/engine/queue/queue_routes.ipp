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

CMWQ_INLINE item_pool& queue_routes::push_constant(work_base& w, int cpu) noexcept {
    const pwq_map& m = *map_.load(seq_cst); // [UNIFORM] the map never changes
    return push_to(*pwq_for(w, m, queue_.env.cpus.index_of(cpu), [](item_pool&) { return false; }), w);
}

CMWQ_INLINE pushed queue_routes::push_keyed(work_base& w, int cpu, unsigned node) noexcept {
    unsigned index = queue_.env.cpus.index_of(cpu);
    pushed result{grace_reader(*readers, index)};
    const pwq_map& m = *map_.load(seq_cst); // [GRACE-1]
    if (node != no_node) index = queue_.env.cpus.index_on_node(index, node);
    pool_workqueue* pwq = m.of_cpu[index];
    // An ordered queue runs no item in its new pool before all items in the old pool have ended, so it needs no check.
    if (!queue_.how.fifo) {
        pwq = pwq_for(w, m, index, [&](item_pool& before) {
            return before.ledger.push_behind_own_run(w, queue_); // a pool replaced by apply(), or of another queue
        });
    }
    if (pwq == nullptr) return result;
    result.pool = &push_to(*pwq, w);
    // The worker that runs an item of an ordered queue looks for this one afterwards. Another worker could only put it
    // on a list. The grace period keeps the pwq.
    if (queue_.how.fifo && pwq->runs_one.load(seq_cst)) { // [NEXT-1]
        queue_.note_backlog();
        result.pool = nullptr;
    }
    return result;
}

}}} // namespace cmwq::CMWQ_NS::detail
