// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "eventually.hpp"

#include <cmwq/detail/sync/thread.hpp>

#include <atomic>
#include <thread>
#include <utility>

namespace cmwq_test {

/// Makes a call in a thread of its own.
class caller {
public:
    template <class F>
    explicit caller(F f)
        : thread_([this, f = std::move(f)] {
              probe_.open_own(cmwq::detail::state_files::kept);
              ready_ = true;
              f();
              done_ = true;
          }) {}
    ~caller() { thread_.join(); }
    caller(const caller&) = delete;
    caller& operator=(const caller&) = delete;

    /// Whether the thread sleeps in the call; waits until it does.
    [[nodiscard]] bool waits() {
        int asleep = 0;
        return eventually([&] { return ready_ && (asleep = probe_.blocked() ? asleep + 1 : 0) == 20; }) && !done_;
    }
    /// Whether the call returns; waits until it does.
    [[nodiscard]] bool returns() {
        return eventually([&] { return done_.load(); });
    }

private:
    cmwq::detail::thread_probe probe_;
    std::atomic<bool> ready_{false}, done_{false};
    std::thread thread_; // last: it uses the other members
};

} // namespace cmwq_test
