// SPDX-License-Identifier: BSL-1.0
//
// Rescuers that cannot be made, rescuers that are no longer needed when they start, and rescuers of the parent in a
// forked child.
#include "any_queue.hpp"
#include "catch.hpp"
#include "child.hpp"
#include "eventually.hpp"
#include "fork.hpp"
#include "gate.hpp"
#include "policy_list.hpp"
#include "policy_test_case.hpp"
#include "scarce_runtime.hpp"
#include "stress.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <semaphore>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using cmwq::queue_status;
using namespace cmwq_test;

namespace {

struct counted {
    explicit counted(std::atomic<int>& n) : alive(&n) { ++*alive; }
    counted(const counted& o) : alive(o.alive) { ++*alive; }
    counted& operator=(const counted&) = delete;
    ~counted() { --*alive; }
    std::atomic<int>* alive;
};

} // namespace

POLICY_TEST_CASE("rescue: a queue whose rescuer cannot be made throws and leaves nothing behind", "",
                 threaded_policies) {
    scarce_runtime s;
    {
        any_queue warm_up{policy, s.rt, "warm up"}; // loads the topology and makes pools
    }
    const auto tasks = cmwq_test::nr_tasks();
    const std::string before = s.rt.dump();
    s.threads.refuse();
    std::atomic<int> alive{0};
    {
        any_options o = with_rescuer("hopeless");
        o.on_exception = [c = counted(alive)](const std::exception_ptr&) { static_cast<void>(c); };
        try {
            any_queue q{policy, s.rt, std::move(o)};
            FAIL("there was a thread");
        } catch (const std::system_error& e) {
            CHECK(e.code() == std::errc::resource_unavailable_try_again);
            CHECK(std::string(e.what()).find("\"hopeless\"") != std::string::npos);
        }
    }
    CHECK(alive == 0);
    CHECK(cmwq_test::nr_tasks() == tasks);
    CHECK(eventually([&] { return s.rt.dump() == before; }));
    s.threads.allow();
    any_queue q{policy, s.rt, with_rescuer()};
    CHECK(eventually([&] { return cmwq_test::nr_tasks() == tasks + 1; })); // the queue has its rescuer from the start
}

TEST_CASE("rescue: impossible attributes leave no rescuer behind") {
    const auto tasks = cmwq_test::nr_tasks();
    scarce_runtime s;
    cmwq::options<cmwq::unbound> o{.name = "rescued", .rescuer = true};
    o.attrs.nice(100);
    CHECK_THROWS_AS(cmwq::workqueue<cmwq::unbound>(s.rt, std::move(o)), std::invalid_argument);
    CHECK(s.threads.made() == 4); // the three threads of the runtime, and a rescuer
    CHECK(eventually([&] { return cmwq_test::nr_tasks() == tasks + 3; }));
}

POLICY_TEST_CASE("rescue: the rescuer ends with its queue", "", threaded_policies) {
    const auto tasks = cmwq_test::nr_tasks();
    {
        scarce_runtime s;
        for (int i = 0; i < 3; ++i) {
            std::vector<std::unique_ptr<any_queue>> queues;
            for (int k = 0; k < 5; ++k) queues.push_back(std::make_unique<any_queue>(policy, s.rt, with_rescuer()));
            CHECK(eventually([&] { return cmwq_test::nr_tasks() == tasks + 8; }));
            queues.clear();
            CHECK(eventually([&] { return cmwq_test::nr_tasks() == tasks + 3; }));
        }
    }
    CHECK(eventually([&] { return cmwq_test::nr_tasks() == tasks; }));
}

