// expect: delayed_work_base
// Only a delayed_work has a timer.
#include <cmwq/workqueue.hpp>

#include <chrono>

void misuse(cmwq::workqueue<>& queue) {
    cmwq::work item{[] {}};
    queue.queue_after(std::chrono::milliseconds{1}, item);
}
