// SPDX-License-Identifier: BSL-1.0
//
// rescuer: a thread that a queue creates in advance. When a pool needs a worker and cannot create one, the rescuer runs
// the items of its queue there, one at a time.
#pragma once

#include <cmwq/cpuset.hpp>
#include <cmwq/detail/engine/threads/rescuer_requests.hpp>
#include <cmwq/detail/sync/thread.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class queue_face;

/// The rescuer of a queue.
///
/// Letters: I set before publication · A atomic · R used by its thread only
class rescuer {
public:
    /// Creates the thread. Throws std::system_error if that fails.
    explicit rescuer(queue_face& q);
    ~rescuer() { stop(); }
    rescuer(const rescuer&) = delete;
    rescuer& operator=(const rescuer&) = delete;

    /// The queue has drained and is about to be destroyed: the thread serves the remaining calls, which normally find
    /// no item, and ends. Joins it.
    void stop() noexcept;
    /// The number of the thread, 0 before it has begun.
    [[nodiscard]] long tid() const noexcept { return tid_.load(relaxed); }
    /// For a forked child, where the thread does not exist.
    void forget_thread() noexcept { thread_.forget(); }

    rescuer_requests requests; // A

private:
    static void thread_main(void* self);
    void serve(); // not noexcept: serve() runs items
    /// Moves the thread back to the CPUs on which it waits.
    void return_to_wait_cpus() noexcept;

    queue_face& queue_;            // I
    thread thread_;                // I
    atomic<long> tid_{0};          // A: for reports
    cpuset wait_cpus_;             // R: the CPUs on which it waits; empty: not known yet
    bool is_on_wait_cpus_ = false; // R
};

}}} // namespace cmwq::CMWQ_NS::detail
