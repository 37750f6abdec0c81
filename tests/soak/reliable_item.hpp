// SPDX-License-Identifier: BSL-1.0
//
// An item of one queue that every thread queues and no thread cancels: a thread that has queued it and then waits, for
// it or for its queue, sees its run.
#pragma once

#include "ledger.hpp"
#include "settings.hpp"

#include <cmwq/delayed_work.hpp>

#include <array>
#include <atomic>
#include <cstdint>

namespace soak {

class any_queue;

class reliable_item {
public:
    explicit reliable_item(any_queue& q) : q_(q) {}

    /// By the thread of this number: queue it, wait, and see.
    void use(unsigned thread);
    /// When no item runs any more.
    void verify();
    [[nodiscard]] std::uint64_t nr_runs() const { return ran_; } ///< the same

private:
    struct call {
        reliable_item& i;
        void operator()() { i.run(); }
    };

    void run();

    any_queue& q_;
    // Relaxed: queue() publishes the one, and flush() receives the other.
    std::array<std::atomic<std::uint64_t>, max_threads> wanted_{};
    std::array<std::atomic<std::uint64_t>, max_threads> seen_{};
    counter queued_;
    std::atomic<bool> inside_{false};
    std::uint64_t ran_ = 0; // plain: its runs happen one after another

public:
    cmwq::delayed_work<call> work{call{*this}};
};

} // namespace soak
