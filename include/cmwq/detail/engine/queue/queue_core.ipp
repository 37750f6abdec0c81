// SPDX-License-Identifier: BSL-1.0
//
// The bodies of queue_core: the choice of the pool for an item, limits, and the ends of its use. Those for its pwqs are in
// queue_core_pwqs.ipp, those for dump() in report/runtime_report.ipp.

#include <cmwq/detail/engine/pools/pool_table.hpp>
#include <cmwq/detail/engine/queue/queue_core.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

inline constexpr unsigned default_min_active = 8;

CMWQ_INLINE void check_min_active(unsigned n, unsigned max_active) {
    if (n >= 1 && n <= max_active) return;
    throw std::invalid_argument("cmwq: min_active is " + std::to_string(n) + ", it must be 1 to max_active, which is " +
                                std::to_string(max_active));
}

CMWQ_INLINE queue_core::queue_core(runtime_core& runtime, const pool_env& e, timer_service& t, const queue_settings& s)
    : queue_face(*this, e, s), rt(runtime), timers(t), managed(s.managed), prio(s.prio), freezable(s.freezable),
      front(s.front),
      grace(s.pool == pool_kind::attrs_keyed ? std::make_unique<basic_grace_period<queue_stripe>>(env.cpus.nr_cpus())
                                             : nullptr),
      max_active_(s.max_active), min_active_(std::min(default_min_active, s.max_active)) {
    if (s.min_active == 0) return;
    check_min_active(s.min_active, s.max_active);
    min_active_.store(s.min_active, relaxed);
}

CMWQ_INLINE queue_core::~queue_core() {
    // destroy_queue() has ended the rescuer before, so this is for a queue whose creation has failed. In a forked
    // child, the rescuer of a queue of the parent has no thread.
    if (!is_dead()) end_rescuer();
    while (pool_workqueue* p = pwqs_.pop_front()) delete p;
    delete map.load(relaxed);
    if (on_exception.destroy != nullptr) on_exception.destroy(on_exception.context);
}

// --- the path of an item ---------------------------------------------------------------------------------------------

