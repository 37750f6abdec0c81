// SPDX-License-Identifier: BSL-1.0
//
// Where other copies of the library in this process keep their slots of the calling thread.
#pragma once

#include <cmwq/detail/base/set_once.hpp>
#include <cmwq/detail/base/thread_slots.hpp>

namespace cmwq::inline CMWQ_NS::detail {

/// More than plugins that use the library, hide its symbols, and use queues of each other.
inline constexpr unsigned max_copies = 32;

using slots_of_thread = thread_slots& (*)() noexcept;

/// Filled from the front, for good. In nearly every process there is none.
inline constinit set_once<slots_of_thread> foreign_slots[max_copies];

/// The record of a thread is kept by the copy that was the first to need it, until that one needs it no more: so all
/// copies agree on what the thread runs and holds back.
inline thread_slots& slots_in_use(thread_slots& own) noexcept {
    for (const auto& of : foreign_slots) {
        const slots_of_thread f = of.get();
        if (f == nullptr) break;
        if (thread_slots& s = f(); s.in_use()) return s;
    }
    return own;
}

} // namespace cmwq::inline CMWQ_NS::detail
