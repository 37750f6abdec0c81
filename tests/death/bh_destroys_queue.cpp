// expect: cmwq: ~workqueue[(][)] of queue "busy"
// A queue with items that wait for the end of the bottom half that destroys it.
#include <cmwq/cmwq.hpp>

#include <memory>

int main() {
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
