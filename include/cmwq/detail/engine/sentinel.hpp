// SPDX-License-Identifier: BSL-1.0
//
// sentinel: the idle-class thread of a CPU. The scheduler runs it when nothing else there wants the CPU, that is, when
// the last runnable worker has blocked; then it wakes a spare one.
#pragma once

#include <cmwq/detail/sync/atomic.hpp>
#include <cmwq/detail/sync/parker.hpp>
#include <cmwq/detail/sync/thread.hpp>

#include <cstdint>

namespace cmwq::inline CMWQ_NS::detail {

class runtime_core;
struct cpu_slot;

class sentinel {
public:
    sentinel(runtime_core& rt, cpu_slot& slot) noexcept : rt_(rt), slot_(slot) {}
    sentinel(const sentinel&) = delete;
    sentinel& operator=(const sentinel&) = delete;

    /// Any thread: something is pending behind a running worker of this CPU. One load while it is armed.
    void arm() noexcept {
        // [ARM-1] something was made pending, then the look at armed_; pairs [ARM-2], where the sentinel takes armed_
        // back and then looks at what is pending. All seq_cst: one of the two sees the other.
        if (!armed_.load(seq_cst) && !armed_.exchange(true, seq_cst)) sleep_.unpark();
    }

    /// The service thread: starts the thread. 0 or errno.
    int start() noexcept;
    /// Whether there is a thread that watches.
    [[nodiscard]] bool works() const noexcept { return works_.load(relaxed); }
    [[nodiscard]] bool started() const noexcept { return thread_.joinable(); }
    void stop() noexcept;
    void forget_thread() noexcept { thread_.forget(); }

private:
    static void thread_main(void* self);
    void watch() noexcept;
    void guard_cpu() noexcept;
    void nap(std::int64_t nanoseconds) noexcept;

    runtime_core& rt_; // I
    cpu_slot& slot_;   // I
    thread thread_;    // the service thread's
    parker sleep_;
    atomic<bool> armed_{false};
    atomic<bool> works_{false};
    atomic<bool> stop_{false};
};

} // namespace cmwq::inline CMWQ_NS::detail
