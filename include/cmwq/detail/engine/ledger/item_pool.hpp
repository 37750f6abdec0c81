// SPDX-License-Identifier: BSL-1.0
//
// item_pool: the base of every kind of pool. It has a ledger of items; the derived classes decide which threads run them.
#pragma once

#include <cmwq/detail/engine/ledger/pool_ledger.hpp>
#include <cmwq/detail/engine/ledger/start_watch.hpp>
#include <cmwq/detail/engine/ledger/worker.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Counters of a pool. `by_...`: how often the guard, the sentinel or the monitor noticed a blocked worker. A kind of
/// pool that does not count something leaves it at 0.
struct pool_stats {
    std::uint64_t started = 0, completed = 0;
    std::uint64_t by_guard = 0, by_sentinel = 0, by_monitor = 0, spare_wakeups = 0, repatriated = 0, rescued = 0,
                  overdue = 0;
};

/// A pool. Thread safety: as pool_ledger. Letters as in worker.hpp; S here is the service thread, ST the manager thread.
class item_pool : public pool_owner {
public:
    virtual ~item_pool() = default;

    [[nodiscard]] std::uint64_t id() const noexcept { return ledger.id(); }
    /// The number of its CPU, or its place in the registry.
    [[nodiscard]] unsigned number() const noexcept { return number_; }
    [[nodiscard]] const pool_env& env() const noexcept { return ledger.env; }

    /// Calls `f(work_base&)` for each local item of each worker, under the pool lock and the lock of that list.
    template <class F>
    void for_each_local_item(F&& f) noexcept CMWQ_EXCLUDES(ledger.lock) {
        const scoped_lock g(ledger.lock);
        ledger.for_each_busy_locked([&](worker& w) {
            w.local.for_each(f);
            return true;
        });
    }

    /// The running item begins, or ends, a blocking region.
    virtual void block_begins(worker& /*self*/) noexcept {}
    virtual void block_ends(worker& /*self*/) noexcept {}
    /// The running item begins, or ends, a wait for other items.
    virtual void wait_begins(worker& /*self*/) noexcept {}
    virtual void wait_ends(worker& /*self*/) noexcept {}

    // --- reports -----------------------------------------------------------------------------------------------------

    /// As those of the ledger, with the local items of workers.
    [[nodiscard]] virtual bool pending() const noexcept { return ledger.pending(); }
    [[nodiscard]] virtual std::uint64_t nr_started() const noexcept { return ledger.nr_started(); }
    [[nodiscard]] virtual std::uint64_t nr_completed() const noexcept { return ledger.nr_completed(); }
    [[nodiscard]] virtual std::uint64_t nr_begun() const noexcept { return ledger.nr_begun(); }
    /// For the service thread. Whether the pool has started no item for `limit` nanoseconds although items are pending.
    /// `passed`: nanoseconds since the last call, without times in which the process could not run.
    [[nodiscard]] bool has_stalled(std::int64_t passed, std::int64_t limit) noexcept CMWQ_EXCLUDES(ledger.lock);
    /// For the diagnosis thread. Describes the pending items and the running workers. `cpus`: how the text names the CPUs
    /// of the pool. Throws std::bad_alloc.
    [[nodiscard]] std::string describe_stall(const std::string& cpus) CMWQ_EXCLUDES(ledger.lock);
    /// Copies the state of the pool, if its lock is free before `deadline`, steady clock. Throws std::bad_alloc.
    void report(pool_report& to, std::int64_t deadline) CMWQ_EXCLUDES(ledger.lock);
    /// The counters that this kind of pool keeps, all of one moment.
    [[nodiscard]] pool_stats stats() const noexcept CMWQ_EXCLUDES(ledger.lock) {
        const scoped_lock g(ledger.lock);
        return stats_locked();
    }

    pool_ledger ledger;

protected:
    item_pool(const pool_env& env, std::uint64_t id, unsigned number) noexcept
        : ledger(*this, env, id), number_(number) {}

    [[nodiscard]] virtual pool_stats stats_locked() const noexcept CMWQ_REQUIRES(ledger.lock) {
        const std::uint64_t completed = nr_completed(); // first: the workers go on meanwhile
        return {.started = std::max(nr_started(), completed), .completed = completed};
    }
    [[nodiscard]] virtual worker_counts worker_counts_locked() const noexcept CMWQ_REQUIRES(ledger.lock) { return {}; }
    void recall_local_items_locked() noexcept override {}

private:
    const unsigned number_; // I
    start_watch stall_;     // S: for the watchdog
};

}}} // namespace cmwq::CMWQ_NS::detail
