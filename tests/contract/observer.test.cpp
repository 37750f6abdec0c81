// SPDX-License-Identifier: BSL-1.0
//
// Observers: what they are told of items, workers and events, for how long, and on which thread.
#include "any_queue.hpp"
#include "catch.hpp"
#include "event_log.hpp"
#include "eventually.hpp"
#include "gate.hpp"
#include "observer_log.hpp"
#include "policy_list.hpp"
#include "policy_test_case.hpp"
#include "scarce_runtime.hpp"

#include <cmwq/cmwq.hpp>
#include <cmwq/detail/sync/clock.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using namespace cmwq_test;
using namespace std::chrono_literals;

namespace {

using item = cmwq::work<std::function<void()>>;

/// A runtime that an observer sees from its beginning to its end.
struct observed_runtime {
    observer_log log;
    std::unique_ptr<cmwq::runtime> owned;
    cmwq::runtime& rt;

    explicit observed_runtime(const cmwq::runtime_options& o = {})
        : owned(std::make_unique<cmwq::runtime>(o)), rt(*owned) {
        rt.attach(log);
    }
};

bool is_deadlock(const std::function<void()>& call) {
    try {
        call();
    } catch (const std::system_error& e) {
        return e.code() == std::errc::resource_deadlock_would_occur;
    }
    return false;
}

} // namespace

// proves: observe-1
POLICY_TEST_CASE("observer: is told of each item when it is queued, starts and ends", "", every_policy) {
    observed_runtime o;
    any_queue q{policy, o.rt, "q"};
    std::thread::id runner;
    item w{[&] { runner = std::this_thread::get_id(); }};
    for (int i = 0; i < 2; ++i) {
        q.queue(w);
        w.flush();
    }
    REQUIRE(o.log.story(&w) == "queued, started, ended, queued, started, ended");
    const std::vector<observer_log::entry> entries = o.log.of(&w);
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const observer_log::entry& e = entries[i];
        CHECK(e.queue == "q");
        CHECK(e.policy == policy.name);
        CHECK(e.function == entries[0].function);
        CHECK(e.pool == entries[i / 3 * 3].pool);
        CHECK(cmwq::item_event{{}, e.item, e.function}.function_name() != "");
    }
    CHECK(std::ranges::is_sorted(entries, {}, &observer_log::entry::time));
    CHECK(entries[0].thread == std::this_thread::get_id());
    CHECK(entries[4].thread == runner);
    CHECK(entries[5].thread == runner);
}

// Workers run some tasks, and the item that waits runs others.
TEST_CASE("observer: the function of a task of a group is that of its callable") {
    observed_runtime o;
    cmwq::workqueue<cmwq::elastic> q{o.rt, "q"};
    constexpr int nr_tasks = 20;
    item forks{[&] {
        cmwq::task_group g{q};
        for (int i = 0; i < nr_tasks; ++i) {
            g.run([] { return 1; });
            g.run([] { return 2; });
        }
        g.wait();
    }};
    q.queue(forks);
    forks.flush();
    q.flush(); // the wait of the group returns before the worker of the last task has told of its end
    std::map<void (*)(cmwq::work_base&), std::map<std::string, int>> seen;
    for (const observer_log::entry& e : o.log.all()) {
        if (e.item != nullptr && e.item != &forks) ++seen[e.function][e.what];
    }
    REQUIRE(seen.size() == 2);
    for (auto& [function, n] : seen) {
        CHECK(n["queued"] == nr_tasks);
        CHECK(n["started"] == nr_tasks);
        CHECK(n["ended"] == nr_tasks);
    }
}

POLICY_TEST_CASE("observer: the end of an item has the CPU time of its run", "", every_policy) {
    observed_runtime o;
    any_queue q{policy, o.rt, "q"};
    std::int64_t used = 0;
    item w{[&] {
        const std::int64_t began = cmwq::detail::thread_cpu_now();
        while (used < 2'000'000) used = cmwq::detail::thread_cpu_now() - began;
    }};
    q.queue(w);
    w.flush();
    const std::vector<observer_log::entry> entries = o.log.of(&w);
    REQUIRE(entries.size() == 3);
    CHECK(entries[0].cpu_time == 0);
    CHECK(entries[1].cpu_time == 0);
    CHECK(entries[2].cpu_time >= used);
}

TEST_CASE("observer: the CPU time of an item is without that of the items that run while it waits") {
    observed_runtime o;
    cmwq::workqueue<cmwq::elastic> q{o.rt, {.name = "q", .max_active = 1}};
    std::int64_t used = 0;
    item inner{[&] {
        const std::int64_t began = cmwq::detail::thread_cpu_now();
        while (used < 50'000'000) used = cmwq::detail::thread_cpu_now() - began;
    }};
    item outer{[&] {
        q.queue(inner);
        inner.flush(); // which runs it in this thread, because of the limit
    }};
    q.queue(outer);
    outer.flush();
    CHECK(o.log.of(&inner).back().cpu_time >= used);
    CHECK(o.log.of(&outer).back().cpu_time < used / 2);
}

