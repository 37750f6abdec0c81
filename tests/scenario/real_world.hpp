// SPDX-License-Identifier: BSL-1.0
//
// The timelines on real threads.
#pragma once

#include "core_of.hpp"
#include "eventually.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <chrono>
#include <ctime>
#include <latch>
#include <mutex>

namespace timeline {

/// Real threads, and the time of their CPU. While items burn CPU time, this time advances by the CPU time that they
/// use; while no item burns, it advances with the clock. So a process that takes the CPU from a burning item makes the
/// test longer but does not change the times.
class real_world {
public:
    /// In milliseconds.
    double now() {
        const std::lock_guard g(lock_);
        return now_locked();
    }

    void burn(double ms) {
        begin_burning();
        double last = cpu_now();
        for (const double end = last + ms; last < end;) {
            const double t = cpu_now();
            burnt_.fetch_add(t - last);
            last = t;
        }
        end_burning();
    }

    /// Sleeps in blocking calls, which the sentinel or the guard must notice.
    void sleep(double ms) {
        const timespec moment{0, 100'000};
        for (const double end = now() + ms; now() < end;) ::nanosleep(&moment, nullptr);
    }

    template <class F>
    static void begin(cmwq::workqueue<>& q, unsigned cpu, F queue_all) {
        q.post_on(cpu, queue_all);
    }

private:
    static double wall_now() {
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
    }
    static double cpu_now() {
        timespec ts{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
        return static_cast<double>(ts.tv_sec) * 1e3 + static_cast<double>(ts.tv_nsec) * 1e-6;
    }
    double now_locked() const { return burnt_ + idle_ + (nr_burning_ == 0 ? wall_now() - idle_since_ : 0); }
    void begin_burning() {
        const std::lock_guard g(lock_);
        if (nr_burning_++ == 0) idle_ += wall_now() - idle_since_;
    }
    void end_burning() {
        const std::lock_guard g(lock_);
        if (--nr_burning_ == 0) idle_since_ = wall_now();
    }

    std::atomic<double> burnt_{0};
    std::mutex lock_;
    double idle_ = 0;
    double idle_since_ = wall_now(); // valid while no item burns
    int nr_burning_ = 0;
};

/// Makes the three workers that the timelines need on their CPU, as in a kernel that has run for a while, and waits
/// until the pool has dropped the limit that it learned from this load. ThreadSanitizer takes 2 ms to make a thread,
/// and the timelines do not measure that. False: the pool has not dropped it.
inline bool make_workers(cmwq::runtime& rt) {
    constexpr int needed = 3;
    {
        cmwq::workqueue<> q{rt, {.name = "before"}};
        std::latch all(needed);
        for (int i = 0; i < needed; ++i) {
            q.post_on(*rt.cpus().begin(), [&all] {
                const cmwq::blocking_region region;
                all.arrive_and_wait();
            });
        }
        q.drain();
    }
    return cmwq_test::eventually(
        [&] { return cmwq_test::core_of(rt).pools().pool_at(0, cmwq::priority::normal).concurrency->limit() == 1; });
}

} // namespace timeline
