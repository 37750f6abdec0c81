// SPDX-License-Identifier: BSL-1.0
//
// The calling thread: its slots and its CPU.
#pragma once

#include <cmwq/detail/base/thread_slots.hpp>
#include <cmwq/detail/os/current_cpu.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The slots of the calling thread. Each copy of the library has its own.
inline thread_slots& this_thread_slots() noexcept {
    static constinit thread_local thread_slots slots;
    return slots;
}

using os::current_cpu;

}}} // namespace cmwq::CMWQ_NS::detail
