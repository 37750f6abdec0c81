// expect: cmwq: ~workqueue[(][)] of queue "busy"
// A bottom half destroys a queue whose pending items cannot run before that bottom half has ended.
#include "case.hpp"

#include <cmwq/cmwq.hpp>

#include <memory>

DEATH_CASE(bh_destroys_queue) {
    cmwq::workqueue<cmwq::bh> q{"q"};
    auto busy = std::make_unique<cmwq::workqueue<cmwq::bh>>("busy");
    cmwq::work waits{[] {}};
    cmwq::work destroyer{[&] {
        busy->queue(waits);
        busy.reset();
    }};
    q.queue(destroyer);
    destroyer.flush();
}
