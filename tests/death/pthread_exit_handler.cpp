// expect: cmwq: item 0x[0-9a-f]+ [(][^)]+[)] of queue "leaves" ends the thread that runs it
#include "case.hpp"

#include <cmwq/cmwq.hpp>

#include <exception>
#include <pthread.h>
#include <utility>

DEATH_CASE(pthread_exit_handler) {
    cmwq::options<> o{.name = "leaves"};
    o.on_exception = [](std::exception_ptr) {};
    cmwq::workqueue<> q{std::move(o)};
    cmwq::work item{[] { ::pthread_exit(nullptr); }};
    q.queue(item);
    item.flush();
}
