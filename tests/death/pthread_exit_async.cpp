// expect: cmwq: item 0x[0-9a-f]+ [(][^)]+[)] of queue "leaves" ends the thread that runs it
#include "case.hpp"

#include <cmwq/cmwq.hpp>

#include <pthread.h>

DEATH_CASE(pthread_exit_async) {
    cmwq::workqueue<> q{"leaves"};
    q.async([] { ::pthread_exit(nullptr); }).wait();
}
