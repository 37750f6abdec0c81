// expect: cmwq: an item of the bottom-half queue "fast" blocks
// A bottom half must not block, annotated or not.
#include <cmwq/workqueue.hpp>

int main() {
    cmwq::workqueue<cmwq::bh> fast{"fast"};
    cmwq::work item{[] { const cmwq::blocking_region region; }};
    fast.queue(item);
}
