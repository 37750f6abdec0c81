// SPDX-License-Identifier: BSL-1.0
//
// queue_routes: the way of an item to a pool.
#pragma once

#include <cmwq/detail/ds/grace_period.hpp>
#include <cmwq/detail/engine/ledger/pool_workqueue.hpp>
#include <cmwq/detail/engine/ledger/queue_face.hpp>
#include <cmwq/detail/engine/ledger/wait_stamp.hpp>
#include <cmwq/detail/engine/queue/pushed.hpp>
#include <cmwq/detail/engine/threads/item_pool.hpp>

#include <algorithm>
#include <memory>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Which pwq serves which CPU of the runtime. Constant once it is published.
struct pwq_map {
    std::vector<pool_workqueue*> of_cpu; ///< by the index of the CPU in the runtime; never null

    [[nodiscard]] bool contains(const pool_workqueue& p) const noexcept {
        return std::ranges::find(of_cpu, &p) != of_cpu.end();
    }
};

/// What an attrs_keyed queue has for each CPU of the runtime.
struct alignas(cache_line) queue_stripe {
    atomic<unsigned> inside[2]{}; // the readers of the map
    timer_ring armed;             // T: the armed timers in the shard of this CPU
};

/// The map of a queue, and the threads that read it to push an item. Any thread may call every member, but publish().
///
/// Letters: I set before publication · T the lock of a shard of the timers · A atomic
class queue_routes {
public:
    explicit queue_routes(queue_face& q)
        : readers(q.keyed() ? std::make_unique<basic_grace_period<queue_stripe>>(q.env.cpus.nr_cpus()) : nullptr),
          queue_(q) {}
    queue_routes(const queue_routes&) = delete;
    queue_routes& operator=(const queue_routes&) = delete;
    ~queue_routes() { delete map(); }

    /// Chooses the pool and pushes an item whose PENDING the caller owns. The caller notifies the pool as soon as it
    /// holds no lock. `cpu`: a CPU number, or any_cpu.
    [[nodiscard]] pushed push(work_base& w, int cpu) noexcept {
        if (queue_.keyed()) return push_keyed(w, cpu);
        return {{}, &push_constant(w, cpu)};
    }
    /// As `push()`, for a queue whose map never changes. Returns the pool.
    [[nodiscard]] item_pool& push_constant(work_base& w, int cpu) noexcept;
    /// As `push()`, for an attrs_keyed queue. `node`: the NUMA node whose CPUs are preferred, or no_node.
    [[nodiscard]] pushed push_keyed(work_base& w, int cpu, unsigned node = no_node) noexcept;

    /// The armed timers of this queue in a shard of `timers`. Belongs to the lock of that shard. They are on a cache
    /// line that the queue has for each CPU anyway: there may be many queues and many CPUs.
    [[nodiscard]] timer_ring& armed_in(unsigned shard) noexcept {
        return queue_.keyed() ? readers->at(shard).armed : map()->of_cpu[shard]->armed; // per_cpu: a constant map
    }

    /// For those that change it, or keep it from being changed. Null: the queue is being made.
    [[nodiscard]] const pwq_map* map() const noexcept { return map_.load(relaxed); }
    /// The former map must be kept until the readers that may use it have left.
    void publish(std::unique_ptr<const pwq_map> m) noexcept { map_.store(m.release(), seq_cst); } // [GRACE-2]

    /// Of an attrs_keyed queue.
    const std::unique_ptr<basic_grace_period<queue_stripe>> readers; // I

private:
    template <class F>
    [[nodiscard]] pool_workqueue* pwq_for(const work_base& w, const pwq_map& m, unsigned index, F&& behind) noexcept;
    static item_pool& push_to(pool_workqueue& pwq, work_base& w) noexcept {
        const bool was_queued_before = work_access::pool_id(work_access::location_of(w)) != 0;
        assign(w, pwq);
        item_pool& pool = *pwq.pool; // read first: the pwq may be gone as soon as the item has been pushed
        pool.ledger.push(w, was_queued_before);
        return pool;
    }

    atomic<const pwq_map*> map_{nullptr}; // A: [GRACE-1] [GRACE-2]
    queue_face& queue_;                   // I
};

}}} // namespace cmwq::CMWQ_NS::detail
