// SPDX-License-Identifier: BSL-1.0
//
// The bodies of timer_service.
#pragma once

#include <cmwq/detail/engine/queue/timer_service.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE bool timer_service::arm(queue_core& q, delayed_work_base& w, int cpu, std::int64_t deadline) noexcept {
    {
        const scoped_lock g(lock_);
        if (q.is_open()) {
            work_timer& t = work_access::timer(w);
            t.item = &w;
            t.queue = &q;
            t.cpu = cpu;
            t.deadline = deadline;
            heap_.push(t);
            q.armed.push_back(t);
            t.runtime_id.store(runtime_id_, release); // [TIM-1] pairs [TIM-2]: a thread that cancels finds the service
            return &heap_.front() == &t;
        }
    }
    q.push(w, cpu).notify();
    return false;
}

CMWQ_INLINE void timer_service::remove_locked(work_timer& t) noexcept {
    heap_.remove(t);
    t.queue->armed.remove(t);
    t.runtime_id.store(0, release); // [ALONE]
}

CMWQ_INLINE pushed<> timer_service::fire_locked(work_timer& t) noexcept {
    remove_locked(t);
    return t.queue->push(*t.item, t.cpu);
}

CMWQ_INLINE bool timer_service::disarm(delayed_work_base& w) noexcept {
    const scoped_lock g(lock_);
    work_timer& t = work_access::timer(w);
    if (t.runtime_id.load(acquire) != runtime_id_) return false; // [LOCK]
    remove_locked(t);
    return true;
}

CMWQ_INLINE bool timer_service::expedite(delayed_work_base& w) noexcept {
    bool armed = false;
    const auto fire = [&]() -> pushed<> {
        const scoped_lock g(lock_);
        work_timer& t = work_access::timer(w);
        armed = t.runtime_id.load(acquire) == runtime_id_; // [LOCK]
        return armed ? fire_locked(t) : pushed<>{};
    };
    fire().notify();
    return armed;
}

CMWQ_INLINE void timer_service::expedite_all(queue_core& q) noexcept {
    const auto fire_one = [&](bool& more) -> pushed<> {
        const scoped_lock g(lock_);
        more = !q.armed.empty();
        return more ? fire_locked(*q.armed.front()) : pushed<>{};
    };
    for (bool more = true; more;) fire_one(more).notify();
}

CMWQ_INLINE work_base* timer_service::take_one(queue_core& q) noexcept {
    const scoped_lock g(lock_);
    work_timer* const t = q.armed.front();
    if (t == nullptr) return nullptr;
    remove_locked(*t);
    return t->item;
}

CMWQ_INLINE std::int64_t timer_service::expire(std::int64_t now) noexcept {
    std::int64_t next = 0;
    const auto fire_one = [&](bool& more) -> pushed<> {
        const scoped_lock g(lock_);
        next = heap_.empty() ? 0 : heap_.front().deadline;
        more = next != 0 && next <= now;
        return more ? fire_locked(heap_.front()) : pushed<>{};
    };
    for (bool more = true; more;) fire_one(more).notify();
    return next;
}

}}} // namespace cmwq::CMWQ_NS::detail
