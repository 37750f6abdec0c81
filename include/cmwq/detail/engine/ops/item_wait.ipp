// SPDX-License-Identifier: BSL-1.0
//
// Body of wait_for_work().

#include <cmwq/detail/engine/bh/bottom_halves.hpp>
#include <cmwq/detail/engine/env/directory.hpp>
#include <cmwq/detail/engine/ledger/own_run.hpp>
#include <cmwq/detail/engine/ops/grab.hpp>
#include <cmwq/detail/engine/ops/item_wait.hpp>
#include <cmwq/detail/engine/queue/queue_core.hpp>
#include <cmwq/detail/engine/runtime/runtime_core.hpp>
#include <cmwq/detail/engine/threads/inner_runs.hpp>
#include <cmwq/detail/engine/waits/announced_wait.hpp>
#include <cmwq/detail/engine/waits/wait_graph.hpp>
#include <cmwq/detail/sync/backoff.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The item that the calling worker of an elastic pool runs, and that waits for another one. If that one is of a queue
/// with local lists, whose items have no order, the waiter may run it, or let it start beyond the limit.
class elastic_waiter {
public:
    elastic_waiter() noexcept : self_(own_run()) {
        if (self_ == nullptr) return;
        if (self_->pool.locals == nullptr) self_ = nullptr;
    }
    /// Runs `w` if it is pending in the pool of the thread. False: it has not run here.
    [[nodiscard]] bool run(work_base& w) const noexcept {
        return self_ != nullptr && work_access::pool_id(work_access::location_of(w)) == self_->pool.id() &&
               run_for_waiter(*self_, w);
    }
    /// Lets `w` start in place of the waiter, if a limit keeps it back.
    void let_start(work_base& w, std::uint64_t pool_id) const noexcept {
        if (self_ == nullptr) return;
        const directory::lookup at(pool_id);
        if (at.runtime != nullptr) at.runtime->pool(pool_id).ledger.start_awaited_beyond_limit(w, *self_);
    }

private:
    run_record* self_; // null: the thread is no such worker, or runs no item
};

CMWQ_INLINE bool wait_for_work(work_base& w, wait_call by) {
    using instance = pool_ledger::instance;
    const item_name name = name_of(w);
    bool was_armed = false;
    auto which = by.of_pending ? instance::last_queued : instance::running;
    const elastic_waiter helper;
    for (backoff b;; b.pause()) {
        if (by.of_pending && work_access::is_delayed(w)) {
            // Queues the item of an armed timer at once, also if the timer was armed since the last pass of the loop.
            if (const std::uint64_t id = work_access::timer(w).armed_in.load(acquire); id != 0) { // [TIM-2]
                const directory::lookup at(id);
                if (at.dead) return false;
                check_found(at, id, w);
                // If this call has already queued it, that instance is not pending any more. Its run may go on, and has
                // armed the timer again: the new instance is none that this call waits for.
                if (was_armed) which = instance::running;
                else if (at.runtime != nullptr)
                    was_armed = at.runtime->core.timers().expedite(static_cast<delayed_work_base&>(w), id);
            }
        }
        const bool pending = work_access::pending(w);
        const std::uint64_t id = work_access::pool_id(work_access::location_of(w));
        if (id != 0) {
            if (which == instance::last_queued && helper.run(w)) return true;
            item_waiter iw;
            pool_ledger::item_state found = pool_ledger::item_state::not_here;
            {
                const directory::lookup at(id);
                if (at.dead) return false;
                check_found(at, id, w);
                // [RUN-1][RUN-2] Without `of_pending` no thread can claim PENDING, so the scan sees a worker that runs
                // the item. Mostly there is none, and no lock is taken. A pending instance is not waited for then.
                if (at.runtime != nullptr && (by.of_pending || at.runtime->pool(id).ledger.may_run(w))) {
                    found = at.runtime->pool(id).ledger.wait_for(w, iw, which);
                }
            }
            if (found == pool_ledger::item_state::in_transit) continue;
            if (found != pool_ledger::item_state::not_here) {
                hand_over_bottom_halves();
                // It may have come to the pool since the first attempt. From here on `iw` learns of its end.
                if (found == pool_ledger::item_state::pending && !helper.run(w)) helper.let_start(w, id);
                const registered_wait registered(by, name, iw, id);
                const announced_wait announced;
                iw.who.wait();
                return true;
            }
        }
        if (which == instance::running || !pending) return was_armed; // if it was armed, it has run since
    }
}

}}} // namespace cmwq::CMWQ_NS::detail
