// expect: what.*cmwq: item 0x[0-9a-f]+ [(][^)]+[)] of queue "loop" would wait for itself in cancel_sync[(][)]
#include "case.hpp"

#include <cmwq/workqueue.hpp>

#include <functional>

DEATH_CASE(self_cancel_sync) {
    cmwq::workqueue<cmwq::unbound> loop{"loop"};
    cmwq::work<std::function<void()>> item{[&] { item.cancel_sync(); }};
    loop.queue(item);
    loop.flush();
}
