// SPDX-License-Identifier: BSL-1.0
//
// bottom_half_pool: a pool without threads. The thread that queues an item runs it, or else the bottom-half thread of
// the CPU.
#pragma once

#include <cmwq/detail/engine/bh/bh_budget.hpp>
#include <cmwq/detail/engine/bh/bh_wakeup.hpp>
#include <cmwq/detail/engine/threads/item_pool.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

inline constexpr unsigned nr_bh_priorities = 2; // bottom-half pools of a CPU: normal and high

/// Detects, in builds with assertions, whether the calling thread has waited for something since the construction:
/// compares the number of its voluntary context switches. Without assertions waited() is always false.
class wait_probe {
public:
#if CMWQ_ASSERTS
    wait_probe() noexcept : before_(nr_voluntary_switches()) {}
    [[nodiscard]] bool waited() const noexcept { return nr_voluntary_switches() != before_; }

private:
    const long before_;
#else
    wait_probe() noexcept {}
    [[nodiscard]] static bool waited() noexcept { return false; }
#endif
};

/// A pool whose items run in the thread that queues them. The thread that sets `draining_` runs all pending items,
/// under the pool's only worker record.
///
/// While anything is pending, one of these threads is responsible for it: the thread that drains the pool; if no thread
/// does, a producer that has pushed and not tried to drain yet, a thread that holds the pool back by a guard, or the
/// bottom-half thread, which has been notified. A thread that takes the lock only to flush or to cancel is not
/// responsible.
///
/// Thread safety: as item_pool. Letters as in worker.hpp.
class bottom_half_pool final : public item_pool, public pool_owner {
public:
    /// `higher_priority`: the pool whose items run before those of this pool, or null. Throws std::bad_alloc.
    bottom_half_pool(const pool_env& env, std::uint64_t id, unsigned cpu, bh_wakeup& wakeup,
                     bottom_half_pool* higher_priority);

    /// Runs the pending items, in order, unless another thread drains the pool. The calling thread must not be draining
    /// another bottom-half pool, except the normal pool whose `higher_priority` is this one.
    void run(bh_budget& budget) noexcept CMWQ_EXCLUDES(ledger.lock);
    /// The caller has pushed an item and does not run it: notifies the bottom-half thread, which runs it.
    void notify() noexcept override;

private:
    void drain_all_locked(worker& self, bh_budget& budget, deferred& d) noexcept CMWQ_REQUIRES(ledger.lock);
    void run_locked(worker& self, work_base& w, deferred& d) noexcept CMWQ_REQUIRES(ledger.lock);
    // Empty: every producer runs its item or notifies the bottom-half thread.
    void notify_locked(deferred& /*d*/) noexcept override CMWQ_REQUIRES(ledger.lock) {}
    void recall_local_items_locked() noexcept override CMWQ_REQUIRES(ledger.lock) {}

    worker& record_;                          // I: the draining thread runs items under it
    bh_wakeup& wakeup_;                       // I: of the thread that runs the items that a drain leaves behind
    bottom_half_pool* const higher_priority_; // I: the pool that is drained before this one; null: none
    atomic<bool> draining_{false};            // A: a thread drains the pool; becomes true under L only
};

}}} // namespace cmwq::CMWQ_NS::detail
