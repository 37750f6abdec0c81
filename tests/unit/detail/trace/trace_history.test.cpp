// SPDX-License-Identifier: BSL-1.0
//
// trace_history: what a trace shows of events that are too old to be kept.
#include "catch.hpp"
#include "made_entry.hpp"
#include "perfetto_reader.hpp"

#include <cmwq/detail/trace/trace_history.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

using cmwq::block_reason;
using cmwq::detail::trace_entry;
using cmwq::detail::trace_history;
using cmwq::detail::trace_kind;
using cmwq_test::entry_of;
using cmwq_test::perfetto_trace;

namespace {

constexpr std::size_t any_number = SIZE_MAX;
int old_item, new_item;
const std::string& function() {
    static const std::string name = cmwq::detail::name_of_function(nullptr);
    return name;
}

trace_entry block(std::int64_t time, block_reason why) {
    trace_entry e = entry_of(1, trace_kind::blocked, time, &old_item);
    e.record.why = why;
    return e;
}

} // namespace

TEST_CASE("trace_history: it keeps the events from a time on, and only so many") {
    trace_history h;
    for (std::int64_t time = 1; time <= 10; ++time) h.add(entry_of(1, trace_kind::worker_woken, time));
    CHECK(perfetto_trace(h.trace()).events.size() == 10);
    h.forget_before(4, any_number);
    perfetto_trace trace(h.trace());
    REQUIRE(trace.events.size() == 7);
    CHECK(trace.events[0].time == 4);
    h.forget_before(4, 2);
    trace = perfetto_trace(h.trace());
    REQUIRE(trace.events.size() == 2);
    CHECK(trace.events[0].time == 9);
}

// proves: observe-6
TEST_CASE("trace_history: an item that still runs, and its block, begin when they have begun") {
    trace_history h;
    h.add(entry_of(2, trace_kind::started, 1, &new_item));
    h.add(entry_of(2, trace_kind::ended, 2, &new_item)); // over
    h.add(entry_of(1, trace_kind::started, 3, &old_item));
    h.add(block(4, block_reason::announced));
    h.add(entry_of(1, trace_kind::unblocked, 5, &old_item)); // over
    h.add(block(6, block_reason::sentinel));                 // has no end
    h.add(block(7, block_reason::waiting));
    h.forget_before(100, any_number);
    perfetto_trace trace(h.trace());
    CHECK(trace.story(2) == "[" + function() + ", [waits for items");
    REQUIRE(trace.events.size() >= 2);
    CHECK(trace.events[0].time == 3);
    h.add(entry_of(1, trace_kind::unblocked, 101, &old_item));
    h.add(entry_of(1, trace_kind::ended, 102, &old_item));
    trace = perfetto_trace(h.trace());
    CHECK(trace.story(2) == "[" + function() + ", [waits for items, ], ]");
    CHECK(trace.values("q: running") == "1 0");
    h.forget_before(103, any_number);
    CHECK(perfetto_trace(h.trace()).events.empty());
}

TEST_CASE("trace_history: items that were queued before, and have not started, count as pending") {
    trace_history h;
    for (int i = 0; i < 3; ++i) h.add(entry_of(1, trace_kind::queued, 1));
    h.add(entry_of(1, trace_kind::queued, 2, nullptr, "over"));
    h.add(entry_of(2, trace_kind::started, 3));
    h.add(entry_of(2, trace_kind::cancelled, 3, nullptr, "over"));
    h.forget_before(10, any_number);
    h.add(entry_of(2, trace_kind::ended, 11));
    h.add(entry_of(1, trace_kind::queued, 12));
    const perfetto_trace trace(h.trace());
    CHECK(trace.values("q: pending") == "0 2 3"); // 0 when the item starts, which is shown for the sake of its slice
    CHECK(trace.values("q: running") == "1 0");
    CHECK(trace.values("over: pending").empty());
}

TEST_CASE("trace_history: nothing is open behind a gap") {
    trace_history h;
    h.add(entry_of(1, trace_kind::started, 1, &old_item));
    trace_entry e = entry_of(1, trace_kind::worker_woken, 2);
    e.record.nr_lost = 3;
    h.add(std::move(e));
    h.forget_before(10, any_number);
    CHECK(perfetto_trace(h.trace()).events.empty());
}
