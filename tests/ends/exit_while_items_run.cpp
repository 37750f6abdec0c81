// exits: 3
// says: gone, flushed
// proves: life-10
// exit() while items of the global runtime run, queue each other, block, and wait for their timers. Objects that are
// never destroyed can be used until the end, even by the destructor of a static object.
#include <cmwq/cmwq.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <semaphore>
#include <thread>

using namespace std::chrono_literals;

namespace {

struct user {
    ~user() {
        std::printf("gone, ");
        int answer = 0;
        cmwq::work w{[&] { answer = 42; }};
        cmwq::system_wq().queue(w);
        w.flush();
        if (answer == 42) std::puts("flushed");
    }
} last;

// Never destroyed, like the global runtime: items use these members while static objects are destroyed.
struct traffic {
    std::atomic<int> runs{0};
    std::counting_semaphore<> never{0};
    cmwq::workqueue<> queue{"traffic"};
    cmwq::workqueue<cmwq::elastic> crowd{"crowd"};
    cmwq::work<std::function<void()>> endless{[this] {
        ++runs;
        queue.queue(endless);
    }};
    cmwq::delayed_work<std::function<void()>> ticking{[this] {
        ++runs;
        crowd.queue_after(50us, ticking);
    }};
};

} // namespace

int main() {
    auto& t = *new traffic;
    t.queue.queue(t.endless);
    t.crowd.queue_after(50us, t.ticking);
    for (int i = 0; i < 20; ++i) {
        t.crowd.post([&t] {
            ++t.runs;
            t.never.acquire();
        });
        cmwq::system_unbound_wq().queue_after(1h, *new cmwq::delayed_work<std::function<void()>>([] {}));
    }
    while (t.runs < 1000) std::this_thread::yield();
    std::exit(3);
}
