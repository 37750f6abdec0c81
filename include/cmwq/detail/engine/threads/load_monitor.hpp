// SPDX-License-Identifier: BSL-1.0
//
// load_monitor: what the service thread does at each tick for a pool that replaces blocked workers.
#pragma once

#include <cmwq/detail/engine/ledger/start_gap.hpp>
#include <cmwq/detail/engine/threads/burst_size.hpp>
#include <cmwq/detail/engine/threads/load.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The result of one check of a pool by the monitor.
struct monitor_findings {
    bool pending = false;   ///< items are pending
    bool eventful = false;  ///< the monitor had to do what a sentinel or a producer should have done
    bool computing = false; ///< a run may become a CPU hog
};

/// Looks for blocked workers, for items that keep their CPU, and for overdue items, and learns the limit of active
/// workers.
///
/// Thread safety: the service thread calls it. Letters as in worker.hpp; S is the service thread.
class load_monitor {
public:
    /// `spec`: the attributes of the pool's threads, which the pool changes only while it has no users.
    load_monitor(pool_ledger& ledger, load& l, const busy_workers<worker>& working, const pool_spec& spec) noexcept
        : ledger_(ledger), load_(l), working_(working), spec_(spec) {}
    load_monitor(const load_monitor&) = delete;
    load_monitor& operator=(const load_monitor&) = delete;

    /// `passed`: nanoseconds since the last call, without times in which the process could not run.
    [[nodiscard]] monitor_findings look_after(std::int64_t passed) noexcept;
    /// How often an item was overdue. Under L.
    [[nodiscard]] std::uint64_t nr_overdue_locked() const noexcept { return nr_overdue_; }

private:
    void expire_may_block(std::int64_t threshold) noexcept;
    [[nodiscard]] bool stalled_since_last_time() noexcept;
    bool look_for_hogs(std::int64_t threshold) noexcept;
    void look_for_overdue(std::int64_t passed, std::int64_t patience) noexcept;
    void learn_limit() noexcept;

    pool_ledger& ledger_;
    load& load_;
    const busy_workers<worker>& working_;
    const pool_spec& spec_;
    std::uint64_t nr_overdue_ = 0;                          // L
    std::uint64_t completed_seen_ = ~std::uint64_t{0};      // S
    start_gap overdue_;                                     // S
    burst_size overdue_burst_;                              // S
    double sum_cpu_ = 0, sum_blocked_ = 0, sum_waited_ = 0; // S: moving sums, nanoseconds
};

}}} // namespace cmwq::CMWQ_NS::detail
