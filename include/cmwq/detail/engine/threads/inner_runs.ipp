// SPDX-License-Identifier: BSL-1.0
//
// Items that run inside others, which wait for them.

#include <cmwq/detail/engine/item/group_credit.hpp>
#include <cmwq/detail/engine/ledger/queue_face.hpp>
#include <cmwq/detail/engine/ledger/run_timer.hpp>
#include <cmwq/detail/engine/threads/inner_runs.hpp>
#include <cmwq/detail/sync/system.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <algorithm>
#include <cstdint>
#include <new>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

// The first wait of an item sets the limit. Not inline: the waits inside it need only the comparison.
[[gnu::noinline]] CMWQ_INLINE void set_stack_limit(run_record& self, std::uintptr_t here) noexcept {
    constexpr std::uintptr_t most = std::uintptr_t{512} * 1024;
    std::uintptr_t& end = self.of_thread->stack_end;
    if (end == 0) end = stack_end();
    const bool known = end != 0 && end < here;
    self.stack_limit = here - (known ? std::min(most, (here - end) / 2) : most);
}

CMWQ_INLINE bool may_run_in_wait(run_record& self) noexcept {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    if (self.nr_nested == 0) set_stack_limit(self, here);
    return here >= self.stack_limit && this_thread_slots().bh_depth == 0;
}

// A free record, or a new one, which is made without the lock. Null: no memory.
CMWQ_INLINE run_record* nested_record_locked(pool_ledger& ledger, worker& owner) noexcept CMWQ_REQUIRES(ledger.lock) {
    if (run_record* const k = ledger.free_nested_record_locked(); k != nullptr) return k;
    const std::size_t nr_runs = ledger.nr_busy_locked() + static_cast<std::size_t>(ledger.nr_nested());
    const bool crowded = ledger.needs_room_locked(nr_runs);
    ledger.lock.unlock();
    if (crowded) ledger.make_room(nr_runs);
    auto* const fresh = new (std::nothrow) run_record(owner.pool, owner);
    ledger.lock.lock();
    if (fresh != nullptr) ledger.add_record_locked(*fresh);
    return fresh;
}

CMWQ_INLINE void run_inside(run_record& self, run_record& record, const pool_ledger::started_item& started) noexcept {
    if (self.timer != nullptr) [[unlikely]] {
        const timer_pause pause(self);
        return run_inside(self, record, started);
    }
    run_record*& current = this_thread_slots().current_run;
    worker& owner = *self.of_thread;
    record.nr_nested = self.nr_nested + 1;
    record.stack_limit = self.stack_limit;
    current = &record;
    pool_ledger::call_above_other_code(record, started);
    current = &self;
    if (owner.credit.n != 0) give_back_credit(owner); // of tasks of the inner item
    deferred d;
    item_pool& pool = self.pool;
    pool_ledger& ledger = pool.ledger;
    lock_after_run(ledger, owner);
    ledger.end_run_locked(record, d);
    ledger.end_nested_locked(record); // if its item was queued again, any worker may run that instance now
    if (owner.depth == 0 && !owner.cpu_intensive) pool.concurrency->count(owner); // it may have been found blocked
    ledger.publish_pending_locked();
    ledger.owner.notify_locked(d);
    ledger.lock.unlock();
}

CMWQ_INLINE bool run_for_waiter(run_record& self, work_base& w) noexcept {
    if (!may_run_in_wait(self)) return false;
    deferred d;
    item_pool& pool = self.pool;
    pool_ledger& ledger = pool.ledger;
    worker& owner = *self.of_thread;
    lock_after_run(ledger, owner);
    run_record* const record = nested_record_locked(ledger, owner);
    if (record == nullptr) {
        ledger.lock.unlock();
        return false;
    }
    // Mostly it is one of the newest items of this worker; then the others stay local.
    const bool local = owner.local.take_back(w);
    if (local) ledger.accept_locked(w);
    else ledger.gather_locked(w, d);
    if (!ledger.take_to_run_inside_locked(self, w)) {
        if (local) ledger.move_by_age_locked(w);
        ledger.give_back_locked(*record);
        ledger.publish_pending_locked();
        ledger.owner.notify_locked(d);
        ledger.lock.unlock();
        return false;
    }
    ledger.begin_nested_locked(*record, self);
    const auto started = ledger.begin_run_locked(*record, w);
    ledger.publish_pending_locked();
    ledger.owner.notify_locked(d);
    ledger.lock.unlock();
    d.perform();
    run_inside(self, *record, started);
    return true;
}

}}} // namespace cmwq::CMWQ_NS::detail
