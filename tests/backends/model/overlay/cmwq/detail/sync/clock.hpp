// SPDX-License-Identifier: BSL-1.0
//
// The clock of the model backend.
#pragma once

#include <model/core.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Virtual time. In a search it advances when no thread can run; in a simulation by burning and sleeping.
inline std::int64_t steady_now() noexcept {
    model::world* w = model::world::current();
    return w != nullptr ? w->now() : model::start_of_time;
}

/// The same; it is not coarse.
inline std::int64_t coarse_now() noexcept { return steady_now(); }

/// The CPU time that the logical thread has burned.
inline std::int64_t thread_cpu_now() noexcept {
    model::world* w = model::world::current();
    return w != nullptr ? w->self().cpu_time : 0;
}

}}} // namespace cmwq::CMWQ_NS::detail
