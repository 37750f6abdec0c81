// SPDX-License-Identifier: BSL-1.0
//
// diagnosis_thread: looks for what will never get on, items that wait for each other and queues at their limit. That may
// take its time, and the clock of timers and the making of workers do not wait for it.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/sync/parker.hpp>
#include <cmwq/detail/sync/thread.hpp>

#include <cstdint>

namespace cmwq::inline CMWQ_NS::detail {

struct pool_env;
class queue_list;

/// Of two times, 0 being none.
constexpr std::int64_t sooner(std::int64_t a, std::int64_t b) noexcept { return a == 0 || (b != 0 && b < a) ? b : a; }

/// One for each runtime, made when something has waited for long enough to be looked at: most runtimes never have it.
///
/// Letters: A atomic · G the lock of the graph of waits · ST the staff thread
class diagnosis_thread {
public:
    /// `env` and `queues` need not be made yet.
    diagnosis_thread(const pool_env& env, const queue_list& queues) noexcept : env_(env), queues_(queues) {}
    diagnosis_thread(const diagnosis_thread&) = delete;
    diagnosis_thread& operator=(const diagnosis_thread&) = delete;

    /// Under the lock of the graph: the waits of items are looked at by then, steady clock, unless they are before.
    void look_at_waits_by(std::int64_t when) noexcept;
    /// The thread itself; set under that lock. When that is; 0: there is nothing to look at.
    [[nodiscard]] std::int64_t waits_due() const noexcept { return waits_due_.load(seq_cst); } // [WATCH-2]
    void set_waits_due(std::int64_t when) noexcept { waits_due_.store(when, relaxed); }
    std::int64_t no_look_before = 0; ///< G: steady clock; the pauses between looks grow with what they cost
    /// Any thread, also under a pool lock: a queue has reached its limit.
    void watch_backlogs() noexcept;

    /// The staff thread: makes the thread, if it is due and not there. Returns when to call again, steady clock; 0: when
    /// it has been asked to.
    std::int64_t start_if_due(std::int64_t now) noexcept;
    /// Nobody asks for anything any more.
    void stop() noexcept;
    void forget_thread() noexcept { thread_.forget(); }

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
    atomic<bool> exists_{false};          // A: there is a thread to be told, or will be
    atomic<bool> stop_{false};            // A
    atomic<std::int64_t> waits_due_{0};   // A, written under G
    atomic<std::int64_t> backlog_due_{0}; // A: when it looks at queues at their limit; steady clock, 0: there are none
};

} // namespace cmwq::inline CMWQ_NS::detail
