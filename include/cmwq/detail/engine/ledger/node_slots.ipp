// SPDX-License-Identifier: BSL-1.0
//
// Bodies of node_slots.

#include <cmwq/detail/engine/ledger/node_slots.hpp>
#include <cmwq/detail/engine/ledger/pool_workqueue.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

// The pwq that has waited longest, which waits no longer: a slot has been taken for it. Null: none waits, or no slot is
// free.
CMWQ_INLINE pool_workqueue* node_slots::first_served_locked() noexcept {
    if (waiting_.empty() || !try_take_locked()) return nullptr;
    pool_workqueue& p = waiting_.first();
    waiting_.remove(p);
    nr_waiting_.fetch_sub(1, seq_cst); // [UNIFORM]
    return &p;
}

CMWQ_INLINE pool_owner* node_slots::hand_over_locked(pool_workqueue* p) noexcept {
    if (p == nullptr) return nullptr;
    p->slot = pool_workqueue::slot_state::granted;
    return &p->granted();
}

// Takes back what take() has counted too much, notes that `p` waits, and gives a free slot to the pwq that has waited
// longest. Another thread may have given a slot back meanwhile, and have granted it to no one because the count was too
// high: then only this thread can. For is_down() it need not look: either a slot is taken here, which will be given
// back, or as many are in use as the limit admits.
CMWQ_INLINE node_slots::taken node_slots::wait(pool_workqueue& p, unsigned nr_too_many) noexcept {
    using state = pool_workqueue::slot_state;
    const scoped_lock g(lock_);
    nr_.fetch_sub(nr_too_many, seq_cst);   // [NODE-1]
    if (p.slot == state::none) {           // otherwise it waits already, or a grant is on its way
        nr_waiting_.fetch_add(1, seq_cst); // [NODE-2]
        waiting_.push_back(p);
        p.slot = state::waiting;
    }
    pool_workqueue* const first = first_served_locked();
    if (first != &p) return {false, hand_over_locked(first)};
    p.slot = state::none;
    return {true};
}

CMWQ_INLINE pool_owner* node_slots::grant() noexcept {
    const scoped_lock g(lock_);
    return hand_over_locked(first_served_locked());
}

CMWQ_INLINE void node_slots::grant_received(pool_workqueue& p) noexcept {
    const scoped_lock g(lock_);
    p.slot = pool_workqueue::slot_state::none;
}

CMWQ_INLINE void node_slots::forget(pool_workqueue& p) noexcept {
    const scoped_lock g(lock_);
    if (p.slot != pool_workqueue::slot_state::waiting) return;
    waiting_.remove(p);
    nr_waiting_.fetch_sub(1, seq_cst); // [UNIFORM]
    p.slot = pool_workqueue::slot_state::none;
}

}}} // namespace cmwq::CMWQ_NS::detail
