// SPDX-License-Identifier: BSL-1.0
//
// trace_runs, trace_data: what the page of a trace shows.
#include "../../../tools/cmwq/trace_data.hpp"

#include "catch.hpp"
#include "made_entry.hpp"

#include <cmwq/detail/trace/perfetto_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

using json = nlohmann::ordered_json;
using cmwq::block_reason;
using cmwq::detail::perfetto_writer;
using cmwq::detail::trace_entry;
using cmwq::detail::trace_kind;
using cmwq_test::entry_of;
using cmwq_tool::perfetto_trace;
using cmwq_tool::trace_data;
using cmwq_tool::trace_runs;

namespace {

int one, other, third;

/// A trace in the making. Threads are numbered from 1; the page's are in the order in which they are seen.
class made_trace {
public:
    made_trace() { writer_.begin(100, "program </script>", 5, 6); }

    made_trace& add(unsigned thread, trace_kind what, std::int64_t time, const void* item = nullptr, unsigned cpu = 0) {
        trace_entry e = entry_of(thread, what, time, item);
        e.record.cpu = static_cast<std::uint16_t>(cpu);
        writer_.add(e);
        return *this;
    }
    made_trace& block(unsigned thread, std::int64_t time, const void* item, block_reason why) {
        trace_entry e = entry_of(thread, trace_kind::blocked, time, item);
        e.record.why = why;
        writer_.add(e);
        return *this;
    }
    made_trace& end(unsigned thread, std::int64_t time, const void* item, std::int64_t cpu_time) {
        trace_entry e = entry_of(thread, trace_kind::ended, time, item);
        e.record.cpu_time = cpu_time;
        writer_.add(e);
        return *this;
    }
    made_trace& report(unsigned thread, std::int64_t time, const char* message) {
        trace_entry e = entry_of(thread, trace_kind::reported, time, nullptr, "beginning");
        e.message = std::make_unique<std::string>(message);
        writer_.add(e);
        return *this;
    }
    /// Items that run one after the other.
    made_trace& short_items(int n) {
        for (int i = 0; i < n; ++i) add(1, trace_kind::started, 10 + 2 * i, &one).end(1, 11 + 2 * i, &one, 1);
        return *this;
    }

    perfetto_trace read() { return perfetto_trace(writer_.take()); }

private:
    perfetto_writer writer_;
};

/// What the thread of a run did, with times: "10 running on 2, 12 blocked on 2, ...".
std::string story(const trace_runs& t, std::size_t run) {
    constexpr const char* names[] = {"running", "blocked", "waiting", "found blocked"};
    std::string s;
    for (const trace_runs::segment& x : t.segments) {
        if (x.of != run) continue;
        s += (s.empty() ? "" : ", ") + std::to_string(x.begin) + ' ' + names[static_cast<unsigned>(x.what)] + " on " +
             std::to_string(x.cpu);
    }
    return s;
}

} // namespace

TEST_CASE("trace_runs: a run has its thread, times, CPU time, CPUs and the call that queued it") {
    made_trace m;
    m.add(1, trace_kind::queued, 100, &one).add(2, trace_kind::started, 110, &one, 3);
    m.block(2, 120, &one, block_reason::announced).add(2, trace_kind::unblocked, 150, &one, 1).end(2, 160, &one, 15);
    const perfetto_trace trace = m.read();
    const trace_runs t(trace);
    REQUIRE(t.runs.size() == 1);
    const trace_runs::run& r = t.runs[0];
    CHECK(t.threads[r.thread].name == "thread 2");
    CHECK(t.threads[r.queued_by].tid == 101);
    CHECK(r.queued == 0);
    CHECK(r.begin == 10);
    CHECK(r.end == 60);
    CHECK(r.cpu_time == 15);
    CHECK(r.queue == "q");
    CHECK(r.pool == "7");
    CHECK(r.item == std::to_string(reinterpret_cast<std::uintptr_t>(&one)));
    CHECK(r.function == cmwq::detail::name_of_function(nullptr));
    CHECK(story(t, 0) == "10 running on 3, 20 blocked on 0, 50 running on 1");
    CHECK(t.end == 60);
}

TEST_CASE("trace_runs: blocks may be nested, and an item may run while another one waits") {
    made_trace m;
    m.add(1, trace_kind::started, 0, &one).block(1, 10, &one, block_reason::announced);
    m.block(1, 20, &one, block_reason::waiting).add(1, trace_kind::started, 30, &other).end(1, 40, &other, 1);
    m.add(1, trace_kind::unblocked, 50, &one).add(1, trace_kind::unblocked, 60, &one).end(1, 70, &one, 1);
    const perfetto_trace trace = m.read();
    const trace_runs t(trace);
    REQUIRE(t.runs.size() == 2);
    CHECK(t.runs[0].depth == 0);
    CHECK(t.runs[1].depth == 1);
    CHECK(story(t, 0) == "0 running on 0, 10 blocked on 0, 20 waiting on 0, 50 blocked on 0, 60 running on 0");
    CHECK(story(t, 1) == "30 running on 0");
}

TEST_CASE("trace_runs: from the time at which a detector has found a block, nobody knows when it ended") {
    made_trace m;
    m.add(1, trace_kind::started, 0, &one).add(1, trace_kind::worker_woken, 30);
    m.block(1, 10, &one, block_reason::sentinel); // it is told late
    m.block(1, 20, &one, block_reason::monitor).end(1, 40, &one, 1);
    const perfetto_trace trace = m.read();
    CHECK(story(trace_runs(trace), 0) == "0 running on 0, 10 found blocked on 0");
}

