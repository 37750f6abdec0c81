// expect: cmwq: item 0x[0-9a-f]+ [(][^)]+[)] of queue "leaves" ends the thread that runs it
#include "case.hpp"

#include <cmwq/workqueue.hpp>

#include <pthread.h>

DEATH_CASE(pthread_exit_in_item) {
    cmwq::workqueue<> leaves{"leaves"};
    cmwq::work item{[] { ::pthread_exit(nullptr); }};
    leaves.queue(item);
    item.flush();
}
