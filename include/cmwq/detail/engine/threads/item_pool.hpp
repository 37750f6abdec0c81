// SPDX-License-Identifier: BSL-1.0
//
// item_pool: a pool for those that do not know its type: its ledger, and the parts that it has.
#pragma once

#include <cmwq/detail/engine/ledger/overtaking.hpp>
#include <cmwq/detail/engine/ledger/pool_ledger.hpp>
#include <cmwq/detail/engine/ledger/start_gap.hpp>
#include <cmwq/detail/engine/threads/load_monitor.hpp>
#include <cmwq/detail/engine/threads/local_lists.hpp>
#include <cmwq/detail/engine/threads/rescue_calls.hpp>
#include <cmwq/detail/engine/threads/worker.hpp>
#include <cmwq/detail/engine/threads/worker_places.hpp>
#include <cmwq/detail/engine/threads/worker_threads.hpp>

#include <cstdint>
#include <string>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class bottom_half_pool;

/// Counters of a pool. `by_...`: how often the guard, the sentinel or the monitor noticed a blocked worker. A kind of
/// pool that does not count something leaves it at 0.
struct pool_stats {
    std::uint64_t started = 0, completed = 0;
    std::uint64_t by_guard = 0, by_sentinel = 0, by_monitor = 0, spare_wakeups = 0, repatriated = 0, rescued = 0,
                  overdue = 0, bias_revocations = 0;
    pool_growth workers_made = {};
};

/// The parts of a pool; null: it has none of that kind.
struct pool_parts {
    load* concurrency = nullptr;             ///< replaces blocked workers
    load_monitor* monitor = nullptr;         ///< of a pool that does
    local_lists* locals = nullptr;           ///< what its workers queue from inside its items
    worker_threads* threads = nullptr;       ///< its workers
    worker_places* places = nullptr;         ///< where they run
    rescue_calls* rescue = nullptr;          ///< who runs its items if it has too few of them
    bottom_half_pool* bottom_half = nullptr; ///< the whole pool, if it is one
};

/// A pool. The class that derives from it makes the parts, and decides which thread runs an item.
///
/// Thread safety: as pool_ledger. Letters as in worker.hpp; S here is the service thread.
class item_pool {
public:
    item_pool(const item_pool&) = delete;
    item_pool& operator=(const item_pool&) = delete;

    [[nodiscard]] std::uint64_t id() const noexcept { return ledger.id(); }
    /// The number of its CPU, or its place in the registry.
    [[nodiscard]] unsigned number() const noexcept { return number_; }
    [[nodiscard]] bool is_per_cpu() const noexcept { return is_per_cpu_; }
    [[nodiscard]] const pool_env& env() const noexcept { return ledger.env; }

    /// As those of the ledger, with the local items of workers.
    [[nodiscard]] bool pending() const noexcept { return pending_in(ledger, locals); }
    [[nodiscard]] std::uint64_t nr_completed() const noexcept { return nr_completed_in(ledger, locals); }
    [[nodiscard]] std::uint64_t nr_begun() const noexcept { return nr_begun_in(ledger, locals); }
    /// The counters that this kind of pool keeps, all of one moment.
    [[nodiscard]] pool_stats stats() noexcept CMWQ_EXCLUDES(ledger.lock);
    /// The counts of a pwq of this pool, and its items.
    [[nodiscard]] pwq_stats stats_of(const pool_workqueue& pwq) noexcept CMWQ_EXCLUDES(ledger.lock);
    /// The same; false: the lock is not free before `deadline`, steady clock.
    [[nodiscard]] bool try_stats_of(const pool_workqueue& pwq, pwq_stats& to, std::int64_t deadline) noexcept
        CMWQ_EXCLUDES(ledger.lock);
    /// Copies the state of the pool, if its lock is free before `deadline`, steady clock. Throws std::bad_alloc.
    void report(pool_report& to, std::int64_t deadline) CMWQ_EXCLUDES(ledger.lock);

    // --- a pool with workers -----------------------------------------------------------------------------------------