// Chooses the pwq for an item, so that it never runs twice at once. If a worker of another pool still runs the item,
// the pwq of that pool is chosen, if it serves the queue; otherwise `behind()` may put the item behind that run.
// Returns the pwq; null: `behind()` has done so.
template <class F>
pool_workqueue* queue_core::pwq_for(const work_base& w, const pwq_map& m, unsigned index, F&& behind) noexcept {
    pool_workqueue* pwq = m.of_cpu[index];
    const std::uint64_t last = work_access::pool_id(work_access::location_of(w));
    if (last == 0 || last == pwq->pool->id() || !env.pools.owns(last)) return pwq;
    item_pool& before = env.pools.pool(last);
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
Pool& queue_core::push_to(pool_workqueue& pwq, work_base& w) noexcept {
    const bool was_queued_before = work_access::pool_id(work_access::location_of(w)) != 0;
    work_access::set_pwq(w, &pwq);
    Pool& pool = static_cast<Pool&>(*pwq.pool); // read first: the pwq may be gone as soon as the item has been pushed
    pool.ledger.push(w, was_queued_before);
    return pool;
}

CMWQ_INLINE bound_pool& queue_core::push_per_cpu(work_base& w, int cpu) noexcept {
    const pwq_map& m = *map.load(seq_cst); // [UNIFORM] the map of a per_cpu queue never changes
    return push_to<bound_pool>(*pwq_for(w, m, env.cpus.index_of(cpu), [](item_pool&) { return false; }), w);
}

CMWQ_INLINE bottom_half_pool& queue_core::push_bottom_half(work_base& w, int cpu) noexcept {
    const pwq_map& m = *map.load(seq_cst); // [UNIFORM] as above
    return push_to<bottom_half_pool>(*pwq_for(w, m, env.cpus.index_of(cpu), [](item_pool&) { return false; }), w);
}

template <class Pool, order Order>
pushed<Pool> queue_core::push_keyed_at(work_base& w, unsigned index, unsigned node) noexcept {
    pushed<Pool> result{grace_reader(*grace, index)};
    const pwq_map& m = *map.load(seq_cst); // [GRACE-1]
    if (node != no_node) index = env.cpus.index_on_node(index, node);
    pool_workqueue* pwq = m.of_cpu[index];
    // An ordered queue runs no item in its new pool before all items in the old pool have ended, so it needs no check.
    if constexpr (Order == order::none) {
        pwq = pwq_for(w, m, index, [&](item_pool& before) {
            return before.ledger.push_behind_own_run(w, *this); // a pool replaced by apply(), or of another queue
        });
    }
    if (pwq == nullptr) return result;
    result.pool = &push_to<Pool>(*pwq, w);
    // The worker that runs an item of the queue looks for this one afterwards. Another worker could only put it on a
    // list. The grace period keeps the pwq.
    if constexpr (Order == order::fifo) {
        if (pwq->runs_one.load(seq_cst)) { // [NEXT-1]
            note_backlog();
            result.pool = nullptr;
        }
    }
    return result;
}

template <class Pool, order Order>
pushed<Pool> queue_core::push_keyed(work_base& w, int cpu) noexcept {
    return push_keyed_at<Pool, Order>(w, env.cpus.index_of(cpu), no_node);
}

CMWQ_INLINE pushed<> queue_core::push_keyed(work_base& w, int cpu, unsigned node) noexcept {
    const unsigned index = env.cpus.index_of(cpu);
    return fifo ? push_keyed_at<item_pool, order::fifo>(w, index, node)
                : push_keyed_at<item_pool, order::none>(w, index, node);
}

CMWQ_INLINE pushed<> queue_core::push(work_base& w, int cpu) noexcept {
    switch (kind) {
    case pool_kind::per_cpu: return {{}, &push_per_cpu(w, cpu)};
    case pool_kind::dispatcher: return {{}, &push_bottom_half(w, cpu)};
    case pool_kind::attrs_keyed: break;
    }
    return push_keyed(w, cpu, no_node);
}

// --- limits ----------------------------------------------------------------------------------------------------------

// Of an attrs_keyed queue.
[[nodiscard]] CMWQ_INLINE unsigned node_of(const pool_workqueue& p) noexcept {
    return static_cast<const worker_pool&>(*p.pool).spec().node;
}

CMWQ_INLINE void queue_core::make_slots(unsigned node) {
    const scoped_lock g(lock_);
    while (slots_of_nodes_.size() <= node) slots_of_nodes_.push_back(std::make_unique<node_slots>());
}

// In proportion to the CPUs. The limit of the first nodes together is rounded, not each share, so the shares add up to
// max_active.
CMWQ_INLINE unsigned queue_core::share_locked(std::size_t node) const noexcept {
    std::uint64_t before = 0, here = 0, all = 0;
    for (std::size_t n = 0; n < cpus_of_node_.size(); ++n) {
        if (n < node) before += cpus_of_node_[n];
        if (n == node) here = cpus_of_node_[n];
        all += cpus_of_node_[n];
    }
    const std::uint64_t max = max_active_.load(relaxed);
    const auto rounded = [&](std::uint64_t cpus) { return (2 * max * cpus + all) / (2 * all); };
    return static_cast<unsigned>(rounded(before + here) - rounded(before));
}

// Of the nodes whose pools serve the queue; 0: the limit cannot be divided.
CMWQ_INLINE unsigned queue_core::smallest_share_locked() const noexcept {
    unsigned smallest = max_active_.load(relaxed);
    for (pool_workqueue* p = pwqs_.front(); p != nullptr; p = pwqs_.next(*p)) {
        if (fifo || node_of(*p) == no_node) return 0;
        smallest = std::min(smallest, share_locked(node_of(*p))); // 0: its CPUs are gone, but not all of its items
    }
    return smallest >= min_active_.load(relaxed) ? smallest : 0;
}

CMWQ_INLINE void queue_core::move_to_slots_locked(bool of_nodes) noexcept {
    for (pool_workqueue* p = pwqs_.front(); p != nullptr; p = pwqs_.next(*p)) {
        // Also if they are the same: after that, no thread takes a slot because it has read an earlier maximum.
        p->ledger->set_slots(*p, of_nodes ? *slots_of_nodes_[node_of(*p)] : slots_of_machine_);
    }
    is_divided_ = of_nodes;
}

CMWQ_INLINE bool queue_core::fits_shares_locked() const noexcept {
    for (std::size_t node = 0; node < slots_of_nodes_.size(); ++node) {
        if (slots_of_nodes_[node]->in_use() > share_locked(node)) return false;
    }
    return true;
}

// If the limit is divided, the nodes' pools start items without sharing a cache line. It is not divided if a node would get
// less than min_active, and could do little while the others are idle; nor while more items are active on a node than its
// share: if the other nodes had theirs, too many would be active on the machine.
CMWQ_INLINE void queue_core::share_out_locked() noexcept {
    // From here until the new maxima are set no item starts, but for one that a wait starts beyond the limit.
    slots_of_machine_.set_max(0);
    for (const auto& slots : slots_of_nodes_) slots->set_max(0);
    const unsigned smallest = smallest_share_locked();
    if (smallest != 0) move_to_slots_locked(true);
    if (smallest == 0 || !fits_shares_locked()) move_to_slots_locked(false);
    if (is_divided_) {
        for (std::size_t node = 0; node < slots_of_nodes_.size(); ++node)
            slots_of_nodes_[node]->set_max(share_locked(node));
    } else {
        slots_of_machine_.set_max(max_active_.load(relaxed));
    }
    while (pool_owner* p = slots_of_machine_.grant()) p->notify();
    for (const auto& slots : slots_of_nodes_) {
        while (pool_owner* p = slots->grant()) p->notify();
    }
    slots_of_machine_.watch_for(is_divided_ ? 0 : smallest); // the next time to try
    if (slots_of_machine_.is_down()) request_reaping();
}

CMWQ_INLINE void queue_core::set_max_active(unsigned n) noexcept {
    const scoped_lock g(lock_);
    max_active_.store(n, relaxed);
    if (min_active_.load(relaxed) > n) min_active_.store(n, relaxed);
    if (keyed()) {
        share_out_locked();
    } else {
        for (pool_workqueue* p = pwqs_.front(); p != nullptr; p = pwqs_.next(*p)) p->ledger->set_max_active(*p, n);
    }
}

CMWQ_INLINE void queue_core::set_min_active(unsigned n) {
    const scoped_lock g(lock_);
    check_min_active(n, max_active_.load(relaxed));
    min_active_.store(n, relaxed);
    share_out_locked();
}

// --- rescue, freezing, shut-down -------------------------------------------------------------------------------------

CMWQ_INLINE void queue_core::make_rescuer() {
    rescuer_ = std::make_unique<rescuer>(*this);
    own_rescuer = rescuer_.get();
}

CMWQ_INLINE void queue_core::end_rescuer() noexcept {
    if (own_rescuer == nullptr) return;
    own_rescuer->stop(); // it may still be on its way to a pool, called for items that workers have run since
    for_each_pwq([](pool_workqueue& p) {
        if (p.rescued_in != nullptr) p.rescued_in->end_rescuable(p);
    });
    own_rescuer = nullptr;
    rescuer_.reset();
}

CMWQ_INLINE void queue_core::set_frozen(bool frozen) noexcept {
    const scoped_lock g(lock_);
    frozen_ = frozen;
    for (pool_workqueue* p = pwqs_.front(); p != nullptr; p = pwqs_.next(*p)) p->ledger->set_frozen(*p, frozen);
}

// The lock orders this with set_frozen(), which looks at the same tasks.
CMWQ_INLINE void queue_core::start_awaited_tasks() noexcept {
    const scoped_lock g(lock_);
    if (!frozen_) return;
    for (pool_workqueue* p = pwqs_.front(); p != nullptr; p = pwqs_.next(*p))
        p->ledger->set_frozen(*p, true); // once more
}

CMWQ_INLINE bool queue_core::is_active() const noexcept {
    bool active = false;
    for_each_pwq([&](pool_workqueue& p) { active |= p.ledger->nr_active_of(p) != 0; });
    return active;
}

CMWQ_INLINE void queue_core::begin_dropping() noexcept {
    const scoped_lock g(lock_);
    ++nr_dropping_;
}

CMWQ_INLINE void queue_core::end_dropping() noexcept {
    const scoped_lock g(lock_);
    if (--nr_dropping_ != 0) return;
    // A producer that found the queue open before shutdown() may push only now. Its item runs, as if queued before.
    for (pool_workqueue* p = pwqs_.front(); p != nullptr; p = pwqs_.next(*p)) p->ledger->let_go(*p);
}

CMWQ_INLINE work_base* queue_core::take_held_back(std::uint64_t& first) noexcept {
    const scoped_lock g(lock_);
    for (pool_workqueue* p = pwqs_.front(); p != nullptr; p = pwqs_.next(*p)) {
        if (p->serial < first) continue; // no item is left in this pwq
        first = p->serial;
        if (work_base* const w = p->ledger->take_held_back(*p); w != nullptr) return w;
    }
    return nullptr;
}

CMWQ_INLINE attrs queue_core::attributes() const {
    const scoped_lock g(lock_);
    return attrs_;
}

CMWQ_INLINE queue_stats queue_core::stats() const noexcept {
    const scoped_lock g(lock_);
    queue_stats total = gone_;
    for (pool_workqueue* p = pwqs_.front(); p != nullptr; p = pwqs_.next(*p)) {
        const queue_stats one = p->ledger->stats_of(*p);
        total.started += one.started;
        total.completed += one.completed;
    }
    return total;
}

// --- the check of a queue at its limit -------------------------------------------------------------------------------

CMWQ_INLINE bool queue_core::watch_backlog(std::vector<seen_run>& runs) {
    if (!take_backlog()) return false;
    const std::uint64_t completed = stats().completed;
    const bool stands_still = std::exchange(completed_seen_, completed) == completed;
    const std::size_t before = runs.size();
    bool waiting = false, all_run = true;
    const auto look_at = [&](pool_workqueue& p) {
        const std::size_t n = runs.size();
        pool_ledger::backlog b = p.ledger->backlog_of(p, nullptr, 0);
        waiting |= b.waiting;
        all_run &= b.all_run;
        for (std::size_t room = 0; stands_still && all_run && b.runs > room;) { // allocates without the pool lock
            room = b.runs;
            runs.resize(n + room);
            b = p.ledger->backlog_of(p, &runs[n], room);
        }
        runs.resize(n + (stands_still && all_run ? b.runs : 0));
    };
    try {
        for_each_pwq(look_at);
    } catch (...) { // no memory: the next check tries again
        keep_backlog();
        throw;
    }
    if (!waiting || !all_run) runs.resize(before);
    if (waiting) keep_backlog();
    return waiting;
}

// For the API, by policy.
template pushed<elastic_pool> queue_core::push_keyed<elastic_pool, order::none>(work_base& w, int cpu) noexcept;
template pushed<unbound_pool> queue_core::push_keyed<unbound_pool, order::none>(work_base& w, int cpu) noexcept;
template pushed<unbound_pool> queue_core::push_keyed<unbound_pool, order::fifo>(work_base& w, int cpu) noexcept;

}}} // namespace cmwq::CMWQ_NS::detail
