// SPDX-License-Identifier: BSL-1.0
//
// trace_reader: the records of all threads become one trace.
#include "catch.hpp"
#include "eventually.hpp"
#include "perfetto_reader.hpp"

#include <cmwq/detail/sync/system.hpp>
#include <cmwq/detail/trace/trace_reader.hpp>

#include <cstdint>
#include <string>
#include <thread>

using cmwq::detail::parker;
using cmwq::detail::trace_reader;
using cmwq::detail::trace_recorder;
using cmwq::detail::trace_ring;
using cmwq_test::eventually;
using cmwq_test::perfetto_trace;

namespace {

struct traced_threads {
    parker sleep;
    trace_recorder recorder{8, sleep};
    trace_reader reader{recorder};

    unsigned nr_rings() {
        unsigned n = 0;
        recorder.for_each_ring([&](trace_ring&) { ++n; });
        return n;
    }
    void woken(std::int64_t at) { recorder.worker_woken({at, 0, 0}); }
    std::int64_t next = 1;
};

} // namespace

TEST_CASE("trace_reader: a ring serves threads that come one after the other, and each has a track") {
    traced_threads t;
    std::string bytes;
    for (std::uint64_t i = 0; i < 5; ++i) {
        std::uint64_t tid = 0;
        std::thread([&] {
            t.woken(t.next++);
            tid = static_cast<std::uint64_t>(cmwq::detail::this_thread_id());
        }).join();
        // The system may let join() return a moment before the thread is gone.
        REQUIRE(eventually([tid] { return !cmwq::detail::thread_exists(static_cast<long>(tid)); }));
        bytes += t.reader.read_before(INT64_MAX);
        const perfetto_trace trace(bytes);
        REQUIRE(trace.events.size() == i + 1);
        CHECK(trace.tracks.size() == i + 1);
        CHECK(trace.tracks.at(trace.events.back().on).tid == tid);
    }
    CHECK(t.nr_rings() == 1);
}

TEST_CASE("trace_reader: it returns the records of all threads in the order of their times, up to a time") {
    traced_threads t;
    int item = 0;
    std::thread([&] { t.recorder.started({{20, "q", "bound", 0}, &item, nullptr}); }).join();
    t.recorder.queued({{10, "q", "bound", 0}, &item, nullptr}); // its ring is read first, or last
    t.woken(30);
    std::string bytes = t.reader.read_before(20);
    CHECK(perfetto_trace(bytes).named("queued").size() == 1);
    CHECK(perfetto_trace(bytes).story(perfetto_trace(bytes).named("queued")[0].on) == "queued");
    bytes += t.reader.read_before(30);
    CHECK(perfetto_trace(bytes).events.back().what != perfetto_trace::instant); // the start, and the counters
    bytes += t.reader.read_before(31);
    const perfetto_trace trace(bytes);
    CHECK(trace.events.back().name == "worker woken");
    std::uint64_t ended = 0;
    for (const perfetto_trace::event& e : trace.events) ended += e.last_of_flow;
    CHECK(ended == trace.named("queued")[0].flow);
}

TEST_CASE("trace_reader: it keeps the messages of reports until they are written") {
    traced_threads t;
    t.recorder.reported({cmwq::event::kind::stalled, 0, 0, "the pool stands still"});
    CHECK(perfetto_trace(t.reader.read_before(0)).events.empty());
    const perfetto_trace trace(t.reader.read_before(INT64_MAX));
    CHECK(trace.named("the pool stands still")[0].annotations.at("message") == "the pool stands still");
    t.recorder.reported({cmwq::event::kind::stalled, 0, 0, "forgotten"});
    t.reader.skip();
    CHECK(t.reader.read_before(INT64_MAX).empty());
}
