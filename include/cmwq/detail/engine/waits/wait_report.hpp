// SPDX-License-Identifier: BSL-1.0
//
// wait_report: the description of a wait, and the messages about waits that never end. The functions throw
// std::bad_alloc, and are called without a lock of the library: see describe_function().
#pragma once

#include <cmwq/detail/engine/item/item_name.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The description of a wait, for a report. The names of functions are looked up later, when no lock is held.
struct wait_report {
    item_name who;             ///< the item that waits
    std::string queue;         ///< the queue of that item
    const char* call = "";     ///< the function that waits
    item_name item;            ///< the awaited item, unless it waits for a queue or a group
    std::string awaited_queue; ///< the awaited queue, or that of the awaited group; empty: it waits for an item
    bool for_group = false;    ///< it waits for a task group
    std::string full_queue;    ///< the awaited items are pending behind the limit of this queue; empty: they are not
    unsigned max_active = 0;   ///< that limit
    std::int64_t since = 0;    ///< steady clock
    bool reported = false;     ///< as a deadlock
    std::size_t nr_more = 0;   ///< in the first report of a knot: the number of waits that are left out

    [[nodiscard]] bool for_item() const noexcept { return awaited_queue.empty(); }
};

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
