// SPDX-License-Identifier: BSL-1.0
//
// Bodies of the functions in bottom_halves.hpp, on the slots of the calling thread.

#include <cmwq/detail/engine/bh/bottom_half_pool.hpp>
#include <cmwq/detail/engine/bh/bottom_halves.hpp>
#include <cmwq/detail/engine/env/directory.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE void run_raised(thread_slots& slots, bh_budget& budget) noexcept {
    while (slots.nr_raised != 0) {
        const std::uint64_t id = slots.raised[0];
        slots.forget_raised(id);
        const directory::pin at(id);
        if (at.runtime != nullptr) at.runtime->pool(id).bottom_half->run(budget);
    }
}

CMWQ_INLINE void run_bottom_halves(bottom_half_pool& pool, bh_budget::limit l) noexcept {
    thread_slots& slots = this_thread_slots();
    bh_budget budget(l);
    ++slots.bh_depth;
    pool.run(budget);
    run_raised(slots, budget);
    --slots.bh_depth;
}

CMWQ_INLINE void raise_bottom_half(bottom_half_pool& pool) noexcept {
    thread_slots& slots = this_thread_slots();
    if (slots.bh_depth == 0) {
        run_bottom_halves(pool, bh_budget::limit::softirq);
        return;
    }
    const std::uint64_t id = pool.id();
    for (unsigned i = 0; i < slots.nr_raised; ++i) {
        if (slots.raised[i] == id) return;
    }
    if (slots.nr_raised < thread_slots::max_raised) slots.raised[slots.nr_raised++] = id;
    else pool.notify();
}

CMWQ_INLINE void hand_over_bottom_halves() noexcept {
    thread_slots& slots = this_thread_slots();
    while (slots.nr_raised != 0) {
        const std::uint64_t id = slots.raised[--slots.nr_raised];
        const directory::lookup at(id);
        if (at.runtime != nullptr) at.runtime->pool(id).bottom_half->notify();
    }
}

}}} // namespace cmwq::CMWQ_NS::detail
