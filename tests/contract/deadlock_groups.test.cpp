// SPDX-License-Identifier: BSL-1.0
//
// Waits for task groups in the graph of waits: items and tasks that wait for each other are found and named, and are
// not confused with groups that make progress.
//
// Each of these errors has made one of these tests fail: a wait for a group is not registered; of the tasks of a run
// only the innermost one is listed; a search does not follow a group, or a check does not; a check ignores tasks behind
// a limit; an item of a bound queue counts as one that takes tasks of all CPUs.
#include "catch.hpp"
#include "deadlocks.hpp"
#include "eventually.hpp"
#include "one_cpu.hpp"
#include "policy_list.hpp"

#include <cmwq/cmwq.hpp>
#include <cmwq/task_group.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using cmwq::task_group;
using cmwq_test::address;
using cmwq_test::eventually;
using cmwq_test::has;
using cmwq_test::one_cpu;
using cmwq_test::refusal_of;
using cmwq_test::runs_one_at_a_time;
using cmwq_test::watched_runtime;

namespace {

using item = cmwq::work<std::function<void()>>;

constexpr const char* for_group = "waits in task_group::wait() for a task group on queue ";
constexpr const char* refused_group = "would wait in task_group::wait() for a task group on queue ";

/// Waits for longer than any deadlock needs to be reported.
void let_checks_pass() {
    const auto since = std::chrono::steady_clock::now();
    static_cast<void>(eventually([&] { return std::chrono::steady_clock::now() - since > 500ms; }));
}

/// A queue that runs one item at a time.
template <class Policy>
cmwq::workqueue<Policy> full_queue(cmwq::runtime& rt) {
    if constexpr (runs_one_at_a_time<Policy>) return cmwq::workqueue<Policy>{rt, "full"};
    else return cmwq::workqueue<Policy>{rt, {.name = "full", .max_active = 1}};
}

/// Runs until the test releases it. The library does not know that another thread ends this wait.
struct held_run {
    void operator()() {
        begun.release();
        go.acquire();
    }
    std::binary_semaphore begun{0}, go{0};
};

/// Two calls in two items or tasks that have both begun. The second call is made when the first one waits.
struct two_calls {
    explicit two_calls(cmwq::runtime& runtime) : rt(runtime) {}

    void first(const std::function<void()>& call) {
        begun.arrive_and_wait();
        refusal_of_first = refusal_of(call);
        ended.count_down();
    }
    void second(const char* first_waits, const std::function<void()>& call) {
        begun.arrive_and_wait();
        waited = eventually([&] { return has(rt.dump(), first_waits); });
        refusal_of_second = refusal_of(call);
        ended.count_down();
    }

    cmwq::runtime& rt;
    std::latch begun{2}, ended{2};
    std::string refusal_of_first, refusal_of_second;
    std::atomic<bool> waited{false};
};

} // namespace

// --- cycles of runs: refused -----------------------------------------------------------------------------------------

// The item runs on the queue of the group, or on another one. A thread outside waits for the group all the time.
// proves: progress-29
TEMPLATE_TEST_CASE("deadlock: a cycle of an item that waits for a group and a task that flushes the item is refused",
                   "", cmwq::elastic, cmwq::unbound, cmwq::bound) {
    watched_runtime w;
    cmwq::workqueue<TestType> q{w.rt, "q"};
    cmwq::workqueue<cmwq::unbound> other{w.rt, "other"};
    const bool same = GENERATE(true, false), group_first = GENERATE(true, false);
    cmwq::workqueue_base& items = same ? static_cast<cmwq::workqueue_base&>(q) : other;
    two_calls c(w.rt);
    std::optional<item> a;
    task_group g{q};
    a.emplace([&] {
        if (group_first) c.first([&] { g.wait(); });
        else c.second("waits in flush() for item ", [&] { g.wait(); });
    });
    g.run([&] {
        if (group_first) c.second(for_group, [&] { a->flush(); });
        else c.first([&] { a->flush(); });
    });
    std::thread outside([&] { static_cast<void>(g.wait()); });
    items.queue(*a);
    c.ended.wait();
    outside.join();
    CHECK(c.waited);
    INFO(c.refusal_of_second);
    CHECK(c.refusal_of_first.empty());
    CHECK(has(c.refusal_of_second, address(*a)));
    if (group_first) {
        CHECK(has(c.refusal_of_second, std::string(" and ") + for_group + "\"q\""));
    } else {
        CHECK(has(c.refusal_of_second, std::string(refused_group) + "\"q\", a task of which runs in "));
        CHECK(has(c.refusal_of_second, " of queue \"q\", which waits in flush() for item "));
    }
    a.reset();
    CHECK(w.count() == 0);
    CHECK(g.wait()); // the group can be used again
}

