// SPDX-License-Identifier: BSL-1.0
//
// Helpers for tests that freeze a runtime and check that no item starts meanwhile.
#pragma once

#include "any_policy.hpp"
#include "any_queue.hpp"

#include <cmwq/runtime.hpp>
#include <cmwq/testing/manual_clock.hpp>

#include <string_view>

namespace cmwq_test {

/// Options of a freezable queue with at most `limit` active items (bound: on each CPU).
inline any_options freezable(const any_policy& p, unsigned limit, std::string_view name = "freezable") {
    any_options o = at_most(p, limit, name);
    o.freezable = true;
    return o;
}
/// Options of a freezable queue with the limit of its policy.
inline any_options freezable(const any_policy& p) { return freezable(p, p.default_max_active); }

/// A freezable queue, and a queue that is not freezable, in the same pools. The clock stands still.
struct freezable_world {
    explicit freezable_world(const any_policy& p) : freezable_world(p, p.default_max_active) {}
    freezable_world(const any_policy& p, unsigned limit) : other(p, rt, "other"), q(p, rt, freezable(p, limit)) {}

    /// After this call every item that may start has started: the pools start items in the order of queueing, so an
    /// item that was queued before, and is not held back, starts before the items that this function queues.
    void let_start() {
        for (const unsigned each : rt.cpus()) other.post_on(each, [] {});
        other.flush();
    }

    cmwq::testing::manual_clock clock;
    cmwq::runtime rt{{.clock = &clock}};
    const unsigned cpu = *rt.cpus().begin();
    any_queue other, q;
};

} // namespace cmwq_test
