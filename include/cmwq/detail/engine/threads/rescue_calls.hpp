// SPDX-License-Identifier: BSL-1.0
//
// rescue_calls: rescuers run items of a pool, for the time in which it can create no worker.
#pragma once

#include <cmwq/detail/engine/threads/worker_threads.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class rescuer_requests;

/// The pool lacks workers after a failed attempt to create one, or after give_up_worker() took its last idle one, until
/// an attempt succeeds; and also while a worker is requested or being created if some of its pwqs have a rescuer. If
/// items are pending meanwhile, and still are after 10 ms, the service thread calls the rescuers of the queues that
/// have items on the worklist. Nothing on that path allocates: the record under which a rescuer runs items in a pool is
/// created together with the pwq.
///
/// Thread safety: as pool_ledger. Letters as in worker.hpp.
class rescue_calls {
public:
    /// `l`: of the pool; null: it does not replace blocked workers.
    rescue_calls(item_pool& pool, worker_loop& loop, pool_ledger& ledger, spare_workers& spares,
                 worker_threads& threads, load* l) noexcept
        : pool_(pool), loop_(loop), ledger_(ledger), spares_(spares), threads_(threads), load_(l) {}
    rescue_calls(const rescue_calls&) = delete;
    rescue_calls& operator=(const rescue_calls&) = delete;

    /// The queue of `pwq` has a rescuer: makes the record under which it runs items in this pool. Called before an item
    /// is queued there. Throws std::bad_alloc.
    void make_rescuable(pool_workqueue& pwq);
    /// The rescuer or the pwq is about to be destroyed: takes the record back.
    void end_rescuable(pool_workqueue& pwq) noexcept;
    /// For the service thread: calls the rescuers whose items are pending, if workers have been missing for long.
    /// `now`: steady clock.
    void call(std::int64_t now) noexcept;
    /// For the thread of a rescuer: runs items of that pwq as long as the pool has no workers for them.
    void rescue(pool_workqueue& pwq, rescuer_requests& by);
    /// The number of items that rescuers have run.
    [[nodiscard]] std::uint64_t nr_rescued() const noexcept { return nr_rescued_.load(relaxed); }

private:
    [[nodiscard]] bool needs_rescue_locked(const pool_ledger& ledger) const noexcept CMWQ_REQUIRES(ledger.lock);

    item_pool& pool_;                                      // I
    worker_loop& loop_;                                    // I
    pool_ledger& ledger_;                                  // I
    spare_workers& spares_;                                // I
    worker_threads& threads_;                              // I
    load* const load_;                                     // I
    intrusive_list<pool_workqueue, rescue_tag> rescuable_; // L: pwqs of queues with a rescuer
    intrusive_list<worker, idle_tag> free_rescue_records_; // L: records that no pwq uses
    atomic<std::uint64_t> nr_rescued_{0};                  // A
};

}}} // namespace cmwq::CMWQ_NS::detail
