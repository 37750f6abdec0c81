// SPDX-License-Identifier: BSL-1.0
//
// A first look: items that are queued at once and later, an item that says that it blocks, and waiting for them.
#include <cmwq/cmwq.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

using namespace std::chrono_literals;

namespace {

// Stands for a call that sleeps: a read, a lock, a request to somebody else.
void slow_call() { std::this_thread::sleep_for(20ms); }

} // namespace

int main() {
    cmwq::workqueue<> queue{"hello"};

    // What the items use is declared before the items, and the items after the queue: they go first.
    const unsigned here = *cmwq::runtime::global().cpus().begin();
    std::atomic<bool> bystander_ran{false};
    bool ran_meanwhile = false;

    cmwq::work greeting{[] { std::puts("hello from a worker"); }};

    cmwq::work bystander{[&] { bystander_ran = true; }};

    cmwq::work blocker{[&] {
        queue.queue_on(here, bystander); // behind this item, on the same CPU
        {
            const cmwq::blocking_region region; // an announcement; blocking without one is noticed as well
            slow_call();
        }
        ran_meanwhile = bystander_ran;
    }};

    cmwq::delayed_work later{[] { std::puts("hello from a delayed item"); }};

    queue.queue(greeting);
    queue.queue_on(here, blocker);
    queue.queue_after(10min, later);

    blocker.flush();
    std::printf("while one item blocked, the next one behind it %s\n", ran_meanwhile ? "ran" : "waited");

    queue.flush(); // what was queued so far; a timer that is armed is not waited for
    std::printf("%s\n", later.pending() ? "the delayed item still waits for its time" : "the delayed item is done");

    queue.drain(); // until nothing is left: the delayed item runs now, before its time
    std::printf("%llu items ran\n", static_cast<unsigned long long>(queue.stats().completed));
    return queue.stats().completed == 4 ? 0 : 1;
}
