// SPDX-License-Identifier: BSL-1.0
//
// manager_thread: creates threads and joins them. Both may take long: a thread source may stall, and a thread ends only
// when the scheduler gives it a CPU. So nothing urgent depends on this thread.
#pragma once

#include <cmwq/detail/ds/intrusive_list.hpp>
#include <cmwq/detail/engine/env/pool_env.hpp>
#include <cmwq/detail/engine/queue/queue_list.hpp>
#include <cmwq/detail/engine/runtime/placement.hpp>
#include <cmwq/detail/sync/thread.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class item_pool;

/// Creates the first worker of a pool, sentinels, and the threads of bottom halves; ends and joins surplus workers;
/// frees unused pwqs and pools; checks which CPUs are present. Any thread may call the public members; start() and
/// join() once each.
///
/// Letters: I set by the constructor · ST the thread itself · A atomic
class manager_thread {
public:
    manager_thread(const pool_env& env, queue_list& queues, placement& p) noexcept
        : env_(env), queues_(queues), placement_(p) {}
    manager_thread(const manager_thread&) = delete;
    manager_thread& operator=(const manager_thread&) = delete;

    /// Returns 0, or an errno.
    int start() noexcept { return env_.threads.start(thread_, &manager_thread::thread_main, this); }
    void request_end() noexcept {
        stop_.store(true, release); // [STOP]
        env_.requests.wake_manager();
    }
    void join() noexcept { thread_.join(); }
    void forget_thread() noexcept { thread_.forget(); }

    /// Asks workers that have been idle for too long to end. Returns when to check again, runtime clock; 0: not at all.
    /// If the program has its own clock, the thread that advances the clock calls this, and the manager thread does
    /// not.
    std::int64_t cull_all(std::int64_t now) noexcept;

private:
    static void thread_main(void* self) { static_cast<manager_thread*>(self)->serve(); }
    void serve() noexcept;
    void set_up_thread() noexcept;
    void create_workers() noexcept;
    void create_threads_of_cpus() noexcept;
    bool make_room_for(item_pool* pool) noexcept;
    [[nodiscard]] std::int64_t join_ended(std::int64_t now) noexcept;
    void clean() noexcept;
    void retry_soon() noexcept;
    void look_after_cpus() noexcept;

    const pool_env& env_;                       // I
    queue_list& queues_;                        // I
    placement& placement_;                      // I
    thread thread_;                             // I
    atomic<bool> stop_{false};                  // A
    intrusive_list<worker, idle_tag> unjoined_; // ST: workers whose threads had not ended at the last check
    std::int64_t join_at_ = 0;                  // ST: when to check again; steady clock; 0: no unjoined workers
    std::int64_t join_pause_ = 0;               // ST: until the next check; nanoseconds
    item_pool* waits_for_room_ = nullptr;       // ST: the pool for which a worker has been asked to end
    bool has_room_ = false;                     // ST: a thread has ended since
    std::int64_t room_due_ = 0;   // ST: when to ask another one, if no thread could be started; steady clock
    std::int64_t checked_at_ = 0; // ST: when it last checked which CPUs are present; steady clock
    std::int64_t retry_at_ = 0;   // ST: when to try what met a lock; steady clock; 0: nothing
};

}}} // namespace cmwq::CMWQ_NS::detail
