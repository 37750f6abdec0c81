// exits: 4
// says: the static queue has run 100
// proves: life-10
// exit() from inside an item: static objects are destroyed on that worker, and another queue drains there.
#include <cmwq/cmwq.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <semaphore>

namespace {

std::atomic<int> runs{0};
struct report { // made before the queue, so destroyed after it
    ~report() { std::printf("the static queue has run %d\n", runs.load()); }
} at_the_end;
cmwq::workqueue<> queue{"static"};

} // namespace

int main() {
    for (int i = 0; i < 100; ++i) queue.post([] { ++runs; });
    cmwq::system_unbound_wq().post([] { std::exit(4); });
    std::binary_semaphore never{0};
    never.acquire();
}
