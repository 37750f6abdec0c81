// SPDX-License-Identifier: BSL-1.0
//
// The state of a queue as plain values, for dump().
#pragma once

#include <cmwq/detail/engine/ledger/pool_report.hpp>
#include <cmwq/detail/engine_ops.hpp>
#include <cmwq/stats.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

struct queue_report {
    std::string name;
    const char* kind = ""; ///< percpu, unbound, ordered, elastic, bh: the words of wq_dump, and ours
    bool managed = false;  ///< its pools replace blocked workers
    priority prio = priority::normal;
    bool cpu_intensive = false, freezable = false, exported = false, has_rescuer = false;
    long rescuer_tid = 0; ///< 0: the rescuer has not begun yet, or there is none
    unsigned min_active = 0, max_active = 0;

    bool locked = false; ///< another thread holds the lock of the queue; nothing below is known
    bool strict = false, draining = false, frozen = false;
    std::vector<std::uint64_t> pool_of_cpu; ///< ids, by the index of the CPU
    struct slots {
        unsigned in_use, max;
    };
    std::vector<slots> slots_of_nodes; ///< of an attribute-keyed queue; the last ones are those of the machine
    struct pwq {
        std::uint64_t pool; ///< its id
        pwq_report now;
    };
    std::vector<pwq> pwqs; ///< the oldest one first; replaced ones that have not drained are among them
    queue_counters counts; ///< of all pwqs, also of those that were freed
    duration_histogram run_times, wait_times; ///< as in queue_stats
};

}}} // namespace cmwq::CMWQ_NS::detail
