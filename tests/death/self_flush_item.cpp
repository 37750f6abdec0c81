// expect: what.*cmwq: item 0x[0-9a-f]+ [(][^)]+[)] of queue "loop" would wait for itself in flush[(][)]
#include "case.hpp"

#include <cmwq/workqueue.hpp>

#include <functional>

DEATH_CASE(self_flush_item) {
    cmwq::workqueue<> loop{"loop"};
    cmwq::work<std::function<void()>> item{[&] { item.flush(); }};
    loop.queue(item);
    loop.flush();
}
