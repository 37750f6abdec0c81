// SPDX-License-Identifier: BSL-1.0
//
// The bodies of service_thread: its loop, the monitor's tick, and the reports of stalls.

#include <cmwq/detail/base/earlier.hpp>
#include <cmwq/detail/engine/env/closure_memory.hpp>
#include <cmwq/detail/engine/pools/pool_table.hpp>
#include <cmwq/detail/engine/runtime/service_thread.hpp>
#include <cmwq/detail/sync/clock.hpp>

#include <algorithm>
#include <cstdio>
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

// Runs a tick if it is due. Returns when the next one is due, steady clock; 0: the monitor sleeps.
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
    } else if (now >= next_tick_) {
        // Limits the time since the last tick: after a pause of the virtual machine, for instance, the process did not
        // run for all of that time.
        constexpr std::int64_t longest_gap = 100'000'000;
        const std::int64_t passed = std::min(now - std::exchange(ticked_at_, now), longest_gap);
        const bool eventful = tick(passed);
        tick_length_ = eventful ? shortest_tick : tick_length_ < longest_tick ? tick_length_ * 2 : longest_tick;
        next_tick_ = armed.is_armed() ? now + tick_length_ : 0;
    }
    return next_tick_;
}

// One check of all pools. Returns whether it had to start a spare worker because no sentinel had done so.
CMWQ_INLINE bool service_thread::tick(std::int64_t passed) noexcept {
    constexpr int patience = 8; // quiet ticks before the monitor sleeps: arming it costs a producer a system call
    const std::int64_t now = steady_now(), stalled_after = env_.options.watchdog.count();
    monitor_findings all;
    env_.pools.for_each_pool([&](item_pool& p) {
        const monitor_findings f = p.look_after(passed);
        all.pending |= f.pending;
        all.eventful |= f.eventful;
        all.computing |= f.computing;
        p.rescue->call(now);
        if (p.has_stalled(passed, stalled_after)) report_stall(p);
    });
    env_.pools.for_each_bottom_half([&](bottom_half_pool& p) {
        all.pending |= p.pending();
        if (p.has_stalled(passed, stalled_after)) report_stall(p);
    });
    bool wanted = false;
    env_.pools.for_each_cpu([&](const cpu_record& r) { wanted |= r.bottom_half_thread.wakeup.wanted(); });
    if (wanted) env_.requests.wake_manager(); // the manager thread could not create the thread, and tries again
    all.pending |= wanted;
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

// The diagnosis thread describes the pool as it is then.
CMWQ_INLINE void service_thread::report_stall(item_pool& pool) noexcept {
    env_.events.post(event::kind::stalled, 0, 0, [this, &pool](event& e) {
        char time[32];
        std::snprintf(time, sizeof time, "%g s: ", static_cast<double>(env_.options.watchdog.count()) / 1e9);
        std::string cpus;
        if (pool.is_per_cpu()) {
            e.cpu = pool.number();
            cpus = "CPU " + std::to_string(e.cpu);
        } else { // copies the spec: a shared pool may get another one as soon as its last queue is gone
            constexpr std::int64_t patience = 100'000'000;
            const pool_registry::usage now = env_.pools.shared().usage_of(pool, steady_now() + patience);
            if (now.users != 0) e.cpu = now.spec.pod.next(0);
            cpus = now.users == 0 ? "unknown CPUs" : "CPUs " + now.spec.pod.to_string();
        }
        e.message = "cmwq: nothing has been started for " + (time + pool.describe_stall(cpus));
    });
}

}}} // namespace cmwq::CMWQ_NS::detail