POLICY_TEST_CASE("rescue: a queue may be destroyed before its rescuer has answered the call", "", threaded_policies) {
    fake_threads threads;
    event_log events;
    cmwq::runtime rt{{.on_event = events.listener(), .threads = &threads}};
    const unsigned cpu = *rt.cpus().begin();
    any_queue prompt{policy, rt, with_rescuer("prompt")};
    threads.hold_bodies(true);
    auto late = std::make_unique<any_queue>(policy, rt, with_rescuer("late"));
    threads.hold_bodies(false);
    threads.refuse();
    std::atomic<int> by_prompt{0}, by_late{0};
    cmwq::work first{[&] { by_prompt += cmwq::this_work::on_rescuer() ? 1 : 0; }};
    cmwq::work second{[&] { by_late += cmwq::this_work::on_rescuer() ? 1 : 0; }};
    // Both rescuers are called at once, or the pool calls the second one at its next check.
    late->queue_on(cpu, second);
    prompt.queue_on(cpu, first);
    first.flush();
    CHECK(by_prompt == 1);
    CHECK(second.pending());
    threads.allow();
    prompt.queue_on(cpu, first); // a worker is made and runs both, unless the prompt rescuer is faster
    second.flush();
    first.flush();
    CHECK(by_late == 0);
    if (policy.has_attributes) {
        // The part of `late` in the old pool is replaced and has drained. It stays, because the rescuer still has to
        // visit it.
        late->apply(cmwq::attrs{}.nice(5));
        any_options o;
        o.attrs.nice(6);
        any_queue{policy, rt, std::move(o)}.flush();
        // The other queue's pool is freed, so the runtime has freed everything that it may free.
        CHECK(eventually([&] { return rt.dump().find("nice=  6") == std::string::npos; }));
    }
    cmwq::detail::thread_probe me;
    me.open_own(cmwq::detail::state_files::kept);
    std::thread lets_go([&] {
        int asleep = 0; // the destructor waits for the rescuer
        static_cast<void>(eventually([&] { return (asleep = me.blocked() ? asleep + 1 : 0) == 20; }));
        threads.release_body();
    });
    late.reset();
    lets_go.join();
    CHECK(rt.stats().items_rescued == static_cast<std::uint64_t>(by_prompt));
    CHECK(cmwq_test::all_told(rt));
    CHECK(events.count(cmwq::event::kind::rescued) == 1); // the rescuer of `late` has rescued nothing
    CHECK(events.last(cmwq::event::kind::rescued).message.find("\"prompt\"") != std::string::npos);
}

// A few rounds; tests/stress/rescue.test.cpp has many rounds, together with other operations.
POLICY_TEST_CASE("rescue: queues may be destroyed while their rescuers are being called", "", threaded_policies) {
    scarce_runtime s;
    std::vector<std::unique_ptr<any_queue>> queues;
    std::atomic<int> runs{0};
    for (int i = 0; i < 20; ++i) queues.push_back(std::make_unique<any_queue>(policy, s.rt, with_rescuer()));
    s.threads.refuse();
    for (auto& q : queues) {
        q->post_on(s.cpus[0], [&] {
            ++runs;
            s.threads.allow();
            queues.front()->post([&] { ++runs; }); // which causes a worker to be made
        });
    }
    for (auto& q : queues) {
        if (q != queues.front()) q.reset();
    }
    queues.front()->drain();
    queues.clear();
    CHECK(runs == 40);
}

#if !defined(__SANITIZE_THREAD__) // cannot follow threads that are started after a fork() of a program with threads

POLICY_TEST_CASE("rescue: a forked child can make queues with rescuers; the queues of the parent reject items", "",
                 threaded_policies) {
    scarce_runtime s;
    auto q = std::make_unique<any_queue>(policy, s.rt, with_rescuer());
    s.threads.refuse();
    gate g;
    cmwq::work idle{[] {}};
    g.hold(*q, s.cpus[0]);
    q->queue(idle);
    const outcome o = in_child([&] {
        findings f;
        cmwq::work w{[] {}};
        f.expect(1, q->queue(w) == queue_status::rejected, "the parent's queue accepts an item");
        f.expect(1, idle.cancel(), "an item that was pending in the parent cannot be cancelled");
        q->flush();
        f.expect(2, q->shutdown(cmwq::cancel_pending) == 0, "the parent's queue drops an item");
        q.reset();
        {
            any_queue late{policy, s.rt, with_rescuer()}; // on the parent's runtime: no thread, nothing to wait for
            f.expect(4, late.queue(w) == queue_status::rejected, "a queue on the parent's runtime accepts an item");
            f.expect(4, cmwq_test::nr_tasks() == 1, "that queue has a thread");
        }
        scarce_runtime own;
        std::atomic<int> rescued{0};
        any_queue fresh{policy, own.rt, with_rescuer()};
        own.threads.refuse();
        for (int i = 0; i < 100; ++i) fresh.post([&] { rescued += cmwq::this_work::on_rescuer() ? 1 : 0; });
        fresh.flush();
        f.expect(8, rescued == 100, "the child's rescuer did not run all items");
        return f.wrong();
    });
    INFO(o.stderr_text);
    CHECK(o.exited_with(0));
    g.open();
    q->flush();
    CHECK(g.runs == 1);
}

POLICY_TEST_CASE("rescue: an item on the rescuer may fork", "", threaded_policies) {
    scarce_runtime s;
    any_queue q{policy, s.rt, with_rescuer()};
    s.threads.refuse();
    std::atomic<int> status{-1};
    q.post([&] {
        status = status_of_child([&] {
            ::alarm(120);
            findings f;
            f.expect(1, !cmwq::this_work::on_rescuer() && cmwq::this_work::current() == nullptr, "still in an item");
            any_queue fresh{policy, with_rescuer()};
            std::atomic<int> runs{0};
            fresh.post([&] { ++runs; });
            fresh.flush();
            f.expect(2, runs == 1, "the item of the child's queue has not run");
            return f.wrong();
        });
    });
    q.flush();
    CHECK(status == 0);
}

#endif
