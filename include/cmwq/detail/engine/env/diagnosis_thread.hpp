// SPDX-License-Identifier: BSL-1.0
//
// diagnosis_thread: detects items that wait for each other for ever, and queues that stand still at their limit. This
// may take long, so it has a thread of its own: timers and the creation of workers do not wait for it.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/sync/parker.hpp>
#include <cmwq/detail/sync/thread.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

struct pool_env;
class queue_list;

/// One object for each runtime. Its thread is created when a wait or a queue at its limit has lasted long enough to be
/// checked, so most runtimes have no such thread.
///
/// Letters: A atomic · G the lock of the graph of waits · ST the manager thread
class diagnosis_thread {
public:
    /// Keeps the references, which may refer to objects that are not constructed yet.
    diagnosis_thread(const pool_env& env, const queue_list& queues) noexcept : env_(env), queues_(queues) {}
    diagnosis_thread(const diagnosis_thread&) = delete;
    diagnosis_thread& operator=(const diagnosis_thread&) = delete;

    /// Under the lock of the graph: requests a check of the waits at `when`, steady clock, unless one is due earlier.
    void look_at_waits_by(std::int64_t when) noexcept;
    /// The thread itself calls these two; the second one under that lock. When the next check of waits is due; 0: none
    /// is.
    [[nodiscard]] std::int64_t waits_due() const noexcept { return waits_due_.load(seq_cst); } // [WATCH-2]
    void set_waits_due(std::int64_t when) noexcept { waits_due_.store(when, relaxed); }
    std::int64_t no_look_before = 0; ///< G: steady clock; the pause after a check grows with the cost of the check
    /// Requests a check of the queues at their limit, because one has reached it. Any thread, also under a pool lock.
    void watch_backlogs() noexcept;

    /// The manager thread calls this: creates the thread, if a check is due and there is no thread. Returns when to call
    /// again, steady clock; 0: after the next wake-up.
    std::int64_t start_if_due(std::int64_t now) noexcept;
    /// Ends and joins the thread. No requests come any more.
    void stop() noexcept;
    void forget_thread() noexcept { thread_.forget(); }
    /// The number of the thread, 0 before it has begun.
    [[nodiscard]] long tid() const noexcept { return tid_.load(acquire); } // [TID-1]

private:
    static void thread_main(void* self);
    void serve() noexcept;
    std::int64_t serve_backlogs() noexcept;
    void notify() noexcept;
    bool look_at_backlogs(std::int64_t passed) noexcept;
    [[nodiscard]] std::int64_t backlog_limit() const noexcept;
    [[nodiscard]] std::int64_t backlog_interval() const noexcept;

    const pool_env& env_;      // I
    const queue_list& queues_; // I
    thread thread_;            // ST
    parker sleep_;
    atomic<bool> exists_{false};          // A: there is a thread to wake, or it is being created
    atomic<bool> stop_{false};            // A
    atomic<long> tid_{0};                 // A
    atomic<std::int64_t> waits_due_{0};   // A, written under G
    atomic<std::int64_t> backlog_due_{0}; // A: when to check the queues at their limit; steady clock, 0: there are none
};

}}} // namespace cmwq::CMWQ_NS::detail