TEST_CASE("trace_runs: a spare worker takes over from the item that has blocked last") {
    made_trace m;
    for (unsigned thread = 1; thread <= 4; ++thread) m.add(thread, trace_kind::worker_created, 0);
    m.add(1, trace_kind::worker_woken, 1).add(1, trace_kind::started, 2, &one); // nothing is blocked
    m.block(1, 10, &one, block_reason::announced);
    m.add(2, trace_kind::worker_woken, 12).add(2, trace_kind::started, 13, &other);
    m.block(2, 20, &other, block_reason::sentinel);
    m.add(3, trace_kind::worker_woken, 22).add(3, trace_kind::started, 23, &third).end(3, 24, &third, 1);
    m.add(3, trace_kind::started, 25, &third).end(3, 26, &third, 1);                // was not asleep
    m.add(4, trace_kind::worker_woken, 27).add(4, trace_kind::started, 28, &third); // both have a successor
    m.add(1, trace_kind::unblocked, 30, &one).end(1, 31, &one, 1);
    const perfetto_trace trace = m.read();
    const trace_runs t(trace);
    REQUIRE(t.runs.size() == 5);
    CHECK_FALSE(t.runs[0].takes_over.has_value());
    CHECK(t.runs[1].takes_over == 0);
    CHECK(t.runs[2].takes_over == 1);
    CHECK_FALSE(t.runs[3].takes_over.has_value());
    CHECK_FALSE(t.runs[4].takes_over.has_value());
}

TEST_CASE("trace_runs: of two blocked items without a successor the later one gets it") {
    made_trace m;
    m.add(1, trace_kind::started, 1, &one).add(2, trace_kind::started, 2, &other);
    m.block(1, 10, &one, block_reason::announced).block(2, 11, &other, block_reason::announced);
    m.add(3, trace_kind::worker_woken, 12).add(3, trace_kind::started, 13, &third);
    const perfetto_trace trace = m.read();
    CHECK(trace_runs(trace).runs[2].takes_over == 1);
}

TEST_CASE("trace_runs: an item that has gone on has no successor") {
    made_trace m;
    m.add(1, trace_kind::started, 2, &one).block(1, 10, &one, block_reason::announced);
    m.add(1, trace_kind::unblocked, 11, &one).end(1, 12, &one, 1);
    m.add(2, trace_kind::worker_woken, 20).add(2, trace_kind::started, 21, &other);
    const perfetto_trace trace = m.read();
    CHECK_FALSE(trace_runs(trace).runs[1].takes_over.has_value());
}

TEST_CASE("trace_runs: an item that still runs has no end, and what began before the trace is left out") {
    made_trace m;
    m.end(1, 5, &other, 1).add(1, trace_kind::unblocked, 6, &other);
    m.add(1, trace_kind::started, 10, &one).add(2, trace_kind::mayday, 30);
    m.report(2, 31, "the whole message");
    const perfetto_trace trace = m.read();
    const trace_runs t(trace);
    REQUIRE(t.runs.size() == 1);
    CHECK_FALSE(t.runs[0].end.has_value());
    CHECK_FALSE(t.runs[0].cpu_time.has_value());
    REQUIRE(t.segments.size() == 1);
    CHECK(t.segments[0].end == t.end);
    REQUIRE(t.marks.size() == 2);
    CHECK(t.marks[0].text == "mayday");
    CHECK_FALSE(t.marks[0].is_report);
    CHECK(t.marks[1].text == "the whole message");
    CHECK(t.marks[1].is_report);
}

TEST_CASE("trace_data: it is JSON that cannot end a script, with what the page needs") {
    made_trace m;
    m.add(1, trace_kind::queued, 1, &one).add(1, trace_kind::started, 2, &one).end(1, 4, &one, 1);
    const perfetto_trace trace = m.read();
    const trace_data made(trace, 10);
    CHECK(made.text().find('<') == std::string::npos);
    const auto data = json::parse(made.text());
    CHECK(data.at("program") == "program </script>");
    CHECK(data.at("pid") == 100);
    CHECK(data.at("end") == 3);
    CHECK(data.at("left_out") == 0);
    CHECK(data.at("is_cut") == false);
    CHECK(data.at("threads") == json::parse(R"([["thread 1", 101]])"));
    CHECK(data.at("segments") == json::parse("[[0, 0, 1, 3, 0]]"));
    CHECK(data.at("counters").at(0) == json::parse(R"(["q: pending", [0, 1, 1, 0]])"));
    const auto& run = data.at("runs").at(0);
    CHECK(data.at("texts").at(run.at(3).get<std::size_t>()) == "q");
    CHECK(run.at(6) == 1);   // begin
    CHECK(run.at(9) == 0);   // queued
    CHECK(run.at(11) == -1); // takes over
}

TEST_CASE("trace_data: of too many runs it has the last ones") {
    const perfetto_trace trace = made_trace().short_items(10).read();
    const auto data = json::parse(trace_data(trace, 3).text());
    CHECK(data.at("left_out") == 7);
    REQUIRE(data.at("runs").size() == 3);
    CHECK(data.at("runs").at(0).at(6) == 14); // the eighth begins at 24, and the first event is at 10
    CHECK(data.at("segments") == json::parse("[[0, 0, 14, 15, 0], [1, 0, 16, 17, 0], [2, 0, 18, 19, 0]]"));
}
