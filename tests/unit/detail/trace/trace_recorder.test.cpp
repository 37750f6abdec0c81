// SPDX-License-Identifier: BSL-1.0
//
// trace_recorder and its rings, without a reader of its own.
#include "catch.hpp"
#include "eventually.hpp"

#include <cmwq/detail/sync/system.hpp>
#include <cmwq/detail/trace/trace_recorder.hpp>

#include <memory>
#include <string>
#include <thread>
#include <vector>

using cmwq::detail::parker;
using cmwq::detail::trace_kind;
using cmwq::detail::trace_record;
using cmwq::detail::trace_recorder;
using cmwq::detail::trace_ring;

namespace {

cmwq::item_event event_at(std::int64_t time, const char* queue = "q") {
    return {{time, queue, "bound", 3}, nullptr, nullptr};
}

std::vector<trace_record> read_all(trace_recorder& of) {
    std::vector<trace_record> all;
    of.for_each_ring([&](trace_ring& r) { r.read([&](const trace_record& x) { all.push_back(x); }); });
    return all;
}

unsigned nr_rings(trace_recorder& of) {
    unsigned n = 0;
    of.for_each_ring([&](trace_ring&) { ++n; });
    return n;
}

} // namespace

TEST_CASE("trace_recorder: a record has what the event has, and a long name is cut between characters") {
    parker reader;
    trace_recorder recorder(8, reader);
    int item = 0;
    const std::string name(39, 'n'), long_name = name + "ü";
    recorder.blocked({{7, long_name, "bound", 3}, &item, nullptr}, cmwq::block_reason::monitor);
    recorder.worker_woken({9, 4, 5});
    recorder.ended({{11, "q", "bound", 3}, &item, nullptr, 25});
    const std::vector<trace_record> all = read_all(recorder);
    REQUIRE(all.size() == 3);
    CHECK(all[0].kind == trace_kind::blocked);
    CHECK(all[0].time == 7);
    CHECK(all[0].pool == 3);
    CHECK(all[0].item == &item);
    CHECK(all[0].why == cmwq::block_reason::monitor);
    CHECK(all[0].name() == name);
    CHECK(all[1].kind == trace_kind::worker_woken);
    CHECK(all[1].pool == 4);
    CHECK(all[1].worker == 5);
    CHECK(all[2].kind == trace_kind::ended);
    CHECK(all[2].item == &item);
    CHECK(all[2].cpu_time == 25);
}

// proves: observe-5
TEST_CASE("trace_recorder: events without room are counted, and the next record says how many there were") {
    parker reader;
    trace_recorder recorder(2, reader);
    for (int i = 1; i <= 5; ++i) recorder.started(event_at(i));
    CHECK(recorder.nr_lost() == 3);
    CHECK(reader.has_permit()); // the ring is half full
    std::vector<trace_record> all = read_all(recorder);
    REQUIRE(all.size() == 2);
    CHECK(all[1].time == 2);
    CHECK(all[1].nr_lost == 0);
    recorder.started(event_at(6));
    recorder.started(event_at(7));
    all = read_all(recorder);
    REQUIRE(all.size() == 2);
    CHECK(all[0].nr_lost == 3);
    CHECK(all[1].nr_lost == 0);
}

TEST_CASE("trace_recorder: each thread has a ring, which serves another one when it has ended and all is read") {
    parker reader;
    trace_recorder recorder(8, reader);
    recorder.started(event_at(1));
    long tid = 0;
    std::thread([&] {
        recorder.started(event_at(2));
        tid = cmwq::detail::this_thread_id();
    }).join();
    CHECK(nr_rings(recorder) == 2);
    CHECK(cmwq_test::eventually([tid] { return !cmwq::detail::thread_exists(tid); }));
    recorder.for_each_ring([&](trace_ring& r) {
        if (r.tid() != tid) return;
        read_all(recorder);
        r.release_owner();
    });
    std::thread([&] { recorder.started(event_at(3)); }).join();
    std::thread([&] { recorder.started(event_at(4)); }).join(); // nobody has released the ring of the last one
    CHECK(nr_rings(recorder) == 3);
    CHECK(cmwq::detail::thread_exists(cmwq::detail::this_thread_id()));
}

TEST_CASE("trace_recorder: a thread finds its ring again beside another recorder, and none of one that is gone") {
    parker reader;
    trace_recorder one(8, reader);
    for (int i = 0; i < 3; ++i) {
        trace_recorder other(8, reader);
        one.started(event_at(i));
        other.started(event_at(i));
        CHECK(nr_rings(other) == 1);
    }
    CHECK(nr_rings(one) == 1);
    CHECK(read_all(one).size() == 3);
}

TEST_CASE("trace_recorder: a report keeps its message for the reader") {
    parker reader;
    trace_recorder recorder(1, reader);
    const std::string text(1000, 'm');
    recorder.reported({cmwq::event::kind::stalled, 0, 0, text});
    recorder.reported({cmwq::event::kind::stalled, 0, 0, text}); // lost
    CHECK(recorder.nr_lost() == 1);
    for (const trace_record& r : read_all(recorder)) {
        const std::unique_ptr<std::string> message(r.message);
        CHECK(*message == text);
    }
}
