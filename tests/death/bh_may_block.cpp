// expect: cmwq: an item of the bottom-half queue "slow" blocks
// Not even for a short time; here in the middle of a bound item, which itself may.
#include <cmwq/workqueue.hpp>

int main() {
    cmwq::workqueue<> events{"events"};
    cmwq::workqueue<cmwq::bh> slow{"slow"};
    cmwq::work item{[] { cmwq::blocking(cmwq::may_block, [] {}); }};
    cmwq::work outer{[&] {
        const cmwq::blocking_region mine;
        slow.queue(item);
    }};
    events.queue(outer);
    outer.flush();
}
