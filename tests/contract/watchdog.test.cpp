// SPDX-License-Identifier: BSL-1.0
//
// Reports that the runtime makes by itself: pools that start nothing, queues that are stuck at their limit, items that
// keep their CPU. Times are short here; the tests check whether a report is made, not when.
#include "catch.hpp"
#include "child.hpp"
#include "core_of.hpp"
#include "deadlocked_queue.hpp"
#include "event_log.hpp"
#include "eventually.hpp"
#include "fake_threads.hpp"
#include "faults.hpp"
#include "gate.hpp"
#include "simulated.hpp"
#include "uninterrupted.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <semaphore>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

using namespace cmwq_test;
using namespace std::chrono_literals;

namespace {

void burn_cpu(std::chrono::nanoseconds time) {
    const auto now = [] {
        timespec ts{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
        return std::chrono::seconds{ts.tv_sec} + std::chrono::nanoseconds{ts.tv_nsec};
    };
    const auto end = now() + time;
    while (now() < end) {}
}

using kind = cmwq::event::kind;

} // namespace

// proves: progress-28
TEST_CASE("watchdog: a pool without workers is reported with its waiting items") {
    event_log heard;
    fake_threads threads;
    cmwq::runtime rt{{.watchdog = 30ms, .on_event = heard.listener(), .threads = &threads}};
    cmwq::workqueue<cmwq::unbound> q{rt, "forlorn"};
    threads.refuse();
    q.post([] {});
    REQUIRE(eventually([&] { return heard.count(kind::stalled) >= 2; })); // repeated while the stall lasts
    const std::string text = heard.first(kind::stalled).message;
    CHECK_THAT(text, Catch::Contains("1 item waits") && Catch::Contains("\"forlorn\"") &&
                         Catch::Contains("could not be made"));
    const auto age = [](const std::string& message) { return std::stod(message.substr(message.find(" for ") + 5)); };
    CHECK(age(text) >= 0.03);
    CHECK(age(heard.last(kind::stalled).message) >= 0.06); // of the whole time
    threads.allow();
    q.flush();
}

// proves: kernel-24
TEST_CASE("watchdog: the report of a stalled pool contains the activity and the system call of its workers") {
    event_log heard;
    fake_threads threads;
    cmwq::runtime rt{{.watchdog = 30ms, .on_event = heard.listener(), .threads = &threads}};
    cmwq::workqueue<> q{rt, "stuck"};
    std::binary_semaphore entered{0}, leave{0};
    std::atomic<int> runs{0};
    cmwq::work again{[&] {
        if (++runs == 2) return;
        cmwq::this_work::describe("waits\tfor the test");
        threads.refuse();
        entered.release();
        leave.acquire();
    }};
    q.queue_on(first_cpu(), again);
    entered.acquire();
    q.queue_on(first_cpu(), again);
    // The spare of the first worker takes the second item, and there is no worker for the third.
    std::binary_semaphore leave_too{0};
    q.post_on(first_cpu(), [&] { leave_too.acquire(); });
    q.post_on(first_cpu(), [] {});
    const auto told = [&] { // the first report may come before the item waits
        const std::string text = heard.last(kind::stalled).message;
        return text.find("(waits\\x09for the test), queued again") != std::string::npos &&
               text.find("waits in futex") != std::string::npos;
    };
    REQUIRE(eventually(told));
    CHECK_THAT(heard.last(kind::stalled).message, Catch::Contains("\"stuck\""));
    threads.allow();
    leave.release();
    leave_too.release();
    q.flush();
}

// The rescuer runs the items of its own queue alone, one after the other.
// proves: progress-28
TEST_CASE("watchdog: an item that waits while later ones start is reported with its queue and its age") {
    event_log heard;
    fake_threads threads;
    cmwq::runtime rt{{.watchdog = 50ms, .on_event = heard.listener(), .threads = &threads}};
    cmwq::workqueue<> rescued{rt, {.name = "rescued", .rescuer = true}};
    cmwq::workqueue<> q{rt, "passed over"};
    threads.refuse();
    std::atomic<bool> stop{false}, ended{false};
    std::function<void()> chain = [&] {
        burn_cpu(100us);
        if (stop) ended = true;
        else rescued.post_on(first_cpu(), chain);
    };
    rescued.post_on(first_cpu(), chain);
    q.post_on(first_cpu(), [] {});
    const std::string wanted = " s an item has waited while later ones were started: the pool of CPU ";
    const auto reports = [&] { return heard.last(kind::stalled).message; };
    REQUIRE(eventually([&] { return reports().find(wanted) != std::string::npos; }));
    CHECK_THAT(reports(), Catch::Contains("the first one is ") && Catch::Contains("\"passed over\""));
    CHECK_THAT(rt.stall_report(50ms), Catch::Contains(wanted) && Catch::Contains("\"passed over\""));
    threads.allow();
    q.flush();
    stop = true;
    CHECK(eventually([&] { return ended.load(); }));
    rescued.flush();
}

TEST_CASE("watchdog: an item that no worker has accepted yet is counted as waiting and named") {
    event_log heard;
    cmwq::runtime rt{{.watchdog = 30ms, .on_event = heard.listener()}};
    cmwq::workqueue<cmwq::bh> q{rt, "held up"};
    gate computes;
    computes.hold(q); // a thread that queues an item behind it does not run that item
    std::atomic<bool> ran{false};
    cmwq::work waits{[&] { ran = true; }};
    q.queue_on(first_cpu(), waits);
    REQUIRE(eventually([&] { return heard.count(kind::stalled) != 0; }));
    CHECK_THAT(heard.first(kind::stalled).message,
               Catch::Contains(": 1 item waits, the first one is ") && Catch::Contains("\"held up\""));
    computes.open();
    waits.flush();
    CHECK(ran);
}

TEST_CASE("watchdog: without a listener a stall is printed") {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(ends[1], STDERR_FILENO);
        fake_threads threads;
        cmwq::runtime rt{{.watchdog = 10ms, .threads = &threads}};
        cmwq::workqueue<> q{rt, "printed"};
        threads.refuse();
        q.post([] {});
        for (;;) ::pause();
    }
    ::close(ends[1]);
    std::string text;
    char part[256];
    while (text.find("\"printed\"") == std::string::npos) {
        const ssize_t n = uninterrupted([&] { return ::read(ends[0], part, sizeof part); });
        if (n <= 0) break;
        text.append(part, static_cast<std::size_t>(n));
    }
    ::kill(child, SIGKILL);
    uninterrupted([&] { return ::waitpid(child, nullptr, 0); });
    ::close(ends[0]);
    CHECK_THAT(text, Catch::Contains("nothing has been started for 0.0") && Catch::Contains("\"printed\""));
}