TEMPLATE_TEST_CASE("deadlock: a cycle of an item that waits for a group and a task that flushes its queue is refused",
                   "", cmwq::elastic, cmwq::unbound, cmwq::bound, cmwq::ordered) {
    watched_runtime w;
    cmwq::workqueue<TestType> q{w.rt, "q"};
    cmwq::workqueue<cmwq::ordered> other{w.rt, "other"};
    const bool group_first = GENERATE(true, false);
    two_calls c(w.rt);
    task_group g{q};
    item a{[&] {
        if (group_first) c.first([&] { g.wait(); });
        else c.second("waits in flush() for queue \"other\"", [&] { g.wait(); });
    }};
    g.run([&] {
        if (group_first) c.second(for_group, [&] { other.flush(); });
        else c.first([&] { other.flush(); });
    });
    other.queue(a);
    c.ended.wait();
    CHECK(c.waited);
    INFO(c.refusal_of_second);
    CHECK(c.refusal_of_first.empty());
    CHECK(has(c.refusal_of_second, "queue \"other\""));
    CHECK(has(c.refusal_of_second, "a task group on queue \"q\""));
    CHECK(g.wait());
    other.flush();
    CHECK(w.count() == 0);
}

// proves: progress-29
TEMPLATE_TEST_CASE("deadlock: a cycle of tasks of two groups that wait for each other's group is refused", "",
                   cmwq::elastic, cmwq::unbound, cmwq::bound, cmwq::ordered) {
    watched_runtime w;
    cmwq::workqueue<TestType> q{w.rt, "q"};
    cmwq::workqueue<cmwq::elastic> other{w.rt, "other"};
    const bool same = GENERATE(true, false);
    if (same && runs_one_at_a_time<TestType>) return; // its tasks run one after the other
    two_calls c(w.rt);
    task_group one{q};
    std::optional<task_group> two;
    if constexpr (runs_one_at_a_time<TestType>) two.emplace(other);
    else if (same) two.emplace(q);
    else two.emplace(other);
    one.run([&] { c.first([&] { two->wait(); }); });
    two->run([&] { c.second(for_group, [&] { one.wait(); }); });
    c.ended.wait();
    CHECK(c.waited);
    INFO(c.refusal_of_second);
    CHECK(c.refusal_of_first.empty());
    CHECK(has(c.refusal_of_second, std::string(refused_group) + "\"q\", a task of which runs in "));
    CHECK(has(c.refusal_of_second, std::string("which ") + for_group));
    CHECK(one.wait());
    CHECK(two->wait());
    CHECK(w.count() == 0);
}

// The limit lets only the helper run, so the task runs nested in its wait; the wait of the task is one of the helper.
TEMPLATE_TEST_CASE("deadlock: a cycle through a task that runs nested in the wait for its group is refused", "",
                   cmwq::elastic, cmwq::unbound) {
    watched_runtime w;
    cmwq::workqueue<TestType> q{w.rt, {.name = "q", .max_active = 1}};
    cmwq::workqueue<cmwq::unbound> other{w.rt, "other"};
    const bool group_first = GENERATE(true, false);
    two_calls c(w.rt);
    task_group outer{q};
    item a{[&] {
        if (group_first) c.first([&] { outer.wait(); });
        else c.second("waits in flush() for item ", [&] { outer.wait(); });
    }};
    std::binary_semaphore nested{0};
    item helper{[&] {
        outer.run([&] {
            task_group inner{q};
            inner.run([&] {
                nested.release();
                if (group_first) c.second(for_group, [&] { a.flush(); });
                else c.first([&] { a.flush(); });
            });
            static_cast<void>(inner.wait());
        });
        static_cast<void>(outer.wait());
    }};
    q.queue(helper);
    nested.acquire();
    other.queue(a);
    c.ended.wait();
    CHECK(c.waited);
    INFO(c.refusal_of_second);
    CHECK(c.refusal_of_first.empty());
    CHECK(has(c.refusal_of_second, address(helper)));
    CHECK(has(c.refusal_of_second, "a task group on queue \"q\""));
    other.flush();
    q.flush();
    CHECK(w.count() == 0);
}

