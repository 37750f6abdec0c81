// exits: 6
// says: handler
// quick_exit() destroys no object and waits for no item: neither for an item that blocks nor for pending items of a
// static queue, although the destructor of that queue would wait.
#include <cmwq/cmwq.hpp>

#include <cstdio>
#include <cstdlib>
#include <semaphore>

namespace {

std::binary_semaphore entered{0}, never{0};
cmwq::workqueue<cmwq::ordered> queue{"static"};

} // namespace

int main() {
    std::at_quick_exit([] {
        std::puts("handler");
        std::fflush(stdout); // quick_exit() does not flush it
    });
    queue.post([] {
        entered.release();
        never.acquire();
    });
    queue.post([] { std::puts("runs although the program ends"); });
    entered.acquire();
    std::quick_exit(6);
}
