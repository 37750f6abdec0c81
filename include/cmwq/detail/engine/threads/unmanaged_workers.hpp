// SPDX-License-Identifier: BSL-1.0
//
// unmanaged_workers: the pool runs as many workers as there are items. Unbound and ordered queues use it.
#pragma once

#include <cmwq/detail/engine/threads/rescuable_pool.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// A pool that does not count its running workers: a worker that blocks keeps no item from starting. Thread safety: as
/// item_pool.
class unmanaged_workers : public rescuable_pool {
public:
    void configure(pool_spec spec) CMWQ_EXCLUDES(ledger.lock) {
        const scoped_lock g(ledger.lock);
        set_spec_locked(spec);
    }
    [[nodiscard]] static constexpr bool is_associated() noexcept { return true; }

    monitor_findings look_after(std::int64_t passed) noexcept override CMWQ_EXCLUDES(ledger.lock);
    void reset_learned_limit() noexcept override {}

protected:
    using rescuable_pool::rescuable_pool;

    // For the loop of a worker.
    [[nodiscard]] pool_snapshot snapshot_locked() const noexcept CMWQ_REQUIRES(ledger.lock) {
        return {.pending = static_cast<unsigned>(ledger.nr_listed_locked()),
                .managed = false,
                .active = static_cast<int>(ledger.nr_busy_locked()),
                .idle = static_cast<int>(idle_.size()),
                .creating = creating_};
    }
    [[nodiscard]] static constexpr bool wants_more_running() noexcept { return true; }
    [[nodiscard]] int nr_at_work() const noexcept { return ledger.nr_busy(); } // blocked workers included
    [[nodiscard]] work_base* take_locked(worker& self) noexcept CMWQ_REQUIRES(ledger.lock) {
        return ledger.take_locked(self);
    }
    void work_begins_locked(worker& /*self*/) noexcept CMWQ_REQUIRES(ledger.lock) {}
    void work_ends_locked(worker& /*self*/) noexcept CMWQ_REQUIRES(ledger.lock) {}
    void run_begins_locked(worker& /*self*/) noexcept CMWQ_REQUIRES(ledger.lock) {}
    void run_ended_locked(worker& /*self*/) noexcept CMWQ_REQUIRES(ledger.lock) {}
    [[nodiscard]] static constexpr work_base* take_follow_up(worker& /*self*/) noexcept { return nullptr; }
    [[nodiscard]] bool anything_waits_locked() const noexcept CMWQ_REQUIRES(ledger.lock) {
        return ledger.anything_listed_locked();
    }
    void lock_after_run(worker& /*self*/) noexcept CMWQ_ACQUIRE(ledger.lock) { ledger.lock.lock(); }
    void idle_begins_locked(worker& /*self*/) noexcept CMWQ_REQUIRES(ledger.lock) {}
    void detectors_needed() noexcept {}
    void wake_a_worker() noexcept { remind_worker(); }

    [[nodiscard]] pool_snapshot current_snapshot_locked() const noexcept final CMWQ_REQUIRES(ledger.lock) {
        return snapshot_locked();
    }
    void watch_for_blocks() noexcept final {}
    [[nodiscard]] bool reserve_record(std::size_t /*n*/) noexcept final { return true; }
    [[nodiscard]] bool lacks_running_workers() const noexcept final { return true; }
};

}}} // namespace cmwq::CMWQ_NS::detail