// The inner task runs in another worker than the outer one.
TEST_CASE("deadlock: a task must not wait for a group of which a task waits for it in another thread") {
    watched_runtime w;
    cmwq::workqueue<cmwq::elastic> q{w.rt, "q"}, other{w.rt, "other"};
    task_group outer{q}, inner{other};
    std::string refusal;
    outer.run([&] {
        inner.run([&] {
            CHECK(eventually([&] { return has(w.rt.dump(), for_group); }));
            refusal = refusal_of([&] { outer.wait(); });
        });
        static_cast<void>(inner.wait());
    });
    CHECK(outer.wait());
    INFO(refusal);
    CHECK(has(refusal, std::string(refused_group) + "\"q\", a task of which runs in "));
    CHECK(w.count() == 0);
}

TEST_CASE("deadlock: after a refused wait for a group the item may wait again when the cycle has gone") {
    watched_runtime w;
    cmwq::workqueue<cmwq::elastic> q{w.rt, "q"}, other{w.rt, "other"};
    std::vector<std::string> refusals;
    std::atomic<int> nr_run{0};
    task_group g{q};
    std::binary_semaphore begun{0}, flushes{0};
    item a{[&] {
        begun.release();
        flushes.acquire();
        CHECK(eventually([&] { return has(w.rt.dump(), "waits in flush() for item "); }));
        for (int i = 0; i < 20; ++i) {
            g.run([&] { ++nr_run; });
            refusals.push_back(refusal_of([&] { g.wait(); }));
        }
    }};
    q.queue(a);
    begun.acquire();
    g.run([&] {
        flushes.release();
        a.flush();
    });
    CHECK(g.wait());
    CHECK(nr_run == 20);
    REQUIRE(refusals.size() == 20);
    for (const std::string& r : refusals) CHECK(has(r, refused_group));
    item again{[&] {
        g.run([&] { ++nr_run; });
        static_cast<void>(g.wait());
    }};
    q.queue(again);
    again.flush();
    CHECK(nr_run == 21);
    CHECK(w.count() == 0);
}

// --- behind limits: reported -----------------------------------------------------------------------------------------

// The task waits for an item that the item which waits for the group keeps from running.
TEMPLATE_TEST_CASE(
    "deadlock: a group is reported if its task waits for an item behind the limit of the item that waits", "",
    cmwq::elastic, cmwq::unbound, cmwq::bound, cmwq::ordered) {
    watched_runtime w(cmwq::event::kind::deadlock, one_cpu());
    auto full = full_queue<TestType>(w.rt);
    cmwq::workqueue<cmwq::elastic> q{w.rt, "q"};
    item pending{[] {}};
    std::binary_semaphore begun{0}, queued{0};
    task_group g{q};
    item a{[&] {
        begun.release();
        queued.acquire();
        static_cast<void>(g.wait());
    }};
    full.queue(a);
    begun.acquire();
    full.queue(pending);
    g.run([&] { pending.flush(); });
    queued.release();
    REQUIRE(eventually([&] { return w.count() != 0; }));
    const std::string text = w.messages()[0];
    INFO(text);
    CHECK(has(text, "item " + address(a)));
    CHECK(has(text, std::string(for_group) + "\"q\""));
    CHECK(has(text, "waits in flush() for item " + address(pending)));
    CHECK(has(text, ", which is pending behind max_active 1 of queue \"full\""));
    CHECK(pending.cancel());
    full.flush();
    CHECK(w.count() == 1);
}

// An item of another queue waits for the group, and the items that keep its tasks from running wait for that item.
// proves: progress-29
TEMPLATE_TEST_CASE("deadlock: a group is reported if the items before its tasks at the limit wait for the waiter", "",
                   cmwq::elastic, cmwq::unbound, cmwq::bound, cmwq::ordered) {
    watched_runtime w(cmwq::event::kind::deadlock, one_cpu());
    auto full = full_queue<TestType>(w.rt);
    cmwq::workqueue<cmwq::unbound> other{w.rt, "other"};
    std::binary_semaphore begun{0}, queued{0};
    std::optional<item> waiter;
    task_group g{full};
    item active{[&] {
        begun.release();
        queued.acquire();
        waiter->flush();
    }};
    waiter.emplace([&] { static_cast<void>(g.wait()); });
    full.queue(active);
    begun.acquire();
    for (int i = 0; i < 100; ++i) g.run([] {});
    other.queue(*waiter);
    queued.release();
    REQUIRE(eventually([&] { return w.count() != 0; }));
    const std::string text = w.messages()[0];
    INFO(text);
    CHECK(has(text, "item " + address(*waiter)));
    CHECK(has(text, std::string(for_group) +
                        "\"full\", some of whose tasks are pending behind max_active 1 of queue \"full\""));
    CHECK(has(text, "item " + address(active)));
    if constexpr (runs_one_at_a_time<TestType>) full.shutdown(cmwq::cancel_pending);
    else full.set_max_active(2);
    other.flush();
    full.flush();
    static_cast<void>(g.wait());
    CHECK(w.count() == 1);
}

