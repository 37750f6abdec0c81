// SPDX-License-Identifier: BSL-1.0
//
// sentinel: the idle-class thread of a CPU. The scheduler runs it when nothing else there wants the CPU, that is, when
// the last runnable worker has blocked; then it wakes a spare one.
#pragma once

#include <cmwq/cpuset.hpp>
#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/ds/arming.hpp>
#include <cmwq/detail/sync/parker.hpp>
#include <cmwq/detail/sync/thread.hpp>

#include <cstdint>

namespace cmwq::inline CMWQ_NS::detail {

struct pool_env;
class managed_workers;

/// It is in the idle class while it watches. When the runtime has been quiet for a moment the service thread takes it out
/// of that class, where that is allowed: a thread in it must be given a CPU to die, and so must its process.
///
/// Letters: I set before publication · A atomic · S the sentinel itself · PL the registry's lock
class sentinel {
public:
    sentinel(const pool_env& env, unsigned cpu) : env_(env), cpu_(cpu), cpus_{cpu} {}
    ~sentinel();
    sentinel(const sentinel&) = delete;
    sentinel& operator=(const sentinel&) = delete;

    /// From here on it looks after that pool, too, whose workers may run on its CPU. Throws std::bad_alloc. One thread
    /// at a time. `in_pod`: the pool is there for this CPU; otherwise its workers only may run here. A pool that nobody
    /// watches any more may be looked at a last time; its record does not go.
    void watch(managed_workers& pool, bool in_pod);
    void stop_watching(managed_workers& pool) noexcept;

    /// Any thread: something is pending behind a running worker of this CPU. One load while it is armed.
    void arm() noexcept {
        if (armed_.arm() != arming::none) sleep_.remind();
    }

    /// The staff thread: starts the thread. 0 or errno.
    int start() noexcept;
    /// Whether there is a thread that watches.
    [[nodiscard]] bool works() const noexcept { return works_.load(relaxed); }
    [[nodiscard]] bool started() const noexcept { return thread_.joinable(); }
    /// ~runtime(): first all are told, then all are waited for.
    void tell_to_end() noexcept;
    /// The service thread: nothing is pending for long.
    void leave_idle_class() noexcept;
    void let_it_end() noexcept { thread_.leave_idle_class(); }
    void join() noexcept { thread_.join(); }
    void forget_thread() noexcept { thread_.forget(); }

private:
    struct watched {
        atomic<managed_workers*> pool{nullptr}; // A: null: the entry is free
        atomic<bool> in_pod{true};              // A
        watched* next = nullptr;                // I
        bool insist = false;                    // S
        std::uint64_t completed = 0;            // S
        int idle_looks = 0;                     // S: how often in a row the CPU was idle beside a busy pod
    };

    static void thread_main(void* self);
    void watch_cpu() noexcept;
    void guard_cpu() noexcept;
    void rebind_if_moved() noexcept;
    [[nodiscard]] bool disarm() noexcept;
    void nap(std::int64_t nanoseconds) noexcept;

    const pool_env& env_;               // I
    const unsigned cpu_;                // I
    const cpuset cpus_;                 // I
    atomic<watched*> watched_{nullptr}; // A: grows under PL, never shrinks
    thread thread_;                     // the staff thread's
    unsigned binding_ = 0;              // S: the runtime's when it bound itself
    bool may_leave_ = true;             // the service thread's: as far as it knows
    atomic<long> tid_{0};               // A: 0: it is not in the idle class, or has no thread
    atomic<bool> lifted_{false};        // A: it has left the idle class
    parker sleep_;
    arming armed_;
    atomic<bool> works_{false};
    atomic<bool> stop_{false};
};

} // namespace cmwq::inline CMWQ_NS::detail
