// SPDX-License-Identifier: BSL-1.0
//
// trace_collector: the records of all threads, in the order of their times.
#include "catch.hpp"
#include "eventually.hpp"

#include <cmwq/detail/sync/system.hpp>
#include <cmwq/detail/trace/trace_collector.hpp>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

using cmwq::detail::parker;
using cmwq::detail::trace_collector;
using cmwq::detail::trace_entry;
using cmwq::detail::trace_recorder;
using cmwq::detail::trace_ring;

namespace {

struct traced_threads {
    parker sleep;
    trace_recorder recorder{8, sleep};
    trace_collector collector{recorder};

    unsigned nr_rings() {
        unsigned n = 0;
        recorder.for_each_ring([&](trace_ring&) { ++n; });
        return n;
    }
    void woken(std::int64_t at) { recorder.worker_woken({at, 0, 0}); }
    /// The times of the entries from before that time, with blanks in between.
    std::string times_before(std::int64_t time) {
        std::string s;
        collector.take_before(time, [&](const trace_entry& e) { s += std::to_string(e.record.time) + " "; });
        return s;
    }
};

} // namespace

TEST_CASE("trace_collector: a ring serves threads that come one after the other, and each has a number") {
    traced_threads t;
    for (unsigned i = 1; i <= 5; ++i) {
        long tid = 0;
        std::thread([&] {
            t.woken(i);
            tid = cmwq::detail::this_thread_id();
        }).join();
        // The system may let join() return a moment before the thread is gone.
        REQUIRE(cmwq_test::eventually([tid] { return !cmwq::detail::thread_exists(tid); }));
        t.collector.read();
        unsigned n = 0;
        t.collector.take_before(INT64_MAX, [&](const trace_entry& e) {
            ++n;
            CHECK(e.thread->number == i);
            CHECK(e.thread->tid == tid);
            CHECK_FALSE(e.thread->name.empty());
        });
        CHECK(n == 1);
    }
    CHECK(t.nr_rings() == 1);
}

TEST_CASE("trace_collector: it gives the records of all threads in the order of their times, up to a time") {
    traced_threads t;
    std::thread([&] {
        t.woken(20);
        t.woken(40);
    }).join();
    t.woken(10);
    t.woken(30);
    t.collector.read();
    CHECK(t.times_before(20) == "10 ");
    CHECK(t.times_before(31) == "20 30 ");
    t.woken(35);
    CHECK(t.times_before(40).empty()); // it was not read yet
    t.collector.read();
    t.woken(50);
    CHECK(t.times_before(INT64_MAX) == "35 40 ");
    t.collector.skip();
    CHECK(t.times_before(INT64_MAX).empty());
}

TEST_CASE("trace_collector: records of one time and one thread keep their order") {
    traced_threads t;
    for (unsigned worker = 0; worker < 8; ++worker) t.recorder.worker_ended({5, 0, worker});
    t.collector.read();
    std::string workers;
    t.collector.take_before(6, [&](const trace_entry& e) { workers += std::to_string(e.record.worker); });
    CHECK(workers == "01234567");
}

TEST_CASE("trace_collector: it keeps the messages of reports until they are taken") {
    traced_threads t;
    t.recorder.reported({cmwq::event::kind::rescued, 0, 0, "a message"});
    CHECK_FALSE(t.recorder.hangs());
    t.recorder.reported({cmwq::event::kind::deadlock, 0, 0, "another"});
    CHECK(t.recorder.hangs());
    t.collector.read();
    std::string messages;
    t.collector.take_before(INT64_MAX, [&](const trace_entry& e) { messages += *e.message + ", "; });
    CHECK(messages == "a message, another, ");
    t.recorder.reported({cmwq::event::kind::stalled, 0, 0, "forgotten"});
    t.collector.skip();
}
