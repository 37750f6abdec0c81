// SPDX-License-Identifier: BSL-1.0
//
// pool_env: the parts of a runtime that its pools use.
#pragma once

#include <cmwq/detail/engine/env/cpu_map.hpp>
#include <cmwq/detail/engine/env/diagnosis_requests.hpp>
#include <cmwq/detail/engine/env/event_reporter.hpp>
#include <cmwq/detail/engine/env/live_thresholds.hpp>
#include <cmwq/detail/engine/env/observers.hpp>
#include <cmwq/detail/engine/env/pool_finder.hpp>
#include <cmwq/detail/engine/env/service_requests.hpp>
#include <cmwq/detail/engine/env/thread_budget.hpp>
#include <cmwq/detail/engine/env/tick_clock.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/runtime_options.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class closure_memory;
class pool_table;

/// References only: the runtime owns the parts, and outlives its pools.
struct pool_env {
    // Used on the path of an item: a cache line, with the clock before them in runtime_core.
    const runtime_options& options;
    cpu_map& cpus;
    thread_budget& threads;
    service_requests& requests;
    tick_clock& ticks;
    pool_table& pools;
    closure_memory& closures;

    event_reporter& events;
    diagnosis_requests& diagnosis;
    observers& observing;
    const live_thresholds& thresholds; ///< instead of the options of these names
    pool_finder* finder = nullptr;     ///< the same object as `pools`, for the floors below; set by its constructor

    /// The clock of timers and idle timeouts, nanoseconds.
    [[nodiscard]] std::int64_t now() const noexcept {
        return options.clock == nullptr ? steady_now() : options.clock->now();
    }
};

}}} // namespace cmwq::CMWQ_NS::detail
