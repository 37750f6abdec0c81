// expect: cmwq: item 0x[0-9a-f]+ [(][^)]+[)] of queue "leaves" ends the thread that runs it
#include "case.hpp"

#include <cmwq/cmwq.hpp>

#include <pthread.h>

DEATH_CASE(pthread_exit_nested) {
    cmwq::runtime rt{{.cpus = cmwq::cpuset{*cmwq::runtime::global().cpus().begin()}}};
    cmwq::workqueue<cmwq::elastic> q{rt, "leaves"};
    cmwq::work inner{[] { ::pthread_exit(nullptr); }};
    cmwq::work outer{[&] {
        q.queue(inner);
        inner.flush();
    }};
    q.queue(outer);
    outer.flush();
}
