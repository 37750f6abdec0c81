// SPDX-License-Identifier: BSL-1.0
//
// service_thread: fires timers, calls rescuers, and is the monitor, which detects blocked workers that the sentinels do
// not detect. It creates no thread and waits for none. It only tries the lock of a pool whose workers have a low
// priority; docs/dev/locking.md names the locks that threads of low priority may still hold for long.
#pragma once

#include <cmwq/detail/engine/env/pool_env.hpp>
#include <cmwq/detail/engine/runtime/freezer.hpp>
#include <cmwq/detail/engine/runtime/placement.hpp>
#include <cmwq/detail/engine/runtime/stall_report.hpp>
#include <cmwq/detail/engine/timers/timer_service.hpp>
#include <cmwq/detail/sync/thread.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Any thread may call the public members; start() and join() once each.
///
/// Letters: I set by the constructor · S the thread itself · A atomic
class service_thread {
public:
    service_thread(const pool_env& env, timer_service& timers, placement& p, freezer& f) noexcept
        : env_(env), timers_(timers), placement_(p), freezer_(f) {}
    service_thread(const service_thread&) = delete;
    service_thread& operator=(const service_thread&) = delete;

    /// Returns 0, or an errno.
    int start() noexcept { return env_.threads.start(thread_, &service_thread::thread_main, this); }
    void request_end() noexcept {
        stop_.store(true, release); // [STOP]
        env_.requests.wake_service();
    }
    void join() noexcept { thread_.join(); }
    void forget_thread() noexcept { thread_.forget(); }

private:
    static void thread_main(void* self) { static_cast<service_thread*>(self)->serve(); }
    void serve() noexcept;
    void set_up_thread() noexcept;
    [[nodiscard]] std::int64_t monitor() noexcept;
    bool tick(std::int64_t passed) noexcept;
    void look_for_old(std::int64_t now) noexcept;
    void watch(item_pool& pool, std::int64_t passed) noexcept;
    void report_stall(item_pool& pool, stall_kind kind, std::int64_t time) noexcept;
    void abort_if_stalled(item_pool& pool) noexcept;

    const pool_env& env_;   // I
    timer_service& timers_; // I
    placement& placement_;  // I
    freezer& freezer_;      // I
    thread thread_;         // I
    atomic<bool> stop_{false};
    std::int64_t next_tick_ = 0;   // S: steady clock; 0: the monitor sleeps
    std::int64_t tick_length_ = 0; // S: nanoseconds
    std::int64_t ticked_at_ = 0;   // S: steady clock
    std::int64_t next_look_ = 0;   // S: for old items; steady clock
    std::int64_t check_due_ = 0;   // S: when to request the next routine check of the CPUs; steady clock
    int quiet_ticks_ = 0;          // S
};

}}} // namespace cmwq::CMWQ_NS::detail
