// SPDX-License-Identifier: BSL-1.0
//
// How to find the slots that other copies of the library in this process keep for the calling thread.
#pragma once

#include <cmwq/detail/base/set_once.hpp>
#include <cmwq/detail/base/thread_slots.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The maximum number of other copies in a process. It is greater than the number of plugins that hide the symbols of
/// the library and use queues of each other.
inline constexpr unsigned max_copies = 32;

using slots_of_thread = thread_slots& (*)() noexcept;

/// Filled from the front; entries are never removed. In nearly every process it is empty.
inline constinit set_once<slots_of_thread> foreign_slots[max_copies];

/// The slots of a thread are kept by the copy that needed them first, until they are empty. So all copies agree on the
/// item that the thread runs, and on the bottom halves that it holds back.
inline thread_slots& slots_in_use(thread_slots& own) noexcept {
    for (const auto& of : foreign_slots) {
        const slots_of_thread f = of.get();
        if (f == nullptr) break;
        if (thread_slots& s = f(); s.in_use()) return s;
    }
    return own;
}

}}} // namespace cmwq::CMWQ_NS::detail
