// SPDX-License-Identifier: BSL-1.0
//
// The barrier for all threads of the model backend.
#pragma once

#include <model/core.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// During a run() each thread executes a barrier at some time. here() is nothing: a search lets a relaxed load return
/// an old value, as if the store of the other thread had not left its CPU yet.
struct process_barrier {
    static constexpr std::uint32_t worth = 1; // searches are short

    [[nodiscard]] static bool is_ready() noexcept { return true; }
    static void want() noexcept {}
    [[nodiscard]] static bool is_wanted() noexcept { return false; }
    static void prepare() noexcept {}
    static void prepare_if_quick() noexcept {}
    static void here() noexcept {}
    static void run() noexcept {
        model::world* const w = model::world::current();
        if (w == nullptr) return;
        if (w->tracing()) w->trace("begins a barrier for all threads");
        if (w->searching()) w->barrier_of_all();
        else w->point();
    }
};

}}} // namespace cmwq::CMWQ_NS::detail
