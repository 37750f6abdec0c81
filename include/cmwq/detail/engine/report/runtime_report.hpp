// SPDX-License-Identifier: BSL-1.0
//
// The state of a runtime as plain values. dump() writes them as text or as JSON.
#pragma once

#include <cmwq/affinity_scope.hpp>
#include <cmwq/cpuset.hpp>
#include <cmwq/detail/engine/env/pool_spec.hpp>
#include <cmwq/detail/engine/ledger/pool_report.hpp>
#include <cmwq/detail/engine/queue/queue_report.hpp>
#include <cmwq/detail/engine/waits/wait_graph.hpp>
#include <cmwq/topology.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// A pool, by a number that is unique in its runtime.
struct numbered_pool {
    unsigned number = 0;
    enum class kind : unsigned char { per_cpu, shared, bottom_half };
    kind what = kind::per_cpu;
    unsigned cpu = 0; ///< of a pool that has one
    unsigned users = 1;
    bool spec_locked = false; ///< another thread holds the lock of the registry: `users` and `spec` are not known
    pool_spec spec;
    pool_report now;
    std::vector<std::string> activities; ///< of the threads of `now.runs`, in that order
};

struct runtime_report {
    const topology* machine = nullptr; ///< null: nothing has needed it yet
    cpuset cpus;                       ///< of the runtime
    bool settings_locked = false;      ///< another thread holds the configuration lock: the next two are not known
    cpuset unbound_cpus;
    affinity_scope default_scope = affinity_scope::default_;
    std::vector<numbered_pool> pools; ///< the shared ones, and the others that have threads or items
    bool queues_locked = false;       ///< another thread holds the lock of the list of queues: `queues` is empty
    std::vector<queue_report> queues;
    bool waits_locked = false; ///< another thread holds the lock of the graph of waits: `waits` is empty
    std::vector<wait_report> waits;
};

/// Like the kernel's wq_dump, with additions. Throws std::bad_alloc, as the next function.
[[nodiscard]] std::string to_text(const runtime_report& r);
[[nodiscard]] std::string to_json(const runtime_report& r);

}}} // namespace cmwq::CMWQ_NS::detail