// proves: observe-1
POLICY_TEST_CASE("observer: is told of items that are taken back", "", every_policy) {
    observed_runtime o;
    item w{[] {}}, dropped{[] {}};
    gate held;
    any_queue q{policy, o.rt, at_most(policy, 1, "q")};
    held.hold(q);
    q.queue_on(first_cpu(), w);
    CHECK(w.cancel());
    q.queue_on(first_cpu(), dropped);
    std::thread opener{[&] { held.open(); }};
    if (policy.runs_in_the_caller) opener.join(); // otherwise shutdown() would wait in the middle
    const std::size_t n = q.shutdown(cmwq::cancel_pending);
    if (opener.joinable()) opener.join();
    CHECK(o.log.story(&w) == "queued, cancelled");
    CHECK(o.log.count("cancelled") == 1 + n);
    CHECK(o.log.story(&dropped) == (n == 1 ? "queued, cancelled" : "queued, started, ended"));
}

// proves: observe-1
POLICY_TEST_CASE("observer: a delayed item is queued at the end of its delay", "", every_policy) {
    observed_runtime o;
    any_queue q{policy, o.rt, "q"};
    cmwq::delayed_work<std::function<void()>> w{[] {}};
    q.queue_after(1h, w);
    CHECK(w.cancel());
    CHECK(o.log.of(&w).empty());
    q.queue_after(1h, w);
    CHECK(o.log.of(&w).empty());
    w.flush(); // ends the delay
    CHECK(o.log.story(&w) == "queued, started, ended");
}

// proves: observe-2
POLICY_TEST_CASE("observer: is told of announced blocks, and of waits inside the library", "", threaded_policies) {
    observed_runtime o;
    any_queue q{policy, o.rt, "q"};
    cmwq::workqueue<cmwq::unbound> other{o.rt, "other"};
    item awaited{[&] { static_cast<void>(eventually([&] { return o.log.count("blocked: waiting") == 1; })); }};
    item w{[&] {
        {
            const cmwq::blocking_region outer{cmwq::may_block};
            const cmwq::blocking_region inner;
        }
        other.queue(awaited);
        awaited.flush();
    }};
    q.queue(w);
    w.flush();
    CHECK(o.log.story(&w) == "queued, started, blocked: announced, unblocked, blocked: waiting, unblocked, ended");
    CHECK(o.log.story(&awaited) == "queued, started, ended");
}

// proves: observe-2
POLICY_TEST_CASE("observer: is told of a block that a detector has found, before the item ends", "",
                 threaded_policies) {
    if (!policy.is_managed) return;
    observed_runtime o{{.cpus = {first_cpu()}}};                  // so one blocked worker leaves no CPU busy
    any_queue q{policy, o.rt, "q"}, other{policy, o.rt, "other"}; // they share the pool
    std::binary_semaphore entered{0}, leave{0};
    item w{[&] {
        entered.release();
        leave.acquire();
    }};
    std::vector<std::unique_ptr<item>> behind;
    q.queue_on(first_cpu(), w);
    entered.acquire();
    const auto noticed = [&] {
        const cmwq::queue_stats s = q.stats();
        return s.blocks_by_sentinel + s.blocks_by_monitor == 1;
    };
    CHECK(eventually([&] { // an item that waits for a CPU makes the detectors look
        if (!other.base().pending()) {
            behind.push_back(std::make_unique<item>([] {}));
            other.queue_on(first_cpu(), *behind.back());
        }
        return noticed();
    }));
    CHECK(o.log.story(&w) == "queued, started"); // its thread tells of it
    const cmwq::queue_stats s = q.stats();
    leave.release();
    w.flush();
    other.flush();
    const std::string who = s.blocks_by_sentinel != 0 ? "sentinel" : "monitor";
    CHECK(o.log.story(&w) == "queued, started, blocked: " + who + ", ended");
    CHECK(std::ranges::is_sorted(o.log.of(&w), {}, &observer_log::entry::time));
}

// proves: observe-1
POLICY_TEST_CASE("observer: has seen as many items as the queue has counted, in a flood from all sides", "",
                 every_policy) {
    constexpr int many = 300;
    observed_runtime o;
    any_queue q{policy, o.rt, "q"}, stranger{policy, o.rt, "stranger"};
    const auto flood = [&](any_queue& to) {
        for (int i = 0; i < many; ++i) {
            to.post([&] { to.post([] {}); });
            if (i % 8 != 0 || !policy.can_block || policy.runs_one_at_a_time) continue;
            to.post([&] {
                const auto group = to.make_group();
                for (int n = 0; n < 4; ++n) group->run([&] { group->run([] {}); });
                group->wait();
            });
        }
    };
    std::thread one{[&] { flood(q); }}, two{[&] { flood(stranger); }};
    flood(q);
    one.join();
    two.join();
    std::uint64_t started = 0;
    for (any_queue* const each : {&q, &stranger}) {
        each->drain();
        const cmwq::queue_stats s = each->stats();
        CHECK(s.started == s.completed);
        started += s.started;
    }
    CHECK(o.log.count("queued") == started);
    CHECK(o.log.count("started") == started);
    CHECK(o.log.count("ended") == started);
    CHECK(o.log.count("cancelled") == 0);
}

