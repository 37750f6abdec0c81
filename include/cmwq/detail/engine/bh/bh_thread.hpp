// SPDX-License-Identifier: BSL-1.0
//
// bh_thread: the thread of a CPU that runs remaining bottom halves.
#pragma once

#include <cmwq/cpuset.hpp>
#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/engine/bh/bh_wakeup.hpp>
#include <cmwq/detail/engine/env/pool_env.hpp>
#include <cmwq/detail/sync/thread.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class bottom_half_pool;

/// The bottom-half thread of a CPU. It runs the bottom halves that no other thread may run: those queued from another
/// CPU, by a timer, or beyond a budget. The manager thread creates it on first use; it is parked while nothing is
/// pending.
///
/// Letters: I set before publication · A atomic · ST used by the manager thread and ~runtime()
class bh_thread {
public:
    bh_thread(const pool_env& env, unsigned cpu, bottom_half_pool& normal, bottom_half_pool& high)
        : wakeup(env.requests), env_(env), cpu_(cpu), cpus_{cpu}, normal_(normal), high_(high) {}
    bh_thread(const bh_thread&) = delete;
    bh_thread& operator=(const bh_thread&) = delete;

    /// For the manager thread: creates the thread if it is wanted and does not exist. Returns 0 or an errno. After an
    /// error the thread is still wanted.
    int start_if_wanted() noexcept;
    /// For ~runtime(): asks the thread to end. All threads are asked before the first one is joined.
    void request_end() noexcept;
    void join() noexcept;
    void forget_thread() noexcept { thread_.forget(); }

    bh_wakeup wakeup; // A: for the pools

private:
    static void thread_main(void* self);
    void serve() noexcept;

    const pool_env& env_;      // I
    const unsigned cpu_;       // I
    const cpuset cpus_;        // I
    bottom_half_pool& normal_; // I
    bottom_half_pool& high_;   // I
    thread thread_;            // ST
    atomic<bool> stop_{false};
};

}}} // namespace cmwq::CMWQ_NS::detail
