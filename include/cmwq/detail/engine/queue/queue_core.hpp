// SPDX-License-Identifier: BSL-1.0
//
// queue_core: the engine's part of a workqueue: its pwqs, the map that says which pwq serves which CPU, its options,
// and whether it accepts items.
#pragma once

#include <cmwq/attrs.hpp>
#include <cmwq/cpuset.hpp>
#include <cmwq/detail/ds/grace_period.hpp>
#include <cmwq/detail/engine/bh/bottom_half_pool.hpp>
#include <cmwq/detail/engine/ledger/node_slots.hpp>
#include <cmwq/detail/engine/ledger/pool_workqueue.hpp>
#include <cmwq/detail/engine/ledger/queue_face.hpp>
#include <cmwq/detail/engine/queue/pushed.hpp>
#include <cmwq/detail/engine/queue/queue_report.hpp>
#include <cmwq/detail/engine/threads/rescuer.hpp>
#include <cmwq/detail/engine/threads/thread_pool.hpp>
#include <cmwq/detail/engine_ops.hpp>
#include <cmwq/detail/sync/mutex.hpp>
#include <cmwq/policy.hpp>
#include <cmwq/runtime_options.hpp>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class runtime_core;
class timer_service;
struct queue_tag;

/// Whether a queue runs its items one at a time, in the order in which they were queued.
enum class order : bool { none, fifo };

/// Which pwq serves which CPU of the runtime. Constant once it is published.
struct pwq_map {
    std::vector<pool_workqueue*> of_cpu; ///< by the index of the CPU in the runtime; never null

    [[nodiscard]] bool contains(const pool_workqueue& p) const noexcept {
        for (const pool_workqueue* q : of_cpu) {
            if (q == &p) return true;
        }
        return false;
    }
};

/// What an attrs_keyed queue has for each CPU of the runtime.
struct alignas(cache_line) queue_stripe {
    atomic<unsigned> inside[2]{}; // the readers of the map
    timer_ring armed;             // T: the armed timers in the shard of this CPU
};

/// One pool of those that serve a queue, and the CPUs whose callers it serves.
struct pool_choice {
    pool_spec spec;
    std::vector<unsigned> indices; ///< of those CPUs
};

/// The pools that are to serve a queue.
struct chosen_pools {
    std::vector<pool_choice> pools;
    std::vector<unsigned> cpus_of_node; ///< how many CPUs the queue may use, by node
    cpuset cpus;                        ///< the CPUs that the queue may use
    cpuset instead;                     ///< the same, if none of the CPUs that it names is present
};

/// A prepared change of the attributes of a queue: the map, and the new pwqs. All operations that can fail have
/// succeeded when the plan is complete. Made and carried out under the configuration lock.
class queue_plan {
public:
    queue_plan(queue_core& q, const attrs& a, chosen_pools&& c) : queue(&q), wanted(a), chosen(std::move(c)) {}
    queue_plan(queue_plan&&) = default;
    queue_plan& operator=(queue_plan&&) = delete;
    ~queue_plan(); // gives back the pools of a plan that was not carried out

    queue_core* queue;
    attrs wanted;
    std::unique_ptr<pwq_map> map = std::make_unique<pwq_map>();
    std::vector<std::unique_ptr<pool_workqueue>> fresh; ///< the new pwqs; each keeps its pool
    chosen_pools chosen;
};

/// Any thread may call every member that does not say otherwise.
///
/// Letters: I set before publication · WQ the mutex below · T the lock of a shard of the timers · D the diagnosis thread
/// · A atomic
class queue_core final : public queue_face, public list_node<queue_tag> {
public:
    queue_core(runtime_core& runtime, const pool_env& e, timer_service& t, const queue_settings& s);
    ~queue_core();
    queue_core(const queue_core&) = delete;
    queue_core& operator=(const queue_core&) = delete;

    /// The reasons why a queue does not accept items. draining: it accepts only items that its own items queue. dying:
    /// its destructor has begun. dead: this is a forked child, and the queue belongs to the parent. shut: it accepts no
    /// item any more, not even from its own items.
    static constexpr std::uint32_t draining = 1, dead = 2, dying = 4, shut = 8;

    /// The last step of creation: nothing can fail after it, so the queue owns the sink from here on.
    void take_exception_sink(const exception_sink& s) noexcept { on_exception = s; }

