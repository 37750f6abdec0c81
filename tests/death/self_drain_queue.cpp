// expect: what.*cmwq: item 0x[0-9a-f]+ [(][^)]+[)] of queue "loop" would wait for itself in drain[(][)] of that queue
#include "case.hpp"

#include <cmwq/workqueue.hpp>

DEATH_CASE(self_drain_queue) {
    cmwq::workqueue<cmwq::ordered> loop{"loop"};
    cmwq::work item{[&] { loop.drain(); }};
    loop.queue(item);
    item.flush();
}
