// SPDX-License-Identifier: BSL-1.0
//
// Waiting for something that another thread is going to do.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace cmwq_test {

/// True as soon as `pred()` is, false when it still is not at the deadline. The deadline is for failures only and
/// generous for that reason. The calling thread leaves the CPU between two looks, so that on a machine with few CPUs
/// the one waited for can run. Not for proving that something does not happen.
template <class Pred>
[[nodiscard]] bool eventually(Pred pred, std::chrono::nanoseconds timeout = std::chrono::seconds{20}) {
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
