// expect: nobody handles this
// An exception without a handler ends the program also if the item runs inside an item that waits for it and has a
// handler around the wait.
#include "case.hpp"

#include <cmwq/cmwq.hpp>

#include <stdexcept>

DEATH_CASE(throws_inside_waiter) {
    cmwq::runtime rt{{.cpus = cmwq::cpuset{*cmwq::runtime::global().cpus().begin()}}};
    cmwq::workqueue<cmwq::elastic> q{rt, "q"};
    cmwq::work inner{[] { throw std::runtime_error("nobody handles this"); }};
    cmwq::work outer{[&] {
        q.queue(inner);
        try {
            inner.flush();
        } catch (const std::exception&) { // not reached
        }
    }};
    q.queue(outer);
    outer.flush();
}
