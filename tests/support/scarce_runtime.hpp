// SPDX-License-Identifier: BSL-1.0
//
// A runtime for which the test decides whether threads can be created, and the events that it reports.
#pragma once

#include "any_queue.hpp"
#include "event_log.hpp"
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

} // namespace cmwq_test
