// SPDX-License-Identifier: BSL-1.0
//
// Bodies of pool_ledger for the graph of waits.

#include <cmwq/detail/engine/ledger/pool_ledger.hpp>

#include <cstddef>
#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE void pool_ledger::stop_waiting(item_waiter& iw) noexcept {
    const scoped_lock g(lock);
    if (!iw.waits) return;
    item_waiter** link = iw.runner != nullptr ? &iw.runner->waiters : &item_waiters_;
    while (*link != &iw) link = &(*link)->next;
    *link = iw.next;
    iw.waits = false;
}

CMWQ_INLINE void pool_ledger::stop_waiting(color_waiter& cw) noexcept {
    const scoped_lock g(lock);
    if (cw.waits) cw.pwq->colors.forget(cw);
}

// The record whose run must end before any item of the worklist can start; null: there is none.
CMWQ_INLINE run_record* pool_ledger::run_before_worklist_locked() noexcept {
    return only_record_ != nullptr && only_record_->current_pwq != nullptr ? only_record_ : nullptr;
}

CMWQ_INLINE pool_ledger::awaited_item pool_ledger::look_at(const item_waiter& iw) noexcept {
    const scoped_lock g(lock);
    if (!iw.waits) return {};
    if (iw.runner != nullptr) return {.run = iw.runner};
    const work_base& w = *iw.item; // pending, and on a list of this pool
    switch (work_access::location_of(w) & location::list_mask) {
    case location::on_worker: return {.before = &running_.run_before(w)};
    case location::on_inactive: return {.inactive_on = work_access::pwq(w), .queue = work_access::pwq(w)->queue};
    default: return {.before = run_before_worklist_locked()};
    }
}

CMWQ_INLINE pool_ledger::remaining_items pool_ledger::look_at(const color_waiter& cw) noexcept {
    const scoped_lock g(lock);
    if (!cw.waits) return {};
    pool_workqueue& pwq = *cw.pwq;
    const work_base* const first = pwq.inactive.front(); // the oldest one: if it is too young, all of them are
    return {.pwq = &pwq,
            .generation = pwq.colors.generation_of(cw),
            .inactive =
                first != nullptr && pwq.colors.covers(cw, location::color_of(work_access::location_of(*first)))};
}

CMWQ_INLINE const pool_workqueue* pool_ledger::inactive_on(const work_base& w) noexcept {
    const scoped_lock g(lock);
    const bool inactive =
        is_listed_locked(w) && (work_access::location_of(w) & location::list_mask) == location::on_inactive;
    return inactive ? work_access::pwq(w) : nullptr;
}

CMWQ_INLINE run_record* pool_ledger::run_awaited_by(const item_waiter& iw) noexcept {
    const scoped_lock g(lock);
    return iw.waits ? iw.runner : nullptr;
}

CMWQ_INLINE std::size_t pool_ledger::held_by(run_record& k, held_item* to, std::size_t room) noexcept {
    const scoped_lock g(lock);
    const bool drains = run_before_worklist_locked() == &k;
    const std::size_t n = 1 + k.scheduled.size() + (drains ? worklist_.size() : 0);
    if (n > room) return n;
    const auto note = [&to](const pool_workqueue& pwq, unsigned color) {
        *to++ = {&pwq, pwq.colors.generation_of(color), pwq.colors.nr_left(), 0};
    };
    const auto note_all = [&](item_list& list) {
        for (work_base* w = list.front(); w != nullptr; w = list.next(*w)) {
            note(*work_access::pwq(*w), location::color_of(work_access::location_of(*w)));
        }
    };
    note(*k.current_pwq, k.current_color);
    note_all(k.scheduled);
    if (drains) note_all(worklist_);
    return n;
}

CMWQ_INLINE pool_ledger::active_items pool_ledger::count_active(const pool_workqueue& pwq) noexcept {
    deferred d;
    const scoped_lock g(lock);
    gather_locked(d); // a slot that was granted just now makes an item active
    owner.notify_locked(d);
    return {.all = pwq.nr_active, .frozen = pwq.frozen || pwq.held_back, .nr_left = pwq.colors.nr_left()};
}

}}} // namespace cmwq::CMWQ_NS::detail
