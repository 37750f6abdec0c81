// SPDX-License-Identifier: BSL-1.0
//
// Counters, as plain values.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS {

/// Counters of one queue since it was made. `started - completed` is the number of items that run right now.
struct queue_stats {
    std::uint64_t started = 0;   ///< items whose function was entered
    std::uint64_t completed = 0; ///< items whose function has returned, or has thrown
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

}} // namespace cmwq::CMWQ_NS
