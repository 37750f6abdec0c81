// SPDX-License-Identifier: BSL-1.0
//
// pool_workqueue (pwq): the state of one queue in one pool. Its limit of active items, the items beyond the limit, and
// the number of items of each flush color. The lock of the pool (letter L) guards all members without another letter.
#pragma once

#include <cmwq/detail/engine/item/deferred.hpp>
#include <cmwq/detail/engine/item/work_access.hpp>
#include <cmwq/detail/engine/ledger/color_ring.hpp>
#include <cmwq/detail/engine/ledger/item_sampling.hpp>
#include <cmwq/detail/engine/ledger/saturation.hpp>
#include <cmwq/stats.hpp>

#include <algorithm>
#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class item_pool;
class node_slots;
class pool_ledger;
class pool_owner;
class rescue_calls;
class queue_face;
class run_record;
class worker;

using item_list = intrusive_list<work_base, item_tag>;

struct pwq_tag;
struct slot_tag;
struct grant_tag;
struct rescue_tag;
struct mayday_tag;
struct waiting_tag;

/// The state of one queue in one pool.
///
/// Letters: A atomic · L the pool's lock · T the lock of that shard · I set before publication · WQ the queue's mutex ·
/// N the lock of `slots` · G the lock of the graph of waits
class alignas(cache_line) pool_workqueue final : public list_node<pwq_tag>,
                                                 public list_node<slot_tag>,
                                                 public list_node<grant_tag>,
                                                 public list_node<rescue_tag>,
                                                 public list_node<mayday_tag> {
public:
    /// `Pool`: of item_pool, which this header need not know.
    template <class Pool>
    pool_workqueue(queue_face& q, Pool& p, node_slots* first_slots) noexcept
        : queue(&q), pool(&p), ledger(&p.ledger), slots(first_slots) {}
    pool_workqueue(const pool_workqueue&) = delete;
    pool_workqueue& operator=(const pool_workqueue&) = delete;

    // Read for each item, and written only rarely. They share a cache line.
    queue_face* const queue;   // I
    item_pool* const pool;     // I
    pool_ledger* const ledger; // I: that of the pool
    // L: shared with other pwqs of the queue; null: the pwq has a limit of its own, max_active, and that never changes.
    // Changed under WQ, too
    node_slots* slots;
    item_sampling sampling;  // A
    unsigned max_active = 0; // L: limit of items on the worklist or running, if the pwq shares no slots
    bool plugged = false;    // L: of an ordered queue, waits until the older pwqs have drained: no item becomes active
    bool has_turn = false;   // L: they have; set by the thread that pushes the plugged pwq to the grants of its pool
    bool frozen = false;     // L: no item becomes active until the thaw
    bool held_back = false;  // L: shutdown() takes the inactive items: no item becomes active
    // A: no item is queued here any more, except local items that its runs are just adding; the pwq is freed when it
    // has drained. Written under L
    atomic<bool> detached{false};
    // A: threads outside may run its tasks: the attributes of the queue set nothing. Written under WQ
    atomic<bool> takes_guests{false};
    bool mayday = false; // L: the rescuer has been called and has not left yet: the pwq must not be freed

    std::uint64_t serial = 0;           // WQ: numbers the pwqs of a queue in the order of their creation
    worker* rescue_record = nullptr;    // L: if the queue has a rescuer: the record under which it runs items here
    rescue_calls* rescued_in = nullptr; // I: of the pool, if the queue has a rescuer; otherwise null
    // L: of a detached pwq of an ordered queue: the next one, which is plugged; null: none, or it has been told
    pool_workqueue* successor = nullptr;
    timer_ring armed; // T: if the queue has a pwq for each CPU: its armed timers in the shard of this CPU

    // Written by workers for each item of an ordered queue.
    atomic<bool> runs_one{false}; // A: an item of the ordered queue runs; its worker then looks for the next one

    // Written by workers for each item. On the same cache line as the members above they would make queueing a third
    // slower.
    alignas(cache_line) unsigned nr_active = 0; // L
    unsigned nr_waiting = 0;                    // L: how many of the active items are on the worklist
    item_list inactive;                         // L: items beyond the limit, in order
    enum class slot_state : unsigned char { none, waiting, granted };
    slot_state slot = slot_state::none; // N
    color_ring colors;                  // L: counts every item from its acceptance until it leaves
    queue_counters counts;              // L. The runs of the pool keep some of their own until they end
    saturation at_limit;                // L
    std::int64_t frozen_at = 0;         // L: when the freeze began, coarse clock; 0: before this pwq was made
    std::uint64_t nr_waits_known = 0;   // L: for how many of the started items those stand whose wait was measured

    intrusive_list<run_record, waiting_tag> waiting; // G: workers whose run of an item of this pwq is in a wait
    std::uint64_t searched_by = 0;                   // G: the last search of the graph that has visited this pwq,
    std::uint64_t searched_to = 0;                   // G: and the youngest generation of colors that it covered
    // L: the last item that pool_ledger::accept_by_age_locked() has put on the inactive list, in this call of it
    work_base* sorted_last = nullptr;
    std::uint64_t sorted_in = 0;

    /// A slot, or its turn, has been granted to it: tells the pool. The caller must notify the result after it has
    /// released its locks.
    pool_owner& granted() noexcept; // in pool_ledger.ipp
    /// As pool_ledger::shown_number().
    [[nodiscard]] unsigned number_of_pool() const noexcept; // in pool_ledger.ipp

    /// An item waits for a slot, as the last one of those that do.
    void add_inactive(work_base& w) noexcept { add_inactive(w, inactive.back()); }
    /// The same, behind `at`; null: as the first one.
    void add_inactive(work_base& w, work_base* at) noexcept {
        if (inactive.empty()) at_limit.begin();
        inactive.insert_behind(at, w);
    }
    /// One of them does not wait any more.
    void remove_inactive(work_base& w) noexcept {
        inactive.remove(w);
        has_removed_inactive();
    }
    /// The same, of an item that the caller has removed from the list.
    void has_removed_inactive() noexcept {
        if (inactive.empty()) at_limit.end();
    }

    [[nodiscard]] bool drained() const noexcept { return colors.nr_entered() == colors.nr_left(); }
};

/// The counts of one or more pwqs, and where their items are now.
struct pwq_stats : queue_counters {
    std::uint64_t pending = 0, active = 0, inactive = 0; ///< as in queue_stats
    /// For how long a freeze has kept items back, in nanoseconds.
    std::uint64_t frozen_ns = 0;
};
constexpr void add(pwq_stats& to, const pwq_stats& more) noexcept {
    add(static_cast<queue_counters&>(to), more);
    to.pending += more.pending;
    to.active += more.active;
    to.inactive += more.inactive;
    to.frozen_ns = std::max(to.frozen_ns, more.frozen_ns);
}

/// Identifies a run, so that a thread can later check whether it goes on (pool_ledger::state_of()).
struct seen_run {
    run_record* by;
    const worker* thread;      ///< the record of the thread
    const pool_workqueue* pwq; ///< an address to compare with
    std::uint64_t number;
};

}}} // namespace cmwq::CMWQ_NS::detail
