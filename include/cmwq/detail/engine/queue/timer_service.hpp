// SPDX-License-Identifier: BSL-1.0
//
// timer_service: the armed timers of a runtime. An item whose timer is armed is PENDING and belongs to its queue.
#pragma once

#include <cmwq/detail/engine/item/work_access.hpp>
#include <cmwq/detail/engine/queue/pushed.hpp>
#include <cmwq/detail/engine/queue/queue_core.hpp>
#include <cmwq/detail/sync/mutex.hpp>

#include <cstdint>

namespace cmwq::inline CMWQ_NS::detail {

class timer_service {
public:
    /// `home`: the id of the runtime.
    explicit timer_service(std::uint64_t home) noexcept : home_(home) {}
    timer_service(const timer_service&) = delete;
    timer_service& operator=(const timer_service&) = delete;

    /// The caller owns PENDING. True: it fires first of all now, and whoever sleeps until the next one has to be told.
    /// A queue that is draining gets the item at once, so that no timer escapes its drain.
    [[nodiscard]] bool arm(queue_core& q, delayed_work_base& w, int cpu, std::int64_t deadline) noexcept
        CMWQ_EXCLUDES(lock_);
    /// True: it was armed here, and the caller owns PENDING now.
    [[nodiscard]] bool disarm(delayed_work_base& w) noexcept CMWQ_EXCLUDES(lock_);
    /// flush(): the item is queued now, if it is armed here. Whether it was.
    bool expedite(delayed_work_base& w) noexcept CMWQ_EXCLUDES(lock_);
    /// drain(): all armed items of the queue are queued now.
    void expedite_all(queue_core& q) noexcept CMWQ_EXCLUDES(lock_);
    /// Takes an armed item of the queue, with its PENDING, which the caller owns then; null: there is none.
    [[nodiscard]] work_base* take_one(queue_core& q) noexcept CMWQ_EXCLUDES(lock_);
    /// Queues what is due. Returns the next deadline, or 0 if nothing is armed.
    std::int64_t expire(std::int64_t now) noexcept CMWQ_EXCLUDES(lock_);

private:
    // Takes it off the heap and pushes it to its pool, all under the lock: at no time a drain or a cancel finds it
    // neither here nor there. The caller tells the pool after unlocking.
    pushed<> fire_locked(work_timer& t) noexcept CMWQ_REQUIRES(lock_);
    void remove_locked(work_timer& t) noexcept CMWQ_REQUIRES(lock_);

    const std::uint64_t home_;             // I
    ranked_mutex<lock_rank::timers> lock_; // T
    deadline_heap<work_timer> heap_ CMWQ_GUARDED_BY(lock_);
};

} // namespace cmwq::inline CMWQ_NS::detail
