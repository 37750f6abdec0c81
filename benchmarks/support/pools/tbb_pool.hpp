// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <string>
#include <utility>

namespace bench {

/// oneTBB: task_arena::enqueue(), and task_group. The thread that waits for a group is one of the threads that run it.
class tbb_pool {
public:
    static constexpr bool thread_for_each_item = false;

    class flat_group {
    public:
        explicit flat_group(tbb_pool& /*pool*/) {}
        template <class F>
        void run(F&& f) {
            group_.run(std::forward<F>(f));
        }
        void wait() { group_.wait(); }

    private:
        tbb::task_group group_;
    };
    using nested_group = flat_group;

    [[nodiscard]] static std::string name() { return "oneTBB"; }

    template <class F>
    void post(F&& f) {
        arena_.enqueue(std::forward<F>(f));
    }

private:
    tbb::task_arena arena_;
};

} // namespace bench
