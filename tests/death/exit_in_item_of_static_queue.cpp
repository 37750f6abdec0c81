// expect: would wait for itself in ~workqueue
// An item calls exit(), which destroys the queue of that item.
#include <cmwq/cmwq.hpp>

#include <cstdlib>
#include <semaphore>

static std::binary_semaphore never{0};
static cmwq::workqueue<> queue{"static"};

int main() {
    queue.post([] { std::exit(0); });
    never.acquire();
}
