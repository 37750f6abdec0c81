// SPDX-License-Identifier: BSL-1.0
//
// The running logical thread of the model backend: its slots and its CPU.
#pragma once

#include <model/core.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

inline thread_slots& this_thread_slots() noexcept {
    static constinit thread_slots outside;
    model::world* w = model::world::current();
    return w != nullptr ? w->self().slots : outside;
}

/// The CPU that the logical thread is bound to, or that model::set_current_cpu() has set.
inline unsigned current_cpu() noexcept {
    model::world* w = model::world::current();
    return w != nullptr ? w->self().cpu : 0;
}

}}} // namespace cmwq::CMWQ_NS::detail
