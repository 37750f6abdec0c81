// SPDX-License-Identifier: BSL-1.0
//
// tracer: the file says what has happened in the runtime.
#include "any_queue.hpp"
#include "catch.hpp"
#include "child.hpp"
#include "deadlocked_queue.hpp"
#include "eventually.hpp"
#include "perfetto_reader.hpp"
#include "pinned.hpp"
#include "policy_list.hpp"
#include "policy_test_case.hpp"
#include "temporary_folder.hpp"
#include "this_task.hpp"
#include "threads_named.hpp"

#include <cmwq/cmwq.hpp>
#include <cmwq/trace.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <functional>
#include <list>
#include <optional>
#include <semaphore>
#include <set>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace cmwq_test;
using namespace std::chrono_literals;

namespace {

using traced_item = cmwq::work<std::function<void()>>;

std::string pointer_text(const void* p) { return std::to_string(reinterpret_cast<std::uintptr_t>(p)); }

std::vector<perfetto_trace::event> events_of(const perfetto_trace& trace, const void* item) {
    std::vector<perfetto_trace::event> found;
    for (const perfetto_trace::event& e : trace.events) {
        if (e.annotation("item") == pointer_text(item)) found.push_back(e);
    }
    return found;
}

} // namespace

// proves: observe-5
POLICY_TEST_CASE("trace: an item is queued on the track of its caller, and runs on that of its thread", "",
                 every_policy) {
    const temporary_folder folder;
    const std::string path = folder.path("t.pftrace");
    cmwq::runtime rt;
    any_queue q{policy, rt, "q"};
    long runner = 0;
    traced_item w{[&] { runner = cmwq::detail::this_thread_id(); }};
    {
        const cmwq::tracer t{rt, path};
        const pinned here{first_cpu()};
        q.queue(w);
        w.flush();
        CHECK(t.events_lost() == 0);
    }
    const auto trace = perfetto_trace::of_file(path);
    const auto events = events_of(trace, &w);
    REQUIRE(events.size() == 2); // the end of a slice names no item
    CHECK(events[0].name == "queued");
    CHECK(events[0].category == "q");
    CHECK(trace.tracks.at(events[0].on).tid == static_cast<std::uint64_t>(cmwq::detail::this_thread_id()));
    CHECK(events[1].what == perfetto_trace::slice_begin);
    CHECK(events[1].last_of_flow == events[0].flow);
    CHECK(trace.tracks.at(events[1].on).tid == static_cast<std::uint64_t>(runner));
    CHECK(trace.values("q: pending") == "1 0");
    CHECK(trace.values("q: running") == "1 0");
    CHECK(events[0].annotation("cpu") == std::to_string(first_cpu()));
    CHECK(events[1].annotation("pool") == events[0].annotation("pool"));
    const auto end = std::ranges::find(trace.events, perfetto_trace::slice_end, &perfetto_trace::event::what);
    REQUIRE(end != trace.events.end());
    CHECK_FALSE(end->annotation("cpu_time_ns").empty());
}

// proves: observe-5
POLICY_TEST_CASE("trace: of many threads it has each item once, with its flow, and every slice ends", "",
                 every_policy) {
    const temporary_folder folder;
    const std::string path = folder.path("t.pftrace");
    constexpr std::size_t nr_threads = 4, nr_items = 200;
    {
        cmwq::runtime rt;
        std::optional<cmwq::tracer> t{std::in_place, rt, path};
        any_queue q{policy, rt, "q"};
        std::list<std::thread> threads;
        for (std::size_t i = 0; i < nr_threads; ++i) {
            threads.emplace_back([&] {
                for (std::size_t n = 0; n < nr_items; ++n) {
                    traced_item w{[] {}};
                    q.queue(w);
                    w.flush();
                }
            });
        }
        for (std::thread& x : threads) x.join();
        CHECK(t->events_lost() == 0);
        t.reset();
    }
    const auto trace = perfetto_trace::of_file(path);
    std::set<std::uint64_t> began, ended;
    unsigned nr_begins = 0, nr_ends = 0;
    for (const perfetto_trace::event& e : trace.events) {
        if (e.flow != 0) CHECK(began.insert(e.flow).second);
        if (e.last_of_flow != 0) CHECK(ended.insert(e.last_of_flow).second);
        nr_begins += e.what == perfetto_trace::slice_begin ? 1 : 0;
        nr_ends += e.what == perfetto_trace::slice_end ? 1 : 0;
    }
    CHECK(began.size() == nr_threads * nr_items);
    CHECK(ended == began);
    CHECK(nr_begins == nr_ends);
}

