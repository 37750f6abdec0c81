// SPDX-License-Identifier: BSL-1.0
//
// Events of the whole process: fork(), an exception without a handler, a runtime that ends before its queues. Each case
// runs in a forked child, whose exit status contains its findings.
#include "any_queue.hpp"
#include "catch.hpp"
#include "child.hpp"
#include "eventually.hpp"
#include "fork.hpp"
#include "gate.hpp"
#include "policy_list.hpp"
#include "policy_test_case.hpp"
#include "pool_name.hpp"
#include "temporary_folder.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <iterator>
#include <pthread.h>
#include <sched.h>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace std::chrono_literals;
using cmwq::queue_status;
using namespace cmwq_test;

// ThreadSanitizer cannot follow threads that are started after a fork() of a program with threads.
#if !defined(__SANITIZE_THREAD__)

// proves: life-14
POLICY_TEST_CASE(
    "process: in a forked child the queues of the parent reject; no call waits; a new global runtime works", "",
    every_policy) {
    any_queue q{policy, "parent"};
    gate g;
    auto& running = g.item;
    cmwq::work idle{[] {}};
    cmwq::delayed_work armed{[] {}};
    auto* system = &cmwq::system_wq();
    cmwq::runtime& parent_runtime = cmwq::runtime::global();
    g.hold(q);
    q.queue_after(1h, armed);

    const outcome o = in_child([&] {
        int wrong = 0;
        const auto expect = [&](int bit, bool good) { wrong |= good ? 0 : bit; };
        expect(1, q.queue(idle) == queue_status::rejected);
        q.flush();
        q.drain();
        expect(2, !running.flush() && !running.cancel_sync());
        expect(2, !armed.flush());
        expect(4, armed.pending() && armed.cancel() && !armed.pending());
        expect(8, q.post([] {}) == queue_status::rejected);
        if (policy.has_attributes) {
            bool refused = false;
            try {
                q.apply(cmwq::attrs{}.nice(1));
            } catch (const std::invalid_argument&) {
                refused = true;
            }
            expect(8, refused && q.queue_on_node(0, idle) == queue_status::rejected);
        }
        any_queue fresh{policy, "child"};
        int answer = 0;
        cmwq::work w{[&] { answer = 42; }};
        expect(16, fresh.queue(w) == queue_status::queued && (w.flush(), answer == 42));
        expect(32, fresh.queue(idle) == queue_status::queued); // an idle item of the parent can be used
        idle.flush();
        expect(64, &cmwq::system_wq() != system && cmwq::system_wq().queue(w) == queue_status::queued);
        w.flush();
        // An item that was pending in the parent can be used again after it was cancelled.
        expect(128, fresh.queue_after(1h, armed) == queue_status::queued && armed.cancel() && !armed.pending() &&
                        fresh.queue(armed) == queue_status::queued);
        armed.flush();
        // New queues of the parent's runtime can be made, but they accept no item.
        any_queue late{policy, parent_runtime, "late"};
        expect(128, late.queue(idle) == queue_status::rejected && parent_runtime.stats().threads == 0);
        return wrong;
    });
    INFO(o.stderr_text);
    CHECK(o.exited_with(0));

    g.open(); // the parent continues as before
    running.flush();
    CHECK(q.queue(idle) == queue_status::queued);
    idle.flush();
    CHECK(armed.cancel());
}

// proves: progress-27
TEST_CASE("process: a forked child has no descriptors of the parent's workers") {
    const auto nr_open = [] {
        int n = 0;
        for (const auto& fd : std::filesystem::directory_iterator("/proc/self/fd")) {
            std::error_code gone;
            if (std::filesystem::read_symlink(fd, gone).string().find("/task/") != std::string::npos) ++n;
        }
        return n;
    };
    cmwq::runtime rt;
    cmwq::workqueue<> q{rt, "q"};
    q.post([] {});
    q.flush();
    CHECK(eventually([] { return others_sleep(); })); // no thread is opening one
    CHECK(nr_open() >= 2);
    const outcome o = in_child([&] { return nr_open(); });
    CHECK(o.exited_with(0));
}

