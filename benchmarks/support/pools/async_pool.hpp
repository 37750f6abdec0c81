// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "counted_group.hpp"

#include <chrono>
#include <cstddef>
#include <future>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// std::async with std::launch::async. In libstdc++ each call makes a thread.
class async_pool {
public:
    static constexpr bool thread_for_each_item = true;

    /// One thread uses a group: the one that made it.
    class nested_group {
    public:
        explicit nested_group(async_pool& /*pool*/) {}
        template <class F>
        void run(F&& f) {
            futures_.push_back(std::async(std::launch::async, std::forward<F>(f)));
        }
        void wait() {
            for (std::future<void>& f : futures_) f.get();
            futures_.clear();
        }

    private:
        std::vector<std::future<void>> futures_;
    };
    using flat_group = counted_group<async_pool>;

    [[nodiscard]] static std::string name() { return "std::async"; }

    /// The destructor of a future waits for its function and joins its thread: the pool keeps the future until then.
    template <class F>
    void post(F&& f) {
        std::future<void> future = std::async(std::launch::async, std::forward<F>(f));
        const std::lock_guard g(lock_);
        futures_.push_back(std::move(future));
        if (futures_.size() >= next_cleanup_) clean_up();
    }

private:
    /// Joins the threads that have ended: the system limits the number of stacks.
    void clean_up() {
        std::erase_if(futures_, [](const std::future<void>& f) {
            return f.wait_for(std::chrono::seconds{0}) == std::future_status::ready;
        });
        next_cleanup_ = 2 * futures_.size() + 256;
    }

    std::mutex lock_;
    std::vector<std::future<void>> futures_;
    std::size_t next_cleanup_ = 256;
};

} // namespace bench
