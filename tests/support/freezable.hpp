// SPDX-License-Identifier: BSL-1.0
//
// Helpers for tests that freeze a runtime and check that no item starts meanwhile.
#pragma once

#include "gate.hpp"
#include "policy_list.hpp"

#include <cmwq/runtime.hpp>
#include <cmwq/testing/manual_clock.hpp>
#include <cmwq/workqueue.hpp>

#include <string_view>

namespace cmwq_test {

/// Options of a freezable queue with at most `limit` active items (bound: on each CPU).
template <class P>
cmwq::options<P> freezable(unsigned limit = P::default_max_active, std::string_view name = "freezable") {
    cmwq::options<P> o = at_most<P>(limit, name);
    o.freezable = true;
    return o;
}

/// A freezable queue, and a queue that is not freezable, in the same pools. The clock stands still.
template <class P>
struct freezable_world {
    explicit freezable_world(unsigned limit = P::default_max_active) : q(rt, freezable<P>(limit)) {}

    /// After this call every item that may start has started: the pools start items in the order of queueing, so an
    /// item that was queued before, and is not held back, starts before the items that this function queues.
    void let_start() {
        for (const unsigned each : rt.cpus()) other.post_on(each, [] {});
        other.flush();
    }

    cmwq::testing::manual_clock clock;
    cmwq::runtime rt{{.clock = &clock}};
    const unsigned cpu = *rt.cpus().begin();
    cmwq::workqueue<P> other{rt, "other"};
    cmwq::workqueue<P> q;
};

} // namespace cmwq_test
