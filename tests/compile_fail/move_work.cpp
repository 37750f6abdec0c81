// expect: deleted
// An item is pinned: queues hold its address.
#include <cmwq/workqueue.hpp>

#include <utility>

void misuse() {
    cmwq::work item{[] {}};
    auto moved = std::move(item);
}
