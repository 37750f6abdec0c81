// SPDX-License-Identifier: BSL-1.0
//
// timer_shard: the armed timers of one CPU.
#pragma once

#include <cmwq/detail/api/work_timer.hpp>
#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/ds/timing_wheel.hpp>
#include <cmwq/detail/sync/mutex.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// A part of timer_service, on cache lines of its own. The lock also guards the part of the armed timers of each queue
/// that belongs to this shard (`queue_routes::armed_in()`).
///
/// Letters: T under lock · A atomic
struct alignas(cache_line) timer_shard {
    ranked_mutex<lock_rank::timers> lock;
    timing_wheel<work_timer> wheel CMWQ_GUARDED_BY(lock); // T
    /// A: when the shard must be looked at, or earlier; written under the lock. A cancelled timer does not change it.
    atomic<std::int64_t> next_visit{timing_wheel<work_timer>::never};
};

}}} // namespace cmwq::CMWQ_NS::detail
