// SPDX-License-Identifier: BSL-1.0
//
// The calling thread: its slots and its CPU.
#pragma once

#include <cmwq/detail/base/thread_slots.hpp>
#include <cmwq/detail/os/current_cpu.hpp>
#include <cmwq/detail/sync/foreign_slots.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The slots of the calling thread in this copy of the library.
inline thread_slots& own_thread_slots() noexcept {
    static constinit thread_local thread_slots slots;
    return slots;
}

/// The slots of the calling thread that are in use, in whichever copy of the library they are.
inline thread_slots& this_thread_slots() noexcept {
    thread_slots& own = own_thread_slots();
    if (!foreign_slots[0].is_set() || own.in_use()) return own;
    return slots_in_use(own);
}

using os::current_cpu;

}}} // namespace cmwq::CMWQ_NS::detail
