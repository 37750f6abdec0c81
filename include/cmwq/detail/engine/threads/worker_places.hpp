// SPDX-License-Identifier: BSL-1.0
//
// worker_places: where the threads of a pool run.
#pragma once

#include <cmwq/detail/engine/threads/worker_threads.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Sets up the threads of a pool, lets them sleep, and keeps them on its CPUs.
///
/// Thread safety: the calling thread is that of `self`, where the name does not end in `_locked`. Letters as in
/// worker.hpp.
class worker_places {
public:
    /// `l`: of the pool; null: it does not replace blocked workers. `locals`: likewise; null: its workers have no
    /// lists.
    worker_places(pool_serves what, pool_ledger& ledger, const worker_threads& threads, const load* l,
                  const local_lists* locals) noexcept
        : ledger_(ledger), threads_(threads), load_(l), locals_(locals), of_one_cpu_(what == pool_serves::one_cpu),
          spec_(threads.spec()) {}
    worker_places(const worker_places&) = delete;
    worker_places& operator=(const worker_places&) = delete;

    /// The pool gets these attributes; it has no users.
    void configure_locked(const pool_spec& spec) noexcept;

    /// Gives the thread its name, CPUs and priority. Returns what the system has refused.
    [[nodiscard]] thread_refusals set_up_thread(worker& self) noexcept;
    /// Sleeps until the next wake-up; may poll before.
    void sleep(worker& self) noexcept;
    /// A thread that has woken up outside the pod moves back if the pod has a CPU for it. True: it has.
    [[nodiscard]] bool return_to_pod(worker& self) noexcept CMWQ_EXCLUDES(ledger_.lock);
    /// Binds the thread again if it is not where it was bound.
    CMWQ_HOT_INLINE void rebind_if_moved(worker& self) noexcept {
        if (!ledger_.env.cpus.binds_threads() || self.is_guest()) return;
        const unsigned binding = ledger_.env.cpus.binding(); // odd: some CPUs are missing
        if (self.binding != binding || (binding & 1) != 0 || !spec_.cpus.contains(current_cpu())) rebind(self);
    }

    /// A worker has come back to its pod, for the first item.
    void note_repatriated_locked(pool_ledger& ledger) noexcept CMWQ_REQUIRES(ledger.lock) {
        ++nr_repatriated_;
        if (work_base* const w = ledger.first_listed_locked(); w != nullptr) ++work_access::pwq(*w)->counts.repatriated;
    }
    [[nodiscard]] std::uint64_t nr_repatriated_locked() const noexcept { return nr_repatriated_; }

private:
    [[nodiscard]] bool one_item_is_pending() noexcept CMWQ_EXCLUDES(ledger_.lock);
    void rebind(worker& self) noexcept;

    pool_ledger& ledger_;              // I
    const worker_threads& threads_;    // I
    const load* const load_;           // I
    const local_lists* const locals_;  // I
    const bool of_one_cpu_;            // I
    const pool_spec& spec_;            // I: constant while the pool has users, and so are the next two
    bool roams_ = false;               // I: the threads may run outside the pod
    int pod_size_ = 1;                 // I: number of CPUs in the pod
    std::uint64_t nr_repatriated_ = 0; // L
};

}}} // namespace cmwq::CMWQ_NS::detail
