// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cmwq/detail/engine/runtime_core.hpp>
#include <cmwq/detail/engine/timer_service.hpp>

namespace cmwq::inline CMWQ_NS::detail {

inline bool timer_service::arm(queue_core& q, delayed_work_base& w, int cpu, std::int64_t deadline) noexcept {
    worker_pool* tell = nullptr;
    bool first = false;
    {
        const scoped_lock g(lock_);
        if (!q.is_open()) {
            tell = rt_.push(q, w, cpu);
        } else {
            work_timer& t = work_access::timer(w);
            t.item = &w;
            t.queue = &q;
            t.cpu = cpu;
            t.deadline = deadline;
            heap_.push(t);
            q.armed.push_back(t);
            t.home.store(rt_.id(), release); // [TIM-1] pairs [TIM-2]: whoever cancels finds the service
            first = &heap_.front() == &t;
        }
    }
    if (tell != nullptr) tell->after_push();
    return first;
}

inline void timer_service::remove_locked(work_timer& t) noexcept {
    heap_.remove(t);
    t.queue->armed.remove(t);
    t.home.store(0, release);
}

inline worker_pool* timer_service::fire_locked(work_timer& t) noexcept {
    remove_locked(t);
    return rt_.push(*t.queue, *t.item, t.cpu);
}

inline bool timer_service::disarm(delayed_work_base& w) noexcept {
    const scoped_lock g(lock_);
    work_timer& t = work_access::timer(w);
    if (t.home.load(acquire) != rt_.id()) return false;
    remove_locked(t);
    return true;
}

inline void timer_service::expedite(delayed_work_base& w) noexcept {
    worker_pool* tell = nullptr;
    {
        const scoped_lock g(lock_);
        work_timer& t = work_access::timer(w);
        if (t.home.load(acquire) == rt_.id()) tell = fire_locked(t);
    }
    if (tell != nullptr) tell->after_push();
}

inline void timer_service::expedite_all(queue_core& q) noexcept {
    for (;;) {
        worker_pool* tell = nullptr;
        {
            const scoped_lock g(lock_);
            if (q.armed.empty()) return;
            tell = fire_locked(*q.armed.front());
        }
        if (tell != nullptr) tell->after_push();
    }
}

inline std::int64_t timer_service::expire(std::int64_t now) noexcept {
    for (;;) {
        worker_pool* tell = nullptr;
        {
            const scoped_lock g(lock_);
            if (heap_.empty()) return 0;
            if (heap_.front().deadline > now) return heap_.front().deadline;
            tell = fire_locked(heap_.front());
        }
        if (tell != nullptr) tell->after_push();
    }
}

} // namespace cmwq::inline CMWQ_NS::detail
