// expect: cmwq: item 0x[0-9a-f]+ [(][^)]+[)] of queue "leaves" ends the thread that runs it
#include <cmwq/workqueue.hpp>

#include <pthread.h>

int main() {
    cmwq::workqueue<> leaves{"leaves"};
    cmwq::work item{[] { ::pthread_exit(nullptr); }};
    leaves.queue(item);
    item.flush();
}
