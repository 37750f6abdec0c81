// SPDX-License-Identifier: BSL-1.0
//
// main() has started a storm of signals with a handler (tests/support/backend.cpp). The threads of the program handle
// the signals, which interrupt each of their waits again and again. The threads of the library block the signals.
#include "catch.hpp"
#include "eventually.hpp"
#include "policy_list.hpp"
#include "signal_storm.hpp"
#include "stress.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

using namespace std::chrono_literals;
using namespace cmwq_test;

namespace {

/// A set of signals from the status file of a task, "SigBlk" for instance; all signals if the task has ended.
std::uint64_t signals_of(const std::filesystem::path& task, const std::string& which) {
    std::ifstream status(task / "status");
    for (std::string line; std::getline(status, line);) {
        if (line.rfind(which + ":", 0) == 0) return std::stoull(line.substr(which.size() + 1), nullptr, 16);
    }
    return ~std::uint64_t{0};
}

constexpr std::uint64_t bit(int signal) { return std::uint64_t{1} << (signal - 1); }

} // namespace

// proves: progress-22
TEMPLATE_LIST_TEST_CASE("signals: waits that are interrupted by signals go on and workers are not interrupted", "",
                        every_policy) {
    using P = TestType;
    cmwq::workqueue<P> q{at_most<P>(20, "q")};
    const std::uint64_t before = signal_storm::handled();
    std::atomic<std::uint64_t> ran{0}, interrupted{0};
    std::atomic<bool> here{false};
    const auto hit = [&] {
        ++ran;
        // A bottom half runs in the thread that has queued it, which is a thread of the program.
        if (!runs_in_the_caller<P> && signal_storm::handled_by_this_thread()) ++interrupted;
        if constexpr (can_block<P>) stress::block_for(200us);
    };
    cmwq::delayed_work timer{hit};
    cmwq::work<std::function<void()>> item{hit};
    std::uint64_t queued = 0, cancelled = 0;
    stress::random r(1);
    // Until a hundred signals have been handled, most of them during a wait of this thread.
    CHECK(eventually([&] {
        for (int i = 0; i < 20; ++i) {
            queued += q.post_on(*cmwq::runtime::global().cpus().begin(), hit) == cmwq::queue_status::queued;
            queued += q.queue(item) == cmwq::queue_status::queued;
            switch (r.below(4)) {
            case 0: item.flush(); break;
            case 1: cancelled += item.cancel_sync(); break;
            case 2:
                queued += q.queue_after(100us, timer) == cmwq::queue_status::queued;
                timer.flush();
                break;
            default: q.flush(); break;
            }
        }
        q.drain();
        here = signal_storm::handled_by_this_thread();
        return signal_storm::handled() >= before + 100;
    }));
    CHECK(here);
    CHECK(interrupted == 0);
    CHECK(ran == queued - cancelled);
}

TEST_CASE("signals: a signal that is sent to a worker is not delivered") {
    cmwq::workqueue<> q{"q"};
    const std::filesystem::path task = "/proc/thread-self";
    std::atomic<bool> sent{false}, handled{true};
    q.post([&] {
        sent = eventually([&] { return (signals_of(task, "SigPnd") & bit(SIGUSR1)) != 0; });
        handled = signal_storm::handled_by_this_thread();
    });
    q.flush();
    CHECK(sent);
    CHECK_FALSE(handled);
}

TEST_CASE("signals: every thread of the library blocks all signals but those of its own faults") {
    cmwq::runtime rt;
    cmwq::workqueue<> bound{rt, {.name = "bound", .rescuer = true}};
    cmwq::workqueue<cmwq::unbound> unbound{rt, "unbound"};
    bound.post([] {});
    unbound.post([] {});
    bound.flush();
    unbound.flush();
    // The C library blocks the other signals, too, for a moment while it creates a thread.
    const auto as_promised = [](std::uint64_t blocked) {
        bool good = true;
        for (const int s : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD, SIGPIPE, SIGPROF})
            good &= (blocked & bit(s)) != 0;
        for (const int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) good &= (blocked & bit(s)) == 0;
        return good;
    };
    int seen = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        std::ifstream comm(task.path() / "comm");
        std::getline(comm, name);
        if (name.rfind("cmwq/", 0) != 0) continue;
        ++seen;
        CAPTURE(name);
        CHECK(eventually([&] { return as_promised(signals_of(task.path(), "SigBlk")); }));
    }
    CHECK(seen >= 4); // the service and manager threads, workers, the rescuer, and sentinels if there are any
}
