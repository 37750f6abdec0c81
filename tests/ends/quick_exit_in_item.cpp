// exits: 7
// says:
// An item of a static queue cannot call exit(), which would destroy the queue in its own item. It can call
// quick_exit().
#include <cmwq/cmwq.hpp>

#include <cstdlib>
#include <semaphore>

namespace {

std::binary_semaphore never{0};
cmwq::workqueue<> queue{"static"};

} // namespace

int main() {
    queue.post([] { std::quick_exit(7); });
    never.acquire();
}