POLICY_TEST_CASE("process: a forked child may destroy the objects that it has inherited", "", every_policy) {
    const outcome o = in_child([&] { // a separate child, which owns the objects
        auto* rt = new cmwq::runtime;
        auto* q = new any_queue(policy, *rt, "parent");
        std::binary_semaphore entered{0};
        std::counting_semaphore<> leave{0};
        auto* w = new cmwq::work<std::function<void()>>([&] {
            entered.release();
            wait_in_item(policy, leave);
        });
        call_from_aside caller(policy, [&] { q->queue(*w); });
        entered.acquire();
        const pid_t grandchild = fork_a_child();
        if (grandchild == 0) {
            ::alarm(120);
            delete w;
            delete q;
            // The queue is gone. Its runtime was another process's; it can be asked, and changes nothing.
            const cmwq::cpuset before = rt->unbound_cpus();
            rt->set_unbound_cpus(cmwq::cpuset{*rt->cpus().begin()});
            rt->set_default_scope(cmwq::affinity_scope::system);
            rt->refresh_topology();
            rt->freeze();
            rt->thaw();
            const bool same = rt->unbound_cpus() == before && rt->default_scope() != cmwq::affinity_scope::system;
            const bool silent = rt->wait_frozen() && rt->frozen() && rt->dump().empty() && rt->stats().threads == 0;
            delete rt;
            ::_exit(same && silent ? 7 : 6);
        }
        int status = 0;
        uninterrupted([&] { return ::waitpid(grandchild, &status, 0); });
        leave.release();
        delete w;
        delete q;
        delete rt;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    });
    INFO(o.stderr_text);
    CHECK(o.exited_with(7));
}

