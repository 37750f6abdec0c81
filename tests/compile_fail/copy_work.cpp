// expect: deleted
// An item is pinned: queues hold its address.
#include <cmwq/workqueue.hpp>

void misuse() {
    cmwq::work item{[] {}};
    auto copy = item;
}
