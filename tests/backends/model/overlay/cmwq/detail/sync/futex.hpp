// SPDX-License-Identifier: BSL-1.0
//
// The futex of the model backend. Mutex and parker have models of their own.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <model/carrier.hpp>
#include <model/core.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

struct futex {
    using word = atomic<std::uint32_t>;

    /// The kernel compares the latest value, and puts the thread to sleep, in one step.
    static void wait(word& w, std::uint32_t seen) noexcept {
        if (w.fetch_add(0, relaxed) != seen) return;
        model::world* const world = model::world::current();
        if (world == nullptr) model::outside_of_a_run("futex::wait() would block");
        world->block(model::thread_status::parked, &w, model::never);
    }
    static void wake_one(word& w) noexcept {
        model::world* const world = model::world::current();
        if (world == nullptr) return;
        world->point();
        world->wake_waiters(&w);
        world->mutated();
        world->settle();
    }
};

}}} // namespace cmwq::CMWQ_NS::detail
