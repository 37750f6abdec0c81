// expect: cmwq: an item of the bottom-half queue "slow" blocks
// A bottom half must not block even for a short time. Here it runs in the middle of a bound item, which may block.
#include "case.hpp"

#include <cmwq/workqueue.hpp>

DEATH_CASE(bh_may_block) {
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
