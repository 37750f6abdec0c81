// SPDX-License-Identifier: BSL-1.0
//
// The numbers of a runtime for monitoring: OpenMetrics, and a line for people.
#pragma once

#include <cmwq/detail/engine/ledger/pool_report.hpp>
#include <cmwq/detail/engine/ledger/pool_workqueue.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class runtime_core;

/// The queues of one name and policy: programs make and destroy queues of the same kind, and monitoring wants few
/// series.
struct queue_numbers {
    std::string name;
    std::string_view policy;
    pwq_stats counts = {};
    unsigned max_active = 0; ///< of the newest one
    bool rescuer = false;    ///< of any of them
    duration_histogram run_times = {}, wait_times = {};
};

struct pool_numbers {
    std::size_t number;
    worker_counts now;
};

struct runtime_numbers {
    std::string name;
    unsigned cpus = 0;
    std::vector<queue_numbers> queues;    ///< without those of the names in `locked`
    std::vector<std::string> locked = {}; ///< names of queues of which another thread holds a lock; each once
    bool every_queue = true;              ///< no: another thread holds the lock of the list of queues
    std::vector<pool_numbers> pools;      ///< with threads, and without those of which another thread holds a lock
};

/// Every lock is tried for a limited time, as in runtime_core::report(). Throws std::bad_alloc, as the next ones.
[[nodiscard]] runtime_numbers numbers_of(const runtime_core& rt);
/// All of that in the text form of OpenMetrics 1.0.
[[nodiscard]] std::string to_open_metrics(const runtime_numbers& r);
/// All of that in a line. `ms`: since the runtime was made.
[[nodiscard]] std::string to_line(const runtime_numbers& r, long long ms);

}}} // namespace cmwq::CMWQ_NS::detail
