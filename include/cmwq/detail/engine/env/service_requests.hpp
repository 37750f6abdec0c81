// SPDX-License-Identifier: BSL-1.0
//
// service_requests: how the engine asks the two threads of a runtime for something. The service thread and the staff
// thread sleep here.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/ds/arming.hpp>
#include <cmwq/detail/ds/inbox.hpp>
#include <cmwq/detail/sync/parker.hpp>

#include <cstdint>

namespace cmwq::inline CMWQ_NS::detail {

class worker;
struct idle_tag;

/// Any thread may make a request, also under locks, and also an idle-class thread. A request is not lost: the thread that
/// serves it takes the flag back before it serves, and a wake-up leaves a permit.
class service_requests {
public:
    service_requests() noexcept = default;
    service_requests(const service_requests&) = delete;
    service_requests& operator=(const service_requests&) = delete;

    /// The service thread looks at all that it serves.
    void wake_service() noexcept { service_sleep_.unpark(); }
    /// The staff thread looks at all that it serves.
    void wake_staff() noexcept { staff_sleep_.unpark(); }
    /// As sentinel::arm(), for the monitor, which is the service thread.
    void arm_monitor() noexcept {
        if (monitor_.arm() != arming::none) service_sleep_.remind();
    }
    /// Queues or pools have something to free.
    void request_cleaning() noexcept {
        cleaning_.store(true, release); // [CLEAN-1]
        wake_staff();
    }
    /// A thread is not on its CPUs: look which CPUs there are.
    void request_cpu_check() noexcept {
        cpu_check_.store(true, release); // [LOCK]
        wake_staff();
    }
    /// As `request_cpu_check()`, at the next opportunity: wakes no thread.
    void defer_cpu_check() noexcept { cpu_check_.store(true, relaxed); }
    /// The monitor asks now and then: look which CPUs there are, unless that was done a moment ago.
    void request_routine_cpu_check() noexcept {
        routine_cpu_check_.store(true, release); // [ALONE]
        wake_staff();
    }
    /// The last active item of a frozen pwq has ended, or a freeze is over.
    void request_freeze_check() noexcept {
        freeze_check_.store(true, release); // [LOCK]
        wake_service();
    }
    /// The thread of `w` is about to end: nothing of the library follows in it, but destructors of thread_local objects may.
    void thread_leaves(worker& w) noexcept;

    // --- the service thread ---------------------------------------------------------------------------------------------

    [[nodiscard]] arming& monitor() noexcept { return monitor_; }
    [[nodiscard]] bool take_freeze_check() noexcept { return freeze_check_.exchange(false, acq_rel); } // [LOCK]
    /// Sleeps until a request, or the deadline; steady clock, 0: none.
    void sleep_as_service(std::int64_t deadline) noexcept { sleep(service_sleep_, deadline); }

    // --- the staff thread -----------------------------------------------------------------------------------------------

    [[nodiscard]] bool take_cleaning() noexcept { return cleaning_.exchange(false, acq_rel); }   // [CLEAN-1]
    [[nodiscard]] bool take_cpu_check() noexcept { return cpu_check_.exchange(false, acq_rel); } // [LOCK]
    [[nodiscard]] bool take_routine_cpu_check() noexcept {
        return routine_cpu_check_.exchange(false, acq_rel); // [ALONE]
    }
    [[nodiscard]] inbox<worker, idle_tag>& leaving() noexcept { return leaving_; }
    /// As `sleep_as_service()`.
    void sleep_as_staff(std::int64_t deadline) noexcept { sleep(staff_sleep_, deadline); }

private:
    static void sleep(parker& p, std::int64_t deadline) noexcept {
        if (deadline == 0) p.park();
        else p.park_until(deadline);
    }

    alignas(cache_line) arming monitor_;
    parker service_sleep_;
    parker staff_sleep_;
    inbox<worker, idle_tag> leaving_; // workers whose threads are about to be gone
    atomic<bool> cleaning_{false};
    atomic<bool> cpu_check_{false};
    atomic<bool> routine_cpu_check_{false};
    atomic<bool> freeze_check_{false};
};

} // namespace cmwq::inline CMWQ_NS::detail
