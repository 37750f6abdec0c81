// SPDX-License-Identifier: BSL-1.0
//
// bh_wakeup: how pools wake the bottom-half thread of their CPU, which may not exist yet.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/engine/env/service_requests.hpp>
#include <cmwq/detail/sync/parker.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Wake-ups of one bottom-half thread. Any thread may call every member that does not say otherwise.
///
/// Letters: A atomic · I set before publication
class bh_wakeup {
public:
    explicit bh_wakeup(service_requests& requests) noexcept : requests_(requests) {}
    bh_wakeup(const bh_wakeup&) = delete;
    bh_wakeup& operator=(const bh_wakeup&) = delete;

    /// Reports that something has become pending for the thread. The caller may hold locks.
    void notify() noexcept {
        sleep_.unpark();                   // the permit stays, even if the thread does not exist yet
        if (exists_.load(acquire)) return; // [ALONE]
        // [ALONE] Every caller wakes the manager thread: the caller that has set `wanted_` may be preempted before it
        // does so.
        if (!wanted_.load(seq_cst)) wanted_.store(true, seq_cst);
        requests_.wake_manager();
    }
    /// Whether the manager thread must create the thread.
    [[nodiscard]] bool wanted() const noexcept { return wanted_.load(seq_cst); } // [ARM-2]
    /// For the manager thread, which has created the thread, or finds it created.
    void thread_exists() noexcept {
        exists_.store(true, release); // [ALONE]
        wanted_.store(false, relaxed);
    }
    /// For the thread: waits for a wake-up.
    void wait() noexcept { sleep_.park(); }
    /// For ~runtime(): wakes the thread, if it exists.
    void wake() noexcept { sleep_.unpark(); }

private:
    parker sleep_;               // A
    service_requests& requests_; // I
    atomic<bool> exists_{false}; // A
    atomic<bool> wanted_{false}; // A: notify() was called before the thread existed
};

}}} // namespace cmwq::CMWQ_NS::detail