TEST_CASE("trace: a block that is announced is a slice inside the item") {
    const temporary_folder folder;
    const std::string path = folder.path("t.pftrace");
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::elastic> q{rt, "q"};
    traced_item w{[] { cmwq::blocking([] {}); }};
    {
        const cmwq::tracer t{rt, path};
        q.queue(w);
        w.flush();
    }
    const auto trace = perfetto_trace::of_file(path);
    REQUIRE(trace.named("blocked").size() == 1);
    const perfetto_trace::event block = trace.named("blocked")[0];
    CHECK(block.what == perfetto_trace::slice_begin);
    CHECK(block.annotation("item") == pointer_text(&w));
    CHECK(block.on == events_of(trace, &w)[1].on);
}

TEST_CASE("trace: a former file is replaced, and another tracer may follow, or be beside it") {
    const temporary_folder folder;
    folder.write("t.pftrace", std::string(100'000, 'x'));
    cmwq::runtime rt;
    cmwq::workqueue<> q{rt, "q"};
    for (int i = 0; i < 2; ++i) {
        const cmwq::tracer t{rt, folder.path("t.pftrace")}, beside{rt, folder.path("beside.pftrace")};
        q.post([] {});
        q.flush();
    }
    CHECK(perfetto_trace::of_file(folder.path("t.pftrace")).named("queued").size() == 1);
    CHECK(perfetto_trace::of_file(folder.path("beside.pftrace")).named("queued").size() == 1);
}

TEST_CASE("trace: impossible options and files throw, and nothing is attached") {
    const temporary_folder folder;
    cmwq::runtime rt;
    CHECK_THROWS_AS(cmwq::tracer(rt, folder.path("t.pftrace"), {.events_per_thread = 0}), std::invalid_argument);
    try {
        const cmwq::tracer t{rt, folder.path("no folder/t.pftrace")};
        FAIL("it was opened");
    } catch (const std::system_error& e) {
        CHECK(e.code() == std::errc::no_such_file_or_directory);
        CHECK(std::string(e.what()).find("no folder/t.pftrace") != std::string::npos);
    }
    const cmwq::tracer first{rt, folder.path("t.pftrace")};
    try {
        const cmwq::tracer second{rt, folder.path("t.pftrace")};
        FAIL("two write one file");
    } catch (const std::system_error& e) {
        CHECK(e.code() == std::errc::device_or_resource_busy);
    }
    cmwq::workqueue<> q{rt, "q"};
    q.post([] {});
    q.flush();
}

TEST_CASE("trace: if the file cannot be written, a line says so once, and the program goes on") {
    const outcome o = in_child([] {
        cmwq::runtime rt;
        cmwq::workqueue<> q{rt, "q"};
        const cmwq::tracer t{rt, "/dev/full"};
        for (int i = 0; i < 2; ++i) {
            q.post([] {});
            q.flush();
        }
        return 0;
    });
    CHECK(o.exited_with(0));
    CHECK(o.stderr_text ==
          "cmwq: the trace /dev/full ends here, because it cannot be written: No space left on device\n");
}

// At the end there is more than at the first time, when the file still took it.
TEST_CASE("trace: its end raises no signal, whatever the file is") {
    const auto trace_items = [](const std::string& path, const auto& no_more) {
        for (const int s : {SIGPIPE, SIGXFSZ}) std::signal(s, SIG_DFL);
        cmwq::runtime rt;
        cmwq::workqueue<> q{rt, "q"};
        const cmwq::tracer t{rt, path};
        no_more();
        for (int i = 0; i < 200; ++i) q.post([] {});
        q.flush();
    };
    const temporary_folder folder;
    const std::string fifo = folder.path("fifo"), file = folder.path("file");
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    const outcome of_fifo = in_child([&] {
        const int reader = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK);
        trace_items(fifo, [reader] {
            char byte = 0;
            if (!eventually([&] { return ::read(reader, &byte, 1) == 1; })) ::_exit(1);
            ::close(reader);
        });
        return 0;
    });
    CHECK(of_fifo.exited_with(0));
    CHECK(of_fifo.says("ends here, because it cannot be written: Broken pipe"));
    const outcome of_file = in_child([&] {
        constexpr rlimit limit{1024, 1024};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        trace_items(file, [] {});
        return 0;
    });
    CHECK(of_file.exited_with(0));
    CHECK(of_file.says("ends here, because it cannot be written: File too large"));
}

TEST_CASE("trace: the thread of a tracer has the CPUs of the process, whoever has made it") {
    const temporary_folder folder;
    const cmwq::cpuset cpus = cpus_of_this_task();
    cmwq::runtime rt;
    std::thread([&] {
        const pinned here(*cpus.begin());
        const cmwq::tracer t{rt, folder.path("t.pftrace")};
        CHECK(eventually([&] {
            const auto found = threads_named("cmwq/trace");
            return found.size() == 1 && found[0].second == cpus;
        }));
    }).join();
}

TEST_CASE("flight recorder: a snapshot has what has happened, and what still runs, in a whole file") {
    const temporary_folder folder;
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::elastic> q{rt, "q"};
    cmwq::flight_recorder recorder{rt};
    std::binary_semaphore leave{0};
    traced_item over{[] {}}, runs{[&] { leave.acquire(); }};
    q.queue(over);
    over.flush();
    q.queue(runs);
    CHECK(eventually([&] { return q.stats().running == 1; }));
    recorder.snapshot(folder.path("1"));
    leave.release();
    runs.flush();
    recorder.snapshot(folder.path("2"));
    CHECK(recorder.events_lost() == 0);
    const auto first = perfetto_trace::of_file(folder.path("1")), second = perfetto_trace::of_file(folder.path("2"));
    CHECK(events_of(first, &over).size() == 2);
    REQUIRE(events_of(first, &runs).size() >= 2);
    CHECK(first.values("q: running") == "1 0 1");
    CHECK(second.values("q: running") == "1 0 1 0");
    CHECK_THROWS_AS(recorder.snapshot(folder.path("no folder/3")), std::system_error);
}

TEST_CASE("flight recorder: any number of threads, items among them, may make snapshots") {
    const temporary_folder folder;
    cmwq::runtime rt;
    cmwq::workqueue<> q{rt, "q"};
    cmwq::flight_recorder recorder{rt};
    constexpr int nr_items = 20;
    for (int i = 0; i < nr_items; ++i) q.post([&, i] { recorder.snapshot(folder.path(std::to_string(i))); });
    for (int i = 0; i < 5; ++i) recorder.snapshot(folder.path("main"));
    q.flush();
    for (int i = 0; i < nr_items; ++i) {
        CHECK(perfetto_trace::of_file(folder.path(std::to_string(i))).named("queued").size() >=
              static_cast<std::size_t>(i));
    }
}

// proves: observe-6
TEST_CASE("flight recorder: the first report of a hang writes the file, with the report and the items that hang") {
    const temporary_folder folder;
    const std::string path = folder.path("hang");
    const auto hang = [&] {
        cmwq::runtime rt;
        cmwq::flight_recorder recorder{rt, {.file = path}};
        deadlocked_queue q{rt, "q"};
        const bool written = eventually([&] { return ::access(path.c_str(), R_OK) == 0; });
        for (int i = 0; i < 2; ++i) recorder.snapshot(folder.path("later")); // the recorder has looked again
        q.resolve();
        return written ? 0 : 1;
    };
    const outcome o = in_child(hang);
    CHECK(o.exited_with(0));
    const std::string line = "cmwq: the last events are in " + path + "\n";
    CHECK(o.says(line));
    CHECK(o.stderr_text.find(line) == o.stderr_text.rfind(line));
    const auto trace = perfetto_trace::of_file(path);
    REQUIRE(trace.named("waits for items").size() == 1);
    CHECK(trace.named("waits for items")[0].what == perfetto_trace::slice_begin);
    const auto report =
        std::ranges::find_if(trace.events, [](const auto& e) { return !e.annotation("message").empty(); });
    REQUIRE(report != trace.events.end());
    CHECK(report->annotation("message").find("deadlock") != std::string::npos);
}

TEST_CASE("flight recorder: impossible options throw") {
    cmwq::runtime rt;
    CHECK_THROWS_AS(cmwq::flight_recorder(rt, {.keep = 0ns}), std::invalid_argument);
    CHECK_THROWS_AS(cmwq::flight_recorder(rt, {.max_events = 0}), std::invalid_argument);
    CHECK_THROWS_AS(cmwq::flight_recorder(rt, {.events_per_thread = 0}), std::invalid_argument);
}

TEST_CASE("trace: a forked child leaves the file to its parent") {
    const temporary_folder folder;
    const std::string path = folder.path("t.pftrace");
    cmwq::runtime rt;
    cmwq::workqueue<> q{rt, "q"};
    {
        std::optional<cmwq::tracer> t{std::in_place, rt, path};
        q.post([] {});
        q.flush();
        const outcome o = in_child([&] {
            t.reset();
            return 0;
        });
        CHECK(o.exited_with(0));
        q.post([] {});
        q.flush();
    }
    CHECK(perfetto_trace::of_file(path).named("queued").size() == 2);
}
