// SPDX-License-Identifier: BSL-1.0
//
// Bodies of node_slots.
#pragma once

#include <cmwq/detail/engine/ledger/item_pool.hpp>
#include <cmwq/detail/engine/ledger/node_slots.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE bool node_slots::take(pool_workqueue& p) noexcept {
    using state = pool_workqueue::slot_state;
    if (nr_waiting_.load(seq_cst) == 0 && try_take()) return true; // [HINT]
    const scoped_lock g(lock_);
    if (p.slot != state::none) return false; // it waits already, or a grant is on its way
    nr_waiting_.fetch_add(1, seq_cst);       // [NODE-2]
    waiting_.push_back(p);
    p.slot = state::waiting;
    if (waiting_.front() != &p || !try_take()) return false;
    waiting_.remove(p);
    nr_waiting_.fetch_sub(1, seq_cst); // [UNIFORM]
    p.slot = state::none;
    return true;
}

CMWQ_INLINE item_pool* node_slots::grant() noexcept {
    const scoped_lock g(lock_);
    if (waiting_.empty() || !try_take()) return nullptr;
    pool_workqueue& p = waiting_.first();
    waiting_.remove(p);
    nr_waiting_.fetch_sub(1, seq_cst); // [UNIFORM]
    p.slot = pool_workqueue::slot_state::granted;
    p.pool->grant(p);
    return p.pool;
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