namespace {

/// Runs `body` in a child in which CMWQ has that value. The parent has used its own global runtime before.
template <class F>
outcome with_environment(const char* text, F body) {
    static_cast<void>(cmwq::runtime::global());
    return in_child([text, &body] {
        if (text != nullptr) ::setenv("CMWQ", text, 1);
        else ::unsetenv("CMWQ");
        findings f;
        try {
            body(f);
        } catch (const std::exception& e) {
            f.expect(128, false, e.what());
        }
        return f.wrong();
    });
}

template <class F>
std::string refusal(F&& call) {
    try {
        call();
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return {};
}

using cmwq::affinity_scope;
using cmwq::runtime;

} // namespace

TEST_CASE("process: the global runtime has the options set before its first use; later calls are refused") {
    const outcome o = with_environment(nullptr, [](findings& f) {
        const unsigned cpu = *runtime{}.cpus().begin();
        runtime::configure_global({.default_scope = affinity_scope::smt});
        f.expect(1, !refusal([] { runtime::configure_global({.cache_shard_size = 0}); }).empty(), "not refused");
        f.expect(1, !refusal([] { runtime::configure_global({.watchdog = -1ns}); }).empty(), "not refused");
        runtime::configure_global({.cpus = {cpu}, .default_scope = affinity_scope::numa, .power_efficient = true});
        f.expect(2, runtime{}.default_scope() == cmwq::default_affinity_scope, "the options apply to another runtime");
        f.expect(4, runtime::global().default_scope() == affinity_scope::numa, "scope");
        f.expect(4, runtime::global().cpus() == cmwq::cpuset{cpu}, "CPUs");
        bool too_late = false;
        try {
            runtime::configure_global({});
        } catch (const std::invalid_argument&) {
        } catch (const std::logic_error& e) {
            too_late = std::string(e.what()).find("configure_global()") != std::string::npos;
        }
        f.expect(8, too_late, "a late call is not refused");
        f.expect(8, runtime::global().default_scope() == affinity_scope::numa, "scope, afterwards");
        for (cmwq::system_workqueue* q :
             {&cmwq::system_power_efficient_wq(), &cmwq::system_freezable_power_efficient_wq(), &cmwq::system_wq()}) {
            std::string pool;
            cmwq::work look{[&] { pool = this_pool(); }};
            q->queue(look);
            look.flush();
            f.expect(16, pool.starts_with("cmwq/u") == (q != &cmwq::system_wq()), pool.c_str()); // elastic or bound
        }
        const outcome child = in_child([] { // it has the options of its parent until it sets its own
            const bool inherited = runtime::global().default_scope() == affinity_scope::numa;
            const outcome grandchild = in_child([] {
                runtime::configure_global({.default_scope = affinity_scope::cpu});
                return runtime::global().default_scope() == affinity_scope::cpu ? 0 : 1;
            });
            return inherited && grandchild.exited_with(0) ? 0 : 1;
        });
        f.expect(32, child.exited_with(0), "child");
    });
    INFO(o.stderr_text);
    CHECK(o.exited_with(0));
}

TEST_CASE("process: CMWQ overrides the options of the program for the global runtime only") {
    const outcome o = with_environment(" default_scope = cpu , max_threads=7", [](findings& f) {
        const unsigned cpu = *runtime{}.cpus().begin();
        runtime::configure_global({.cpus = {cpu}, .default_scope = affinity_scope::numa});
        f.expect(1, runtime::global().default_scope() == affinity_scope::cpu, "scope");
        f.expect(2, runtime::global().cpus() == cmwq::cpuset{cpu}, "not the options of the program alone");
        f.expect(4, runtime{}.default_scope() == cmwq::default_affinity_scope, "another runtime");
        ::setenv("CMWQ", "default_scope=smt", 1); // too late
        f.expect(8, runtime::global().default_scope() == affinity_scope::cpu, "scope, afterwards");
    });
    INFO(o.stderr_text);
    CHECK(o.exited_with(0));
    CHECK(with_environment("", [](findings&) { static_cast<void>(runtime::global()); }).exited_with(0));
}

TEST_CASE("process: if the variable CMWQ is invalid the first use throws and makes nothing; the next use tries again") {
    const outcome o = with_environment("default_scope=numa,wachdog=10s", [](findings& f) {
        const auto good = [](const std::string& what) {
            return what.find("CMWQ") != std::string::npos && what.find("'wachdog=10s'") != std::string::npos &&
                   what.find("watchdog") != std::string::npos;
        };
        const auto threads = [] {
            return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                                 std::filesystem::directory_iterator());
        };
        const auto before = threads();
        f.expect(1, good(refusal([] { static_cast<void>(runtime::global()); })), "global()");
        f.expect(2, good(refusal([] { cmwq::system_wq(); })), "system_wq()");
        f.expect(4, good(refusal([] { cmwq::workqueue<> q{"q"}; })), "workqueue");
        f.expect(8, threads() == before, "threads");
        ::setenv("CMWQ", "cpus=60000", 1); // a valid value, but not on this machine
        const std::string what = refusal([] { static_cast<void>(runtime::global()); });
        f.expect(16, what.find("CPUs 60000") != std::string::npos && what.find("'cpus=60000'") != std::string::npos,
                 what.c_str());
        runtime::configure_global({.default_scope = affinity_scope::smt}); // there is no global runtime yet
        ::unsetenv("CMWQ");
        f.expect(32, runtime::global().default_scope() == affinity_scope::smt, "afterwards");
        std::atomic<bool> ran{false};
        cmwq::work w{[&] { ran = true; }};
        cmwq::system_wq().queue(w);
        w.flush();
        f.expect(64, ran, "the item has not run");
    });
    INFO(o.stderr_text);
    CHECK(o.exited_with(0));
}

// Hidden: it needs a process with the rights of another user, in which the next test runs it.
TEST_CASE("hidden: with rights of another user", "[.]") {
    if (::getauxval(AT_SECURE) == 0) std::exit(3);
    static_cast<void>(runtime::global());
    std::exit(0);
}