// The tasks come to the limit from the local list of the worker that has added them, while the waiter sleeps.
TEST_CASE("deadlock: a group is reported if its tasks have come from a local list to a limit that never moves") {
    watched_runtime w;
    cmwq::workqueue<cmwq::elastic> full{w.rt, {.name = "full", .max_active = 2}};
    cmwq::workqueue<cmwq::unbound> other{w.rt, "other"};
    std::binary_semaphore runs{0}, ends{0}, adds{0}, added{0};
    std::optional<task_group> g;
    std::optional<item> waiter;
    item active{[&] {
        g.emplace(full);
        g->run([&] {
            runs.release();
            ends.acquire();
        });
        adds.acquire();
        for (int i = 0; i < 100; ++i) g->run([] {});
        added.release();
        waiter->flush();
    }};
    item next{[&] { waiter->flush(); }};
    waiter.emplace([&] { static_cast<void>(g->wait()); });
    full.queue(active);
    runs.acquire();
    full.queue(next); // gets the slot of the first task
    other.queue(*waiter);
    REQUIRE(eventually([&] { return has(w.rt.dump(), for_group); }));
    adds.release();
    added.acquire();
    ends.release();
    REQUIRE(eventually([&] { return w.count() != 0; }));
    INFO(w.messages()[0]);
    CHECK(has(w.messages()[0], "some of whose tasks are pending behind max_active 2 of queue \"full\""));
    full.set_max_active(3);
    other.flush();
    full.flush();
    CHECK(w.count() == 1);
}

// An item of a bound queue takes only tasks of its own CPU. The task is on another one, behind an item that waits for
// it.
TEST_CASE("deadlock: a group on a bound queue is reported if its task is behind the limit of another CPU") {
    watched_runtime w;
    if (w.rt.cpus().size() < 2) return;
    auto at = w.rt.cpus().begin();
    const unsigned here = *at, there = *++at;
    cmwq::workqueue<> full{w.rt, {.name = "full", .max_active = 1}}, adders{w.rt, "adders"};
    std::binary_semaphore begun{0}, added{0};
    std::optional<item> waiter;
    task_group g{full};
    item active{[&] {
        begun.release();
        added.acquire();
        waiter->flush();
    }};
    waiter.emplace([&] { static_cast<void>(g.wait()); });
    item adds{[&] { g.run([] {}); }};
    full.queue_on(there, active);
    begun.acquire();
    adders.queue_on(there, adds);
    adds.flush();
    full.queue_on(here, *waiter);
    added.release();
    REQUIRE(eventually([&] { return w.count() != 0; }));
    INFO(w.messages()[0]);
    CHECK(has(w.messages()[0], "some of whose tasks are pending behind max_active 1 of queue \"full\""));
    full.set_max_active(2);
    full.flush();
    CHECK(w.count() == 1);
}

// --- no false alarms -------------------------------------------------------------------------------------------------

// proves: progress-29
TEMPLATE_TEST_CASE("deadlock: no alarm for groups that make progress while their waiters sleep and wake", "",
                   cmwq::elastic, cmwq::unbound, cmwq::bound) {
    watched_runtime w;
    const unsigned limit = GENERATE(1u, 4u);
    cmwq::workqueue<TestType> q{w.rt, {.name = "q", .max_active = limit}};
    cmwq::workqueue<cmwq::unbound> other{w.rt, "other"};
    std::atomic<bool> stop{false};
    std::atomic<int> wrong{0};
    std::atomic<long> nr_tasks{0};
    const std::function<void(int)> grow = [&](int depth) {
        ++nr_tasks;
        if (depth == 0) return;
        task_group inner{q};
        for (int i = 0; i < 3; ++i) inner.run([&, depth] { grow(depth - 1); });
        if (!inner.wait()) ++wrong;
    };
    const auto loop = [&] {
        while (!stop) {
            try {
                grow(3);
            } catch (const std::system_error&) {
                ++wrong;
                return;
            }
        }
    };
    item of_same{loop}, of_other{loop}, of_other_too{loop};
    q.queue(of_same);
    other.queue(of_other);
    other.queue(of_other_too);
    let_checks_pass();
    stop = true;
    q.flush();
    other.flush();
    CHECK(wrong == 0);
    CHECK(nr_tasks > 40);
    CHECK(w.count() == 0);
}

