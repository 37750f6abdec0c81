// SPDX-License-Identifier: BSL-1.0
//
// perfetto_writer: the tracks, slices, flows and counters of given records.
#include "catch.hpp"
#include "perfetto_reader.hpp"

#include <cmwq/detail/trace/perfetto_writer.hpp>

#include <string>

using cmwq::block_reason;
using cmwq::detail::perfetto_writer;
using cmwq::detail::trace_kind;
using cmwq::detail::trace_record;
using cmwq_test::perfetto_trace;

namespace {

int first_item, second_item;

trace_record record_of(trace_kind k, std::int64_t time, const void* item = nullptr, const char* queue = "q") {
    trace_record r;
    r.kind = k;
    r.time = time;
    r.item = item;
    r.pool = 7;
    r.set_name(queue);
    return r;
}

/// A writer with two threads: the tracks 2 and 3.
struct two_threads {
    two_threads() {
        writer.begin(100, "program", 5, 6);
        writer.add_thread(1, 100, "main");
        writer.add_thread(2, 101, "worker");
    }
    perfetto_trace trace() { return perfetto_trace(writer.take()); }
    perfetto_writer writer;
};

} // namespace

TEST_CASE("perfetto_writer: the process has a track, and each thread has one below it") {
    two_threads t;
    const perfetto_trace trace = t.trace();
    CHECK(trace.monotonic == 5);
    CHECK(trace.realtime == 6);
    REQUIRE(trace.tracks.size() == 3);
    CHECK(trace.tracks.at(1).name == "program");
    CHECK(trace.tracks.at(2).name == "main");
    CHECK(trace.tracks.at(3).name == "worker");
    CHECK(trace.tracks.at(3).parent == 1);
    CHECK(trace.tracks.at(3).tid == 101);
}

TEST_CASE("perfetto_writer: a flow leads from the call to the run, for each instance of an item") {
    two_threads t;
    t.writer.add(1, record_of(trace_kind::queued, 10, &first_item));
    t.writer.add(1, record_of(trace_kind::queued, 11, &second_item));
    t.writer.add(2, record_of(trace_kind::started, 12, &first_item));
    t.writer.add(2, record_of(trace_kind::queued, 13, &first_item)); // it queues itself
    t.writer.add(2, record_of(trace_kind::ended, 14, &first_item));
    t.writer.add(2, record_of(trace_kind::started, 15, &first_item));
    t.writer.add(2, record_of(trace_kind::ended, 16, &first_item));
    t.writer.add(2, record_of(trace_kind::started, 17, &first_item)); // the call was lost
    t.writer.add(1, record_of(trace_kind::cancelled, 17, &second_item));
    t.writer.add(2, record_of(trace_kind::started, 18, &second_item)); // was queued before the trace
    const perfetto_trace trace = t.trace();
    CHECK(trace.story(2) == "queued, queued, cancelled");
    REQUIRE(trace.named("queued").size() == 3);
    CHECK(trace.named("queued")[0].flow != trace.named("queued")[1].flow);
    std::string flows;
    for (const perfetto_trace::event& e : trace.events) {
        if (e.what != perfetto_trace::slice_begin) continue;
        CHECK(e.on == 3);
        CHECK(e.category == "q");
        CHECK(e.annotations.at("pool") == "7");
        flows += std::to_string(e.last_of_flow) + " ";
    }
    const auto queued = trace.named("queued");
    CHECK(flows == std::to_string(queued[0].flow) + " " + std::to_string(queued[2].flow) + " 0 0 ");
}

