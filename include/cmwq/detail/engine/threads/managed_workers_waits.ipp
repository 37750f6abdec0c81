// SPDX-License-Identifier: BSL-1.0
//
// Bodies of managed_workers for items that wait for other items of their pool, and run them meanwhile. Such an item runs
// under a record of its own, like any other: it has a slot and a color, other threads can wait for it, and the graph of
// waits sees that the item below it cannot end before.
#pragma once

#include <cmwq/detail/engine/env/closure_memory.hpp>
#include <cmwq/detail/engine/ledger/queue_face.hpp>
#include <cmwq/detail/engine/threads/managed_workers.hpp>
#include <cmwq/detail/sync/system.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <algorithm>
#include <cstdint>
#include <new>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Whether a wait of this thread may run items and tasks. Those that it runs already, one inside the other, must leave
/// enough of its stack: together they use half of what the outermost wait has found, and 512 KiB at most. And the thread
/// must hold no bottom halves back, for whose effect an item may wait.
CMWQ_INLINE bool may_run_in_wait(run_record& self) noexcept {
    constexpr std::uintptr_t most = std::uintptr_t{512} * 1024;
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    if (self.nr_nested == 0) {
        std::uintptr_t& end = self.of_thread->stack_end;
        if (end == 0) end = stack_end();
        const bool known = end != 0 && end < here;
        self.stack_limit = here - (known ? std::min(most, (here - end) / 2) : most);
    }
    return here >= self.stack_limit && this_thread_slots().bh_depth == 0;
}

CMWQ_INLINE bool managed_workers::run_for_waiter(run_record& self, work_base& w) noexcept {
    if (!may_run_in_wait(self)) return false;
    deferred d;
    worker& owner = *self.of_thread;
    lock_after_run(owner);
    run_record* const record = nested_record_locked(owner);
    if (record == nullptr) {
        ledger.lock.unlock();
        return false;
    }
    // Mostly it is one of the newest items of this worker; then the others stay local.
    const bool local = owner.local.take_back(w);
    if (local) ledger.accept_locked(w);
    else ledger.gather_locked(w, d);
    if (!may_run_inside_locked(self, w)) {
        free_nested_records_.push_front(*record);
        ledger.publish_pending_locked();
        notify_locked(d);
        ledger.lock.unlock();
        return false;
    }
    take_to_run_inside_locked(w);
    ledger.begin_nested_locked(*record, self);
    const auto started = ledger.begin_run_locked(*record, w);
    ledger.publish_pending_locked();
    notify_locked(d);
    ledger.lock.unlock();
    d.perform();
    run_inside(self, *record, started);
    return true;
}

// Only an item that no worker runs may start: not one that waits behind its run, and not one that was queued again and
// waits on the worklist.
CMWQ_INLINE bool managed_workers::may_run_inside_locked(const run_record& self, const work_base& w) noexcept {
    if (!ledger.is_listed_locked(w)) return false;
    const std::uint64_t p = work_access::location_of(w);
    const pool_workqueue& pwq = *work_access::pwq(w);
    const std::uint64_t list = p & location::list_mask;
    if (list == location::on_worker || pwq.held_back) return false;
    // The limit keeps it back, or a freeze, which waits for the item that has the slot.
    if ((list == location::on_inactive || pwq.frozen) && !ledger.has_slot_on_stack(self, *pwq.queue)) return false;
    return (p & location::may_be_running) == 0 || !ledger.is_running_locked(w);
}

// Beyond the limit, an item of the same queue waits below it. So no more items than the limit compute.
CMWQ_INLINE void managed_workers::take_to_run_inside_locked(work_base& w) noexcept {
    if ((work_access::location_of(w) & location::list_mask) == location::on_inactive)
        ledger.activate_beyond_limit_locked(w);
    ledger.leave_worklist_locked(w);
}

// A free record, or a new one, which is made without the lock. Null: no memory.
CMWQ_INLINE run_record* managed_workers::nested_record_locked(worker& owner) noexcept {
    if (run_record* const k = free_nested_records_.pop_front(); k != nullptr) return k;
    const std::size_t nr_runs = ledger.nr_busy_locked() + static_cast<std::size_t>(ledger.nr_nested());
    const bool crowded = ledger.needs_room_locked(nr_runs);
    ledger.lock.unlock();
    if (crowded) ledger.make_room(nr_runs);
    auto* const fresh = new (std::nothrow) run_record(*this, owner);
    ledger.lock.lock();
    if (fresh != nullptr) ledger.add_record_locked(*fresh);
    return fresh;
}

CMWQ_INLINE void managed_workers::run_inside(run_record& self, run_record& record,
                                             const pool_ledger::started_item& started) noexcept {
    run_record*& current = this_thread_slots().current_run;
    worker& owner = *self.of_thread;
    record.nr_nested = self.nr_nested + 1;
    record.stack_limit = self.stack_limit;
    current = &record;
    ledger.call_above_other_code(record, started);
    current = &self;
    if (owner.credit.n != 0) give_back_credit(owner); // of tasks of the inner item
    deferred d;
    lock_after_run(owner);
    ledger.end_run_locked(record, d);
    ledger.end_nested_locked(record); // if its item was queued again, any worker may run that instance now
    if (owner.depth == 0 && !owner.cpu_intensive) count(owner); // it may have been found blocked
    free_nested_records_.push_front(record);
    ledger.publish_pending_locked();
    notify_locked(d);
    ledger.lock.unlock();
}

}}} // namespace cmwq::CMWQ_NS::detail
