// SPDX-License-Identifier: BSL-1.0
//
// pool_workqueue: what one queue keeps in one pool. Its limit of active items, the items beyond it, and how many items
// of each flush colour are under way. Everything here belongs to the pool's lock (letter L), but for the identities.
#pragma once

#include <cmwq/detail/engine/item/deferred.hpp>
#include <cmwq/detail/engine/item/work_access.hpp>
#include <cmwq/detail/engine/pool/color_ring.hpp>
#include <cmwq/detail/engine/pool/node_slots.hpp>

#include <cstdint>

namespace cmwq::inline CMWQ_NS::detail {

class item_pool;
class rescuable_pool;
class queue_core;
class worker;

using item_list = intrusive_list<work_base, item_tag>;

struct pwq_tag;
struct grant_tag;
struct rescue_tag;
struct mayday_tag;
struct waiting_tag;

/// Letters besides those of the pool: I set before publication · WQ the queue's mutex · N the lock of `slots` ·
/// G the lock of the graph of waits
class alignas(cache_line) pool_workqueue final : public list_node<pwq_tag>,
                                                 public list_node<slot_tag>,
                                                 public list_node<grant_tag>,
                                                 public list_node<rescue_tag>,
                                                 public list_node<mayday_tag> {
public:
    pool_workqueue(queue_core& q, item_pool& p, node_slots* shared_slots) noexcept
        : queue(&q), pool(&p), slots(shared_slots) {}
    pool_workqueue(const pool_workqueue&) = delete;
    pool_workqueue& operator=(const pool_workqueue&) = delete;

    // What queueing reads, and what else is written now and then only.
    queue_core* const queue;         // I
    item_pool* const pool;           // I
    node_slots* const slots;         // I: shared with other pwqs of the queue; null: a limit of its own, max_active
    std::uint64_t serial = 0;        // WQ: in the order of their making
    worker* rescue_record = nullptr; // L: of a queue with a rescuer, which runs items here under this record
    rescuable_pool* rescued_in = nullptr; // I: the pool, if the queue has a rescuer; otherwise null
    unsigned max_active = 0;              // L: at most so many items on the worklist or running, if it shares no slots
    bool plugged = false;   // L: of an ordered queue, waits for an older pwq to drain: nothing becomes active
    bool frozen = false;    // L: nothing becomes active until the thaw
    bool held_back = false; // L: shutdown() hands out what is inactive: nothing becomes active
    bool detached = false;  // L: nothing is queued here any more; freed when it has drained
    bool mayday = false;    // L: the rescuer has been called, and has not left yet: it stays

    // What a worker writes for each item. In one line with the above it makes queueing a third slower.
    alignas(cache_line) unsigned nr_active = 0; // L
    unsigned nr_waiting = 0;                    // L: those of them on the worklist
    item_list inactive;                         // L: the others, in order
    enum class slot_state : unsigned char { none, waiting, granted };
    slot_state slot = slot_state::none; // N
    color_ring colors;                  // L: every item between its acceptance and its end
    std::uint64_t nr_started = 0;       // L
    std::uint64_t nr_completed = 0;     // L

    intrusive_list<worker, waiting_tag> waiting; // G: those that run an item of it which waits inside of the library
    std::uint64_t searched_by = 0;               // G: the last search that has been here,
    std::uint64_t searched_to = 0;               // G: and for which generations of colours

    [[nodiscard]] bool drained() const noexcept { return colors.nr_entered() == colors.nr_left(); }
};

/// A run, to be asked about when no lock is held.
struct seen_run {
    worker* by;
    const pool_workqueue* pwq; ///< an address to compare with
    std::uint64_t number;
};

} // namespace cmwq::inline CMWQ_NS::detail
