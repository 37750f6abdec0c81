// SPDX-License-Identifier: BSL-1.0
//
// Items that run until the test releases them, on queues of any policy.
#pragma once

#include "any_policy.hpp"
#include "any_queue.hpp"

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
class call_from_aside {
public:
    template <class F>
    call_from_aside(const any_policy& p, F f) {
        if (p.runs_in_the_caller) aside_ = std::thread(std::move(f));
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
inline void wait_in_item(const any_policy& p, std::counting_semaphore<>& s) {
    if (p.can_block) {
        s.acquire();
    } else {
        ++nr_computing;
        while (!s.try_acquire()) std::this_thread::yield();
        --nr_computing;
    }
}

/// An item that reports its start and runs until the test releases it. The gate may be constructed before or after its
/// queue, because its destructor releases the item.
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
    void hold(any_queue& q, unsigned cpu = first_cpu()) { hold(q.base(), q.policy(), cpu); }
    template <class P>
    void hold(cmwq::workqueue<P>& q, unsigned cpu = first_cpu()) {
        hold(q, policy_of<P>, cpu);
    }
    /// Releases `n` runs of the item.
    void open(int n = 1) { leave_.release(n); }

    std::atomic<int> runs{0};

private:
    void hold(cmwq::workqueue_base& q, const any_policy& p, unsigned cpu) {
        if (aside_.joinable()) aside_.join();
        policy_ = p;
        if (p.runs_in_the_caller) aside_ = std::thread([this, &q, cpu] { q.queue_on(cpu, item); });
        else q.queue_on(cpu, item);
        entered_.acquire();
    }

    any_policy policy_ = policy_of<cmwq::bound>; // that of the queue that it has held last
    std::counting_semaphore<> entered_{0}, leave_{0};
    std::thread aside_;

public:
    cmwq::work<std::function<void()>> item{[this] {
        ++runs;
        entered_.release();
        wait_in_item(policy_, leave_);
    }};
};

} // namespace cmwq_test
