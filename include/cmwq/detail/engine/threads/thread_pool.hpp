// SPDX-License-Identifier: BSL-1.0
//
// thread_pool: the loop of a worker's thread.
#pragma once

#include <cmwq/detail/engine/threads/item_pool.hpp>
#include <cmwq/detail/engine/threads/no_parts.hpp>

#include <type_traits>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

template <class Load>
using monitor_of = std::conditional_t<Load::replaces_blocked, load_monitor, no_load_monitor>;

/// A pool with workers. `Load` is load or no_load, `Local` is local_lists or no_local_lists.
///
/// Thread safety: as item_pool. Letters as in worker.hpp.
template <class Load, class Local>
class thread_pool final : public item_pool, public pool_owner, public worker_loop {
public:
    thread_pool(const pool_env& env, std::uint64_t id, unsigned number, pool_serves what);

private:
    // --- pool_owner --------------------------------------------------------------------------------------------------

    void notify() noexcept override { load_.wake_a_worker(); }
    void notify_locked(deferred& d) noexcept override CMWQ_REQUIRES(ledger.lock) { workers_.notify_locked(ledger, d); }
    void recall_local_items_locked() noexcept override CMWQ_REQUIRES(ledger.lock) { local_.recall_locked(ledger); }

    // --- worker_loop; not noexcept: these run items ------------------------------------------------------------------

    void serve(worker& self) override;
    void run_rescued_locked(worker& record, work_base& w, deferred& d) override CMWQ_REQUIRES(ledger.lock) {
        run_locked(record, w, d);
    }
    guest_result run_as_guest(group_task& task, std::uintptr_t stack_end) override CMWQ_EXCLUDES(ledger.lock);

    // --- the loop ----------------------------------------------------------------------------------------------------

    void work_locked(worker& self, deferred& d) CMWQ_REQUIRES(ledger.lock);
    void run_locked(worker& self, work_base& w, deferred& d) CMWQ_REQUIRES(ledger.lock);
    [[gnu::always_inline]] static void call(worker& self, const pool_ledger::started_item& started);
    [[nodiscard]] work_base* next_for_guest_locked(worker& self, const group_core& group, deferred& d) noexcept
        CMWQ_REQUIRES(ledger.lock);
    [[nodiscard, gnu::always_inline]] pool_snapshot snapshot_locked() const noexcept CMWQ_REQUIRES(ledger.lock) {
        return load_.snapshot_locked(ledger, workers_.is_creating_locked());
    }
    [[nodiscard]] bool anything_waits_locked() const noexcept CMWQ_REQUIRES(ledger.lock) {
        return ledger.anything_listed_locked() || local_.any();
    }
    void begin_work_locked(worker& self) noexcept CMWQ_REQUIRES(ledger.lock) {
        ledger.become_busy_locked(self);
        local_.begin_work_locked(ledger, self);
        if constexpr (Load::replaces_blocked) working_.add(self);
        load_.begin_work_locked(self);
    }
    void end_work_locked(worker& self) noexcept CMWQ_REQUIRES(ledger.lock) {
        ledger.leave_busy_locked(self);
        local_.end_work_locked(ledger, self);
        if constexpr (Load::replaces_blocked) working_.remove(self);
        load_.end_work_locked(self);
    }

    rescue_calls rescue_;
    alignas(cache_line) spare_workers spares_; // used for each item, as its neighbours are
    worker_threads workers_;
    worker_places places_;
    busy_workers<worker> working_; // A: workers that may be counted; changed under L
    Local local_;
    Load load_;
    monitor_of<Load> monitor_;
};

/// The pool of bound queues.
using bound_pool = thread_pool<load, no_local_lists>;
/// The pool of attribute-keyed queues with concurrency management: elastic ones, for instance.
using elastic_pool = thread_pool<load, local_lists>;
/// The pool of attribute-keyed queues without concurrency management: unbound and ordered ones, for instance.
using unbound_pool = thread_pool<no_load, no_local_lists>;

}}} // namespace cmwq::CMWQ_NS::detail
