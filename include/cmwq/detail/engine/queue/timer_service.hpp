// SPDX-License-Identifier: BSL-1.0
//
// timer_service: the armed timers of a runtime. An item whose timer is armed is PENDING, and belongs to the queue for
// which it was armed.
#pragma once

#include <cmwq/detail/engine/item/work_access.hpp>
#include <cmwq/detail/engine/queue/pushed.hpp>
#include <cmwq/detail/engine/queue/queue_core.hpp>
#include <cmwq/detail/sync/mutex.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Any thread may call every member.
///
/// Letters: I set by the constructor · T under lock_
class timer_service {
public:
    /// `runtime_id`: the id of the runtime, which armed timers carry.
    explicit timer_service(std::uint64_t runtime_id) noexcept : runtime_id_(runtime_id) {}
    timer_service(const timer_service&) = delete;
    timer_service& operator=(const timer_service&) = delete;

    /// Arms the timer of an item whose PENDING the caller owns. True: this timer is now the first to fire, so the
    /// caller must wake the service thread. If the queue is closed, queues the item at once, so that a drain misses no
    /// timer.
    [[nodiscard]] bool arm(queue_core& q, delayed_work_base& w, int cpu, std::int64_t deadline) noexcept
        CMWQ_EXCLUDES(lock_);
    /// Disarms the timer. True: it was armed here, and the caller owns PENDING now.
    [[nodiscard]] bool disarm(delayed_work_base& w) noexcept CMWQ_EXCLUDES(lock_);
    /// flush() calls this: queues the item at once if its timer is armed here. Returns whether it was.
    bool expedite(delayed_work_base& w) noexcept CMWQ_EXCLUDES(lock_);
    /// drain() calls this: queues all items of the queue whose timers are armed.
    void expedite_all(queue_core& q) noexcept CMWQ_EXCLUDES(lock_);
    /// Disarms the timer of one item of the queue, and returns the item, whose PENDING the caller owns then; null: no
    /// timer of the queue is armed.
    [[nodiscard]] work_base* take_one(queue_core& q) noexcept CMWQ_EXCLUDES(lock_);
    /// Queues the items whose timers are due. Returns the next deadline, or 0 if no timer is armed.
    std::int64_t expire(std::int64_t now) noexcept CMWQ_EXCLUDES(lock_);

private:
    // Takes the timer off the heap and pushes its item to the pool, both under the lock, so that a drain or a cancel
    // always finds the item in one of the two places. The caller notifies the pool after unlocking.
    pushed<> fire_locked(work_timer& t) noexcept CMWQ_REQUIRES(lock_);
    void remove_locked(work_timer& t) noexcept CMWQ_REQUIRES(lock_);

    const std::uint64_t runtime_id_;       // I
    ranked_mutex<lock_rank::timers> lock_; // T
    deadline_heap<work_timer> heap_ CMWQ_GUARDED_BY(lock_);
};

}}} // namespace cmwq::CMWQ_NS::detail
