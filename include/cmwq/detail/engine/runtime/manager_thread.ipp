// SPDX-License-Identifier: BSL-1.0
//
// The bodies of manager_thread.

#include <cmwq/detail/base/earlier.hpp>
#include <cmwq/detail/engine/pools/pool_table.hpp>
#include <cmwq/detail/engine/queue/queue_core.hpp>
#include <cmwq/detail/engine/runtime/manager_thread.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <algorithm>
#include <cstdio>
#include <new>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE void manager_thread::set_up_thread() noexcept {
    thread_attributes a{.own = env_.threads.own()};
    std::snprintf(a.name, sizeof a.name, "cmwq/manager");
    a.cpus = env_.cpus.mask_of_process();
    env_.events.thread_refusals_of(apply_to_this_thread(a), a);
    this_thread_slots().helper_of = &env_;
    placement_.helper_began(placement::helper::manager);
}

CMWQ_INLINE void manager_thread::serve() noexcept {
    set_up_thread();
    while (!stop_.load(acquire)) {                           // [STOP]
        const std::int64_t again = join_ended(steady_now()); // first: frees places for new workers
        create_workers();
        create_threads_of_cpus();
        const bool retry = retry_at_ != 0 && steady_now() >= retry_at_;
        if (retry) retry_at_ = 0;
        look_after_cpus();
        if (env_.requests.take_cleaning() || retry) clean();
        // A clock of the program calls time_passed() when it advances, and that calls cull_all().
        const std::int64_t deadline = env_.options.clock == nullptr ? cull_all(env_.now()) : 0;
        env_.requests.sleep_as_manager(earlier_of(earlier_of(deadline, again), retry_at_));
    }
}

// --- creating threads ------------------------------------------------------------------------------------------------

CMWQ_INLINE void manager_thread::create_workers() noexcept {
    env_.pools.for_each_pool([this](item_pool& p) {
        if (!p.threads->take_request()) return;
        // The pool notes that it creates a worker. If that takes long, the service thread calls rescuers.
        if (!p.threads->ensure_worker() && make_room_for(&p)) static_cast<void>(p.threads->ensure_worker());
    });
}

// A sentinel does not take the place of a worker that has been asked to end: a pool without workers waits for it.
CMWQ_INLINE void manager_thread::create_threads_of_cpus() noexcept {
    env_.pools.for_each_cpu([this](cpu_record& r) {
        if (!env_.threads.expects_place()) {
            if (const int error = r.idle_thread.start_if_wanted(); error != 0) env_.events.no_thread(r.cpu, error);
        }
        const int error = r.bottom_half_thread.start_if_wanted();
        if (error == 0) return;
        env_.events.no_thread(r.cpu, error);
        make_room_for(nullptr);
        env_.requests.arm_monitor(); // the monitor requests a new attempt at each tick
    });
}

// If a limit keeps `pool` from having one more worker, asks another pool to give one up. Null: the thread of a bottom
// half. `max_threads` has room at once; the system has room when the thread has ended. But the refusal may have another
// reason, or somebody else may take the place. So after a worker has ended in vain, pools keep their last ones. Returns
// whether there is room now.
CMWQ_INLINE bool manager_thread::make_room_for(item_pool* pool) noexcept {
    constexpr std::int64_t patience = 100'000'000; // a thread may end slowly
    const bool at_once = pool != nullptr && env_.threads.is_exhausted();
    const bool again = !at_once && env_.threads.expects_place();
    if (!at_once && (!env_.threads.was_refused() || (again && steady_now() < room_due_))) return false;
    using idle_worker = worker_threads::idle_worker;
    bool made = false;
    const auto ask_all = [&](idle_worker which) {
        env_.pools.for_each_pool(
            [&](item_pool& p) { made = made || (&p != pool && p.threads->give_up_worker(which)); });
    };
    ask_all(idle_worker::one_of_several);
    const bool in_vain = again && has_room_;
    if (!made && !in_vain) ask_all(idle_worker::surplus);
    // A pool that has no worker at all may take the spare of another pool.
    if (!made && !in_vain && (pool == nullptr || pool->summary().workers == 0)) ask_all(idle_worker::last_spare);
    if (!made || at_once) return made;
    env_.threads.expect_place();
    waits_for_room_ = pool;
    has_room_ = false;
    room_due_ = steady_now() + patience;
    return false;
}

