// expect: nobody handles this
// An exception without a handler ends the program, in the caller of queue().
#include "case.hpp"

#include <cmwq/workqueue.hpp>

#include <stdexcept>

DEATH_CASE(bh_throws) {
    cmwq::workqueue<cmwq::bh> fast{"fast"};
    try {
        fast.post([] { throw std::runtime_error("nobody handles this"); });
    } catch (const std::exception&) { // not reached
    }
}
