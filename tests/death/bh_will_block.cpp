// expect: cmwq: an item of the bottom-half queue "fast" blocks
// A bottom half must not block, with or without an annotation. Here a blocking_region announces that it blocks.
#include "case.hpp"

#include <cmwq/workqueue.hpp>

DEATH_CASE(bh_will_block) {
    cmwq::workqueue<cmwq::bh> fast{"fast"};
    cmwq::work item{[] { const cmwq::blocking_region region; }};
    fast.queue(item);
}
