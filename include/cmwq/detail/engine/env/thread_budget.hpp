// SPDX-License-Identifier: BSL-1.0
//
// thread_budget: starts the threads of a runtime, and counts its workers and descriptors against their limits.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/base/thread_types.hpp>
#include <cmwq/detail/sync/system.hpp>
#include <cmwq/detail/sync/thread.hpp>
#include <cmwq/runtime_options.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Any thread may call every member. Letters: I set by the constructor · A atomic, only a number unless said otherwise
class thread_budget {
public:
    thread_budget(thread_source* source, unsigned max_workers) noexcept
        : source_(source), max_workers_(max_workers), own_(priority_of_process()) {}
    thread_budget(const thread_budget&) = delete;
    thread_budget& operator=(const thread_budget&) = delete;

    /// The default scheduling class and nice value of a thread: those of the process.
    [[nodiscard]] const own_priority& own() const noexcept { return own_; }

    /// The signal mask of the thread that has made the runtime.
    [[nodiscard]] const signal_mask& signals() const noexcept { return signals_; }

    /// Starts a thread, by the program's thread source if there is one. Returns 0, or an errno.
    int start(thread& t, thread_body body, void* arg) noexcept;
    /// Whether the last start was refused because there are too many threads, or too little memory. That may change
    /// when a thread ends.
    [[nodiscard]] bool was_refused() const noexcept { return refused_.load(relaxed); }
    /// A worker is asked to end so that the system has a place for another thread.
    void expect_place() noexcept { expects_place_.store(true, relaxed); }
    /// Whether no thread has been started since.
    [[nodiscard]] bool expects_place() const noexcept { return expects_place_.load(relaxed); }

    // --- workers, limited by `max_threads` ---------------------------------------------------------------------------

    [[nodiscard]] unsigned max_workers() const noexcept { return max_workers_; }
    [[nodiscard]] bool is_exhausted() const noexcept {
        return max_workers_ != 0 && nr_workers_.load(relaxed) >= max_workers_;
    }
    /// Reserves a place for one more worker. False: the limit is reached.
    [[nodiscard]] bool admit_worker() noexcept;
    /// Gives that place back.
    void dismiss_worker() noexcept {
        nr_workers_.fetch_sub(1, release); // [ADMIT-1] nr_threads_ never counts both this worker and the next
    }
    /// A worker has been asked to end: it does not count any more.
    void worker_ended() noexcept {
        thread_ended();
        dismiss_worker();
    }

    // --- threads that run items, also those without a limit ----------------------------------------------------------

    void thread_started() noexcept;
    void thread_ended() noexcept { nr_threads_.fetch_sub(1, relaxed); }
    [[nodiscard]] unsigned nr_threads() const noexcept { return nr_threads_.load(relaxed); }
    [[nodiscard]] unsigned peak_threads() const noexcept { return peak_threads_.load(relaxed); }

    // --- descriptors -------------------------------------------------------------------------------------------------

    /// Reserves `n` descriptors, by which other threads read the state of a worker without opening files. All workers
    /// of a runtime draw on one modest share of the descriptors of the process; first come, first served. False: too
    /// few are left.
    [[nodiscard]] bool take_descriptors(int n) noexcept {
        int left = descriptors_left_.load(relaxed);
        do {
            if (left < n) return false;
        } while (!descriptors_left_.compare_exchange_weak(left, left - n, relaxed, relaxed));
        return true;
    }
    void give_back_descriptors(int n) noexcept { descriptors_left_.fetch_add(n, relaxed); }

private:
    thread_source* const source_;                          // I: null: threads of the system
    const unsigned max_workers_;                           // I: 0: no limit
    const own_priority own_;                               // I
    const signal_mask signals_{};                          // I
    atomic<bool> refused_{false}, expects_place_{false};   // A: only hints
    atomic<unsigned> nr_workers_{0};                       // A
    atomic<unsigned> nr_threads_{0};                       // A
    atomic<unsigned> peak_threads_{0};                     // A
    atomic<int> descriptors_left_{share_of_descriptors()}; // A
};

}}} // namespace cmwq::CMWQ_NS::detail
