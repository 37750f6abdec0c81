// SPDX-License-Identifier: BSL-1.0
//
// worker_pool: a pool with workers, for those that know no type of pool.
#pragma once

#include <cmwq/detail/engine/threads/item_pool.hpp>
#include <cmwq/detail/engine/threads/load_monitor.hpp>
#include <cmwq/detail/engine/threads/rescue_calls.hpp>
#include <cmwq/detail/engine/threads/worker_threads.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Its parts, and what the threads of the runtime do with it. Thread safety: as pool_ledger. Letters as in worker.hpp; S is
/// the service thread.
class worker_pool : public item_pool, public worker_loop {
public:
    /// `one_cpu`: the pool of one CPU, for bound queues. `attributes`: queues with equal attributes share the pool.
    enum class serves : bool { one_cpu, attributes };
    [[nodiscard]] bool is_per_cpu() const noexcept { return is_per_cpu_; }
    /// The attributes of its threads. The pool must have a user.
    [[nodiscard]] const pool_spec& spec() const noexcept { return workers.spec(); }

    /// Sets the attributes of the pool's threads, and, if it replaces blocked workers, the indices of the CPUs whose
    /// sentinels watch it. Called before the first use, and again when the registry reuses the record of a pool that has
    /// ended. Throws std::bad_alloc; nothing has changed then.
    void configure(pool_spec spec, const cpuset& watching) CMWQ_EXCLUDES(ledger.lock);
    /// The CPU of a bound pool came or went.
    void associate(bool with_its_cpu) noexcept CMWQ_EXCLUDES(ledger.lock);
    [[nodiscard]] worker_counts summary() const noexcept CMWQ_EXCLUDES(ledger.lock) {
        const scoped_lock g(ledger.lock);
        return workers.counts_locked(ledger);
    }
    /// The counters that this kind of pool keeps, all of one moment.
    [[nodiscard]] pool_stats stats() const noexcept CMWQ_EXCLUDES(ledger.lock);

    // --- the service thread as monitor -------------------------------------------------------------------------------

    /// Checks for blocked workers, CPU hogs, and overdue items. `passed`: nanoseconds since the last call, without
    /// times in which the process could not run.
    monitor_findings look_after(std::int64_t passed) noexcept CMWQ_EXCLUDES(ledger.lock);
    /// Nothing has been pending for several ticks: forgets what was learned about the load.
    void reset_learned_limit() noexcept {
        if (concurrency != nullptr) concurrency->reset_limit();
    }

    void notify_locked(deferred& d) noexcept final CMWQ_REQUIRES(ledger.lock) { workers.notify_locked(ledger, d); }
    void recall_local_items_locked() noexcept final CMWQ_REQUIRES(ledger.lock) {
        if (locals != nullptr) locals->recall_locked(ledger);
    }

protected:
    /// The parts of the derived class that the pool may have; null: it has none.
    struct parts {
        load* concurrency = nullptr;
        load_monitor* monitor = nullptr;
        local_lists* locals = nullptr;
    };
    worker_pool(const pool_env& env, std::uint64_t id, unsigned number, serves what, const parts& p) noexcept
        : item_pool(env, id, number, p.concurrency, p.locals, &workers), monitor_(p.monitor),
          is_per_cpu_(what == serves::one_cpu), rescue(*this, *this, ledger, spares, workers, p.concurrency),
          spares(env), workers(*this, *this, ledger, spares, working_, p.concurrency) {}

    // --- for the loop of a worker ------------------------------------------------------------------------------------

    [[nodiscard]] thread_refusals set_up_thread(worker& self) noexcept;
    void sleep(worker& self) noexcept;
    [[nodiscard]] bool return_to_pod(worker& self) noexcept CMWQ_EXCLUDES(ledger.lock);
    /// Binds the thread again if it is not where it was bound.
    void rebind_if_moved(worker& self) noexcept {
        if (!ledger.env.cpus.binds_threads() || self.is_guest()) return;
        const unsigned binding = ledger.env.cpus.binding(); // odd: some CPUs are missing
        if (self.binding != binding || (binding & 1) != 0 || !spec().cpus.contains(current_cpu())) rebind(self);
    }

    /// A worker has come back to its pod, for the first item.
    void note_repatriated_locked() noexcept CMWQ_REQUIRES(ledger.lock) {
        ++nr_repatriated_;
        if (work_base* const w = ledger.first_listed_locked(); w != nullptr) ++work_access::pwq(*w)->counts.repatriated;
    }

private:
    [[nodiscard]] bool one_item_is_pending() noexcept CMWQ_EXCLUDES(ledger.lock);
    void rebind(worker& self) noexcept;

    std::uint64_t nr_repatriated_ CMWQ_GUARDED_BY(ledger.lock) = 0; // L

    load_monitor* const monitor_; // I
    const bool is_per_cpu_;       // I
    bool roams_ = false;          // I: constant while the pool has users; its threads may run outside the pod
    int pod_size_ = 1;            // I: likewise; number of CPUs in the pod

public:
    rescue_calls rescue;
    alignas(cache_line) spare_workers spares; // used for each item, as its neighbours are
    worker_threads workers;

protected:
    busy_workers<worker> working_; // A: workers that may be counted; changed under L
};

}}} // namespace cmwq::CMWQ_NS::detail
