// SPDX-License-Identifier: BSL-1.0
//
// The bodies of service_thread: its loop, the monitor's tick, and what follows a stall.

#include <cmwq/detail/base/earlier.hpp>
#include <cmwq/detail/engine/env/closure_memory.hpp>
#include <cmwq/detail/engine/pools/pool_table.hpp>
#include <cmwq/detail/engine/runtime/service_thread.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/process_barrier.hpp>
#include <cmwq/detail/sync/system.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE void service_thread::set_up_thread() noexcept {
    thread_attributes a{.own = env_.threads.own(), .exact_timeouts = true};
    std::snprintf(a.name, sizeof a.name, "cmwq/service");
    a.cpus = env_.cpus.mask_of_process();
    env_.events.thread_refusals_of(apply_to_this_thread(a), a);
    placement_.helper_began(placement::helper::service);
}

CMWQ_INLINE void service_thread::serve() noexcept {
    set_up_thread();
    while (!stop_.load(acquire)) { // [STOP]
        if (env_.requests.take_freeze_check()) freezer_.wake_waiters();
        if (env_.options.clock == nullptr) timers_.woke_up();
        const bool more = timers_.expire(env_.now());
        const std::int64_t tick = monitor();
        if (more) continue;
        // The program's clock calls time_passed(). This thread is then woken by each timer that is the first of its
        // shard, because it may be due already.
        const std::int64_t timer = env_.options.clock == nullptr ? timers_.plan_sleep() : timer_service::never;
        env_.requests.sleep_as_service(timer == timer_service::never ? tick : earlier_of(timer, tick));
    }
}

// Lets the clock of ages go on, and looks for old items. It is due at each tick, and more often if there are pools that
// may have some: docs/dev/guarantees.md promises how long an item waits at most.
CMWQ_INLINE void service_thread::look_for_old(std::int64_t now) noexcept {
    constexpr std::int64_t interval = 2'000'000;
    env_.ticks.tick(now);
    bool often = false;
    env_.pools.for_each_pool([&often](item_pool& p) {
        if (p.locals == nullptr) return;
        p.look_for_old();
        often = true;
    });
    next_look_ = often ? now + interval : next_tick_;
}

// Runs what is due. Returns when the next call is due, steady clock; 0: the monitor sleeps.
CMWQ_INLINE std::int64_t service_thread::monitor() noexcept {
    constexpr std::int64_t shortest_tick = 1'000'000, longest_tick = 8'000'000;
    arming& armed = env_.requests.monitor();
    if (!armed.is_armed()) return next_tick_;
    armed.answer();
    const std::int64_t now = steady_now();
    if (next_tick_ == 0) {
        tick_length_ = shortest_tick;
        next_tick_ = now + tick_length_;
        ticked_at_ = now;
        env_.ticks.begin(now);
        next_look_ = now;
    } else if (now >= next_tick_) {
        // Limits the time since the last tick: after a pause of the virtual machine, for instance, the process did not
        // run for all of that time.
        constexpr std::int64_t longest_gap = 100'000'000;
        const std::int64_t passed = std::min(now - std::exchange(ticked_at_, now), longest_gap);
        const bool eventful = tick(passed);
        tick_length_ = eventful ? shortest_tick : tick_length_ < longest_tick ? tick_length_ * 2 : longest_tick;
        next_tick_ = armed.is_armed() ? now + tick_length_ : 0;
    }
    if (next_tick_ == 0) return 0;
    if (now >= next_look_) look_for_old(now);
    return std::min(next_tick_, next_look_);
}

// One check of all pools. Returns whether it had to start a spare worker because no sentinel had done so.
CMWQ_INLINE bool service_thread::tick(std::int64_t passed) noexcept {
    constexpr int patience = 8; // quiet ticks before the monitor sleeps: arming it costs a producer a system call
    const std::int64_t now = steady_now();
    monitor_findings all;
    env_.pools.for_each_pool([&](item_pool& p) {
        const monitor_findings f = p.look_after(passed);
        all.pending |= f.pending;
        all.eventful |= f.eventful;
        all.computing |= f.computing;
        p.rescue->call(now);
        watch(p, passed);
    });
    env_.pools.for_each_bottom_half([&](bottom_half_pool& p) {
        all.pending |= p.pending();
        watch(p, passed);
    });
    bool wanted = false;
    env_.pools.for_each_cpu([&](const cpu_record& r) { wanted |= r.bottom_half_thread.wakeup.wanted(); });
    if (wanted) env_.requests.wake_manager(); // the manager thread could not create the thread, and tries again
    all.pending |= wanted;
    if (process_barrier::is_wanted()) env_.requests.wake_diagnosis(); // it may wait: preparing takes milliseconds
    if (now >= check_due_) {
        constexpr std::int64_t interval = 100'000'000;
        check_due_ = now + interval;
        env_.requests.request_routine_cpu_check();
    }
    quiet_ticks_ = all.pending || all.computing ? 0 : quiet_ticks_ + 1;
    if (quiet_ticks_ >= patience) {
        quiet_ticks_ = 0;
        env_.pools.for_each_pool([](item_pool& p) {
            if (p.concurrency != nullptr) p.concurrency->reset_limit();
        });
        arming& armed = env_.requests.monitor();
        armed.disarm(); // [ARM-2]
        if (env_.pools.anything_pending()) {
            armed.stay_armed();
        } else {
            env_.pools.for_each_cpu([](cpu_record& r) { r.idle_thread.leave_idle_class(); });
            env_.closures.free_all();
        }
    }
    return all.eventful;
}

CMWQ_INLINE void service_thread::watch(item_pool& pool, std::int64_t passed) noexcept {
    const std::int64_t limit = env_.thresholds.watchdog();
    if (pool.has_stalled(passed, limit)) report_stall(pool, stall_kind::nothing_starts, pool.stalled_for());
    if (pool.is_overtaken(passed, limit)) report_stall(pool, stall_kind::first_is_overtaken, pool.overtaken_for());
    abort_if_stalled(pool);
}

// The diagnosis thread describes the pool as it is then.
CMWQ_INLINE void service_thread::report_stall(item_pool& pool, stall_kind kind, std::int64_t time) noexcept {
    env_.events.post(event::kind::stalled, 0, 0, [this, &pool, kind, time](event& e) {
        e.message = describe_stalled(env_, pool, kind, time, e.cpu);
        if (e.message.empty()) e.message = "cmwq: a pool had stalled, but none of its items waits for a worker now";
    });
}

// Does not leave it to the diagnosis thread, which on_event, or the standard error, may hold up.
CMWQ_INLINE void service_thread::abort_if_stalled(item_pool& pool) noexcept {
    const std::int64_t limit = env_.options.abort_on_stall_after.count(), time = pool.stalled_for();
    if (limit == 0 || time < limit) return;
    try {
        unsigned cpu = 0;
        const std::string what = describe_stalled(env_, pool, stall_kind::nothing_starts, time, cpu);
        if (what.empty()) return;
        print_last_words(what + "\ncmwq: the program is aborted, because of the option abort_on_stall_after\n");
    } catch (const std::bad_alloc&) {
        print_last_words("cmwq: a pool starts nothing; the program is aborted\n");
    }
    std::abort();
}

}}} // namespace cmwq::CMWQ_NS::detail
