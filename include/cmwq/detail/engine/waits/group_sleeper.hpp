// SPDX-License-Identifier: BSL-1.0
//
// group_sleeper: a thread that sleeps in the wait for a task group.
#pragma once

#include <cmwq/detail/sync/parker.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// On the stack of the thread. Letters: I constant · T the lock of the group
struct group_sleeper {
    /// The part of the thread in the start of a new task.
    enum class kind : unsigned char {
        waits,      ///< nothing: it is not in an item of the queue of the group
        guest,      ///< it is in no item; it runs any that the limit does not keep back
        stuck,      ///< it must not run tasks itself; it lets one start beyond the limit, in its place
        helps_pool, ///< it runs those of the pool of its item
        helps_all,  ///< it runs any
    };

    group_sleeper(kind k, std::uint64_t pool_of_item) noexcept : what(k), pool(pool_of_item) {}

    [[nodiscard]] bool can_run_task_of(std::uint64_t its_pool) const noexcept {
        return what == kind::helps_all || (what == kind::helps_pool && its_pool == pool);
    }
    [[nodiscard]] bool is_stuck() const noexcept { return what == kind::stuck; }
    [[nodiscard]] bool is_guest() const noexcept { return what == kind::guest; }

    const kind what;          // I
    const std::uint64_t pool; // I: the id of the pool of its item; 0: it runs none
    transient_parker sleep;
    bool asleep = false;           // T: on the list of the group; false: it goes on
    group_sleeper* next = nullptr; // T
};

}}} // namespace cmwq::CMWQ_NS::detail
