// SPDX-License-Identifier: BSL-1.0
//
// perfetto_writer: the tracks, slices, flows and counters of given records.
#include "catch.hpp"
#include "made_entry.hpp"
#include "perfetto_reader.hpp"

#include <cmwq/detail/trace/perfetto_writer.hpp>

#include <memory>
#include <string>
#include <vector>

using cmwq::block_reason;
using cmwq::detail::perfetto_writer;
using cmwq::detail::trace_entry;
using cmwq::detail::trace_kind;
using cmwq_test::entry_of;
using cmwq_test::perfetto_trace;

namespace {

int first_item, second_item;

/// A writer. The tracks of the threads 1 and 2 are 2 and 3.
struct begun_writer {
    begun_writer() { writer.begin(100, "program", 5, 6); }
    perfetto_trace trace() { return perfetto_trace(writer.take()); }
    perfetto_writer writer;
};

} // namespace

TEST_CASE("perfetto_writer: the process has a track, and each thread has one below it") {
    begun_writer t;
    for (unsigned thread = 1; thread <= 2; ++thread) {
        for (int i = 0; i < 2; ++i) t.writer.add(entry_of(thread, trace_kind::worker_woken, 10));
    }
    const perfetto_trace trace = t.trace();
    CHECK(trace.monotonic == 5);
    CHECK(trace.realtime == 6);
    REQUIRE(trace.tracks.size() == 3);
    CHECK(trace.tracks.at(1).name == "program");
    CHECK(trace.tracks.at(2).name == "thread 1");
    CHECK(trace.tracks.at(3).name == "thread 2");
    CHECK(trace.tracks.at(3).parent == 1);
    CHECK(trace.tracks.at(3).tid == 102);
}

TEST_CASE("perfetto_writer: a flow leads from the call to the run, for each instance of an item") {
    begun_writer t;
    t.writer.add(entry_of(1, trace_kind::queued, 10, &first_item));
    t.writer.add(entry_of(1, trace_kind::queued, 11, &second_item));
    t.writer.add(entry_of(2, trace_kind::started, 12, &first_item));
    t.writer.add(entry_of(2, trace_kind::queued, 13, &first_item)); // it queues itself
    t.writer.add(entry_of(2, trace_kind::ended, 14, &first_item));
    t.writer.add(entry_of(2, trace_kind::started, 15, &first_item));
    t.writer.add(entry_of(2, trace_kind::ended, 16, &first_item));
    t.writer.add(entry_of(2, trace_kind::started, 17, &first_item)); // the call was lost
    t.writer.add(entry_of(1, trace_kind::cancelled, 17, &second_item));
    t.writer.add(entry_of(2, trace_kind::started, 18, &second_item)); // was queued before the trace
    const perfetto_trace trace = t.trace();
    CHECK(trace.story(2) == "queued, queued, cancelled");
    REQUIRE(trace.named("queued").size() == 3);
    CHECK(trace.named("queued")[0].flow != trace.named("queued")[1].flow);
    std::string flows;
    for (const perfetto_trace::event& e : trace.events) {
        if (e.what != perfetto_trace::slice_begin) continue;
        CHECK(e.on == 3);
        CHECK(e.category == "q");
        CHECK(e.annotation("pool") == "7");
        flows += std::to_string(e.last_of_flow) + " ";
    }
    const auto queued = trace.named("queued");
    CHECK(flows == std::to_string(queued[0].flow) + " " + std::to_string(queued[2].flow) + " 0 0 ");
}

TEST_CASE("perfetto_writer: a flow leads to the right run if the next instance is told to be queued before the start") {
    begun_writer t;
    t.writer.add(entry_of(1, trace_kind::queued, 10, &first_item));
    t.writer.add(entry_of(1, trace_kind::queued, 11, &first_item));
    t.writer.add(entry_of(2, trace_kind::started, 12, &first_item));
    t.writer.add(entry_of(2, trace_kind::ended, 13, &first_item));
    t.writer.add(entry_of(2, trace_kind::started, 14, &first_item));
    t.writer.add(entry_of(2, trace_kind::ended, 15, &first_item));
    t.writer.add(entry_of(1, trace_kind::queued, 16, &first_item));
    t.writer.add(entry_of(1, trace_kind::queued, 17, &first_item));
    t.writer.add(entry_of(1, trace_kind::cancelled, 18, &first_item)); // the second one
    t.writer.add(entry_of(2, trace_kind::started, 19, &first_item));
    const perfetto_trace trace = t.trace();
    const auto calls = trace.named("queued");
    std::vector<std::uint64_t> runs;
    for (const perfetto_trace::event& e : trace.events) {
        if (e.what == perfetto_trace::slice_begin) runs.push_back(e.last_of_flow);
    }
    REQUIRE(calls.size() == 4);
    CHECK(runs == std::vector<std::uint64_t>{calls[0].flow, calls[1].flow, calls[2].flow});
}

