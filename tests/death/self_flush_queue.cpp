// expect: what.*cmwq: item 0x[0-9a-f]+ [(][^)]+[)] of queue "loop" would wait for itself in flush[(][)] of that queue
#include "case.hpp"

#include <cmwq/workqueue.hpp>

DEATH_CASE(self_flush_queue) {
    cmwq::workqueue<> loop{"loop"};
    cmwq::work item{[&] { loop.flush(); }};
    loop.queue(item);
    item.flush();
}
