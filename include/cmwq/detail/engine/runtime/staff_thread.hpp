// SPDX-License-Identifier: BSL-1.0
//
// staff_thread: creates threads and joins them. Both may take long: a thread source may stall, and a thread ends when the
// scheduler gives it a CPU. Nothing urgent depends on it.
#pragma once

#include <cmwq/detail/ds/intrusive_list.hpp>
#include <cmwq/detail/engine/env/pool_env.hpp>
#include <cmwq/detail/engine/queue/queue_list.hpp>
#include <cmwq/detail/engine/runtime/placement.hpp>
#include <cmwq/detail/sync/thread.hpp>

#include <cstdint>

namespace cmwq::inline CMWQ_NS::detail {

class worker_set;

/// Creates the first worker of a pool, sentinels and the threads of bottom halves, ends and joins surplus workers, frees
/// what is not used any more, and looks which CPUs there are.
///
/// Letters: I set by the constructor · ST the thread itself · A atomic
class staff_thread {
public:
    staff_thread(const pool_env& env, queue_list& queues, placement& p) noexcept
        : env_(env), queues_(queues), placement_(p) {}
    staff_thread(const staff_thread&) = delete;
    staff_thread& operator=(const staff_thread&) = delete;

    /// 0, or an errno.
    int start() noexcept { return env_.threads.start(thread_, &staff_thread::thread_main, this); }
    void tell_to_end() noexcept {
        stop_.store(true, release); // [STOP]
        env_.requests.wake_staff();
    }
    void join() noexcept { thread_.join(); }
    void forget_thread() noexcept { thread_.forget(); }

    /// Also the thread that moves a clock of the program's: tells workers to end that have been idle for too long. Returns
    /// when to look again, 0 for not at all; runtime clock.
    std::int64_t cull_all(std::int64_t now) noexcept;

private:
    static void thread_main(void* self) { static_cast<staff_thread*>(self)->serve(); }
    void serve() noexcept;
    void set_up_thread() noexcept;
    void create_workers() noexcept;
    void create_bottom_half_threads() noexcept;
    void create_sentinels_of(worker_set& pool) noexcept;
    [[nodiscard]] bool make_room_for(const worker_set& pool) noexcept;
    [[nodiscard]] std::int64_t join_ended(std::int64_t now) noexcept;
    void clean() noexcept;
    void look_after_cpus() noexcept;

    const pool_env& env_;                       // I
    queue_list& queues_;                        // I
    placement& placement_;                      // I
    thread thread_;                             // I
    atomic<bool> stop_{false};                  // A
    intrusive_list<worker, idle_tag> unjoined_; // ST: workers that had not ended when it looked
    std::int64_t join_at_ = 0;                  // ST: steady clock; 0: there are none
    std::int64_t join_pause_ = 0;               // ST: nanoseconds
    std::int64_t checked_at_ = 0;               // ST: when it last looked which CPUs there are; steady clock
};

} // namespace cmwq::inline CMWQ_NS::detail
