// SPDX-License-Identifier: BSL-1.0
//
// Bodies of rescuable_pool: calling the rescuers, and running items on their threads.
#pragma once

#include <cmwq/detail/engine/ledger/queue_face.hpp>
#include <cmwq/detail/engine/threads/rescuable_pool.hpp>
#include <cmwq/detail/engine/threads/rescuer.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <memory>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE void rescuable_pool::make_rescuable(pool_workqueue& pwq) {
    std::unique_ptr<worker> fresh;
    {
        const scoped_lock g(ledger.lock);
        pwq.rescue_record = free_rescue_records_.pop_front();
    }
    if (pwq.rescue_record == nullptr) fresh = std::make_unique<worker>(*this, 0, worker::record_of::rescuer);
    pwq.rescued_in = this;
    const scoped_lock g(ledger.lock);
    if (fresh != nullptr) {
        pwq.rescue_record = fresh.release();
        ledger.add_record_locked(*pwq.rescue_record);
    }
    rescuable_.push_back(pwq);
    has_rescuable_.store(true, relaxed);
}

CMWQ_INLINE void rescuable_pool::end_rescuable(pool_workqueue& pwq) noexcept {
    const scoped_lock g(ledger.lock);
    if (pwq.rescue_record == nullptr) return;
    rescuable_.remove(pwq);
    has_rescuable_.store(!rescuable_.empty(), relaxed);
    free_rescue_records_.push_front(*pwq.rescue_record);
    pwq.rescue_record = nullptr;
}

CMWQ_INLINE void rescuable_pool::call_rescuers(std::int64_t now) noexcept {
    constexpr std::int64_t patience = 10'000'000;
    if (!lacks_workers()) return; // only a hint: the service thread checks again at the next tick
    deferred d;
    if (!ledger.lock_for_service()) return;
    const scoped_lock g(ledger.lock, adopt_lock);
    ledger.gather_locked(d);
    if (!needs_rescue_locked()) {
        short_since_ = 0;
        // Enough workers run, but a pool whose learned limit is higher would request a worker, now and at each tick
        // after a failed attempt to create one. Instead the detectors watch the running workers, and the monitor
        // replaces blocked ones at a tick.
        if (short_of_threads_.load(relaxed) && idle_.empty() && ledger.has_listed_locked()) watch_for_blocks();
        else notify_locked(d);
        return;
    }
    // The thread that creates a worker for this pool may take long. The manager thread, which should create it, may take
    // long with a worker of another pool.
    if (const std::int64_t since = creating_since_.load(relaxed); short_since_ == 0)
        short_since_ = since != 0 ? since : now;
    if (now - short_since_ < patience) return;
    for (pool_workqueue* p = rescuable_.front(); p != nullptr; p = rescuable_.next(*p)) {
        if (p->nr_waiting == 0 || p->mayday) continue;
        p->mayday = true;
        p->queue->own_rescuer->call(*p);
    }
}

// Whether items are pending, no idle worker can take them, and too few workers run that could take them soon.
CMWQ_INLINE bool rescuable_pool::needs_rescue_locked() const noexcept {
    if (!lacks_workers() || !idle_.empty() || !ledger.has_listed_locked()) return false;
    return lacks_running_workers();
}

CMWQ_INLINE void rescuable_pool::rescue(pool_workqueue& pwq, rescuer& by) {
    constexpr int batch = 16; // items in one pool, while other pools wait for the rescuer
    worker& self = *pwq.rescue_record;
    self.probe.open_own(false);
    self.stack_end = 0;                           // the record may have served another thread
    self.binding = ledger.env.cpus.binding() + 1; // not current: the thread binds itself before its first item
    self.rebind_at = 0;
    this_thread_slots() = {.observer = &self, .current_run = &self};
    bool again = false;
    {
        deferred d;
        const scoped_lock g(ledger.lock);
        ledger.begin_taking_locked(self);
        ledger.become_busy_locked(self);
        for (int n = 0;; ++n) {
            ledger.gather_locked(d);
            if (self.scheduled.empty()) { // only this run's record can run the items that wait behind its run
                if (!needs_rescue_locked() || pwq.nr_waiting == 0) break;
                if (again = n >= batch && by.is_awaited(); again) break;
            }
            if (pwq.queue->first_report(event::kind::rescued)) ledger.env.events.rescued(pwq.queue->name);
            work_base* const w = ledger.take_of_locked(self, pwq);
            if (w == nullptr) break;
            nr_rescued_.fetch_add(1, relaxed);
            run_rescued_locked(self, *w, d);
        }
        ledger.leave_busy_locked(self);
        ledger.end_taking_locked(self);
        ledger.publish_pending_locked();
        notify_locked(d);
        if (again) {
            by.call(pwq); // behind the other pools
        } else {
            pwq.mayday = false; // from here on the pwq may be freed
            if (pwq.detached.load(relaxed) && pwq.drained()) pwq.queue->request_reaping();
        }
    }
    this_thread_slots() = {};
}

}}} // namespace cmwq::CMWQ_NS::detail
