// SPDX-License-Identifier: BSL-1.0
//
// service_requests: requests of the engine to the three threads of a runtime, the service thread, the manager thread
// and the diagnosis thread, which sleep here.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/ds/arming.hpp>
#include <cmwq/detail/sync/parker.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Any thread may make a request, also under locks, and also an idle-class thread. No request is lost: the serving
/// thread takes the flag back before it serves the request, and a wake-up leaves a permit.
class service_requests {
public:
    service_requests() noexcept = default;
    service_requests(const service_requests&) = delete;
    service_requests& operator=(const service_requests&) = delete;

    /// Wakes the service thread, which runs through its loop once.
    void wake_service() noexcept { service_sleep_.unpark(); }
    /// Wakes the manager thread, which runs through its loop once.
    void wake_manager() noexcept { manager_sleep_.unpark(); }
    /// Wakes the diagnosis thread, which runs through its loop once.
    void wake_diagnosis() noexcept { diagnosis_sleep_.unpark(); }
    /// As sentinel::arm(), for the monitor, a part of the service thread.
    void arm_monitor() noexcept {
        if (monitor_.arm() != arming::none) service_sleep_.remind();
    }
    /// Asks the manager thread to free pwqs or pools that are not used any more.
    void request_cleaning() noexcept {
        cleaning_.store(true, release); // [CLEAN-1]
        wake_manager();
    }
    /// Asks the manager thread to check which CPUs are present, because a thread is not on its CPUs, for instance.
    void request_cpu_check() noexcept {
        cpu_check_.store(true, release); // [LOCK]
        wake_manager();
    }
    /// As `request_cpu_check()`, but wakes no thread: the check happens when the manager thread is next awake.
    void defer_cpu_check() noexcept { cpu_check_.store(true, relaxed); }
    /// The monitor calls this at intervals: as `request_cpu_check()`, but without effect soon after the last check.
    void request_routine_cpu_check() noexcept {
        routine_cpu_check_.store(true, release); // [ALONE]
        wake_manager();
    }
    /// Asks the service thread to wake the threads that wait for a freeze: the last active item of a frozen pwq has
    /// ended, or a freeze is over.
    void request_freeze_check() noexcept {
        freeze_check_.store(true, release); // [LOCK]
        wake_service();
    }

    // --- the service thread ------------------------------------------------------------------------------------------

    [[nodiscard]] arming& monitor() noexcept { return monitor_; }
    [[nodiscard]] bool take_freeze_check() noexcept { return freeze_check_.exchange(false, acq_rel); } // [LOCK]
    /// Sleeps until a request, or the deadline; steady clock, 0: none.
    void sleep_as_service(std::int64_t deadline) noexcept { sleep(service_sleep_, deadline); }

    // --- the manager thread ------------------------------------------------------------------------------------------

    [[nodiscard]] bool take_cleaning() noexcept { return cleaning_.exchange(false, acq_rel); }   // [CLEAN-1]
    [[nodiscard]] bool take_cpu_check() noexcept { return cpu_check_.exchange(false, acq_rel); } // [LOCK]
    [[nodiscard]] bool take_routine_cpu_check() noexcept {
        return routine_cpu_check_.exchange(false, acq_rel); // [ALONE]
    }
    /// As `sleep_as_service()`.
    void sleep_as_manager(std::int64_t deadline) noexcept { sleep(manager_sleep_, deadline); }

    // --- the diagnosis thread ----------------------------------------------------------------------------------------

    /// As `sleep_as_service()`.
    void sleep_as_diagnosis(std::int64_t deadline) noexcept { sleep(diagnosis_sleep_, deadline); }

private:
    static void sleep(parker& p, std::int64_t deadline) noexcept {
        if (deadline == 0) p.park();
        else p.park_until(deadline);
    }

    alignas(cache_line) arming monitor_;
    parker service_sleep_;
    parker manager_sleep_;
    parker diagnosis_sleep_;
    atomic<bool> cleaning_{false};
    atomic<bool> cpu_check_{false};
    atomic<bool> routine_cpu_check_{false};
    atomic<bool> freeze_check_{false};
};

}}} // namespace cmwq::CMWQ_NS::detail
