// SPDX-License-Identifier: BSL-1.0
//
// spare_workers: the idle workers of a pool, and the requests for more.
#pragma once

#include <cmwq/detail/engine/env/pool_env.hpp>
#include <cmwq/detail/engine/threads/idle_workers.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Whoever needs a worker wakes an idle one; if none is idle, the manager thread is asked for one.
///
/// Thread safety: any thread may call every member that does not end in `_locked`; those need the lock of the pool.
/// Letters: A atomic · L pool lock
class spare_workers {
public:
    explicit spare_workers(const pool_env& env) noexcept : env_(env) {}
    spare_workers(const spare_workers&) = delete;
    spare_workers& operator=(const spare_workers&) = delete;

    /// A producer calls this after a push: reminds an idle worker, or requests one.
    void remind() noexcept {
        if (worker* const idle = next_.load(seq_cst); idle != nullptr) idle->sleep.remind(); // [IDLE-1]
        else request();
    }
    /// A detector calls this while items are pending: wakes an idle worker, or requests one. False: none is idle.
    bool wake() noexcept {
        worker* const idle = next_.load(seq_cst); // [IDLE-1]
        if (idle != nullptr) idle->sleep.unpark();
        else request();
        return idle != nullptr;
    }
    /// Requests a worker from the manager thread, unless an attempt to create one has just failed.
    void request() noexcept;
    /// As request(), at a tick of the monitor.
    void request_later() noexcept {
        wanted_.store(true, seq_cst); // [UNIFORM]
        env_.requests.arm_monitor();
    }
    /// The manager thread: whether a worker has been requested since the last call. False also if an attempt to create
    /// one, during which the request came, has just failed.
    [[nodiscard]] bool take_request() noexcept {
        // [ASK-1] The relaxed load may miss a request: the permit of the requesting thread (PARK-1) then leads to
        // another call.
        return wanted_.load(relaxed) && wanted_.exchange(false, seq_cst) && !pauses();
    }
    void drop_request() noexcept { wanted_.store(false, relaxed); }
    [[nodiscard]] bool is_requested() const noexcept { return wanted_.load(relaxed); }
    /// No request before that time; steady clock, 0: no attempt to create a worker has failed.
    void retry_at(std::int64_t when) noexcept { retry_at_.store(when, relaxed); }
    /// Whether some pwqs of the pool have a rescuer: requests then also wake the monitor, which calls the rescuers if
    /// no worker comes for long.
    void set_rescuable(bool yes) noexcept { rescuable_.store(yes, relaxed); }
    [[nodiscard]] bool is_rescuable() const noexcept { return rescuable_.load(relaxed); }

    [[nodiscard]] bool empty_locked() const noexcept { return idle_.empty(); }
    [[nodiscard]] std::size_t size_locked() const noexcept { return idle_.size(); }
    /// As those of idle_workers.
    [[nodiscard]] worker* front_locked() noexcept { return idle_.front(); }
    [[nodiscard]] worker* next_to_end_locked() noexcept { return idle_.next_to_end(); }
    enum class place : unsigned char { inside, outside, fresh };
    void add_locked(worker& w, place where) noexcept;
    void remove_locked(worker& w) noexcept {
        idle_.remove(w);
        publish_locked();
    }

private:
    /// True: an attempt to create a worker has just failed; the monitor requests another one at a tick after the pause.
    [[nodiscard]] bool pauses() noexcept;
    void publish_locked() noexcept { next_.store(idle_.front(), seq_cst); } // [IDLE-2]

    atomic<worker*> next_{nullptr}; // A: the idle worker to wake next; written under L
    atomic<bool> wanted_{false};    // A: a worker was requested because no idle worker could be woken
    idle_workers idle_;             // L
    // On another cache line: producers read these, and they seldom change.
    const pool_env& env_;
    atomic<std::int64_t> retry_at_{0}; // A
    atomic<bool> rescuable_{false};    // A: written under L
};

}}} // namespace cmwq::CMWQ_NS::detail