TEST_CASE("watchdog: a standard error that nobody reads delays no timer") {
    const pid_t child = ::fork();
    if (child == 0) {
        int full[2];
        if (::pipe2(full, O_NONBLOCK) != 0) ::_exit(2);
        while (::write(full[1], "x", 1) == 1) {}
        ::fcntl(full[1], F_SETFL, 0); // from here on a write waits
        ::dup2(full[1], STDERR_FILENO);
        fake_threads threads;
        cmwq::runtime rt{{.watchdog = 10ms, .threads = &threads}};
        cmwq::workqueue<cmwq::unbound> served{rt, "served"};
        served.post([] {});
        served.flush();
        cmwq::workqueue<> forlorn{rt, "forlorn"};
        threads.refuse();
        forlorn.post([] {});
        const auto one_writes = [] {
            for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
                const long tid = std::stol(task.path().filename().string());
                if (cmwq::detail::describe_activity(tid).find("waits in write") != std::string::npos) return true;
            }
            return false;
        };
        if (!eventually(one_writes)) ::_exit(3);
        std::atomic<int> fired{0};
        cmwq::delayed_work timer{[&] { ++fired; }};
        for (int i = 1; i <= 3; ++i) {
            served.queue_after(1ms, timer);
            if (!eventually([&] { return fired == i; })) ::_exit(4);
        }
        ::_exit(0);
    }
    int status = 0;
    REQUIRE(uninterrupted([&] { return ::waitpid(child, &status, 0); }) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("watchdog: while a listener does not return, timers fire and workers are made") {
    std::binary_semaphore entered{0}, leave{0};
    std::atomic<bool> first{true};
    fake_threads threads;
    cmwq::runtime rt{{.watchdog = 10ms,
                      .on_event =
                          [&](const cmwq::event& e) {
                              if (e.what != kind::stalled || !first.exchange(false)) return;
                              entered.release();
                              leave.acquire();
                          },
                      .threads = &threads}};
    cmwq::workqueue<cmwq::unbound> q{rt, "q"};
    threads.refuse();
    std::atomic<int> ran{0};
    q.post([&] { ++ran; });
    entered.acquire();
    threads.allow();
    CHECK(eventually([&] { return ran == 1; })); // on a worker that is made now
    cmwq::delayed_work timer{[&] { ++ran; }};
    q.queue_after(1ms, timer);
    CHECK(eventually([&] { return ran == 2; }));
    leave.release();
}

// proves: kernel-25
TEST_CASE("watchdog: a process that was stopped raises no false alarm", "[timing]") {
    // The child has an item pending behind another one only for moments. It is stopped for longer than the time of its
    // watchdog.
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        event_log heard;
        cmwq::runtime rt{{.watchdog = 2s, .on_event = heard.listener()}};
        cmwq::workqueue<> q{rt, "stopped"};
        static_cast<void>(::write(ends[1], "a", 1));
        for (int i = 0; i < 200; ++i) {
            q.post([] { burn_cpu(1ms); });
            q.post([] { burn_cpu(1ms); });
            q.flush();
        }
        ::_exit(heard.count(kind::stalled));
    }
    char c = 0;
    REQUIRE(uninterrupted([&] { return ::read(ends[0], &c, 1); }) == 1);
    ::kill(child, SIGSTOP);
    REQUIRE(uninterrupted([&] { return ::waitpid(child, nullptr, WUNTRACED); }) == child);
    const auto until = std::chrono::steady_clock::now() + 3s;
    REQUIRE(eventually([&] { return std::chrono::steady_clock::now() >= until; }));
    ::kill(child, SIGCONT);
    int status = 0;
    REQUIRE(uninterrupted([&] { return ::waitpid(child, &status, 0); }) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    ::close(ends[0]);
    ::close(ends[1]);
}

// proves: progress-3, kernel-16, kernel-17
TEST_CASE("watchdog: an item that keeps its CPU stops counting; the reports come at the threshold and its doubles") {
    const without_naps here; // a nap counts as a block: the waiting item would run before the hog is found
    struct row {
        unsigned threshold;
        int told;
        const char* first;
    };
    const row r =
        GENERATE(row{4, 2, "4 times"}, row{0, 0, ""}, row{1, 4, "1 times"}, row{3, 2, "3 times"}, row{16, 0, ""});
    event_log heard;
    // Overdue items are off: otherwise a slow run would start the waiting item before it counts as a hog.
    cmwq::runtime_options o{.cpu_hog_threshold = 2ms, .overdue_after = 0ns, .on_event = heard.listener()};
    CHECK(o.cpu_hog_warning_threshold == 4);
    o.cpu_hog_warning_threshold = r.threshold;
    cmwq::runtime rt{std::move(o)};
    cmwq::workqueue<> q{rt, "greedy"};
    cmwq::work hog{[] {
        // Computes until an item that waits behind it on this CPU has run.
        std::atomic<bool> other{false};
        cmwq::this_work::queue()->post_on(first_cpu(), [&] { other = true; });
        while (!other) burn_cpu(1ms);
    }};
    // A run that blocks in post_on() may not become a hog. The monitor counts a hog after it has started the waiting
    // item, so the ninth may be counted while another run has begun. The tenth is reported at no threshold here.
    while (rt.stats().cpu_hogs < 9) {
        q.queue_on(first_cpu(), hog);
        hog.flush();
    }
    CHECK(eventually([&] { return heard.count(kind::cpu_hog) == r.told; }));
    q.drain();
    CHECK(heard.count(kind::cpu_hog) == r.told);
    CHECK_THAT(heard.first(kind::cpu_hog).message, Catch::Contains(r.told != 0 ? "\"greedy\"" : "") &&
                                                       Catch::Contains(r.first) &&
                                                       Catch::EndsWith(r.told != 0 ? "unbound, or cpu_intensive" : ""));
}

TEST_CASE("watchdog: negative times are refused") {
    CHECK_THROWS_AS(cmwq::runtime({.watchdog = -1ns}), std::invalid_argument);
    CHECK_THROWS_AS(cmwq::runtime({.cpu_hog_threshold = -1ns}), std::invalid_argument);
    CHECK_THROWS_AS(cmwq::runtime({.overdue_after = -1ns}), std::invalid_argument);
    CHECK_THROWS_AS(cmwq::runtime({.idle_poll = -1ns}), std::invalid_argument);
}

TEST_CASE("watchdog: stall_report() names a pool that starts nothing, also without the watchdog, and then nothing") {
    fake_threads threads;
    cmwq::runtime rt{{.watchdog = 0s, .threads = &threads}};
    cmwq::workqueue<cmwq::unbound> q{rt, "forlorn"};
    CHECK(rt.stall_report(0s).empty());
    threads.refuse();
    q.post([] {});
    REQUIRE(eventually([&] { return !rt.stall_report(30ms).empty(); }));
    const std::string text = rt.stall_report(30ms);
    CHECK_THAT(text, Catch::StartsWith("cmwq: nothing has been started for ") && Catch::Contains("\"forlorn\"") &&
                         Catch::Contains("1 item waits") && Catch::EndsWith("\n"));
    CHECK(rt.stall_report(1h).empty());
    threads.allow();
    q.flush();
    CHECK(rt.stall_report(0s).empty());
}

// A report that took local items away would change the order in which they start, and take as long as there are items.
TEST_CASE("watchdog: stall_report() counts local items and names the oldest one, and leaves them where they are") {
    cmwq::runtime_options o = simulated("core:1 pu:1");
    o.cpu_hog_threshold = o.overdue_after = o.watchdog = 0s;
    cmwq::runtime rt{std::move(o)};
    cmwq::workqueue<cmwq::elastic> q{rt, "at home"};
    std::atomic<bool> leave{false};
    q.post([&] {
        for (int i = 0; i < 3; ++i) q.post([] {});
        while (!leave) {} // the items of a worker that blocks would go to the worklist
    });
    REQUIRE(eventually([&] { return !rt.stall_report(30ms).empty(); }));
    CHECK_THAT(rt.stall_report(30ms), Catch::Contains("3 items wait, the first one is ") &&
                                          Catch::Contains("of queue \"at home\"; 1 worker is busy"));
    CHECK_THAT(rt.dump(), Catch::Contains("on lists of workers: 3"));
    leave = true;
    q.flush();
}

TEST_CASE("watchdog: stall_report() has the waits of a deadlock until it is resolved") {
    event_log heard;
    cmwq::runtime rt{{.watchdog = 0s, .on_event = heard.listener()}};
    deadlocked_queue q{rt, "circular"};
    REQUIRE(eventually([&] { return heard.count(kind::deadlock) == 1; }));
    CHECK_THAT(rt.stall_report(), Catch::StartsWith("cmwq: a part of a deadlock: ") && Catch::Contains("flush()") &&
                                      Catch::Contains("\"circular\""));
    q.resolve();
    CHECK(rt.stall_report().empty());
}

TEST_CASE("watchdog: abort_on_stall_after aborts, with the reason, even while a listener does not return") {
    const outcome o = in_child([] {
        std::binary_semaphore never{0};
        fake_threads threads;
        cmwq::runtime rt{{.watchdog = 1ms,
                          .abort_on_stall_after = 20ms,
                          .on_event = [&](const cmwq::event&) { never.acquire(); },
                          .threads = &threads}};
        cmwq::workqueue<> q{rt, "fatal"};
        threads.refuse();
        q.post([] {});
        never.acquire();
        return 0;
    });
    CHECK(o.aborted());
    CHECK_THAT(o.stderr_text, Catch::StartsWith("cmwq: nothing has been started for ") &&
                                  Catch::Contains("\"fatal\"") && Catch::Contains("abort_on_stall_after"));
}

TEST_CASE("watchdog: an item behind another one of its ordered queue is no reason to report a pool, or to abort") {
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::ordered> q{rt, "one by one"};
    gate held;
    held.hold(q);
    q.post([] {});
    CHECK(shared_pools_of(rt).at(0).describe_stall("CPU 0").empty());
    held.open();
    q.flush();
}
