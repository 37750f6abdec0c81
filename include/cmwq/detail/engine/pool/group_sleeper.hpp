// SPDX-License-Identifier: BSL-1.0
//
// group_sleeper: a thread that sleeps in the wait for a task group.
#pragma once

#include <cmwq/detail/sync/parker.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// On the stack of the thread. Letters: I constant · T the lock of the group
struct group_sleeper {
    /// The tasks that have not started of which the thread runs some itself, when they come.
    enum class takes : unsigned char { none, of_own_pool, all };

    group_sleeper(takes which, bool active) noexcept : tasks(which), can_act(active) {}

    const takes tasks;  // I
    const bool can_act; // I: it runs tasks, or lets one start in its place
    parker sleep;
    bool asleep = false;           // T: on the list of the group; false: it goes on
    group_sleeper* next = nullptr; // T
};

}}} // namespace cmwq::CMWQ_NS::detail
