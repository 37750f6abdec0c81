// expect: ^cmwq: item 0x[0-9a-f]+ [(][^)]+[)] of queue "loop" would wait for itself in ~workqueue[(][)] of that queue
#include "case.hpp"

#include <cmwq/workqueue.hpp>

DEATH_CASE(self_destroy_queue) {
    auto* loop = new cmwq::workqueue<>("loop");
    cmwq::work item{[&] { delete loop; }};
    loop->queue(item);
    item.flush();
}