    /// The attributes of its threads. The pool must have a user.
    [[nodiscard]] const pool_spec& spec() const noexcept { return threads->spec(); }
    /// Sets the attributes of the pool's threads, and, if it replaces blocked workers, the indices of the CPUs whose
    /// sentinels watch it. Called before the first use, and again when the registry reuses the record of a pool that
    /// has ended. Throws std::bad_alloc; nothing has changed then.
    void configure(pool_spec spec, const cpuset& watching) CMWQ_EXCLUDES(ledger.lock);
    /// The CPU of a bound pool came or went.
    void associate(bool with_its_cpu) noexcept CMWQ_EXCLUDES(ledger.lock);
    [[nodiscard]] worker_counts summary() const noexcept CMWQ_EXCLUDES(ledger.lock) {
        const scoped_lock g(ledger.lock);
        return threads->counts_locked(ledger);
    }
    /// The same; false: the lock is not free before `deadline`, steady clock.
    [[nodiscard]] bool try_summary(worker_counts& to, std::int64_t deadline) const noexcept CMWQ_EXCLUDES(ledger.lock);

    // --- the service thread ------------------------------------------------------------------------------------------

    /// A tick of the monitor, for a pool with workers: checks for blocked ones, CPU hogs, and overdue items. `passed`:
    /// nanoseconds since the last call, without times in which the process could not run.
    monitor_findings look_after(std::int64_t passed) noexcept CMWQ_EXCLUDES(ledger.lock);
    /// A tick of the clock for ages, for a pool with local lists. Does nothing if no item is local: then they start in
    /// the order in which they came.
    void look_for_old() noexcept CMWQ_EXCLUDES(ledger.lock);
    /// Whether the pool has started no item for `limit` nanoseconds although items are pending; 0: never. `passed`: as
    /// above.
    [[nodiscard]] bool has_stalled(std::int64_t passed, std::int64_t limit) noexcept CMWQ_EXCLUDES(ledger.lock);
    /// Whether an item has waited for `limit` while only items were started that were queued long after it. Looks
    /// sixteen times within the limit, and ten times in a second, at least.
    [[nodiscard]] bool is_overtaken(std::int64_t passed, std::int64_t limit) noexcept CMWQ_EXCLUDES(ledger.lock);

    // --- any thread --------------------------------------------------------------------------------------------------

    /// For how many nanoseconds the pool had started no item although items were pending, at the last has_stalled().
    /// The items may only have to wait behind others of their ordered queues: see describe_stall().
    [[nodiscard]] std::int64_t stalled_for() const noexcept { return stall_.lasted(); }
    /// The same for is_overtaken(): how long the first item has waited.
    [[nodiscard]] std::int64_t overtaken_for() const noexcept { return overtaking_.lasted(); }
    /// Describes the pending items and the running workers; empty if no item waits for a worker. `cpus`: how the text
    /// names the CPUs of the pool. Throws std::bad_alloc.
    [[nodiscard]] std::string describe_stall(const std::string& cpus) CMWQ_EXCLUDES(ledger.lock);

    pool_ledger ledger;

    // The parts of the pool, where it has them; null otherwise. As in pool_parts.
    load* const concurrency;             // I
    local_lists* const locals;           // I
    worker_threads* const threads;       // I
    worker_places* const places;         // I
    rescue_calls* const rescue;          // I
    bottom_half_pool* const bottom_half; // I

protected:
    item_pool(pool_owner& owner, const pool_env& env, std::uint64_t id, unsigned number, pool_serves what,
              const pool_parts& p) noexcept
        : ledger(owner, env, id), concurrency(p.concurrency), locals(p.locals), threads(p.threads), places(p.places),
          rescue(p.rescue), bottom_half(p.bottom_half), monitor_(p.monitor), number_(number),
          is_per_cpu_(what == pool_serves::one_cpu) {}
    ~item_pool() = default;

private:
    [[nodiscard]] pwq_stats stats_of_locked(const pool_workqueue& pwq, deferred& d) noexcept CMWQ_REQUIRES(ledger.lock);

    load_monitor* const monitor_; // I
    const unsigned number_;       // I
    const bool is_per_cpu_;       // I
    start_gap stall_;             // S, but lasted() A: for the watchdog
    overtaking overtaking_;       // as stall_
    std::int64_t unseen_ = 0;     // S: nanoseconds since is_overtaken() has looked
};

}}} // namespace cmwq::CMWQ_NS::detail
