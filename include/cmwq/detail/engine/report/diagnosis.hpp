// SPDX-License-Identifier: BSL-1.0
//
// The texts of diagnoses: how they name items, queues and waits.
#pragma once

#include <cmwq/detail/engine/pool/pool_workqueue.hpp>
#include <cmwq/detail/engine/pool/worker.hpp>
#include <cmwq/detail/engine/queue/queue_core.hpp>
#include <cmwq/detail/engine/waits/wait_graph.hpp>
#include <cmwq/detail/sync/system.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Throws std::bad_alloc, as all functions below do.
inline std::string describe_queue(std::string_view name) { return "queue \"" + std::string(name) + "\""; }

// The following functions are called without a lock of the library: see describe_function().

inline std::string describe_address(const void* p) {
    char address[2 + 2 * sizeof p + 2];
    std::snprintf(address, sizeof address, "%p", p);
    return address;
}

inline std::string describe(const item_name& i) {
    const std::string function = " (" + describe_function(i.function) + ")";
    if (i.item == nullptr) return "an item that has destroyed itself" + function;
    return "item " + describe_address(i.item) + function;
}

/// The item that the calling thread runs under the record `k`, which may be null.
inline item_name name_of_run(const worker* k) noexcept {
    return k == nullptr ? item_name{} : item_name{k->own_item, k->function.load(relaxed)};
}

/// The item that the calling thread runs, and its queue.
inline std::string describe_own_run() {
    const worker* const self = own_run();
    if (self == nullptr) return "a thread that runs no item";
    return describe(name_of_run(self)) + " of " + describe_queue(self->current_pwq->queue->name);
}

[[noreturn]] inline void throw_deadlock(const std::string& what) {
    throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur), what);
}

/// An item ends its thread by pthread_exit(). Ends the program.
[[noreturn]] inline void refuse_thread_exit() noexcept {
    std::fprintf(stderr, "cmwq: %s ends the thread that runs it, by pthread_exit() or a cancellation\n",
                 describe_own_run().c_str());
    std::abort();
}

/// As above, for a handler of all exceptions, if that has caught none: pthread_exit() unwinds the stack.
inline void refuse_thread_exit_in_handler() noexcept {
    if (std::current_exception() == nullptr) refuse_thread_exit();
}

inline std::string describe_target(const wait_report& w) {
    std::string text = w.for_item() ? describe(w.item) : describe_queue(w.awaited_queue);
    if (w.for_group) text = "a task group on " + text;
    if (w.full_queue.empty()) return text;
    const char* const what = w.for_item()  ? ", which is"
                             : w.for_group ? ", some of whose tasks are"
                                           : ", some of whose items are";
    return text + what + " pending behind max_active " + std::to_string(w.max_active) + " of " +
           describe_queue(w.full_queue);
}

inline std::string describe_wait(const wait_report& w) {
    return describe(w.who) + " of " + describe_queue(w.queue) + " waits in " + w.call + " for " + describe_target(w);
}

/// A chain of waits that leads back to its beginning: each for the run of the next one, or for a task in that run.
inline std::string describe_cycle(const std::vector<wait_report>& cycle) {
    if (cycle.empty()) return "cmwq: deadlock"; // there was no memory for the reports
    const wait_report& first = cycle.front();
    std::string text = "cmwq: deadlock: " + describe(first.who) + " of " + describe_queue(first.queue) +
                       " would wait in " + first.call + " for " + describe_target(first);
    for (std::size_t i = 1; i < cycle.size(); ++i) {
        const wait_report &before = cycle[i - 1], &w = cycle[i];
        if (before.for_item()) text += ", which runs on " + describe_queue(w.queue) + " and";
        else if (!before.for_group) text += ", whose " + describe(w.who);
        else text += ", a task of which runs in " + describe(w.who) + " of " + describe_queue(w.queue) + ", which";
        text += std::string(" waits in ") + w.call + " for " + describe_target(w);
    }
    return text;
}

/// Waits that keep each other from ending.
inline std::string describe_knot(const std::vector<wait_report>& knot) {
    std::string text = "cmwq: deadlock: items wait for each other";
    for (const wait_report& w : knot) {
        text += (&w == &knot.front() ? ": " : "; ") + describe_wait(w);
    }
    if (knot.front().nr_more != 0) text += "; and " + std::to_string(knot.front().nr_more) + " more";
    return text;
}

}}} // namespace cmwq::CMWQ_NS::detail
