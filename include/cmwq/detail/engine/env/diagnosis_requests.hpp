// SPDX-License-Identifier: BSL-1.0
//
// diagnosis_requests: requests to the diagnosis thread to check waits, and queues at their limit.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/engine/env/live_thresholds.hpp>
#include <cmwq/detail/engine/env/service_requests.hpp>
#include <cmwq/detail/sync/clock.hpp>

#include <algorithm>
#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// One object for each runtime. Times are of the steady clock, in nanoseconds.
///
/// Letters: I set by the constructor · A atomic · G the lock of the graph of waits
class diagnosis_requests {
public:
    /// The arguments must outlive this object.
    diagnosis_requests(const live_thresholds& t, service_requests& r) noexcept : thresholds_(t), requests_(r) {}
    diagnosis_requests(const diagnosis_requests&) = delete;
    diagnosis_requests& operator=(const diagnosis_requests&) = delete;

    // --- waits: under the lock of the graph, unless a member says otherwise ------------------------------------------

    /// Requests a check of the waits at `when`, unless one is due earlier.
    void check_waits_by(std::int64_t when) noexcept {
        const std::int64_t due = waits_due_.load(relaxed);
        if (due != 0 && due <= when) return;
        waits_due_.store(when, relaxed); // [PARK-1] the permit publishes it
        requests_.wake_diagnosis();
    }
    /// The diagnosis thread calls this also without the lock. When the next check of waits is due; 0: none is.
    [[nodiscard]] std::int64_t waits_due() const noexcept { return waits_due_.load(relaxed); } // [PARK-1]
    void set_waits_due(std::int64_t when) noexcept { waits_due_.store(when, relaxed); }

    std::int64_t no_check_before = 0; ///< G: the pause after a check grows with the cost of the check

    // --- queues at their limit ---------------------------------------------------------------------------------------

    /// Requests a check of the queues at their limit, because one has reached it. Any thread, also under a pool lock.
    void request_backlog_check() noexcept {
        const std::int64_t interval = backlog_interval();
        if (interval == 0 || backlogs_due_.load(seq_cst) != 0) return; // [BACKLOG-1]
        std::int64_t none = 0;
        const std::int64_t when = steady_now() + interval;
        if (!backlogs_due_.compare_exchange_strong(none, when, seq_cst, relaxed)) return; // [BACKLOG-1]
        requests_.wake_diagnosis();
    }
    /// The interval has changed: the next check comes after the new one, or never. Any thread.
    void restart_backlog_checks() noexcept {
        const std::int64_t interval = backlog_interval();
        backlogs_due_.store(interval == 0 ? 0 : steady_now() + interval,
                            seq_cst); // [BACKLOG-1] one too many is harmless
        requests_.wake_diagnosis();
    }
    /// For the diagnosis thread. When the next check of these queues is due; 0: none is.
    [[nodiscard]] std::int64_t backlogs_due() const noexcept { return backlogs_due_.load(relaxed); } // [PARK-1]
    /// The diagnosis thread calls this before a check: a queue that reaches its limit meanwhile requests the next one.
    void begin_backlog_check() noexcept { backlogs_due_.store(0, seq_cst); } // [BACKLOG-1]
    /// The diagnosis thread calls this after a check that leaves something to check.
    void repeat_backlog_check(std::int64_t when) noexcept {
        std::int64_t none = 0;
        backlogs_due_.compare_exchange_strong(none, when, relaxed, relaxed);
    }
    /// How long a queue at its limit may stand still; 0: for ever.
    [[nodiscard]] std::int64_t backlog_limit() const noexcept { return thresholds_.watchdog() / 3; }
    /// Between two checks; 0: there are none.
    [[nodiscard]] std::int64_t backlog_interval() const noexcept {
        const std::int64_t limit = backlog_limit();
        return limit == 0 ? 0 : std::max(limit / 4, std::int64_t{1'000'000});
    }

private:
    const live_thresholds& thresholds_;    // I
    service_requests& requests_;           // I
    atomic<std::int64_t> waits_due_{0};    // A, written under G
    atomic<std::int64_t> backlogs_due_{0}; // A
};

}}} // namespace cmwq::CMWQ_NS::detail
