// SPDX-License-Identifier: BSL-1.0
//
// A first example: items that are queued at once, an item that is queued with a delay, an item that announces that it
// blocks, and the functions that wait for items.
#include <cmwq/cmwq.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

using namespace std::chrono_literals;

namespace {

// Stands for a call that sleeps: a read, a lock, a request to another process.
void slow_call() { std::this_thread::sleep_for(20ms); }

} // namespace

int main() {
    cmwq::workqueue<> queue{"hello"};

    // The items are declared after the queue and after the variables that they use, so the items are destroyed first.
    const unsigned here = *cmwq::runtime::global().cpus().begin();
    std::atomic<bool> bystander_ran{false};
    bool ran_meanwhile = false;

    cmwq::work greeting{[] { std::puts("hello from a worker"); }};

    cmwq::work bystander{[&] { bystander_ran = true; }};

    cmwq::work blocker{[&] {
        queue.queue_on(here, bystander); // it comes after this item, on the same CPU
        {
            const cmwq::blocking_region region; // announces the block; the library also notices one without this
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

    queue.flush(); // waits for the items queued so far, but not for armed timers
    std::printf("%s\n", later.pending() ? "the delayed item still waits for its time" : "the delayed item is done");

    queue.drain(); // waits until the queue is empty: the delayed item runs now, before its time
    std::printf("%llu items ran\n", static_cast<unsigned long long>(queue.stats().completed));
    return queue.stats().completed == 4 ? 0 : 1;
}