    [[nodiscard]] bool is_open() const noexcept { return closed_.load(acquire) == 0; }          // [OPEN]
    [[nodiscard]] bool is_dead() const noexcept { return (closed_.load(acquire) & dead) != 0; } // [OPEN]
    [[nodiscard]] bool is_shut() const noexcept { return (closed_.load(acquire) & shut) != 0; } // [OPEN]
    void mark_dead() noexcept {
        closed_.fetch_or(dead, acq_rel); // [OPEN]
        if (own_rescuer != nullptr) own_rescuer->forget_thread();
    }

    /// Drains nest: the last end_drain() opens the queue again. The destructor and shutdown() never end their drain.
    void begin_drain() noexcept CMWQ_EXCLUDES(lock_) {
        const scoped_lock g(lock_);
        if (nr_drainers_++ == 0) closed_.fetch_or(draining, seq_cst); // [OPEN]
    }
    void end_drain() noexcept CMWQ_EXCLUDES(lock_) {
        const scoped_lock g(lock_);
        if (--nr_drainers_ == 0) closed_.fetch_and(~draining, seq_cst); // [OPEN]
    }

    void mark_shut() noexcept { closed_.fetch_or(shut, acq_rel); }                                         // [OPEN]
    void mark_dying() noexcept { closed_.fetch_or(dying, acq_rel); }                                       // [OPEN]
    [[nodiscard]] bool is_dying() const noexcept { return (closed_.load(acquire) & (dying | dead)) != 0; } // [OPEN]

    [[nodiscard]] bool keyed() const noexcept { return kind == pool_kind::attrs_keyed; }
    /// Whether any thread may run its tasks: they need no threads of a particular kind. A hint.
    [[nodiscard]] bool takes_guests() const noexcept { return takes_guests_.load(relaxed); }

    // --- the path of an item -----------------------------------------------------------------------------------------

    /// Chooses the pool and pushes an item whose PENDING the caller owns. The caller notifies the pool as soon as it
    /// holds no lock. `cpu`: a CPU number, or any_cpu.
    [[nodiscard]] pushed<> push(work_base& w, int cpu) noexcept;
    /// As `push()`, for a queue that is known to be per_cpu.
    [[nodiscard]] bound_pool& push_per_cpu(work_base& w, int cpu) noexcept;
    /// As `push()`, for a queue of bottom halves.
    [[nodiscard]] bottom_half_pool& push_bottom_half(work_base& w, int cpu) noexcept;
    /// As `push()`, for a queue that is known to be attrs_keyed, with this order, and with pools of this type.
    template <class Pool, order Order>
    [[nodiscard]] pushed<Pool> push_keyed(work_base& w, int cpu) noexcept;
    /// As `push()`, for an attrs_keyed queue. `node`: the NUMA node whose CPUs are preferred, or no_node.
    [[nodiscard]] pushed<> push_keyed(work_base& w, int cpu, unsigned node) noexcept;

    /// The armed timers of this queue in a shard of `timers`. Belongs to the lock of that shard. They are on a cache line
    /// that the queue has for each CPU anyway: there may be many queues and many CPUs.
    [[nodiscard]] timer_ring& armed_in(unsigned shard) noexcept {
        return keyed() ? grace->at(shard).armed : map.load(relaxed)->of_cpu[shard]->armed; // per_cpu: a constant map
    }

    // --- limits ------------------------------------------------------------------------------------------------------

    [[nodiscard]] unsigned max_active() const noexcept { return max_active_.load(relaxed); }
    [[nodiscard]] unsigned min_active() const noexcept { return min_active_.load(relaxed); }
    /// The mutex of the queue serializes concurrent callers, so that all pwqs get the limit of the last one.
    void set_max_active(unsigned n) noexcept CMWQ_EXCLUDES(lock_);
    /// Throws std::invalid_argument, and changes nothing then.
    void set_min_active(unsigned n) CMWQ_EXCLUDES(lock_);

    // --- freezing: under the runtime's configuration lock ------------------------------------------------------------

    void set_frozen(bool frozen) noexcept CMWQ_EXCLUDES(lock_);
    /// An item of this queue, of a policy with one pool for each CPU, waits for a group from now on: its tasks run also in
    /// a freeze, which waits for that item.
    void start_awaited_tasks() noexcept CMWQ_EXCLUDES(lock_);
    /// Whether the queue has active items: on a worklist, or running.
    [[nodiscard]] bool is_active() const noexcept CMWQ_EXCLUDES(lock_);