TEST_CASE("process: a program that runs with the rights of another user ignores CMWQ") {
    if (::geteuid() != 0) {
        std::puts("not checked: only root can make such a program");
        return;
    }
    const temporary_folder folder;
    const std::string program = folder.path("program");
    std::filesystem::copy_file("/proc/self/exe", program);
    REQUIRE(::chmod(folder.path("").c_str(), 0755) == 0);
    REQUIRE(::chmod(program.c_str(), 04755) == 0);
    const outcome o = in_child([&] {
        ::setenv("CMWQ", "nonsense", 1);
        if (::setuid(65534) != 0) return 4;
        ::execl(program.c_str(), program.c_str(), "hidden: with rights of another user", nullptr);
        return 5;
    });
    INFO(o.stderr_text);
    if (o.exited_with(3)) std::puts("not checked: this file system gives no such rights");
    else CHECK(o.exited_with(0));
}

#endif

TEST_CASE("process: an unhandled exception terminates the program") {
    const outcome o = in_child([] {
        cmwq::workqueue<> q{"q"};
        q.post([] { throw std::runtime_error("nobody handles this"); });
        q.flush();
        return 0;
    });
    CHECK(o.aborted());
    CHECK(o.stderr_text.find("nobody handles this") != std::string::npos);
}

TEST_CASE("process: a runtime destroyed before its queue terminates the program and names the queue") {
    const outcome o = in_child([] {
        auto* rt = new cmwq::runtime;
        auto* q = new cmwq::workqueue<>(*rt, "forgotten");
        delete rt;
        delete q;
        return 0;
    });
    CHECK(o.aborted());
    CHECK(o.stderr_text.find("\"forgotten\"") != std::string::npos);
}

// proves: progress-27
TEST_CASE("process: a runtime uses at most a sixteenth of the descriptors and its threads close theirs") {
    const auto nr_descriptors = [] {
        return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                             std::filesystem::directory_iterator());
    };
    const outcome o = in_child([&] {
        findings f;
        const rlimit few{256, 256};
        f.expect(1, ::setrlimit(RLIMIT_NOFILE, &few) == 0, "cannot set the limit");
        const auto before = nr_descriptors();
        const auto on_each_cpu = [](auto& q) {
            for (unsigned cpu = 0; cpu < 64; ++cpu) {
                cmwq::work w{[] {}};
                q.queue_on(cpu, w);
                w.flush();
            }
        };
        cmwq::runtime rt{{.machine = cmwq::topology::synthetic("numa:1 l3:8 core:8 pu:1")}};
        {
            cmwq::workqueue<cmwq::elastic> q{rt, "elastic"};
            on_each_cpu(q);
            f.expect(2, nr_descriptors() > before, "no descriptor is kept open");
            f.expect(4, nr_descriptors() <= before + 16, "the elastic queue keeps too many open");
        }
        f.expect(8, eventually([&] { return nr_descriptors() == before; }), "not all descriptors are closed");
        cmwq::workqueue<> bound{rt, "bound"};
        cmwq::workqueue<> high{rt, {.name = "high", .priority = cmwq::priority::high}};
        cmwq::workqueue<cmwq::elastic> again{rt, "again"};
        on_each_cpu(bound);
        on_each_cpu(high);
        on_each_cpu(again);
        f.expect(16, nr_descriptors() <= before + 16, "all queues together keep too many open");
        for (int i = 0; i < 200; ++i)
            f.expect(32, ::open("/dev/null", O_RDONLY) >= 0, "the program cannot open a file");
        return f.wrong();
    });
    INFO(o.stderr_text);
    CHECK(o.exited_with(0));
}

