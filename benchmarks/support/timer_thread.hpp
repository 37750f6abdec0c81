// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace bench {

/// The timers that many programs have of their own: a thread, a sorted map, a mutex and a condition variable.
class timer_thread {
public:
    using time_point = std::chrono::steady_clock::time_point;
    using timers = std::multimap<time_point, std::function<void()>>;
    using handle = timers::iterator;

    timer_thread() = default;
    ~timer_thread() {
        {
            const std::lock_guard g(lock_);
            ending_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }
    timer_thread(const timer_thread&) = delete;
    timer_thread& operator=(const timer_thread&) = delete;

    template <class F>
    handle arm(time_point when, F&& f) {
        const std::lock_guard g(lock_);
        return put(timers_.emplace(when, std::forward<F>(f)));
    }
    /// The timer must not have expired.
    handle modify(handle h, time_point when) {
        const std::lock_guard g(lock_);
        auto node = timers_.extract(h);
        node.key() = when;
        return put(timers_.insert(std::move(node)));
    }
    /// The timer must not have expired.
    void cancel(handle h) {
        const std::lock_guard g(lock_);
        timers_.erase(h);
    }

private:
    handle put(handle h) {
        if (h == timers_.begin()) changed_.notify_one();
        return h;
    }

    void work() {
        std::unique_lock g(lock_);
        while (!ending_) {
            if (timers_.empty()) {
                changed_.wait(g);
            } else if (const time_point first = timers_.begin()->first; first > std::chrono::steady_clock::now()) {
                changed_.wait_until(g, first);
            } else {
                const auto node = timers_.extract(timers_.begin());
                g.unlock();
                node.mapped()();
                g.lock();
            }
        }
    }

    std::mutex lock_;
    std::condition_variable changed_;
    timers timers_;
    bool ending_ = false;
    std::thread thread_{[this] { work(); }};
};

} // namespace bench
