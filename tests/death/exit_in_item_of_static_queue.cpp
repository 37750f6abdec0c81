// expect: would wait for itself in ~workqueue
// An item calls exit(), which destroys the queue of that item.
#include "case.hpp"

#include <cmwq/cmwq.hpp>

#include <cstdlib>
#include <semaphore>

DEATH_CASE(exit_in_item_of_static_queue) {
    static std::binary_semaphore never{0};
    static cmwq::workqueue<> queue{"static"};
    queue.post([] { std::exit(0); });
    never.acquire();
}
