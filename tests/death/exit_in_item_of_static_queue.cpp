// expect: would wait for itself in ~workqueue
// exit() destroys the queue, in one of its own items.
#include <cmwq/cmwq.hpp>

#include <cstdlib>
#include <semaphore>

static std::binary_semaphore never{0};
static cmwq::workqueue<> queue{"static"};

int main() {
    queue.post([] { std::exit(0); });
    never.acquire();
}
