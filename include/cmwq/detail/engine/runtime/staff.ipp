// SPDX-License-Identifier: BSL-1.0
//
// runtime_core, third part: the staff thread. It makes threads and sees them off. Both may take long: a thread source may
// stall, and a thread ends when the scheduler gives it a CPU. Nothing that is urgent depends on it.
#pragma once

#include <cmwq/detail/engine/queue/queue_core.hpp>
#include <cmwq/detail/engine/runtime/runtime_core.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/system.hpp>

#include <algorithm>
#include <cstdio>
#include <new>

namespace cmwq::inline CMWQ_NS::detail {

CMWQ_INLINE void runtime_core::staff_main(void* self) { static_cast<runtime_core*>(self)->keep_staff(); }

CMWQ_INLINE void runtime_core::keep_staff() noexcept {
    thread_attributes a{.own = own_};
    std::snprintf(a.name, sizeof a.name, "cmwq/staff");
    if (!leave_inherited_mask_for_.empty()) a.cpus = &leave_inherited_mask_for_;
    report_refusals(apply_to_this_thread(a), a);
    staff_tid_.store(this_thread_id(), release); // [TID-1]
    keep_away_from_isolated_cpus(true);
    while (!stop_.load(acquire)) {                             // [STOP]
        const std::int64_t again = reap_threads(steady_now()); // first: there may be room for new ones
        serve_requests();
        look_after_cpus();
        if (cleaning_wanted_.exchange(false, acq_rel)) clean();                  // [CLEAN-1]
        std::int64_t deadline = options_.clock == nullptr ? cull_all(now()) : 0; // another clock tells by itself
        for (const std::int64_t t : {again, diagnosis_.start_if_due(steady_now())}) deadline = sooner(deadline, t);
        if (deadline == 0) staff_sleep_.park();
        else staff_sleep_.park_until(deadline);
    }
}

CMWQ_INLINE void runtime_core::serve_requests() noexcept {
    for_each_pool([this](worker_pool& p) {
        if (!p.take_request()) return;
        // It says that it makes a worker: if that takes long, rescuers are called.
        if (!p.staff() && make_room_for(p)) static_cast<void>(p.staff());
        start_sentinels_of(p);
    });
    for (auto& s : slots_) {
        const int error = s->left_over.start_if_wanted();
        if (error == 0) continue;
        report_no_thread(s->cpu, error);
        arm_monitor(); // it is tried again at each tick
    }
}

// Joins the threads that are gone, and waits for none. When to look again, 0: not; steady clock.
CMWQ_INLINE std::int64_t runtime_core::reap_threads(std::int64_t now) noexcept {
    constexpr std::int64_t shortest = 1'000'000, longest = 100'000'000;
    bool more = false, gone = false;
    for (worker* w = leaving_.take_all(); w != nullptr;) {
        worker* const next = leaving_.unlink_next(*w);
        unjoined_.push_back(*w);
        w = next;
        more = true;
    }
    if (unjoined_.empty() || (!more && now < reap_at_)) return reap_at_;
    for (worker* w = unjoined_.front(); w != nullptr;) {
        worker& one = *w;
        w = unjoined_.next(one);
        if (!one.os_thread.try_join()) continue;
        unjoined_.remove(one); // from a list that shares its link with those of the pool
        if (one.pool.thread_is_gone(one)) gone = true;
        else unjoined_.push_back(one);
    }
    if (gone) registry_.free_ended();
    reap_pause_ = more || gone ? shortest : std::min(reap_pause_ * 2, longest);
    reap_at_ = unjoined_.empty() ? 0 : now + reap_pause_;
    return reap_at_;
}

CMWQ_INLINE std::int64_t runtime_core::cull_all(std::int64_t now) noexcept {
    std::int64_t next = 0;
    for_each_pool([&](worker_pool& p) {
        std::int64_t due = p.cull_at();
        if (due != 0 && due <= now) due = p.cull(now);
        if (due != 0 && (next == 0 || due < next)) next = due;
    });
    return next;
}

// Within the limit of threads, if that is what keeps the pool from having one. Whether there is room now.
CMWQ_INLINE bool runtime_core::make_room_for(const worker_pool& pool) noexcept {
    if (options_.max_threads == 0 || nr_workers_.load(relaxed) < options_.max_threads) return false;
    bool made = false;
    const auto ask_all = [&](bool spare) {
        for_each_pool([&](worker_pool& p) { made = made || (&p != &pool && p.give_up_worker(spare)); });
    };
    ask_all(false);
    // A pool that has no worker at all gets one that is only somebody's spare.
    if (!made && pool.summary().workers == 0) ask_all(true);
    return made;
}

CMWQ_INLINE void runtime_core::start_sentinels_of(const worker_pool& pool) noexcept {
    if (!options_.sentinel || !binds_threads_) return;
    pool.for_each_watcher(worker_pool::watchers::all, [this](unsigned place) {
        sentinel& s = sentinel_at(place);
        if (s.started()) return;
        if (const int error = s.start(); error != 0) report_no_thread(cpu_at(place), error);
    });
}

CMWQ_INLINE void runtime_core::clean() noexcept {
    {
        const scoped_lock g(queues_lock_);
        for (queue_core* q = queues_.front(); q != nullptr; q = queues_.next(*q)) {
            if (q->take_reaping()) q->reap();
        }
    }
    registry_.end_unused();
}

// The CPUs of the process may change at any time. Nothing tells; but a worker notices that it is not on its CPU, and
// while there is something to do the monitor runs, and asks for a look from time to time.
CMWQ_INLINE void runtime_core::look_after_cpus() noexcept {
    constexpr std::int64_t interval = 100'000'000;
    const bool routine = routine_check_wanted_.exchange(false, acq_rel); // [ALONE]
    const bool asked = check_wanted_.exchange(false, acq_rel);           // [LOCK]
    if (!asked && !routine) return;
    const std::int64_t now = steady_now();
    if (!asked && now - checked_at_ < interval) return;
    checked_at_ = now;
    if (asked) keep_away_from_isolated_cpus();
    try {
        check_cpus();
    } catch (const std::bad_alloc&) {
        checked_at_ = 0; // at the next opportunity
    }
}

} // namespace cmwq::inline CMWQ_NS::detail
