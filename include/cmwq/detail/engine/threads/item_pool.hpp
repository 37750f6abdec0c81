// SPDX-License-Identifier: BSL-1.0
//
// item_pool: the base of every kind of pool. It has a ledger of items; the derived classes decide which threads run them.
#pragma once

#include <cmwq/detail/engine/ledger/pool_ledger.hpp>
#include <cmwq/detail/engine/ledger/start_gap.hpp>
#include <cmwq/detail/engine/threads/load.hpp>
#include <cmwq/detail/engine/threads/local_lists.hpp>
#include <cmwq/detail/engine/threads/worker.hpp>

#include <cstdint>
#include <string>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class worker_threads;

/// Counters of a pool. `by_...`: how often the guard, the sentinel or the monitor noticed a blocked worker. A kind of
/// pool that does not count something leaves it at 0.
struct pool_stats {
    std::uint64_t started = 0, completed = 0;
    std::uint64_t by_guard = 0, by_sentinel = 0, by_monitor = 0, spare_wakeups = 0, repatriated = 0, rescued = 0,
                  overdue = 0;
};

/// A pool. Thread safety: as pool_ledger. Letters as in worker.hpp; S here is the service thread.
class item_pool : public pool_owner {
public:
    virtual ~item_pool() = default;

    [[nodiscard]] std::uint64_t id() const noexcept { return ledger.id(); }
    /// The number of its CPU, or its place in the registry.
    [[nodiscard]] unsigned number() const noexcept { return number_; }
    [[nodiscard]] const pool_env& env() const noexcept { return ledger.env; }

    /// As those of the ledger, with the local items of workers.
    [[nodiscard]] bool pending() const noexcept { return pending_in(ledger, locals); }
    [[nodiscard]] std::uint64_t nr_started() const noexcept {
        return ledger.nr_started() + (locals != nullptr ? locals->sum_of(&run_record::nr_more_started) : 0);
    }
    [[nodiscard]] std::uint64_t nr_completed() const noexcept { return nr_completed_in(ledger, locals); }
    [[nodiscard]] std::uint64_t nr_begun() const noexcept { return nr_begun_in(ledger, locals); }
    /// For the service thread. Whether the pool has started no item for `limit` nanoseconds although items are pending.
    /// `passed`: nanoseconds since the last call, without times in which the process could not run.
    [[nodiscard]] bool has_stalled(std::int64_t passed, std::int64_t limit) noexcept CMWQ_EXCLUDES(ledger.lock);
    /// For the diagnosis thread. Describes the pending items and the running workers. `cpus`: how the text names the CPUs
    /// of the pool. Throws std::bad_alloc.
    [[nodiscard]] std::string describe_stall(const std::string& cpus) CMWQ_EXCLUDES(ledger.lock);
    /// The counts of a pwq of this pool, and its items.
    [[nodiscard]] queue_stats stats_of(const pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(ledger.lock);
    /// Copies the state of the pool, if its lock is free before `deadline`, steady clock. Throws std::bad_alloc.
    void report(pool_report& to, std::int64_t deadline) CMWQ_EXCLUDES(ledger.lock);

    pool_ledger ledger;

    // The parts of the pool, where it has them; null otherwise.
    load* const concurrency;       // I: replaces blocked workers
    local_lists* const locals;     // I: its workers have lists of their own
    worker_threads* const threads; // I: its workers

protected:
    item_pool(const pool_env& env, std::uint64_t id, unsigned number, load* l, local_lists* lists,
              worker_threads* workers) noexcept
        : ledger(*this, env, id), concurrency(l), locals(lists), threads(workers), number_(number) {}

private:
    const unsigned number_; // I
    start_gap stall_;       // S: for the watchdog
};

}}} // namespace cmwq::CMWQ_NS::detail
