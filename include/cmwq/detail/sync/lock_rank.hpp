// SPDX-License-Identifier: BSL-1.0
//
// The order in which the library takes its own locks. In builds with assertions every lock() checks the order against
// the locks that the calling thread holds. docs/dev/locking.md says which functions take two locks.
#pragma once

#include <cmwq/detail/sync/this_thread.hpp>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// A thread may take a lock only if all locks that it holds come before that one in this list. It holds at most one
/// lock of each rank: never those of two pools or of two queues.
enum class lock_rank : std::uint8_t {
    graph,
    system_queue, ///< while a system queue is made, which may make the global runtime first
    once,
    clock,
    directory,
    configuration,
    list_of_queues,
    topology,
    queue,
    registry,
    expiry, ///< one thread at a time expires timers
    timers, ///< of a shard
    task_group,
    pool,
    local_items,
    rescuer,
    slots,
    thaw,
    closures,
    full_stacks,
};

[[nodiscard]] constexpr const char* name_of(lock_rank r) noexcept {
    switch (r) {
    case lock_rank::graph: return "graph";
    case lock_rank::system_queue: return "system queue";
    case lock_rank::once: return "once";
    case lock_rank::clock: return "clock";
    case lock_rank::directory: return "directory";
    case lock_rank::configuration: return "configuration";
    case lock_rank::list_of_queues: return "list of queues";
    case lock_rank::topology: return "topology";
    case lock_rank::queue: return "queue";
    case lock_rank::registry: return "registry";
    case lock_rank::expiry: return "expiry";
    case lock_rank::timers: return "timers";
    case lock_rank::task_group: return "task group";
    case lock_rank::pool: return "pool";
    case lock_rank::local_items: return "local items";
    case lock_rank::rescuer: return "rescuer";
    case lock_rank::slots: return "slots";
    case lock_rank::thaw: return "thaw";
    case lock_rank::closures: return "closures";
    case lock_rank::full_stacks: return "full stacks";
    }
    return "?";
}

[[nodiscard]] constexpr std::uint32_t rank_bit(lock_rank r) noexcept { return 1u << static_cast<unsigned>(r); }

/// Notes that the calling thread holds a lock of that rank.
inline void note_locked(lock_rank r) noexcept { this_thread_slots().held_ranks |= rank_bit(r); }
inline void note_unlocked(lock_rank r) noexcept { this_thread_slots().held_ranks &= ~rank_bit(r); }

/// Only for builds with assertions; other builds do not note the locks that a thread holds.
[[nodiscard]] inline bool holds_no_lock() noexcept { return this_thread_slots().held_ranks == 0; }

/// Called before a thread waits for a lock of that rank, because after an inversion it may wait for ever. Ends the
/// program on a violation.
inline void check_lock_order(lock_rank r) noexcept {
    const std::uint32_t held = this_thread_slots().held_ranks;
    if (held < rank_bit(r)) return;
    const auto last = static_cast<lock_rank>(std::bit_width(held) - 1);
    std::fprintf(stderr, "cmwq: lock order: %s taken while holding %s\n", name_of(r), name_of(last));
    std::abort();
}

}}} // namespace cmwq::CMWQ_NS::detail
