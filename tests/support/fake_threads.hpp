// SPDX-License-Identifier: BSL-1.0
//
// A thread source for tests: the test can make it refuse or delay threads.
#pragma once

#include <cmwq/runtime_options.hpp>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <functional>
#include <limits>
#include <mutex>
#include <semaphore>
#include <utility>

namespace cmwq_test {

/// Starts threads, unless the test makes it refuse or delay them. It must outlive the runtime that uses it.
///
/// Without stall() and hold_bodies() a start takes no lock: a child of fork() may use the object of its parent.
class fake_threads final : public cmwq::thread_source {
public:
    /// The thread that starts a new thread calls this before the start, with the number of the start: 1, 2, … It
    /// returns the errno with which the start is refused, or 0.
    using decision = std::function<int(int number)>;

    fake_threads() = default;
    explicit fake_threads(decision d) : decide_(std::move(d)) {}
    ~fake_threads() { go_on(); }
    fake_threads(const fake_threads&) = delete;
    fake_threads& operator=(const fake_threads&) = delete;

    /// Refuses the next `n` starts with EAGAIN; by default all of them, until allow().
    void refuse(int n = every_start) { refusals_left_ = n; }
    void allow() { refusals_left_ = 0; }
    [[nodiscard]] int refusals_left() const { return refusals_left_; }

    /// From now until go_on(), each start waits inside of start().
    void stall() {
        const std::lock_guard g(lock_);
        stalls_ = true;
    }
    void go_on() {
        {
            const std::lock_guard g(lock_);
            stalls_ = false;
        }
        goes_on_.notify_all();
    }
    [[nodiscard]] int nr_stalled() const { return nr_stalled_; } ///< starts that wait

    /// While set, a thread starts, but waits for release_body() before it does its work.
    void hold_bodies(bool yes) { holds_ = yes; }
    /// Lets one of the waiting threads do its work.
    void release_body() { released_.release(); }

    [[nodiscard]] int asked() const { return asked_; }     ///< starts so far, including those refused
    [[nodiscard]] int refused() const { return refused_; } ///< starts that were refused
    [[nodiscard]] int made() const { return made_; }       ///< threads that were started

    int start(cmwq::thread_request& r) noexcept override {
        if (const int error = refusal(++asked_); error != 0) {
            ++refused_;
            return error;
        }
        if (stalls_) wait_until_it_goes_on();
        const int error = holds_ ? r.start(&wait_for_release, this) : r.start();
        if (error == 0) ++made_;
        return error;
    }

private:
    static constexpr int every_start = std::numeric_limits<int>::max();

    int refusal(int number) noexcept {
        for (int n = refusals_left_; n > 0;) {
            if (n == every_start || refusals_left_.compare_exchange_weak(n, n - 1)) return EAGAIN;
        }
        return decide_ ? decide_(number) : 0;
    }

    void wait_until_it_goes_on() {
        std::unique_lock g(lock_);
        ++nr_stalled_;
        goes_on_.wait(g, [&] { return !stalls_; });
        --nr_stalled_;
    }

    static void wait_for_release(void* source) { static_cast<fake_threads*>(source)->released_.acquire(); }

    const decision decide_;
    std::atomic<int> asked_{0}, refused_{0}, made_{0}, refusals_left_{0}, nr_stalled_{0};
    std::atomic<bool> stalls_{false}, holds_{false};
    std::counting_semaphore<> released_{0};
    std::mutex lock_;
    std::condition_variable goes_on_;
};

/// For fake_threads: refuses the starts with the numbers first … last, counted from 1.
inline fake_threads::decision refuse_starts(int first, int last, int error = EAGAIN) {
    return [=](int number) { return number >= first && number <= last ? error : 0; };
}

} // namespace cmwq_test
