// expect: what.*cmwq: item 0x[0-9a-f]+ [(][^)]+[)] of queue "loop" would wait for itself in disable_sync[(][)]
#include "case.hpp"

#include <cmwq/workqueue.hpp>

#include <functional>

DEATH_CASE(self_disable_sync) {
    cmwq::workqueue<cmwq::elastic> loop{"loop"};
    cmwq::work<std::function<void()>> item{[&] { item.disable_sync(); }};
    loop.queue(item);
    loop.flush();
}
