// expect: cmwq: an item of the bottom-half queue "late" blocks
// A bottom half must not block on the bottom-half thread of a CPU either.
#include "case.hpp"

#include <cmwq/workqueue.hpp>

#include <chrono>

DEATH_CASE(bh_blocks_on_its_thread) {
    cmwq::workqueue<cmwq::bh> late{"late"};
    cmwq::delayed_work item{[] { cmwq::blocking([] {}); }};
    late.queue_after(std::chrono::milliseconds{1}, item);
    late.drain();
}