    // --- rescue and shut-down ----------------------------------------------------------------------------------------

    /// Called before the queue is attached. Throws std::system_error, std::bad_alloc.
    void make_rescuer();
    /// Called after the queue has drained: takes the rescuer away from the pools, and ends its thread.
    void end_rescuer() noexcept CMWQ_EXCLUDES(lock_);
    /// Items that hold_back() has held back do not become active until the last end_dropping(). Several callers at once
    /// share the items.
    void begin_dropping() noexcept CMWQ_EXCLUDES(lock_);
    void end_dropping() noexcept CMWQ_EXCLUDES(lock_);
    /// Between these two: holds back all items that have not started.
    void hold_back() noexcept CMWQ_EXCLUDES(lock_) {
        for_each_pwq([](pool_workqueue& p) { p.ledger->hold_back(p); });
    }
    /// After that: removes one of them. The caller then owns its PENDING. Null: none is left. `first`: 0 at the first
    /// call; changed by each.
    [[nodiscard]] work_base* take_held_back(std::uint64_t& first) noexcept CMWQ_EXCLUDES(lock_);
    /// The diagnosis thread calls this. Returns whether any item waits for the limit. If so, and if no item has ended
    /// since the last call, and if all active items run, adds these runs to `runs`. Throws std::bad_alloc.
    [[nodiscard]] bool watch_backlog(std::vector<seen_run>& runs) CMWQ_EXCLUDES(lock_);
    /// The diagnosis thread calls this afterwards. `stands_still`: all of those runs are blocked. `passed`: the time
    /// since the last call. Returns whether the queue has stood still for `limit`. Times are in nanoseconds.
    [[nodiscard]] bool note_standstill(bool stands_still, std::int64_t passed, std::int64_t limit) noexcept {
        stuck_for_ = stands_still ? stuck_for_ + passed : 0;
        return stuck_for_ >= limit;
    }

    // --- pwqs --------------------------------------------------------------------------------------------------------

    /// per_cpu and dispatcher: makes one pwq for each CPU; they never change. Throws std::bad_alloc.
    void make_pwqs();
    /// attrs_keyed: prepares a change to these pools, under the runtime's configuration lock, which keeps the pools of
    /// the queue the same. Throws std::bad_alloc, and changes nothing then.
    [[nodiscard]] queue_plan plan(const attrs& wanted, chosen_pools&& chosen) CMWQ_EXCLUDES(lock_);
    /// Publishes the map of a plan, and waits for the producers that may use the old one. Items queued after the return
    /// go to the new pools. If it may not wait, the last change must be finished, and reap() or the next change finishes
    /// this one.
    void carry_out(queue_plan&& p, bool may_wait = true) noexcept CMWQ_EXCLUDES(lock_);
    /// Finishes a change that could not wait for a producer. False: it still cannot.
    [[nodiscard]] bool finish_change() noexcept CMWQ_EXCLUDES(lock_);
    /// The manager thread calls this: frees replaced pwqs that have drained, and divides the limit if it can. False:
    /// another thread holds the lock, for as long as a producer is stopped in queue(), perhaps.
    [[nodiscard]] bool reap() noexcept CMWQ_EXCLUDES(lock_);
    /// Called when no item is left and the queue accepts none: waits for the producers that have not left queue(), and
    /// gives back all pools.
    void give_back_pools() noexcept CMWQ_EXCLUDES(lock_);
    [[nodiscard]] attrs attributes() const CMWQ_EXCLUDES(lock_);

    /// Calls `f(pool_workqueue&)` for each pwq, in the order in which they were made, also for replaced ones.
    template <class F>
    void for_each_pwq(F&& f) const CMWQ_EXCLUDES(lock_) {
        const scoped_lock g(lock_);
        for (pool_workqueue* p = pwqs_.front(); p != nullptr; p = pwqs_.next(*p)) f(*p);
    }
    /// Calls `f` for each pwq, then `g` for each. No pwq is made or freed in between.
    template <class F, class G>
    void for_each_pwq_twice(F&& f, G&& g) const CMWQ_EXCLUDES(lock_) {
        const scoped_lock guard(lock_);
        for (pool_workqueue* p = pwqs_.front(); p != nullptr; p = pwqs_.next(*p)) f(*p);
        for (pool_workqueue* p = pwqs_.front(); p != nullptr; p = pwqs_.next(*p)) g(*p);
    }
    [[nodiscard]] queue_stats stats() const noexcept CMWQ_EXCLUDES(lock_);

