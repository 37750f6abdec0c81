// SPDX-License-Identifier: BSL-1.0
//
// The options `trace` and `flight_recorder` of a runtime, and runtime::snapshot_trace().
#include "catch.hpp"
#include "child.hpp"
#include "deadlocked_queue.hpp"
#include "eventually.hpp"
#include "perfetto_reader.hpp"
#include "temporary_folder.hpp"

#include <cmwq/cmwq.hpp>
#include <cmwq/trace.hpp>

#include <stdexcept>
#include <string>
#include <system_error>
#include <unistd.h>

using namespace cmwq_test;

namespace {

std::size_t nr_queued(const std::string& file) { return perfetto_trace::of_file(file).named("queued").size(); }

void run_one_item(cmwq::runtime& rt) {
    cmwq::workqueue<> q{rt, "q"};
    q.post([] {});
    q.flush();
}

} // namespace

TEST_CASE("trace options: a trace has what happens until the end of the runtime") {
    const temporary_folder folder;
    const std::string path = folder.path("t.pftrace");
    {
        cmwq::runtime rt{{.trace = path}};
        run_one_item(rt);
        run_one_item(rt);
    }
    CHECK(nr_queued(path) == 2);
}

TEST_CASE("trace options: of two processes the first has the file, and %p gives each its own") {
    const temporary_folder folder;
    const std::string path = folder.path("t.pftrace"), own = folder.path("t.%p.pftrace");
    {
        cmwq::runtime rt{{.trace = path}};
        const outcome o = in_child([&] {
            {
                cmwq::runtime beside{{.trace = path}}, separate{{.trace = own}};
                run_one_item(beside);
                run_one_item(separate);
            }
            const std::string file = folder.path("t." + std::to_string(::getpid()) + ".pftrace");
            return static_cast<int>(nr_queued(file));
        });
        CHECK(o.exited_with(1));
        CHECK(o.stderr_text == "cmwq: the trace cannot be written to " + path + ": Device or resource busy\n");
        run_one_item(rt);
        run_one_item(rt);
    }
    CHECK(nr_queued(path) == 2);
}

TEST_CASE("trace options: another trace may follow while a forked child has the former file open") {
    const temporary_folder folder;
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    pid_t child = -1;
    for (int i = 0; i < 2; ++i) {
        cmwq::runtime rt{{.trace = folder.path("t.pftrace")}};
        for (int n = 0; n <= i; ++n) run_one_item(rt);
        if (child >= 0) continue;
        child = fork_a_child();
        char end = 0;
        if (child == 0) ::_exit(static_cast<int>(::read(ends[0], &end, 1)));
    }
    CHECK(nr_queued(folder.path("t.pftrace")) == 2);
    CHECK(::write(ends[1], "", 1) == 1);
    int status = 0;
    CHECK(uninterrupted([&] { return ::waitpid(child, &status, 0); }) == child);
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_CASE("trace options: files that cannot be opened are named, and the program goes on") {
    const temporary_folder folder;
    const std::string path = folder.path("no folder/t.pftrace");
    const outcome o = in_child([&] {
        cmwq::runtime rt{{.trace = path}};
        run_one_item(rt);
        return 0;
    });
    CHECK(o.exited_with(0));
    CHECK(o.stderr_text == "cmwq: the trace cannot be written to " + path + ": No such file or directory\n");
}

TEST_CASE("trace options: snapshot_trace() writes the last events, and names what is missing") {
    const temporary_folder folder;
    cmwq::runtime rt{{.flight_recorder = folder.path("hang")}}, without, traced{{.trace = folder.path("t.pftrace")}};
    run_one_item(rt);
    rt.snapshot_trace(folder.path("1"));
    CHECK(nr_queued(folder.path("1")) == 1);
    CHECK_THROWS_AS(rt.snapshot_trace(folder.path("no folder/1")), std::system_error);
    for (cmwq::runtime* const r : {&without, &traced}) {
        CHECK_THROWS_AS(r->snapshot_trace(folder.path("2")), std::logic_error);
    }
    cmwq::workqueue<cmwq::bh> q{rt, "bh"};
    q.post([&] {
        try {
            rt.snapshot_trace(folder.path("3"));
            CHECK(false);
        } catch (const std::system_error& e) {
            CHECK(e.code() == std::errc::operation_not_permitted);
        }
    });
    q.flush();
    CHECK(::access(folder.path("hang").c_str(), F_OK) != 0);
}

TEST_CASE("trace options: a hang writes the file of the flight recorder") {
    const temporary_folder folder;
    const std::string path = folder.path("hang");
    const outcome o = in_child([&] {
        cmwq::runtime rt{{.flight_recorder = path}};
        deadlocked_queue q{rt, "q"};
        const bool written = eventually([&] { return ::access(path.c_str(), R_OK) == 0; });
        q.resolve();
        return written ? 0 : 1;
    });
    CHECK(o.exited_with(0));
    CHECK(perfetto_trace::of_file(path).named("waits for items").size() == 1);
}