TEST_CASE("perfetto_writer: counters of each queue follow its items, and are never negative") {
    two_threads t;
    t.writer.add(2, record_of(trace_kind::started, 9, &second_item)); // was queued before the trace
    for (int i = 0; i < 2; ++i) t.writer.add(1, record_of(trace_kind::queued, 10 + i, &first_item));
    t.writer.add(2, record_of(trace_kind::started, 12, &first_item));
    t.writer.add(1, record_of(trace_kind::cancelled, 13, &first_item));
    t.writer.add(1, record_of(trace_kind::queued, 14, &first_item, "other"));
    t.writer.add(2, record_of(trace_kind::ended, 15, &first_item));
    const perfetto_trace trace = t.trace();
    CHECK(trace.values("q: pending") == "0 1 2 1 0");
    CHECK(trace.values("q: running") == "1 2 1");
    CHECK(trace.values("other: pending") == "1");
}

TEST_CASE("perfetto_writer: blocks with an end are slices inside the item, others are instants") {
    two_threads t;
    const auto block = [&](std::int64_t time, block_reason why) {
        trace_record r = record_of(trace_kind::blocked, time, &first_item);
        r.why = why;
        t.writer.add(1, r);
    };
    t.writer.add(1, record_of(trace_kind::ended, 1, &second_item)); // had started before the trace
    t.writer.add(1, record_of(trace_kind::unblocked, 2, &second_item));
    t.writer.add(1, record_of(trace_kind::started, 10, &first_item));
    block(11, block_reason::announced);
    block(12, block_reason::waiting);
    t.writer.add(1, record_of(trace_kind::started, 13, &second_item)); // runs inside
    t.writer.add(1, record_of(trace_kind::ended, 14, &second_item));
    t.writer.add(1, record_of(trace_kind::unblocked, 15, &first_item));
    t.writer.add(1, record_of(trace_kind::unblocked, 16, &first_item));
    block(17, block_reason::sentinel);
    block(18, block_reason::monitor);
    t.writer.add(1, record_of(trace_kind::ended, 19, &first_item));
    const std::string name = cmwq::detail::name_of_function(nullptr);
    CHECK(t.trace().story(2) == "[" + name + ", [blocked, [waits for items, [" + name +
                                    ", ], ], ], blocked, as the sentinel has found, blocked, as the monitor has "
                                    "found, ]");
}

TEST_CASE("perfetto_writer: after a gap no slice is open, and the trace says how many events are missing") {
    two_threads t;
    t.writer.add(1, record_of(trace_kind::started, 10, &first_item));
    t.writer.add(1, record_of(trace_kind::blocked, 11, &first_item));
    trace_record r = record_of(trace_kind::worker_ended, 12);
    r.nr_lost = 17;
    t.writer.add(1, r);
    t.writer.add(1, record_of(trace_kind::ended, 13, &first_item));
    CHECK(t.trace().story(2) ==
          "[" + cmwq::detail::name_of_function(nullptr) + ", [blocked, ], ], 17 events lost, worker ended");
}

TEST_CASE("perfetto_writer: workers, maydays and reports are instants") {
    two_threads t;
    t.writer.add(1, record_of(trace_kind::worker_created, 1));
    t.writer.add(1, record_of(trace_kind::worker_woken, 2));
    t.writer.add(1, record_of(trace_kind::mayday, 3));
    trace_record r = record_of(trace_kind::reported, 4);
    std::string message = "the whole message";
    r.message = &message;
    r.set_name("the whole");
    t.writer.add(1, r);
    const perfetto_trace trace = t.trace();
    CHECK(trace.story(2) == "worker created, worker woken, mayday, the whole");
    CHECK(trace.named("the whole")[0].annotations.at("message") == message);
    CHECK(trace.named("mayday")[0].category == "q");
}

TEST_CASE("perfetto_writer: what was taken is not written again, and texts keep their numbers") {
    two_threads t;
    t.writer.add(1, record_of(trace_kind::queued, 1, &first_item));
    std::string all = t.writer.take();
    t.writer.add(1, record_of(trace_kind::queued, 2, &second_item));
    all += t.writer.take();
    CHECK(t.writer.take().empty());
    CHECK(perfetto_trace(all).story(2) == "queued, queued");
}
