// SPDX-License-Identifier: BSL-1.0
//
// Counters, as plain values.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS {

/// What has happened in one queue since it was made, and where its items are.
///
/// Each item that the queue has accepted and that has neither ended nor been cancelled is either pending or running. It
/// is also either active, that is, it has a slot of the limit (`max_active`), or it is inactive: it waits for one; or it is
/// an item of an elastic queue that another one has queued, and shall get a slot when its turn comes.
struct queue_stats {
    std::uint64_t started = 0;   ///< items whose function was entered
    std::uint64_t completed = 0; ///< items whose function has returned, or has thrown
    // A block is counted for the item that the worker ran; if that one waited, and the worker ran others meanwhile, for
    // the first one.
    std::uint64_t blocks_by_guard = 0;    ///< times a blocking_region in an item left a CPU idle with work pending
    std::uint64_t blocks_by_sentinel = 0; ///< times an idle-class sentinel found an item blocked
    std::uint64_t blocks_by_monitor = 0;  ///< times the monitor found an item blocked
    std::uint64_t spare_wakeups = 0; ///< times a spare worker was started in place of one that was blocked in an item
    std::uint64_t repatriated = 0;   ///< workers that came back to their pod before they ran an item
    std::uint64_t cpu_hogs = 0;      ///< items that stopped counting because they kept their CPU for too long
    std::uint64_t maydays = 0;       ///< calls of the rescuer, one for each pool and lack of threads
    std::uint64_t rescued = 0;       ///< items that the rescuer has run

    std::uint64_t running = 0;  ///< items whose function has been entered and has not ended: `started - completed`
    std::uint64_t pending = 0;  ///< items that have not started, without delayed ones whose time has not come
    std::uint64_t active = 0;   ///< items that have a slot of the limit: they run, or start as soon as a worker is free
    std::uint64_t inactive = 0; ///< items that wait for a slot
};

/// Counters of a runtime since it was made.
struct runtime_stats {
    unsigned threads = 0;                 ///< worker threads, running, blocked and idle, without those that are to end
    unsigned peak_threads = 0;            ///< the highest value of `threads` so far
    std::uint64_t items_started = 0;      ///< items whose function was entered, over all queues and pools
    std::uint64_t items_completed = 0;    ///< items whose function has returned, or has thrown
    std::uint64_t blocks_by_guard = 0;    ///< times a blocking_region left a CPU idle with work pending
    std::uint64_t blocks_by_sentinel = 0; ///< workers that the idle-class sentinels found blocked
    std::uint64_t blocks_by_monitor = 0;  ///< workers that the monitor found blocked
    std::uint64_t spare_wakeups = 0;      ///< times a spare worker was started in place of blocked ones
    std::uint64_t repatriated = 0;        ///< workers that came back to their pod before they ran an item
    std::uint64_t cpu_hogs = 0;           ///< items that stopped counting because they kept their CPU for too long
    std::uint64_t overdue = 0;            ///< times a worker was started beside others for items that waited too long
    std::uint64_t events_lost = 0;        ///< events that were not delivered: earlier ones kept `on_event` too long
    std::uint64_t items_rescued = 0;      ///< items that rescuers have run, because no worker could be made
};

namespace detail {

/// Calls `f(name, member)` for each counter of a queue, that is, without the last four members.
template <class F>
constexpr void for_each_counter_of_queue(F&& f) {
    f("started", &queue_stats::started);
    f("completed", &queue_stats::completed);
    f("blocks_by_guard", &queue_stats::blocks_by_guard);
    f("blocks_by_sentinel", &queue_stats::blocks_by_sentinel);
    f("blocks_by_monitor", &queue_stats::blocks_by_monitor);
    f("spare_wakeups", &queue_stats::spare_wakeups);
    f("repatriated", &queue_stats::repatriated);
    f("cpu_hogs", &queue_stats::cpu_hogs);
    f("maydays", &queue_stats::maydays);
    f("rescued", &queue_stats::rescued);
}
/// Adds all members.
constexpr void add(queue_stats& to, const queue_stats& more) noexcept {
    for_each_counter_of_queue([&](const char*, std::uint64_t queue_stats::* member) { to.*member += more.*member; });
    to.running += more.running;
    to.pending += more.pending;
    to.active += more.active;
    to.inactive += more.inactive;
}

} // namespace detail

}} // namespace cmwq::CMWQ_NS
