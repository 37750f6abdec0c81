// SPDX-License-Identifier: BSL-1.0
//
// bh_thread: the thread of a CPU that runs left-over bottom halves.
#pragma once

#include <cmwq/cpuset.hpp>
#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/sync/parker.hpp>
#include <cmwq/detail/sync/thread.hpp>

namespace cmwq::inline CMWQ_NS::detail {

struct pool_env;
class bottom_half_pool;

/// The thread of a CPU that runs the bottom halves which nobody else may: queued from another CPU, by a timer, or
/// beyond a budget. Made when it is needed first; parked while it is not.
///
/// Letters: I set before publication · A atomic · ST the staff thread
class bh_thread {
public:
    bh_thread(const pool_env& env, unsigned cpu, bottom_half_pool& normal, bottom_half_pool& high)
        : env_(env), cpu_(cpu), cpus_{cpu}, normal_(normal), high_(high) {}
    bh_thread(const bh_thread&) = delete;
    bh_thread& operator=(const bh_thread&) = delete;

    /// Any thread, also under locks: something has been made pending in one of its pools.
    void notify() noexcept;

    // The staff thread.
    [[nodiscard]] bool wanted() const noexcept { return wanted_.load(seq_cst); } // [ARM-2]
    /// Makes the thread, if it is wanted and not there. 0 or errno; then it is still wanted.
    int start_if_wanted() noexcept;
    /// ~runtime(): first all are told, then all are waited for.
    void tell_to_end() noexcept;
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
    atomic<bool> wanted_{false}; // A: somebody kicked it before it was there
    atomic<bool> stop_{false};
};

} // namespace cmwq::inline CMWQ_NS::detail
