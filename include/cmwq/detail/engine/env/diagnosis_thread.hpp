// SPDX-License-Identifier: BSL-1.0
//
// diagnosis_thread: delivers the events of a runtime, and detects items that wait for each other for ever and queues that
// stand still at their limit. This may take long, so it has a thread of its own: nothing else in the runtime waits for it.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/base/thread_slots.hpp>
#include <cmwq/detail/sync/parker.hpp>
#include <cmwq/detail/sync/thread.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

struct pool_env;
class placement;
class queue_list;

/// One object for each runtime.
///
/// Letters: I set by the constructor, or by start() · A atomic · G the lock of the graph of waits
class diagnosis_thread {
public:
    /// Keeps the references, which may refer to objects that are not constructed yet.
    diagnosis_thread(const pool_env& env, const queue_list& queues, placement& p) noexcept
        : env_(env), queues_(queues), placement_(p) {}
    diagnosis_thread(const diagnosis_thread&) = delete;
    diagnosis_thread& operator=(const diagnosis_thread&) = delete;

    /// Under the lock of the graph: requests a check of the waits at `when`, steady clock, unless one is due earlier.
    void look_at_waits_by(std::int64_t when) noexcept;
    /// The thread itself calls these two; the second one under that lock. When the next check of waits is due; 0: none
    /// is.
    [[nodiscard]] std::int64_t waits_due() const noexcept { return waits_due_.load(relaxed); } // [PARK-1]
    void set_waits_due(std::int64_t when) noexcept { waits_due_.store(when, relaxed); }
    std::int64_t no_look_before = 0; ///< G: steady clock; the pause after a check grows with the cost of the check
    /// Requests a check of the queues at their limit, because one has reached it. Any thread, also under a pool lock.
    void watch_backlogs() noexcept;

    /// Returns 0, or an errno.
    int start() noexcept;
    /// Returns when all events that have been posted before have been delivered.
    void settle() noexcept;
    /// Ends and joins the thread, which delivers all events before. No requests and no events come any more.
    void end() noexcept;
    void forget_thread() noexcept {
        thread_.forget();
        slots_.store(nullptr, relaxed);
    }
    /// Whether the calling thread is this one.
    [[nodiscard]] bool is_this_thread() const noexcept;

private:
    static void thread_main(void* self);
    void serve() noexcept;
    std::int64_t serve_backlogs() noexcept;
    bool look_at_backlogs(std::int64_t passed) noexcept;
    [[nodiscard]] std::int64_t backlog_limit() const noexcept;
    [[nodiscard]] std::int64_t backlog_interval() const noexcept;

    const pool_env& env_;                        // I
    const queue_list& queues_;                   // I
    placement& placement_;                       // I
    thread thread_;                              // I
    atomic<bool> stop_{false};                   // A
    atomic<bool> settles_{false};                // A: settle() waits for a permit of `settled_`
    parker settled_;                             // A
    atomic<const thread_slots*> slots_{nullptr}; // A: of the thread; null: it has not begun
    atomic<std::int64_t> waits_due_{0};          // A, written under G
    atomic<std::int64_t> backlog_due_{0}; // A: when to check the queues at their limit; steady clock, 0: there are none
};

}}} // namespace cmwq::CMWQ_NS::detail
