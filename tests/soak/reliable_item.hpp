// SPDX-License-Identifier: BSL-1.0
//
// An item of one queue that every thread queues and no thread cancels. A thread that has queued it and then waited for
// the item or for its queue must see its run.
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

    /// For the thread with this number: queues the item, waits, and checks that it has run.
    void use(unsigned thread);
    /// Checks the counts. Call it when no item runs any more.
    void verify();
    [[nodiscard]] std::uint64_t nr_runs() const { return ran_; } ///< call it at the same time

private:
    struct call {
        reliable_item& i;
        void operator()() { i.run(); }
    };

    void run();

    any_queue& q_;
    // Relaxed: queue() publishes wanted_, and flush() makes seen_ visible.
    std::array<std::atomic<std::uint64_t>, max_threads> wanted_{};
    std::array<std::atomic<std::uint64_t>, max_threads> seen_{};
    counter queued_;
    std::atomic<bool> inside_{false};
    std::uint64_t ran_ = 0; // not atomic: each run happens after the previous one

public:
    cmwq::delayed_work<call> work{call{*this}};
};

} // namespace soak
