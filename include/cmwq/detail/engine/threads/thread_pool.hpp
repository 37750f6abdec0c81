// SPDX-License-Identifier: BSL-1.0
//
// thread_pool: the loop of a worker's thread. `Workers` decides when another worker is needed.
#pragma once

#include <cmwq/detail/engine/threads/managed_workers.hpp>
#include <cmwq/detail/engine/threads/unmanaged_workers.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// A pool with worker threads: `managed_pool` or `unmanaged_pool`. `Workers` is the base, managed_workers or
/// unmanaged_workers. Thread safety: as item_pool. Letters as in worker.hpp.
template <class Workers>
class thread_pool final : public Workers {
public:
    thread_pool(const pool_env& env, std::uint64_t id, unsigned number, worker_set::serves what)
        : Workers(env, id, number, what) {}

    /// As `Workers::configure()`.
    template <class... Watching>
    void configure(pool_spec spec, const Watching&... watching) CMWQ_EXCLUDES(this -> ledger.lock);

    void notify() noexcept override { this->wake_a_worker(); }

    using item_pool::ledger;
    using guest_result = rescuable_pool::guest_result;
    guest_result run_as_guest(group_task& task, std::uintptr_t stack_end) override CMWQ_EXCLUDES(this -> ledger.lock);

private:
    using worker_set::idle_;
    using worker_set::spec_;

    [[nodiscard]] pool_stats stats_locked() const noexcept override CMWQ_REQUIRES(ledger.lock);

    [[nodiscard]] worker* guest_record_locked() noexcept CMWQ_REQUIRES(ledger.lock);
    // Not noexcept: the next five functions run items.
    void serve(worker& self) override;
    void work_locked(worker& self, deferred& d) CMWQ_REQUIRES(ledger.lock);
    void run_locked(worker& self, work_base& w, deferred& d) CMWQ_REQUIRES(ledger.lock);
    static void call(worker& self, const pool_ledger::started_item& started);
    void run_rescued_locked(worker& record, work_base& w, deferred& d) override CMWQ_REQUIRES(ledger.lock) {
        run_locked(record, w, d);
    }

    [[nodiscard]] thread_refusals set_up_thread(worker& self) noexcept;
    void sleep(worker& self) noexcept;
    [[nodiscard]] bool one_item_is_pending() noexcept CMWQ_EXCLUDES(ledger.lock);
    [[nodiscard]] bool return_to_pod(worker& self) noexcept CMWQ_EXCLUDES(ledger.lock);
    void rebind_if_moved(worker& self) noexcept;

    bool roams_ = false; // I: constant while the pool has users; its threads may run outside the pod
    int pod_size_ = 1;   // I: likewise; number of CPUs in the pod
    std::uint64_t nr_repatriated_ CMWQ_GUARDED_BY(ledger.lock) = 0;
    unsigned nr_guest_records_ CMWQ_GUARDED_BY(ledger.lock) = 0;
    intrusive_list<worker, idle_tag> free_guest_records_ CMWQ_GUARDED_BY(ledger.lock);
};

using managed_pool = thread_pool<managed_workers>;
using unmanaged_pool = thread_pool<unmanaged_workers>;

}}} // namespace cmwq::CMWQ_NS::detail
