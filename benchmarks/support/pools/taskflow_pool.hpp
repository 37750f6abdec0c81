// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "counted_group.hpp"
#include "support/cpus.hpp"

#include <taskflow/taskflow.hpp>

#include <atomic>
#include <cstddef>
#include <string>
#include <utility>

namespace bench {

/// Taskflow's executor with a thread for each CPU: silent_async() and corun_until().
class taskflow_pool {
public:
    static constexpr bool thread_for_each_item = false;
    using flat_group = counted_group<taskflow_pool>;

    class nested_group {
    public:
        explicit nested_group(taskflow_pool& pool) : pool_(pool) {}
        template <class F>
        void run(F&& f) {
            unfinished_.fetch_add(1, std::memory_order_relaxed);
            pool_.post([this, f = std::forward<F>(f)]() mutable {
                f();
                unfinished_.fetch_sub(1, std::memory_order_release);
            });
        }
        void wait() {
            pool_.executor_.corun_until([this] { return unfinished_.load(std::memory_order_acquire) == 0; });
        }

    private:
        taskflow_pool& pool_;
        std::atomic<std::size_t> unfinished_{0};
    };

    ~taskflow_pool() { executor_.wait_for_all(); }

    [[nodiscard]] static std::string name() { return "Taskflow"; }

    template <class F>
    void post(F&& f) {
        executor_.silent_async(std::forward<F>(f));
    }

private:
    tf::Executor executor_{usable_cpus().size()};
};

} // namespace bench