    /// For dump(), under the lock of the list of queues: copies the state of the queue and of its pwqs, as far as their
    /// locks are free before `deadline`, steady clock. Throws std::bad_alloc.
    [[nodiscard]] queue_report report(std::int64_t deadline) const CMWQ_EXCLUDES(lock_);

    runtime_core& rt;            // I
    timer_service& timers;       // I
    const bool managed;          // I
    const priority prio;         // I
    const bool freezable;        // I
    bool limit_is_fixed = false; // I: true for a system queue
    workqueue_base* const front; // I
    /// A: attrs_keyed: the readers of `map`, and the armed timers. On the line of all that is read for each queued item.
    alignas(cache_line) const std::unique_ptr<basic_grace_period<queue_stripe>> grace;
    atomic<const pwq_map*> map{nullptr}; // A: [GRACE-1] [GRACE-2]

private:
    template <class F>
    [[nodiscard]] pool_workqueue* pwq_for(const work_base& w, const pwq_map& m, unsigned index, F&& behind) noexcept;
    template <class Pool, order Order>
    [[nodiscard]] pushed<Pool> push_keyed_at(work_base& w, unsigned index, unsigned node) noexcept;
    template <class Pool>
    static Pool& push_to(pool_workqueue& pwq, work_base& w) noexcept;
    void make_slots(unsigned node) CMWQ_EXCLUDES(lock_);
    [[nodiscard]] unsigned share_locked(std::size_t node) const noexcept CMWQ_REQUIRES(lock_);
    [[nodiscard]] unsigned smallest_share_locked() const noexcept CMWQ_REQUIRES(lock_);
    void move_to_slots_locked(bool of_nodes) noexcept CMWQ_REQUIRES(lock_);
    [[nodiscard]] bool fits_shares_locked() const noexcept CMWQ_REQUIRES(lock_);
    void share_out_locked() noexcept CMWQ_REQUIRES(lock_);
    [[nodiscard]] bool finish_change_locked(bool may_wait) noexcept CMWQ_REQUIRES(lock_);

    atomic<std::uint32_t> closed_{0};  // A
    atomic<bool> takes_guests_{false}; // A
    std::uint64_t completed_seen_ = 0; // D: items completed at the last check of the backlog
    std::int64_t stuck_for_ = 0;       // D: nanoseconds
    atomic<unsigned> max_active_;      // A, written under WQ
    atomic<unsigned> min_active_;      // A, written under WQ
    alignas(cache_line) mutable ranked_mutex<lock_rank::queue> lock_; // WQ; before the pool locks
    unsigned nr_drainers_ CMWQ_GUARDED_BY(lock_) = 0;
    unsigned nr_dropping_ CMWQ_GUARDED_BY(lock_) = 0;
    bool frozen_ CMWQ_GUARDED_BY(lock_) = false;
    mutable intrusive_list<pool_workqueue, pwq_tag> pwqs_ CMWQ_GUARDED_BY(lock_);
    std::unique_ptr<const pwq_map> left_map_
        CMWQ_GUARDED_BY(lock_); // not null: producers may use it, `left_wait_` waits
    basic_grace_period<queue_stripe>::progress left_wait_ CMWQ_GUARDED_BY(lock_);
    std::uint64_t nr_pwqs_made_ CMWQ_GUARDED_BY(lock_) = 0;
    queue_stats gone_ CMWQ_GUARDED_BY(lock_); // the counts of the pwqs that were freed
    attrs attrs_ CMWQ_GUARDED_BY(lock_);
    std::vector<unsigned> cpus_of_node_ CMWQ_GUARDED_BY(lock_);
    node_slots slots_of_machine_; // has the whole limit, or none of it
    std::vector<std::unique_ptr<node_slots>> slots_of_nodes_ CMWQ_GUARDED_BY(lock_);
    bool is_divided_ CMWQ_GUARDED_BY(lock_) = false;
    std::unique_ptr<rescuer> rescuer_; // I: null: the queue has none
};

}}} // namespace cmwq::CMWQ_NS::detail
