// SPDX-License-Identifier: BSL-1.0
//
// Bodies of rescue_calls: calling the rescuers, and running items on their threads.

#include <cmwq/detail/base/probe.hpp>
#include <cmwq/detail/engine/ledger/item_events.hpp>
#include <cmwq/detail/engine/ledger/queue_face.hpp>
#include <cmwq/detail/engine/threads/rescue_calls.hpp>
#include <cmwq/detail/engine/threads/rescuer_requests.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <memory>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE void rescue_calls::make_rescuable(pool_workqueue& pwq) {
    std::unique_ptr<worker> fresh;
    {
        const scoped_lock g(ledger_.lock);
        pwq.rescue_record = free_rescue_records_.pop_front();
    }
    if (pwq.rescue_record == nullptr) fresh = std::make_unique<worker>(pool_, 0, worker::record_of::rescuer);
    pwq.rescued_in = this;
    const scoped_lock g(ledger_.lock);
    if (fresh != nullptr) {
        pwq.rescue_record = fresh.release();
        ledger_.add_record_locked(*pwq.rescue_record);
    }
    rescuable_.push_back(pwq);
    spares_.set_rescuable(true);
}

CMWQ_INLINE void rescue_calls::end_rescuable(pool_workqueue& pwq) noexcept {
    const scoped_lock g(ledger_.lock);
    if (pwq.rescue_record == nullptr) return;
    rescuable_.remove(pwq);
    spares_.set_rescuable(!rescuable_.empty());
    free_rescue_records_.push_front(*pwq.rescue_record);
    pwq.rescue_record = nullptr;
}

CMWQ_INLINE void rescue_calls::call(std::int64_t now) noexcept {
    constexpr std::int64_t patience = 10'000'000;
    if (!threads_.are_lacking()) return; // only a hint: the service thread checks again at the next tick
    deferred d;
    if (!ledger_.lock_for_service()) return;
    const scoped_lock g(ledger_.lock, adopt_lock);
    ledger_.gather_locked(d);
    if (!needs_rescue_locked(ledger_)) {
        threads_.not_short_locked();
        // Enough workers run, but a pool whose learned limit is higher would request a worker, now and at each tick
        // after a failed attempt to create one. Instead the detectors watch the running workers, and the monitor
        // replaces blocked ones at a tick.
        if (load_ != nullptr && threads_.is_short() && spares_.empty_locked() && ledger_.has_listed_locked())
            load_->detectors_needed();
        else threads_.notify_locked(ledger_, d);
        return;
    }
    if (now - threads_.short_since_locked(now) < patience) return;
    for (pool_workqueue* p = rescuable_.front(); p != nullptr; p = rescuable_.next(*p)) {
        if (p->nr_waiting == 0 || p->mayday) continue;
        p->mayday = true;
        ++p->counts.maydays;
        CMWQ_PROBE(mayday, p->queue->name.c_str());
        if (ledger_.env.observing.any()) tell_mayday(*p);
        p->queue->own_rescuer->call(*p);
    }
}

// Whether items are pending, no idle worker can take them, and too few workers run that could take them soon.
CMWQ_INLINE bool rescue_calls::needs_rescue_locked(const pool_ledger& ledger) const noexcept {
    if (!threads_.are_lacking() || !spares_.empty_locked() || !ledger.has_listed_locked()) return false;
    return load_ == nullptr || !load_->is_associated() || load_->nr_running() < load_->width();
}

CMWQ_INLINE void rescue_calls::rescue(pool_workqueue& pwq, rescuer_requests& by) {
    constexpr int batch = 16; // items in one pool, while other pools wait for the rescuer
    worker& self = *pwq.rescue_record;
    self.probe.open_own(state_files::reopened);
    self.stack_end = 0;                            // the record may have served another thread
    self.binding = ledger_.env.cpus.binding() + 1; // not current: the thread binds itself before its first item
    self.rebind_at = 0;
    this_thread_slots() = {.observer = &self, .current_run = &self};
    bool again = false;
    {
        deferred d;
        const scoped_lock g(ledger_.lock);
        ledger_.begin_taking_locked(self);
        ledger_.become_busy_locked(self);
        for (int n = 0;; ++n) {
            ledger_.gather_locked(d);
            if (self.scheduled.empty()) { // only this run's record can run the items that wait behind its run
                if (!needs_rescue_locked(ledger_) || pwq.nr_waiting == 0) break;
                if (again = n >= batch && by.is_awaited(); again) break;
            }
            if (pwq.queue->first_report(event::kind::rescued)) ledger_.env.events.rescued(pwq.queue->name);
            work_base* const w = ledger_.take_of_locked(self, pwq);
            if (w == nullptr) break;
            nr_rescued_.fetch_add(1, relaxed);
            ++pwq.counts.rescued;
            loop_.run_rescued_locked(self, *w, d);
        }
        ledger_.leave_busy_locked(self);
        ledger_.end_taking_locked(self);
        ledger_.publish_pending_locked();
        threads_.notify_locked(ledger_, d);
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
