// SPDX-License-Identifier: BSL-1.0
//
// Bottom halves of the calling thread: which it runs now, and which it holds back.
#pragma once

#include <cmwq/detail/base/thread_slots.hpp>
#include <cmwq/detail/engine/pool/bh_budget.hpp>
#include <cmwq/detail/engine/pool/item_pool.hpp>
#include <cmwq/detail/engine/report/diagnosis.hpp>

#include <cstdint>
#include <string>
#include <system_error>

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

// What waits is refused in every bottom half, also if it would find nothing to wait for just now. `of()` makes the rest
// of the message.
template <class Of>
void refuse_in_bottom_half(const char* what, const Of& of) {
    if (bottom_half_here() == nullptr) return;
    throw std::system_error(std::make_error_code(std::errc::operation_not_permitted),
                            std::string("cmwq: ") + what + of() + " in " + describe_own_run() +
                                ", a bottom half, which must not wait");
}

inline void refuse_in_bottom_half(const char* what) {
    refuse_in_bottom_half(what, [] { return std::string(); });
}

} // namespace cmwq::inline CMWQ_NS::detail