TEMPLATE_TEST_CASE("deadlock: no alarm for a group whose tasks are behind a limit for a long time", "", cmwq::elastic,
                   cmwq::unbound, cmwq::bound, cmwq::ordered) {
    watched_runtime w(cmwq::event::kind::deadlock, one_cpu());
    auto full = full_queue<TestType>(w.rt);
    cmwq::workqueue<cmwq::unbound> other{w.rt, "other"};
    held_run held;
    std::atomic<int> nr_run{0};
    task_group g{full};
    item slow{std::ref(held)};
    item waits{[&] { static_cast<void>(g.wait()); }};
    item waits_for_that{[&] { waits.flush(); }};
    full.queue(slow);
    held.begun.acquire();
    for (int i = 0; i < 100; ++i) g.run([&] { ++nr_run; });
    other.queue(waits);
    other.queue(waits_for_that);
    REQUIRE(eventually([&] { return has(w.rt.dump(), for_group); }));
    let_checks_pass();
    CHECK(w.count() == 0);
    held.go.release();
    other.flush();
    CHECK(nr_run == 100);
    CHECK(w.count() == 0);
}

// The items at the limit wait for the group, and sleep until its first task ends, which runs elsewhere. They can run
// the others, so no limit keeps these back.
TEST_CASE("deadlock: no alarm for items at their limit that wait for a group on their own queue") {
    watched_runtime w;
    cmwq::workqueue<cmwq::elastic> q{w.rt, {.name = "q", .max_active = 2}};
    held_run held;
    std::atomic<int> nr_run{0};
    task_group g{q};
    g.run(std::ref(held));
    held.begun.acquire();
    item waits{[&] { static_cast<void>(g.wait()); }};
    q.queue(waits);
    REQUIRE(eventually([&] { return has(w.rt.dump(), for_group); }));
    for (int i = 0; i < 100; ++i) g.run([&] { ++nr_run; });
    CHECK(eventually([&] { return nr_run == 100; })); // the item has woken for them
    let_checks_pass();
    CHECK(w.count() == 0);
    held.go.release();
    q.flush();
    CHECK(w.count() == 0);
}

// --- other reports ---------------------------------------------------------------------------------------------------

TEST_CASE("flush dependency: a wait for a group on a queue without a rescuer is reported") {
    watched_runtime w(cmwq::event::kind::flush_dependency);
    cmwq::workqueue<> reclaim{w.rt, {.name = "reclaim", .rescuer = true}}, plain{w.rt, "plain"};
    held_run held;
    task_group on_plain{plain}, on_reclaim{reclaim};
    item waits{[&] { static_cast<void>(on_plain.wait()); }};
    item waits_for_own_queue{[&] { static_cast<void>(on_reclaim.wait()); }};
    on_reclaim.run(std::ref(held));
    held.begun.acquire();
    reclaim.queue(waits_for_own_queue);
    REQUIRE(eventually([&] { return has(w.rt.dump(), for_group); }));
    held.go.release();
    reclaim.flush();
    CHECK(w.count() == 0);
    on_plain.run(std::ref(held));
    held.begun.acquire();
    reclaim.queue(waits);
    REQUIRE(eventually([&] { return w.count() == 1; }));
    INFO(w.messages()[0]);
    CHECK(has(w.messages()[0], "waits in task_group::wait() for queue \"plain\", which has none"));
    held.go.release();
    reclaim.flush();
}

TEST_CASE("dump: the text contains each item that waits for a group") {
    cmwq::runtime rt;
    cmwq::workqueue<> q{rt, "q"}, other{rt, "other"};
    held_run held;
    task_group g{q};
    g.run(std::ref(held));
    held.begun.acquire();
    item waits{[&] { static_cast<void>(g.wait()); }};
    other.queue(waits);
    const std::string line = ") of queue \"other\" " + std::string(for_group) + "\"q\", for ";
    REQUIRE(eventually([&] { return has(rt.dump(), line); }));
    CHECK(has(rt.dump(), "\nitem " + address(waits) + " ("));
    CHECK(has(rt.dump(cmwq::dump_format::json), "\"for_group_on\":\"q\""));
    held.go.release();
    other.flush();
    CHECK(rt.dump().ends_with("\nWaiting items\n=============\n"));
}
