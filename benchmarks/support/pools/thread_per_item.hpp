// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "counted_group.hpp"

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

/// No pool: each item gets a detached thread.
class thread_per_item {
public:
    static constexpr bool thread_for_each_item = true;

    /// One thread uses a group: the one that made it.
    class nested_group {
    public:
        explicit nested_group(thread_per_item& /*pool*/) {}
        template <class F>
        void run(F&& f) {
            threads_.emplace_back(std::forward<F>(f));
        }
        void wait() {
            for (std::thread& t : threads_) t.join();
            threads_.clear();
        }

    private:
        std::vector<std::thread> threads_;
    };
    using flat_group = counted_group<thread_per_item>;

    thread_per_item() = default;
    /// Waits for all items.
    ~thread_per_item() {
        std::unique_lock g(lock_);
        ended_.wait(g, [this] { return alive_ == 0; });
    }
    thread_per_item(const thread_per_item&) = delete;
    thread_per_item& operator=(const thread_per_item&) = delete;

    [[nodiscard]] static std::string name() { return "thread per item"; }

    template <class F>
    void post(F&& f) {
        {
            const std::lock_guard g(lock_);
            ++alive_;
        }
        std::thread([this, f = std::forward<F>(f)]() mutable {
            f();
            const std::lock_guard g(lock_);
            if (--alive_ == 0) ended_.notify_all();
        }).detach();
    }

private:
    std::mutex lock_;
    std::condition_variable ended_;
    std::size_t alive_ = 0;
};

} // namespace bench
