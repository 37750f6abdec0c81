// SPDX-License-Identifier: BSL-1.0
//
// block_counts: how often a run was found blocked.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/stats.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// What is counted: a block, by what has found it, or a spare that was started in place of the worker.
enum class block_event : unsigned char { guard, sentinel, monitor, spare };

/// Any thread may call every member. A detector counts without a lock, and the queue of the run may end meanwhile, so
/// the count stays in the record of the run until the run ends. If that happens first, the count belongs to the next
/// run of the record. Relaxed: the exchange in `move_to()` takes each count once.
class block_counts {
public:
    void count(block_event what) noexcept { counts_[static_cast<unsigned>(what)].fetch_add(1, relaxed); }
    void add_to(queue_counters& s) const noexcept {
        for (unsigned i = 0; i < nr; ++i) s.*member[i] += counts_[i].load(relaxed);
    }
    void move_to(queue_counters& s) noexcept {
        for (unsigned i = 0; i < nr; ++i) s.*member[i] += counts_[i].exchange(0, relaxed);
    }

private:
    static constexpr unsigned nr = 4;
    static constexpr std::uint64_t queue_counters::* member[nr] = {
        &queue_counters::blocks_by_guard, &queue_counters::blocks_by_sentinel, &queue_counters::blocks_by_monitor,
        &queue_counters::spare_wakeups};

    atomic<std::uint32_t> counts_[nr] = {}; // A: as `block_event`
};

}}} // namespace cmwq::CMWQ_NS::detail
