// SPDX-License-Identifier: BSL-1.0
//
// Items that run until the test releases them, on queues of any policy.
#pragma once

#include "policy_list.hpp"

#include <cmwq/runtime.hpp>
#include <cmwq/work.hpp>
#include <cmwq/workqueue.hpp>

#include <atomic>
#include <functional>
#include <semaphore>
#include <thread>
#include <utility>

namespace cmwq_test {

inline unsigned first_cpu() { return *cmwq::runtime::global().cpus().begin(); }

/// Makes a call that queues an item which runs until it is released. If the policy runs the item in its caller, another
/// thread makes the call, and the destructor waits for that thread.
template <class P>
class call_from_aside {
public:
    template <class F>
    explicit call_from_aside(F f) {
        if constexpr (runs_in_the_caller<P>) aside_ = std::thread(std::move(f));
        else f();
    }
    ~call_from_aside() {
        if (aside_.joinable()) aside_.join();
    }
    call_from_aside(const call_from_aside&) = delete;
    call_from_aside& operator=(const call_from_aside&) = delete;

private:
    std::thread aside_;
};

/// The number of threads that compute in wait_in_item().
inline std::atomic<int> nr_computing{0};

/// Waits inside of an item. If items of the policy must not block, it computes instead of blocking.
template <class P>
void wait_in_item(std::counting_semaphore<>& s) {
    if constexpr (can_block<P>) {
        s.acquire();
    } else {
        ++nr_computing;
        while (!s.try_acquire()) std::this_thread::yield();
        --nr_computing;
    }
}

/// An item that reports its start and runs until the test releases it. The gate may be constructed before or after its
/// queue, because its destructor releases the item.
template <class P>
class gate {
public:
    gate() = default;
    ~gate() {
        leave_.release(1000);
        if (aside_.joinable()) aside_.join();
    }
    gate(const gate&) = delete;
    gate& operator=(const gate&) = delete;

    /// Queues the item on a CPU, and returns when the item runs there.
    void hold(cmwq::workqueue<P>& q, unsigned cpu = first_cpu()) {
        if (aside_.joinable()) aside_.join();
        if constexpr (runs_in_the_caller<P>) aside_ = std::thread([this, &q, cpu] { q.queue_on(cpu, item); });
        else q.queue_on(cpu, item);
        entered_.acquire();
    }
    /// Releases `n` runs of the item.
    void open(int n = 1) { leave_.release(n); }

    std::atomic<int> runs{0};

private:
    std::counting_semaphore<> entered_{0}, leave_{0};
    std::thread aside_;

public:
    cmwq::work<std::function<void()>> item{[this] {
        ++runs;
        entered_.release();
        wait_in_item<P>(leave_);
    }};
};

} // namespace cmwq_test