// --- threads that end ------------------------------------------------------------------------------------------------

// Joins the threads that are gone, and waits for none. Returns when to check again, steady clock; 0: not at all.
CMWQ_INLINE std::int64_t manager_thread::join_ended(std::int64_t now) noexcept {
    constexpr std::int64_t shortest = 1'000'000, longest = 100'000'000;
    bool more = false, gone = false;
    for (worker* w = env_.pools.leaving().take_all(); w != nullptr;) {
        worker* const next = env_.pools.leaving().unlink_next(*w);
        unjoined_.push_back(*w);
        w = next;
        more = true;
    }
    if (unjoined_.empty() || (!more && now < join_at_)) return join_at_;
    for (worker* w = unjoined_.front(); w != nullptr;) {
        worker& one = *w;
        w = unjoined_.next(one);
        if (!one.os_thread.try_join()) continue;
        unjoined_.remove(one); // before the pool gets the record back: its idle list uses the same link
        if (one.pool.threads->thread_is_gone(one)) gone = true;
        else unjoined_.push_back(one);
    }
    if (gone) {
        env_.pools.shared().free_ended();
        constexpr std::int64_t pause = 1'000'000'000;
        has_room_ = true;
        room_due_ = now + pause;
        if (item_pool* const p = std::exchange(waits_for_room_, nullptr); p != nullptr)
            static_cast<void>(p->threads->ensure_worker());
    }
    join_pause_ = more || gone ? shortest : std::min(join_pause_ * 2, longest);
    join_at_ = unjoined_.empty() ? 0 : now + join_pause_;
    return join_at_;
}

CMWQ_INLINE std::int64_t manager_thread::cull_all(std::int64_t now) noexcept {
    std::int64_t next = 0;
    env_.pools.for_each_pool([&](item_pool& p) {
        std::int64_t due = p.threads->cull_at();
        if (due != 0 && due <= now) due = p.threads->cull(now);
        next = earlier_of(next, due);
    });
    return next;
}

// --- cleaning, CPUs --------------------------------------------------------------------------------------------------

// Neither this function nor the next one waits for a lock that is held while the attributes of a queue change: that may
// last as long as a producer is stopped.
CMWQ_INLINE void manager_thread::clean() noexcept {
    queues_.for_each([this](queue_core& q) {
        if (!q.take_reaping() || q.changes.reap()) return;
        q.defer_reaping();
        retry_soon();
    });
    env_.pools.shared().end_unused();
}

CMWQ_INLINE void manager_thread::retry_soon() noexcept {
    constexpr std::int64_t pause = 10'000'000;
    retry_at_ = steady_now() + pause;
}

// The CPUs of the process may change at any time, without a notification. But a worker notices that it is not on its
// CPU, and requests a check; and the monitor, which runs while items are pending, requests one at regular intervals.
CMWQ_INLINE void manager_thread::look_after_cpus() noexcept {
    constexpr std::int64_t interval = 100'000'000;
    const bool routine = env_.requests.take_routine_cpu_check();
    const bool asked = env_.requests.take_cpu_check();
    if (!asked && !routine) return;
    const std::int64_t now = steady_now();
    if (!asked && now - checked_at_ < interval) return;
    checked_at_ = now;
    try {
        if (placement_.try_check_cpus(asked)) return;
        if (asked) env_.requests.defer_cpu_check();
        retry_soon();
    } catch (const std::bad_alloc&) {
        checked_at_ = 0; // so that the next request checks again
    }
}

}}} // namespace cmwq::CMWQ_NS::detail
