// SPDX-License-Identifier: BSL-1.0
//
// diagnosis_thread: delivers the events of a runtime, and detects items that wait for each other for ever and queues
// that stand still at their limit. This may take long, so it has a thread of its own: nothing else in the runtime waits
// for it.
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
/// Letters: I set by the constructor, or by start() · A atomic
class diagnosis_thread {
public:
    /// Keeps the references, which may refer to objects that are not constructed yet.
    /// The thread calls `began(p)` as soon as it has begun.
    diagnosis_thread(const pool_env& env, const queue_list& queues, void (*began)(placement&), placement& p) noexcept
        : env_(env), queues_(queues), began_(began), placement_(p) {}
    diagnosis_thread(const diagnosis_thread&) = delete;
    diagnosis_thread& operator=(const diagnosis_thread&) = delete;

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

    const pool_env& env_;                        // I
    const queue_list& queues_;                   // I
    void (*const began_)(placement&);            // I
    placement& placement_;                       // I
    thread thread_;                              // I
    atomic<bool> stop_{false};                   // A
    atomic<bool> settles_{false};                // A: settle() waits for a permit of `settled_`
    parker settled_;                             // A
    atomic<const thread_slots*> slots_{nullptr}; // A: of the thread; null: it has not begun
};

}}} // namespace cmwq::CMWQ_NS::detail
