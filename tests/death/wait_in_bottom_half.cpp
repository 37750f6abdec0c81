// expect: what.*cmwq: flush[(][)] of queue "slow" in item 0x[0-9a-f]+ [(][^)]+[)] of queue "fast", a bottom half, which must not wait
#include "case.hpp"

#include <cmwq/workqueue.hpp>

DEATH_CASE(wait_in_bottom_half) {
    cmwq::workqueue<> slow{"slow"};
    cmwq::workqueue<cmwq::bh> fast{"fast"};
    cmwq::work item{[&] { slow.flush(); }};
    fast.queue(item);
}
