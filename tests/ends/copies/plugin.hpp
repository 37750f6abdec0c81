// SPDX-License-Identifier: BSL-1.0
//
// The functions that the plugins of one_engine.cpp and two_copies.cpp export, and the helpers that both sides use.
#pragma once

#include "../../support/eventually.hpp"

#include <atomic>
#include <fstream>
#include <semaphore>
#include <string>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace copies {

/// The objects that the program passes to the plugin. Both sides are built from the same headers, so they pass types of
/// the library unchanged.
struct parts {
    void* queue = nullptr;   ///< workqueue<unbound> of the program
    void* bound = nullptr;   ///< workqueue_base of a bound queue of the program, on a runtime without a sentinel
    void* item = nullptr;    ///< work_base
    void* fast = nullptr;    ///< workqueue<bh> of the program
    void* runtime = nullptr; ///< runtime of the program
    void (*opened)() = nullptr;
};

/// A test case returns an empty string, or a description of the failure.
using test_case = const char* (*)(parts&);

/// Makes the call in another thread. Calls `before` as soon as that thread sleeps or the call has returned.
template <class Call, class Before>
void call_and_meanwhile(Call call, Before before) {
    std::atomic<long> tid{0};
    std::atomic<bool> returned{false};
    std::thread t([&] {
        tid = ::syscall(SYS_gettid);
        call();
        returned = true;
    });
    const auto sleeps = [&] {
        if (returned) return true;
        std::ifstream file("/proc/self/task/" + std::to_string(tid.load()) + "/stat");
        std::string text;
        std::getline(file, text);
        const auto name_ends = text.rfind(')');
        return name_ends != std::string::npos && text.compare(name_ends, 3, ") S") == 0;
    };
    static_cast<void>(cmwq_test::eventually(sleeps));
    before();
    t.join();
}

/// The body of an item that runs until it is released.
struct stay {
    std::binary_semaphore entered{0}, leave{0};
    std::atomic<bool> finished{false};
    std::atomic<int> runs{0};
    void operator()() {
        ++runs;
        finished = false;
        entered.release();
        leave.acquire();
        finished = true;
    }
};

} // namespace copies
