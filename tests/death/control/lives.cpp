// expect: a bottom-half queue
// Correct uses of the interfaces that the cases misuse.
#include <cmwq/cmwq.hpp>

int main() {
    cmwq::workqueue<cmwq::bh> fast{"fast"};
    int runs = 0;
    cmwq::work item{[&] { ++runs; }};
    const cmwq::blocking_region region; // outside of the item
    fast.queue(item);
    return runs == 1 ? 0 : 1;
}
