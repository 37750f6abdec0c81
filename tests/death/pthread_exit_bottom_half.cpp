// expect: cmwq: item 0x[0-9a-f]+ [(][^)]+[)] of queue "leaves" ends the thread that runs it
#include "case.hpp"

#include <cmwq/cmwq.hpp>

#include <pthread.h>

DEATH_CASE(pthread_exit_bottom_half) {
    cmwq::workqueue<cmwq::bh> q{"leaves"};
    cmwq::work item{[] { ::pthread_exit(nullptr); }};
    q.queue(item);
    item.flush();
}
