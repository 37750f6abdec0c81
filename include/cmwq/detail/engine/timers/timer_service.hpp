// SPDX-License-Identifier: BSL-1.0
//
// timer_service: the armed timers of a runtime. An item whose timer is armed is PENDING, and belongs to the queue for
// which it was armed.
#pragma once

#include <cmwq/detail/engine/env/cpu_map.hpp>
#include <cmwq/detail/engine/item/work_access.hpp>
#include <cmwq/detail/engine/queue/push_batch.hpp>
#include <cmwq/detail/engine/queue/queue_core.hpp>
#include <cmwq/detail/engine/timers/timer_shard.hpp>
#include <cmwq/detail/sync/mutex.hpp>

#include <cstdint>
#include <memory>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The timers are in shards. A timer is in the shard of the CPU on which its item will be queued, which is that of the
/// caller unless the caller names another one: so threads on different CPUs use different locks, and the timers of one
/// CPU keep their order. All timers of an ordered queue are in one shard, and therefore keep their order, too.
///
/// Any thread may call every member that does not say otherwise. A call takes the lock of one shard; only the calls for
/// a whole queue, and expire(), take those of all shards, one after the other.
///
/// Letters: I set by the constructor · A atomic · T under expiring_
class timer_service {
public:
    static constexpr std::int64_t never = timing_wheel<work_timer>::never;

    /// `first_id`: the first of the runtime's ids. Armed timers carry the id of their shard. Throws std::bad_alloc.
    timer_service(std::uint64_t first_id, const cpu_map& cpus);
    timer_service(const timer_service&) = delete;
    timer_service& operator=(const timer_service&) = delete;

    /// Arms the timer of an item whose PENDING the caller owns. True: the service thread sleeps for too long, so the
    /// caller must wake it. If the queue is closed, queues the item at once, so that a drain misses no timer.
    [[nodiscard]] bool arm(queue_core& q, delayed_work_base& w, int cpu, std::int64_t now,
                           std::int64_t deadline) noexcept;
    /// Disarms the timer, if it is armed in that shard of this runtime. True: it was, and the caller owns PENDING now.
    [[nodiscard]] bool disarm(delayed_work_base& w, std::uint64_t shard_id) noexcept;
    /// flush() calls this: queues the item at once if its timer is armed in that shard. Returns whether it was.
    bool expedite(delayed_work_base& w, std::uint64_t shard_id) noexcept;
    /// drain() calls this: queues all items of the queue whose timers are armed.
    void expedite_all(queue_core& q) noexcept;
    /// Disarms the timer of one item of the queue, and returns the item, whose PENDING the caller owns then; null: no
    /// timer of the queue is armed. `shard`: where to begin, at first 0; the queue must be closed.
    [[nodiscard]] work_base* take_one(queue_core& q, unsigned& shard) noexcept;

    /// Queues items whose timers are due, in the order of their deadlines, but not more than some hundred of a shard:
    /// so a shard with a million of them delays those of others for a moment only. True: there may be more. One caller
    /// at a time; others wait.
    bool expire(std::int64_t now) noexcept CMWQ_EXCLUDES(expiring_);
    /// The service thread calls these two, unless the program has a clock of its own. Without them, each timer that is
    /// the first of its shard wakes the thread.
    ///
    /// It is awake: arm() need not wake it.
    void woke_up() noexcept { sleeps_until_.store(awake, relaxed); } // SLEEP-2 decides
    /// It is about to sleep: returns when it has to call expire(), or `never`. From here on arm() wakes it for an
    /// earlier timer.
    [[nodiscard]] std::int64_t plan_sleep() noexcept;

private:
    [[nodiscard]] unsigned shard_for(const queue_core& q, int cpu) const noexcept;
    // Takes the timer away and pushes its item to the pool, both under the lock, so that a drain or a cancel always
    // finds the item in one of the two places.
    void fire_locked(timer_shard& s, work_timer& t, push_batch& batch) noexcept CMWQ_REQUIRES(s.lock);
    void remove_locked(timer_shard& s, work_timer& t) noexcept CMWQ_REQUIRES(s.lock);
    std::int64_t expire_some(timer_shard& s, std::int64_t now, std::int64_t until, int& nr) noexcept;
    [[nodiscard]] std::int64_t first_visit() const noexcept;

    struct visit {
        std::int64_t due = never; // when to visit the shard next
        int nr = 0;               // how many timers have expired or moved in this call
    };
    // Values of sleeps_until_: the service thread does not sleep; it sleeps, and no timer is armed; the program has a
    // clock of its own, and the thread does not sleep until timers are due.
    static constexpr std::int64_t awake = INT64_MIN, for_ever = INT64_MAX - 1, not_used = INT64_MAX;

    const std::uint64_t first_id_;                // I
    const cpu_map& cpus_;                         // I
    const unsigned nr_shards_;                    // I
    const std::unique_ptr<timer_shard[]> shards_; // I: by the index of the CPU
    // A: when the service thread calls expire()
    alignas(cache_line) atomic<std::int64_t> sleeps_until_{not_used};
    alignas(cache_line) ranked_mutex<lock_rank::expiry> expiring_;     // T; before the locks of the shards
    const std::unique_ptr<visit[]> agenda_ CMWQ_GUARDED_BY(expiring_); // T: for each shard
};

}}} // namespace cmwq::CMWQ_NS::detail
