// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "counted_group.hpp"
#include "helping_group.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

/// The pool that many programs have of their own: a fixed number of threads, one queue, a mutex and a condition
/// variable. With one thread it runs its items in order.
template <unsigned Threads>
class mutex_pool {
public:
    static constexpr bool thread_for_each_item = false;
    using flat_group = counted_group<mutex_pool>;
    using nested_group = helping_group<mutex_pool>;

    mutex_pool() {
        for (unsigned i = 0; i < Threads; ++i) threads_.emplace_back([this] { work(); });
    }
    ~mutex_pool() { join(); }
    mutex_pool(const mutex_pool&) = delete;
    mutex_pool& operator=(const mutex_pool&) = delete;

    [[nodiscard]] static std::string name() {
        return "mutex pool, " + std::to_string(Threads) + (Threads == 1 ? " thread" : " threads");
    }

    /// Waits for all items, and ends the threads.
    void join() {
        {
            const std::lock_guard g(lock_);
            ending_ = true;
        }
        not_empty_.notify_all();
        for (std::thread& t : threads_) t.join();
        threads_.clear();
    }

    template <class F>
    void post(F&& f) {
        {
            const std::lock_guard g(lock_);
            items_.emplace_back(std::forward<F>(f));
        }
        not_empty_.notify_one();
    }

private:
    void work() {
        std::unique_lock g(lock_);
        for (;;) {
            not_empty_.wait(g, [this] { return ending_ || !items_.empty(); });
            if (items_.empty()) return;
            const std::function<void()> f = std::move(items_.front());
            items_.pop_front();
            g.unlock();
            f();
            g.lock();
        }
    }

    std::mutex lock_;
    std::condition_variable not_empty_;
    std::deque<std::function<void()>> items_;
    bool ending_ = false;
    std::vector<std::thread> threads_;
};

} // namespace bench
