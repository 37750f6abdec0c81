// SPDX-License-Identifier: BSL-1.0
//
// bh_thread: the thread of a CPU that runs remaining bottom halves.
#pragma once

#include <cmwq/cpuset.hpp>
#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/sync/parker.hpp>
#include <cmwq/detail/sync/thread.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

struct pool_env;
class bottom_half_pool;

/// The bottom-half thread of a CPU. It runs the bottom halves that no other thread may run: those queued from another
/// CPU, by a timer, or beyond a budget. The manager thread creates it on first use; it is parked while nothing is
/// pending.
///
/// Letters: I set before publication · A atomic · ST used by the manager thread and ~runtime()
class bh_thread {
public:
    bh_thread(const pool_env& env, unsigned cpu, bottom_half_pool& normal, bottom_half_pool& high)
        : env_(env), cpu_(cpu), cpus_{cpu}, normal_(normal), high_(high) {}
    bh_thread(const bh_thread&) = delete;
    bh_thread& operator=(const bh_thread&) = delete;

    /// Reports that something has become pending in one of the two pools. Any thread may call it, also while it holds
    /// locks.
    void notify() noexcept;

    /// Whether the manager thread must create the thread. Any thread may call it.
    [[nodiscard]] bool wanted() const noexcept { return wanted_.load(seq_cst); } // [ARM-2]
    /// For the manager thread: creates the thread if it is wanted and does not exist. Returns 0 or an errno. After an
    /// error the thread is still wanted.
    int start_if_wanted() noexcept;
    /// For ~runtime(): asks the thread to end. All threads are asked before the first one is joined.
    void request_end() noexcept;
    void join() noexcept;
    void forget_thread() noexcept { thread_.forget(); }

private:
    static void thread_main(void* self);
    void serve() noexcept;

    const pool_env& env_;      // I
    const unsigned cpu_;       // I
    const cpuset cpus_;        // I
    bottom_half_pool& normal_; // I
    bottom_half_pool& high_;   // I
    thread thread_;            // ST
    parker sleep_;             // A
    atomic<bool> exists_{false};
    atomic<bool> wanted_{false}; // A: notify() was called before the thread existed
    atomic<bool> stop_{false};
};

}}} // namespace cmwq::CMWQ_NS::detail