// proves: life-16
POLICY_TEST_CASE("process: a child that an item forks has the signals and the CPUs and the priority of the program", "",
                 threaded_policies) {
    const outcome o = in_child([&] { // of this thread, whose attributes are those of the program
        sigset_t usr1, before;
        ::sigemptyset(&usr1);
        ::sigaddset(&usr1, SIGUSR1);
        ::pthread_sigmask(SIG_BLOCK, &usr1, nullptr);
        ::pthread_sigmask(SIG_BLOCK, nullptr, &before);
        cpu_set_t cpus;
        if (::sched_getaffinity(0, sizeof cpus, &cpus) != 0) return 1;
        const int nice = ::getpriority(PRIO_PROCESS, 0), sched = ::sched_getscheduler(0);
        cmwq::runtime rt;
        any_options options{.name = "q"};
        if (policy.has_attributes) options.attrs.scheduling(cmwq::scheduling::batch);
        any_queue q{policy, rt, std::move(options)};
        int status = 0;
        cmwq::work forks{[&] {
            status = status_of_child([&] {
                bool same = true;
                for (const int s : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGPROF, SIGCHLD})
                    same &= blocks(s) == (::sigismember(&before, s) == 1);
                cpu_set_t its;
                const bool cpus_known = ::sched_getaffinity(0, sizeof its, &its) == 0;
                return !same                                    ? 2
                       : !cpus_known || !CPU_EQUAL(&its, &cpus) ? 3
                       : ::getpriority(PRIO_PROCESS, 0) != nice ? 4
                       : ::sched_getscheduler(0) != sched       ? 5
                                                                : 0;
            });
        }};
        q.queue(forks);
        forks.flush();
        return WIFEXITED(status) ? WEXITSTATUS(status) : 6;
    });
    INFO(o.stderr_text);
    CHECK(o.exited_with(0));
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) // they need more stack themselves

namespace {

/// The number of levels, each of which waits for the next one in a task of its own.
int descend(cmwq::workqueue<cmwq::elastic>& q, int levels) {
    if (levels == 0) return 0;
    volatile char room[512] = {};
    room[levels % 512] = 1;
    int below = 0;
    cmwq::task_group g{q};
    g.run([&] { below = descend(q, levels - 1); });
    g.wait();
    return below + room[levels % 512];
}

} // namespace

// proves: life-17
TEST_CASE("process: waits that are nested deeply leave half of a small stack") {
    for (const std::size_t size : {128u, 256u, 1024u}) {
        const outcome o = in_child([size] {
            pthread_attr_t a; // as with `ulimit -s`, or with musl
            if (::pthread_attr_init(&a) != 0 || ::pthread_attr_setstacksize(&a, size * 1024) != 0) return 1;
            if (::pthread_setattr_default_np(&a) != 0) return 2;
            cmwq::runtime rt;
            cmwq::workqueue<cmwq::elastic> q{rt, "q"};
            return q.async([&] { return descend(q, 3000); }).get() == 3000 ? 0 : 3;
        });
        INFO(size << " KiB: " << o.stderr_text);
        CHECK(o.exited_with(0));
    }
}

#endif

// proves: life-10
TEST_CASE("process: the program may exit while some items run and others are pending") {
    const outcome o = in_child([] {
        static cmwq::workqueue<>* const q = new cmwq::workqueue<>("immortal");
        static std::binary_semaphore entered{0}, never{0};
        for (int i = 0; i < 10; ++i) {
            q->post([] {
                entered.release();
                never.acquire();
            });
        }
        entered.acquire();
        std::exit(5); // static objects are destroyed while workers block
        return 0;
    });
    INFO(o.stderr_text);
    CHECK(o.exited_with(5));
}

// proves: life-16
TEST_CASE("process: a child that on_event forks has the signals of the program") {
    const outcome o = in_child([] {
        std::atomic<int> status{-1};
        {
            cmwq::runtime rt{{.on_event = [&](const cmwq::event& e) {
                if (e.what != cmwq::event::kind::flush_dependency) return;
                status = status_of_child([] { return blocks(SIGTERM) ? 2 : 0; });
            }}};
            cmwq::options<> with{.name = "rescued"};
            with.rescuer = true;
            cmwq::workqueue<> rescued{rt, std::move(with)}, other{rt, "other"};
            other.post([&] { static_cast<void>(eventually([&] { return status != -1; })); });
            cmwq::work waits{[&] { other.flush(); }};
            rescued.queue(waits);
            waits.flush();
        }
        return WIFEXITED(status) ? WEXITSTATUS(status) : 6;
    });
    INFO(o.stderr_text);
    CHECK(o.exited_with(0));
}
