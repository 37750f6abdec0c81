// SPDX-License-Identifier: BSL-1.0
//
// What happens to the process as a whole: fork(), an exception without a handler, a runtime that goes before its queues.
// Each case is a forked child that says by its exit status what it saw.
#include "catch.hpp"
#include "child.hpp"
#include "eventually.hpp"
#include "fork.hpp"
#include "gate.hpp"
#include "policy_list.hpp"

#include <cmwq/cmwq.hpp>

#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <iterator>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace std::chrono_literals;
using cmwq::queue_status;
using namespace cmwq_test;

// ThreadSanitizer cannot follow threads that are started after a fork() of a program with threads.
#if !defined(__SANITIZE_THREAD__)

TEMPLATE_LIST_TEST_CASE("a forked child: the parent's queues reject, nothing waits, and a new global runtime works", "",
                        every_policy) {
    using P = TestType;
    cmwq::workqueue<P> q{"parent"};
    gate<P> g;
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
        if constexpr (has_attributes<P>) {
            bool refused = false;
            try {
                q.apply(cmwq::attrs{}.nice(1));
            } catch (const std::invalid_argument&) {
                refused = true;
            }
            expect(8, refused && q.queue_on_node(0, idle) == queue_status::rejected);
        }
        cmwq::workqueue<P> fresh{"child"};
        int answer = 0;
        cmwq::work w{[&] { answer = 42; }};
        expect(16, fresh.queue(w) == queue_status::queued && (w.flush(), answer == 42));
        expect(32, fresh.queue(idle) == queue_status::queued); // an idle item of the parent is an item
        idle.flush();
        expect(64, &cmwq::system_wq() != system && cmwq::system_wq().queue(w) == queue_status::queued);
        w.flush();
        // What was pending in the parent is as good as new once it has been taken away.
        expect(128, fresh.queue_after(1h, armed) == queue_status::queued && armed.cancel() && !armed.pending() &&
                        fresh.queue(armed) == queue_status::queued);
        armed.flush();
        // The parent's runtime takes queues, and they accept nothing.
        cmwq::workqueue<P> late{parent_runtime, "late"};
        expect(128, late.queue(idle) == queue_status::rejected && parent_runtime.stats().threads == 0);
        return wrong;
    });
    INFO(o.stderr_text);
    CHECK(o.exited_with(0));

    g.open(); // the parent goes on as before
    running.flush();
    CHECK(q.queue(idle) == queue_status::queued);
    idle.flush();
    CHECK(armed.cancel());
}

TEMPLATE_LIST_TEST_CASE("a forked child may destroy what it has inherited", "", every_policy) {
    using P = TestType;
    const outcome o = in_child([] { // a child of its own: the objects are this one's
        auto* rt = new cmwq::runtime;
        auto* q = new cmwq::workqueue<P>(*rt, "parent");
        std::binary_semaphore entered{0};
        std::counting_semaphore<> leave{0};
        auto* w = new cmwq::work<std::function<void()>>([&] {
            entered.release();
            wait_in_item<P>(leave);
        });
        call_from_aside<P> caller([&] { q->queue(*w); });
        entered.acquire();
        const pid_t grandchild = fork_a_child();
        if (grandchild == 0) {
            ::alarm(20);
            delete w;
            delete q;
            delete rt;
            ::_exit(7);
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

#endif

TEST_CASE("an exception that nobody handles terminates the program") {
    const outcome o = in_child([] {
        cmwq::workqueue<> q{"q"};
        q.post([] { throw std::runtime_error("nobody handles this"); });
        q.flush();
        return 0;
    });
    CHECK(o.aborted());
    CHECK(o.stderr_text.find("nobody handles this") != std::string::npos);
}

TEST_CASE("a runtime destroyed before its queue terminates the program and names the queue") {
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

TEST_CASE("a runtime keeps no more than a sixteenth of the descriptors, and gives them back when its threads end") {
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
            f.expect(2, nr_descriptors() > before, "none is kept");
            f.expect(4, nr_descriptors() <= before + 16, "elastic: too many");
        }
        f.expect(8, eventually([&] { return nr_descriptors() == before; }), "not given back");
        cmwq::workqueue<> bound{rt, "bound"};
        cmwq::workqueue<> high{rt, {.name = "high", .priority = cmwq::priority::high}};
        cmwq::workqueue<cmwq::elastic> again{rt, "again"};
        on_each_cpu(bound);
        on_each_cpu(high);
        on_each_cpu(again);
        f.expect(16, nr_descriptors() <= before + 16, "all: too many");
        for (int i = 0; i < 200; ++i)
            f.expect(32, ::open("/dev/null", O_RDONLY) >= 0, "the program cannot open a file");
        return f.wrong();
    });
    INFO(o.stderr_text);
    CHECK(o.exited_with(0));
}

TEST_CASE("exit while items run and are pending") {
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
