// expect: deleted
// An item is pinned: queues hold its address.
#include <cmwq/cmwq.hpp>

void misuse() {
    cmwq::work item{[] {}};
    auto copy = item;
}