// proves: observe-3
TEST_CASE("observer: is told nothing before it is attached and after it is detached") {
    cmwq::runtime rt;
    cmwq::workqueue<> q{rt, "q"};
    observer_log one, two;
    item w{[] {}};
    const auto run = [&] {
        q.queue(w);
        q.flush();
    };
    run();
    rt.attach(one);
    run();
    rt.attach(two);
    run();
    CHECK(rt.detach(one));
    run();
    CHECK(rt.detach(two));
    run();
    const auto once = [](int n) {
        std::string s = "queued, started, ended";
        for (int i = 1; i < n; ++i) s += ", queued, started, ended";
        return s;
    };
    CHECK(one.story(&w) == once(2));
    CHECK(two.story(&w) == once(2));
    rt.attach(one);
    run();
    CHECK(one.story(&w) == once(3));
    rt.detach(one);
}

// proves: observe-3
TEST_CASE("observer: it cannot be attached twice, and one that is not attached cannot be detached") {
    cmwq::runtime rt, other;
    observer_log log;
    CHECK_FALSE(rt.detach(log));
    rt.attach(log);
    CHECK_THROWS_AS(rt.attach(log), std::logic_error);
    CHECK_FALSE(other.detach(log));
    other.attach(log); // another runtime is no matter
    CHECK(rt.detach(log));
    CHECK_FALSE(rt.detach(log));
    CHECK(other.detach(log));
}

// proves: observe-3
POLICY_TEST_CASE("observer: sees queues that are made, and pools that are exchanged, after it was attached", "",
                 every_policy) {
    observed_runtime o;
    any_queue q{policy, o.rt, "q"};
    item w{[] {}};
    if (policy.has_attributes) q.apply(cmwq::attrs{}.nice(3));
    q.queue(w);
    q.flush();
    CHECK(o.log.story(&w) == "queued, started, ended");
    CHECK(o.rt.detach(o.log));
    if (policy.has_attributes) q.apply(cmwq::attrs{}.nice(4));
    q.queue(w);
    q.flush();
    CHECK(o.log.story(&w) == "queued, started, ended");
}

// proves: observe-3
TEST_CASE("observer: attaching and detaching in a call of an observer is an error") {
    struct eager final : cmwq::observer {
        cmwq::runtime* rt = nullptr;
        int nr_refused = 0;
        void started(const cmwq::item_event& /*e*/) noexcept override {
            eager other;
            nr_refused += is_deadlock([&] { rt->attach(other); }) ? 1 : 0;
            nr_refused += is_deadlock([&] { rt->detach(*this); }) ? 1 : 0;
        }
    };
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::bh> q{rt, "q"};
    eager watcher;
    watcher.rt = &rt;
    rt.attach(watcher);
    item w{[] {}};
    q.queue(w);
    q.flush();
    CHECK(watcher.nr_refused == 2);
    CHECK(rt.detach(watcher));
}

// proves: observe-4
TEST_CASE("observer: is told of the workers from their creation to their end") {
    observed_runtime o;
    {
        cmwq::workqueue<> q{o.rt, "q"};
        cmwq::workqueue<cmwq::unbound> r{o.rt, "r"};
        item w{[] {}};
        for (cmwq::workqueue_base* const each :
             {static_cast<cmwq::workqueue_base*>(&q), static_cast<cmwq::workqueue_base*>(&r)}) {
            each->queue(w);
            w.flush();
        }
    }
    CHECK(o.log.count("worker_woken") >= 2);
    CHECK(eventually([&] { // one may just be in the making
        const cmwq::pool_growth n = o.rt.stats().workers_made;
        return o.log.count("worker_created") == n.first + n.parallel + n.blocked + n.learned + n.overdue + n.unmanaged;
    }));
    o.owned.reset(); // joins them
    CHECK(o.log.count("worker_created") >= 4);
    CHECK(o.log.count("worker_ended") == o.log.count("worker_created"));
}

// proves: observe-4
POLICY_TEST_CASE("observer: is told that a rescuer is called, and of the events of the runtime", "",
                 threaded_policies) {
    scarce_runtime s;
    observer_log log;
    s.rt.attach(log);
    {
        any_queue q{policy, s.rt, with_rescuer()};
        const refused_item waits(policy, s);
        item w{[] {}};
        q.queue(w);
        w.flush();
        CHECK(log.count("mayday") == q.stats().maydays);
        CHECK(log.count("mayday") >= 1);
        REQUIRE(all_told(s.rt));
        for (const auto kind : {cmwq::event::kind::rescued, cmwq::event::kind::no_thread}) {
            REQUIRE(s.events.count(kind) == 1);
            CHECK(log.count("reported: " + s.events.first(kind).message) == 1);
        }
        s.threads.allow();
    }
    CHECK(s.rt.detach(log));
}
