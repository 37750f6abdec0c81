// SPDX-License-Identifier: BSL-1.0
//
// A runtime that is frozen, and a way to prove that no item starts meanwhile.
#pragma once

#include "gate.hpp"
#include "policy_list.hpp"

#include <cmwq/runtime.hpp>
#include <cmwq/testing/manual_clock.hpp>
#include <cmwq/workqueue.hpp>

#include <string_view>

namespace cmwq_test {

/// Options of a queue that freezes, of which at most `limit` items are active (bound: on each CPU).
template <class P>
cmwq::options<P> freezable(unsigned limit = P::default_max_active, std::string_view name = "freezable") {
    cmwq::options<P> o = at_most<P>(limit, name);
    o.freezable = true;
    return o;
}

/// A queue that freezes, and one that does not, in the same pools. Time stands still.
template <class P>
struct freezable_world {
    explicit freezable_world(unsigned limit = P::default_max_active) : q(rt, freezable<P>(limit)) {}

    /// After this call every item that may start has started: the pools start items in the order in which they came, so
    /// an item that was queued before, and is not held back, starts before the items that this queues.
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
