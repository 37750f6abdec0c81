// expect: a bottom-half queue
// Correct uses of the interfaces that the cases misuse.
#include "case.hpp"

#include <cmwq/cmwq.hpp>

#include <cstdlib>

DEATH_CASE(lives) {
    cmwq::workqueue<cmwq::bh> fast{"fast"};
    int runs = 0;
    cmwq::work item{[&] { ++runs; }};
    const cmwq::blocking_region region; // outside of the item
    fast.queue(item);
    if (runs != 1) std::abort();
}
