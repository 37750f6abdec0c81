// SPDX-License-Identifier: BSL-1.0
//
// Waits until another thread has made a condition true.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace cmwq_test {

/// Returns true as soon as `pred()` is true, and false if it is still false at the deadline. The deadline is for
/// failures only, so it is generous. The calling thread leaves the CPU between two calls of `pred()`, so that other
/// threads can run on a machine with few CPUs. A test cannot use it to prove that something does not happen.
template <class Pred>
[[nodiscard]] bool eventually(Pred pred, std::chrono::nanoseconds timeout = std::chrono::seconds{120}) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    std::mutex m;
    std::condition_variable never_notified;
    std::unique_lock lock(m);
    while (!pred()) {
        const auto now = std::chrono::steady_clock::now();
        if (now >= deadline) return pred();
        never_notified.wait_for(lock, std::chrono::microseconds{200});
    }
    return true;
}

} // namespace cmwq_test
