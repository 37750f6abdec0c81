// SPDX-License-Identifier: BSL-1.0
//
// Bottom halves of the calling thread: which pools it drains now, and which pools it has raised and drains later. A
// pool is raised by a thread if the thread has pushed items there that it may not run yet.
#pragma once

#include <cmwq/detail/base/thread_slots.hpp>
#include <cmwq/detail/engine/bh/bh_budget.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class bottom_half_pool;

// Drains a bottom-half pool, unless another thread drains it, and then the other pools that its items have raised. The
// calling thread must not be inside a bottom half or a guard.
void run_bottom_halves(bottom_half_pool& pool, bh_budget::limit l) noexcept;

// The calling thread has pushed to this pool: drains it, raises it if the thread is inside a bottom half or a guard, or
// notifies the bottom-half thread if it has raised too many pools. The caller holds no lock.
void raise_bottom_half(bottom_half_pool& pool) noexcept;

// Call before the calling thread waits: notifies the bottom-half threads of all pools that it has raised.
void hand_over_bottom_halves() noexcept;

// Drains the pools that the calling thread has raised, within the budget.
void run_raised(thread_slots& slots, bh_budget& budget) noexcept;

}}} // namespace cmwq::CMWQ_NS::detail