TEST_CASE("perfetto_writer: counters of each queue follow its items, and are never negative") {
    begun_writer t;
    t.writer.add(entry_of(2, trace_kind::started, 9, &second_item)); // was queued before the trace
    for (int i = 0; i < 2; ++i) t.writer.add(entry_of(1, trace_kind::queued, 10 + i, &first_item));
    t.writer.add(entry_of(2, trace_kind::started, 12, &first_item));
    t.writer.add(entry_of(1, trace_kind::cancelled, 13, &first_item));
    t.writer.add(entry_of(1, trace_kind::queued, 14, &first_item, "other"));
    t.writer.add(entry_of(2, trace_kind::ended, 15, &first_item));
    const perfetto_trace trace = t.trace();
    CHECK(trace.values("q: pending") == "0 1 2 1 0");
    CHECK(trace.values("q: running") == "1 2 1");
    CHECK(trace.values("other: pending") == "1");
}

TEST_CASE("perfetto_writer: blocks with an end are slices inside the item, others are instants") {
    begun_writer t;
    const auto block = [&](std::int64_t time, block_reason why) {
        trace_entry e = entry_of(1, trace_kind::blocked, time, &first_item);
        e.record.why = why;
        t.writer.add(e);
    };
    t.writer.add(entry_of(1, trace_kind::ended, 1, &second_item)); // had started before the trace
    t.writer.add(entry_of(1, trace_kind::unblocked, 2, &second_item));
    t.writer.add(entry_of(1, trace_kind::started, 10, &first_item));
    block(11, block_reason::announced);
    block(12, block_reason::waiting);
    t.writer.add(entry_of(1, trace_kind::started, 13, &second_item)); // runs inside
    t.writer.add(entry_of(1, trace_kind::ended, 14, &second_item));
    t.writer.add(entry_of(1, trace_kind::unblocked, 15, &first_item));
    t.writer.add(entry_of(1, trace_kind::unblocked, 16, &first_item));
    block(17, block_reason::sentinel);
    block(18, block_reason::monitor);
    t.writer.add(entry_of(1, trace_kind::ended, 19, &first_item));
    const std::string name = cmwq::detail::name_of_function(nullptr);
    CHECK(t.trace().story(2) == "[" + name + ", [blocked, [waits for items, [" + name +
                                    ", ], ], ], blocked, as the sentinel has found, blocked, as the monitor has "
                                    "found, ]");
}

TEST_CASE("perfetto_writer: after a gap no slice is open, and the trace says how many events are missing") {
    begun_writer t;
    t.writer.add(entry_of(1, trace_kind::started, 10, &first_item));
    t.writer.add(entry_of(1, trace_kind::blocked, 11, &first_item));
    trace_entry e = entry_of(1, trace_kind::worker_ended, 12);
    e.record.nr_lost = 17;
    t.writer.add(e);
    t.writer.add(entry_of(1, trace_kind::ended, 13, &first_item));
    CHECK(t.trace().story(2) ==
          "[" + cmwq::detail::name_of_function(nullptr) + ", [blocked, ], ], 17 events lost, worker ended");
}

TEST_CASE("perfetto_writer: workers, maydays and reports are instants") {
    begun_writer t;
    t.writer.add(entry_of(1, trace_kind::worker_created, 1));
    t.writer.add(entry_of(1, trace_kind::worker_woken, 2));
    t.writer.add(entry_of(1, trace_kind::mayday, 3));
    trace_entry e = entry_of(1, trace_kind::reported, 4, nullptr, "the whole");
    e.message = std::make_unique<std::string>("the whole message");
    t.writer.add(e);
    const perfetto_trace trace = t.trace();
    CHECK(trace.story(2) == "worker created, worker woken, mayday, the whole");
    CHECK(trace.named("the whole")[0].annotation("message") == "the whole message");
    CHECK(trace.named("mayday")[0].category == "q");
}

TEST_CASE("perfetto_writer: the number of pending items can be set") {
    begun_writer t;
    t.writer.set_pending(9, "q", 5);
    t.writer.add(entry_of(1, trace_kind::queued, 10, &first_item));
    CHECK(t.trace().values("q: pending") == "5 6");
}

TEST_CASE("perfetto_writer: what was taken is not written again, and texts keep their numbers") {
    begun_writer t;
    t.writer.add(entry_of(1, trace_kind::queued, 1, &first_item));
    std::string all = t.writer.take();
    t.writer.add(entry_of(1, trace_kind::queued, 2, &second_item));
    all += t.writer.take();
    CHECK(t.writer.take().empty());
    CHECK(perfetto_trace(all).story(2) == "queued, queued");
}
