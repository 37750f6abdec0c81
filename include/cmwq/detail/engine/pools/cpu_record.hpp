// SPDX-License-Identifier: BSL-1.0
//
// cpu_record: the pools and threads that a runtime has for one of its CPUs.
#pragma once

#include <cmwq/detail/engine/bh/bh_thread.hpp>
#include <cmwq/detail/engine/bh/bottom_half_pool.hpp>
#include <cmwq/detail/engine/threads/sentinel.hpp>
#include <cmwq/detail/engine/threads/thread_pool.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

inline constexpr unsigned nr_priorities = 3; // the pools with workers of a CPU, in the order of `priority`
inline constexpr unsigned nr_pools_of_cpu = nr_priorities + nr_bh_priorities;

/// Letters: I set by the constructor
struct cpu_record {
    /// Throws std::bad_alloc.
    cpu_record(const pool_env& env, std::uint64_t first_pool_id, unsigned cpu_number, unsigned index);

    const unsigned cpu; // I: its number
    sentinel idle_thread;
    bound_pool pools[nr_priorities];
    bh_thread bottom_half_thread;
    bottom_half_pool bottom_halves[nr_bh_priorities];
};

/// By index.
using cpu_records = std::vector<std::unique_ptr<cpu_record>>;

}}} // namespace cmwq::CMWQ_NS::detail
