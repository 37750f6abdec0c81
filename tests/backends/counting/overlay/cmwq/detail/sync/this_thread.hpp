// SPDX-License-Identifier: BSL-1.0
//
// The running thread of the counting backend: its slots and its CPU.
#pragma once

#include <cmwq/detail/base/thread_slots.hpp>
#include <counting/machine.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

inline thread_slots& this_thread_slots() noexcept { return counting::slots(); }

inline unsigned current_cpu() noexcept { return counting::current_cpu(); }

}}} // namespace cmwq::CMWQ_NS::detail
