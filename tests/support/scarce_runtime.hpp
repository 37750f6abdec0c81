// SPDX-License-Identifier: BSL-1.0
//
// A runtime for which the test decides whether threads can be created, and the events that it reports.
#pragma once

#include "any_queue.hpp"
#include "catch.hpp"
#include "event_log.hpp"
#include "eventually.hpp"
#include "fake_threads.hpp"

#include <cmwq/runtime.hpp>

#include <string_view>
#include <vector>

namespace cmwq_test {

/// A runtime without workers: it creates the first one when an item is queued and threads are allowed.
struct scarce_runtime {
    fake_threads threads;
    event_log events;
    cmwq::runtime rt{{.on_event = events.listener(), .threads = &threads}};
    const std::vector<unsigned> cpus{rt.cpus().begin(), rt.cpus().end()};
};

/// Options of a queue that has a rescuer.
inline any_options with_rescuer(std::string_view name = "rescued") { return {.name = name, .rescuer = true}; }

/// From now on threads are refused, and an item of a queue without a rescuer waits for one. So the runtime has reported
/// that it can make none, before a rescuer runs anything. The destructor waits until the item has run: allow threads
/// before.
class refused_item {
public:
    refused_item(const any_policy& policy, scarce_runtime& s) : q_(policy, s.rt, "plain") {
        s.threads.refuse();
        q_.post([] {});
        REQUIRE(eventually([&] { return s.events.count(cmwq::event::kind::no_thread) == 1; }));
    }

private:
    any_queue q_;
};

} // namespace cmwq_test
