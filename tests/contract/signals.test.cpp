// SPDX-License-Identifier: BSL-1.0
//
// Signals: threads of the program handle the signals of the program, and an item gets the signals of its own faults.
// tests/fault/signals.test.cpp tests many signals at once, and waits that signals interrupt.
#include "any_queue.hpp"
#include "catch.hpp"
#include "child.hpp"
#include "eventually.hpp"
#include "policy_list.hpp"
#include "policy_test_case.hpp"
#include "scarce_runtime.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace cmwq_test;

namespace {

/// Calls f(name, blocked signals) for each thread of the library.
template <class F>
void for_each_library_thread(F f) {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream status(task.path() / "status");
        std::string name;
        std::uint64_t blocked = 0;
        for (std::string line; std::getline(status, line);) {
            if (line.rfind("Name:\t", 0) == 0) name = line.substr(6);
            if (line.rfind("SigBlk:\t", 0) == 0) blocked = std::stoull(line.substr(8), nullptr, 16);
        }
        if (name.rfind("cmwq/", 0) == 0) f(name, blocked);
    }
}

/// A runtime with threads of every kind, each of which has run an item.
struct everything {
    scarce_runtime s;
    cmwq::workqueue<> rescued{s.rt, {.name = "rescued", .rescuer = true}};
    cmwq::workqueue<> urgent{s.rt, {.name = "urgent", .priority = cmwq::priority::high}};
    cmwq::workqueue<cmwq::unbound> unbound{s.rt, "unbound"};
    cmwq::workqueue<cmwq::elastic> elastic{s.rt, "elastic"};
    cmwq::workqueue<cmwq::ordered> ordered{s.rt, {.name = "ordered", .attrs = cmwq::attrs{}.nice(1)}};
    cmwq::workqueue<cmwq::bh> fast{s.rt, "fast"};

    template <class F>
    void on_each(F f) {
        s.threads.refuse();
        rescued.post(f);
        rescued.flush();
        s.threads.allow();
        rescued.post(f);
        rescued.flush();
        urgent.post(f);
        unbound.post(f);
        elastic.post(f);
        ordered.post(f);
        for (const unsigned cpu : s.rt.cpus())
            fast.post_on(cpu, f); // on every other CPU the bottom-half thread runs it
        urgent.flush();
        unbound.flush();
        elastic.flush();
        ordered.flush();
        fast.flush();
    }
};

} // namespace

// proves: progress-22
TEST_CASE("signals: each kind of thread unblocks the signals of its own faults and no other signals") {
    everything all;
    all.on_each([] {});
    const auto bit = [](int s) { return std::uint64_t{1} << (s - 1); };
    const auto as_promised = [&](std::uint64_t blocked) {
        std::uint64_t own = 0;
        for (const int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) own |= bit(s);
        bool good = (blocked & own) == 0;
        for (int s = 1; s <= SIGRTMAX; ++s) {
            const bool cannot_be = s == SIGKILL || s == SIGSTOP || (s >= 32 && s < SIGRTMIN); // 32, 33: the C library's
            if (!cannot_be && (own & bit(s)) == 0) good = good && (blocked & bit(s)) != 0;
        }
        return good;
    };
    std::set<std::string> kinds;
    // The C library blocks all signals for a moment while it makes a thread. Therefore the check is repeated.
    CHECK(eventually([&] {
        bool good = true;
        for_each_library_thread([&](const std::string& name, std::uint64_t blocked) {
            good = good && as_promised(blocked);
            const auto colon = name.find(':');
            kinds.insert(colon == std::string::npos ? name.substr(5) : name.substr(colon + 1));
        });
        return good;
    }));
    CAPTURE(kinds);
    CHECK(kinds.count("service") == 1);
    CHECK(kinds.count("manager") == 1);
    CHECK(kinds.size() >= 3);
}

#if !defined(__SANITIZE_THREAD__) // ThreadSanitizer delivers signals late

namespace {

long this_thread() { return ::syscall(SYS_gettid); }

volatile std::sig_atomic_t nr_handled = 0, nr_elsewhere = 0;
long main_thread = 0;

} // namespace

// proves: progress-22
TEST_CASE("signals: threads of the program handle the signals of the process; those of the library do not") {
    const outcome o = in_child([] {
        findings f;
        everything all;
        main_thread = this_thread();
        struct sigaction action = {};
        action.sa_handler = [](int) {
            nr_handled = nr_handled + 1;
            if (this_thread() != main_thread) nr_elsewhere = nr_elsewhere + 1;
        };
        ::sigaction(SIGUSR2, &action, nullptr);
        for (int i = 0; i < 50; ++i) {
            all.on_each([] { ::kill(::getpid(), SIGUSR2); });
            ::kill(::getpid(), SIGUSR2);
        }
        f.expect(1, nr_handled > 0, "not handled");
        f.expect(2, nr_elsewhere == 0, "handled by a thread of the library");
        // A signal that all threads of the program block stays pending, although the library has a dozen threads.
        sigset_t usr2, pending;
        ::sigemptyset(&usr2);
        ::sigaddset(&usr2, SIGUSR2);
        ::pthread_sigmask(SIG_BLOCK, &usr2, nullptr);
        const int before = nr_handled;
        ::kill(::getpid(), SIGUSR2);
        all.on_each([] {});
        ::sigpending(&pending);
        f.expect(4, nr_handled == before && ::sigismember(&pending, SIGUSR2) == 1, "a thread has accepted it");
        ::pthread_sigmask(SIG_UNBLOCK, &usr2, nullptr);
        f.expect(8, nr_handled == before + 1 && nr_elsewhere == 0, "not handled when it was unblocked");
        return f.wrong();
    });
    INFO(o.stderr_text);
    CHECK(o.exited_with(0));
}

// proves: progress-23
POLICY_TEST_CASE("signals: a fault in an item is handled during its run on the thread that runs it", "", every_policy) {
    const outcome o = in_child([&] {
        static std::atomic<long> runner{0};
        static cmwq::workqueue_base* queue = nullptr;
        struct sigaction action = {};
        action.sa_handler = [](int) {
            const bool here = this_thread() == runner && cmwq::this_work::queue() == queue;
            ::_exit(here ? 9 : 1);
        };
        ::sigaction(SIGSEGV, &action, nullptr);
        any_queue q{policy, "q"};
        queue = &q.base();
        void* const guarded = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        q.post([guarded] {
            runner = this_thread();
            *static_cast<volatile int*>(guarded) = 1;
        });
        q.flush();
        return 2;
    });
    INFO(o.stderr_text);
    CHECK(o.exited_with(9));
}

#endif
