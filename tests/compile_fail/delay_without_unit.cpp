// expect: no matching (member )?function.*queue_after
// The number 50 has no unit.
#include <cmwq/workqueue.hpp>

void misuse(cmwq::workqueue<>& queue) {
    cmwq::delayed_work item{[] {}};
    queue.queue_after(50, item);
}
