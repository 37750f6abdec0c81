// SPDX-License-Identifier: BSL-1.0
//
// The calling thread: its slots, of which the model backend keeps one record per logical thread, and its CPU.
#pragma once

#include <cmwq/detail/config.hpp>

#if CMWQ_SYNC == 2
#include <cmwq/detail/sync/model_thread.hpp>
#else

#include <cmwq/detail/sync/foreign_slots.hpp>
#include <cmwq/detail/sync/thread_slots.hpp>

#include <sched.h>

namespace cmwq::inline CMWQ_NS::detail {

/// Those of this copy of the library.
inline thread_slots& own_thread_slots() noexcept {
    static constinit thread_local thread_slots slots;
    return slots;
}

/// Those that count, whichever copy keeps them.
inline thread_slots& this_thread_slots() noexcept {
    thread_slots& own = own_thread_slots();
    if (!foreign_slots[0].is_set() || own.in_use()) return own;
    return slots_in_use(own);
}

/// The CPU that the calling thread is on, or was on a moment ago; 0 where the system does not tell.
inline unsigned current_cpu() noexcept {
    const int cpu = ::sched_getcpu();
    return cpu < 0 ? 0u : static_cast<unsigned>(cpu);
}

} // namespace cmwq::inline CMWQ_NS::detail

#endif
