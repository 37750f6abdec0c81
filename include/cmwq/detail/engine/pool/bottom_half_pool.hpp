// SPDX-License-Identifier: BSL-1.0
//
// bottom_half_pool: items without threads. The thread that queues an item runs it, or the bottom-half thread of the CPU.
#pragma once

#include <cmwq/detail/engine/pool/bh_budget.hpp>
#include <cmwq/detail/engine/pool/bh_thread.hpp>
#include <cmwq/detail/engine/pool/item_pool.hpp>

namespace cmwq::inline CMWQ_NS::detail {

inline constexpr unsigned nr_bh_priorities = 2; // bottom-half pools of a CPU: normal and high

/// In builds with assertions: whether the calling thread has waited for something since this was made.
class wait_watch {
public:
#if CMWQ_ASSERTS
    wait_watch() noexcept : before_(nr_voluntary_switches()) {}
    [[nodiscard]] bool waited() const noexcept { return nr_voluntary_switches() != before_; }

private:
    const long before_;
#else
    wait_watch() noexcept {}
    [[nodiscard]] static bool waited() noexcept { return false; }
#endif
};

/// While anything is pending, one of these sees to it: the thread that drains the pool; if none does, a producer that is
/// about to try, a thread that holds it back by a guard, or the bottom-half thread, which has been notified. A thread that
/// only looks at the pool, to flush or to cancel, does not.
///
/// Letters as in worker.hpp.
class bottom_half_pool final : public item_pool {
public:
    /// `higher_priority`: the pool whose items go before those of this one, or null. Throws std::bad_alloc.
    bottom_half_pool(const pool_env& env, std::uint64_t id, unsigned cpu, bh_thread& thread,
                     bottom_half_pool* higher_priority);

    /// Runs what is pending, in order, unless another thread does. The calling thread runs no item of a bottom half, except
    /// of the pool that lets this one go first.
    void run(bh_budget& budget) noexcept CMWQ_EXCLUDES(lock_);
    /// The caller has pushed and does not run it: the bottom-half thread does.
    void notify() noexcept override;

private:
    void drain_all_locked(worker& self, bh_budget& budget, deferred& d) noexcept CMWQ_REQUIRES(lock_);
    void run_locked(worker& self, work_base& w, deferred& d) noexcept CMWQ_REQUIRES(lock_);
    // Every producer sees to its item by itself.
    void notify_locked(deferred& /*d*/) noexcept override CMWQ_REQUIRES(lock_) {}
    void released_locked(deferred& d) noexcept override CMWQ_REQUIRES(lock_) {
        // A bottom half that came late was held back when its own thread looked for it.
        if (!worklist_.empty()) d.notify(*this);
    }
    [[nodiscard]] worker* run_before_worklist_locked() noexcept override CMWQ_REQUIRES(lock_) {
        return busy_.front()->current_pwq == nullptr ? nullptr : busy_.front();
    }

    bh_thread& thread_;                       // I: runs what is left over
    bottom_half_pool* const higher_priority_; // I: the pool that goes before this one; null: none
    atomic<bool> draining_{false};            // A: a thread runs what is pending; becomes true under L only
};

} // namespace cmwq::inline CMWQ_NS::detail
