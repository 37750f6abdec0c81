// SPDX-License-Identifier: BSL-1.0
//
// sentinel: the idle-class thread of a CPU. The scheduler runs it when nothing else on the CPU is runnable, that is,
// when the last runnable worker has blocked. It then wakes a spare worker.
#pragma once

#include <cmwq/cpuset.hpp>
#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/ds/arming.hpp>
#include <cmwq/detail/sync/parker.hpp>
#include <cmwq/detail/sync/thread.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

struct pool_env;
class load;

/// The sentinel of a CPU watches the pools whose workers may run on the CPU. It takes no lock to check them.
///
/// Its thread exists from the first time when items are pending behind a running worker: as long as that does not
/// happen, there is none. It is in the idle class while it watches. When nothing has been pending for a while, the
/// service thread takes it out of that class, where that is allowed: a thread of the idle class cannot end before it
/// gets a CPU, and neither can its process.
///
/// Letters: I set before publication · A atomic · S the sentinel itself · PL the registry's lock
class sentinel {
public:
    sentinel(const pool_env& env, unsigned cpu);
    ~sentinel();
    sentinel(const sentinel&) = delete;
    sentinel& operator=(const sentinel&) = delete;

    /// What the CPU is to a pool: its only CPU, one of its pod, or neither, but its workers may run there.
    enum class near : unsigned char { own_cpu, pod, none };
    /// Adds a pool to those that the sentinel watches. Throws std::bad_alloc. One caller at a time.
    void watch(load& pool, near how);
    /// Removes a pool. The sentinel may check the pool once more after that; records of pools are never freed.
    void stop_watching(load& pool) noexcept;

    /// Any thread: items are pending behind a running worker of this CPU. Costs one load while the sentinel is armed.
    void arm() noexcept {
        if (armed_.arm() == arming::none) return;
        sleep_.remind(); // the permit stays, even if the thread does not exist yet
        if (stage_.load(relaxed) == stage::unused) want_thread();
    }

    /// Whether the manager thread must create the thread. Any thread may call it.
    [[nodiscard]] bool wanted() const noexcept { return stage_.load(relaxed) == stage::wanted; }
    /// For the manager thread: creates the thread if it is wanted. Returns 0 or an errno. After an error it is still
    /// wanted.
    int start_if_wanted() noexcept;
    /// Whether the thread watches its CPU.
    [[nodiscard]] bool works() const noexcept { return works_.load(relaxed); }
    /// For ~runtime(): asks the thread to end. All threads are asked before the first one is joined.
    void request_end() noexcept;
    /// For the service thread: nothing has been pending for a while. Takes the thread out of the idle class, until
    /// items are pending again.
    void leave_idle_class() noexcept;
    /// For ~runtime(): takes the thread out of the idle class, so that it can end on a busy CPU.
    void leave_idle_class_to_end() noexcept { thread_.leave_idle_class(); }
    void join() noexcept { thread_.join(); }
    void forget_thread() noexcept { thread_.forget(); }

private:
    struct watched {
        atomic<load*> pool{nullptr}; // A: null: the entry is free
        atomic<near> how{near::pod}; // A
        watched* next = nullptr;     // I
        bool insist = false;         // S
        std::uint64_t completed = 0; // S
        int nr_replaced = 0;         // S: spares found necessary since an item of the pool has ended
        int idle_looks = 0;          // S: checks in a row that found this CPU idle and the pod busy
    };

    /// Of the thread: not permitted; not needed so far; to be created; created.
    enum class stage : unsigned char { never, unused, wanted, exists };

    void want_thread() noexcept;
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
    thread thread_;                     // used by the manager thread and ~runtime()
    unsigned binding_ = 0;              // S: cpu_map::binding() when the thread bound itself last
    bool bound_ = false;                // S: the thread is bound to its CPU
    bool in_class_ = true;              // S: it could enter the idle class the last time
    atomic<bool> may_leave_{true};      // A: false after an attempt of the service thread has failed
    atomic<long> tid_{0};               // A: 0: the thread has not entered the idle class
    atomic<bool> lifted_{false};        // A: the service thread has taken the thread out of the idle class
    parker sleep_;
    arming armed_;
    atomic<stage> stage_; // A: beside `armed_`: arm() reads both
    atomic<bool> works_{false};
    atomic<bool> stop_{false};
};

}}} // namespace cmwq::CMWQ_NS::detail
