// SPDX-License-Identifier: BSL-1.0
//
// Bottom halves of the calling thread: which it runs now, and which it holds back.
#pragma once

#include <cmwq/detail/base/thread_slots.hpp>
#include <cmwq/detail/engine/pool/bh_budget.hpp>
#include <cmwq/detail/engine/pool/item_pool.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <cstdint>

namespace cmwq::inline CMWQ_NS::detail {

class bottom_half_pool;
class queue_core;

// For the calling thread, which is inside of no bottom half and no guard: runs what is pending in a bottom-half pool,
// unless somebody does, and then what its items have raised in other ones.
void run_bottom_halves(bottom_half_pool& pool, bh_budget::limit l) noexcept;

// The calling thread has pushed to this bottom-half pool, and sees to it that the item is run. No lock is held.
void raise_bottom_half(bottom_half_pool& pool) noexcept;

// The calling thread is going to wait: what it has raised, and may not run, goes to the threads that are there for it.
void hand_over_bottom_halves() noexcept;

// Says whose item it is that announces to block, and ends the program.
[[noreturn]] void bottom_half_blocks(const queue_core& q) noexcept;

// The calling thread has run, or handed over, what it has raised in that pool.
void forget_raised(thread_slots& slots, std::uint64_t pool_id) noexcept;

// Runs what the calling thread has raised.
void run_raised(thread_slots& slots, bh_budget& budget) noexcept;

/// The worker whose item the calling thread runs, if that is a bottom half.
inline const worker* bottom_half_here() noexcept {
    const worker* const self = this_thread_slots().current_worker;
    return self != nullptr && self->pool.is_bottom_half() ? self : nullptr;
}

} // namespace cmwq::inline CMWQ_NS::detail
