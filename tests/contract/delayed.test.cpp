// SPDX-License-Identifier: BSL-1.0
//
// The promises of delayed items on every queue. The clock moves only when the test advances it.
#include "any_queue.hpp"
#include "caller.hpp"
#include "catch.hpp"
#include "core_of.hpp"
#include "eventually.hpp"
#include "faults.hpp"
#include "gate.hpp"
#include "policy_list.hpp"
#include "policy_test_case.hpp"
#include "seed.hpp"
#include "this_task.hpp"

#include <cmwq/cmwq.hpp>
#include <cmwq/testing/manual_clock.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using cmwq::queue_status;
using namespace cmwq_test;

namespace {

struct world {
    explicit world(const any_policy& p) : q(p, rt, "q") {}

    cmwq::testing::manual_clock clock;
    cmwq::runtime rt{{.clock = &clock}};
    any_queue q;
    std::atomic<int> runs{0};

    // Items that are due are queued when advance() returns; the flush waits for them.
    int after(std::chrono::nanoseconds d) {
        clock.advance(d);
        q.flush();
        return runs;
    }
};

} // namespace

POLICY_TEST_CASE("delayed: a delayed item runs at its time and not earlier", "", every_policy) {
    world w{policy};
    cmwq::delayed_work d{[&] { ++w.runs; }};
    CHECK(w.q.queue_after(50ms, d) == queue_status::queued);
    CHECK(d.pending());
    CHECK(w.q.queue_after(1ms, d) == queue_status::already_pending);
    CHECK(w.q.queue(d) == queue_status::already_pending);
    CHECK(w.after(49'999'999ns) == 0);
    CHECK(d.pending());
    CHECK(w.after(1ns) == 1);
    CHECK_FALSE(d.pending());
    CHECK(w.after(1h) == 1);
}

POLICY_TEST_CASE("delayed: a delay of zero or less queues at once", "", every_policy) {
    world w{policy};
    cmwq::delayed_work d{[&] { ++w.runs; }};
    CHECK(w.q.queue_after(0s, d) == queue_status::queued);
    d.flush();
    CHECK(w.runs == 1);
    CHECK(w.q.queue_after(-1h, d) == queue_status::queued);
    d.flush();
    CHECK(w.runs == 2);
    CHECK(w.q.queue(d) == queue_status::queued); // also as a plain item
    d.flush();
    CHECK(w.runs == 3);
}

// proves: progress-17
POLICY_TEST_CASE("delayed: timers fire in the order of their deadlines and equal ones in the order of their arming", "",
                 every_policy) {
    world w{policy};
    any_queue one{policy, w.rt, at_most(policy, 1, "one")};
    std::vector<int> order;
    std::vector<std::unique_ptr<cmwq::delayed_work<std::function<void()>>>> items;
    const unsigned cpu = *w.rt.cpus().begin();
    for (int i = 0; i < 20; ++i) {
        items.push_back(
            std::make_unique<cmwq::delayed_work<std::function<void()>>>([&order, i] { order.push_back(i); }));
        one.queue_after_on(cpu, std::chrono::milliseconds{i < 10 ? 10 - i : 20}, *items.back());
    }
    w.clock.advance(1s);
    one.flush();
    CHECK(order == std::vector<int>{9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19});
}

POLICY_TEST_CASE("delayed: modify sets a new time for an idle item and for a pending item", "", every_policy) {
    world w{policy};
    cmwq::delayed_work d{[&] { ++w.runs; }};
    CHECK(w.q.modify(50ms, d) == queue_status::queued);   // idle
    CHECK(w.q.modify(10ms, d) == queue_status::modified); // earlier
    CHECK(w.after(10ms) == 1);
    CHECK(w.q.queue_after(10ms, d) == queue_status::queued);
    CHECK(w.q.modify(50ms, d) == queue_status::modified); // later
    CHECK(w.after(49ms) == 1);
    CHECK(w.after(1ms) == 2);
    CHECK(w.q.queue_after(1h, d) == queue_status::queued);
    CHECK(w.q.modify(0s, d) == queue_status::modified); // now
    w.q.flush();
    CHECK(w.runs == 2 + 1);
    d.disable();
    CHECK(w.q.modify(1ms, d) == queue_status::disabled);
    CHECK_FALSE(d.pending());
    d.enable();
}

POLICY_TEST_CASE("delayed: modify takes a pending item from another queue", "", every_policy) {
    world w{policy};
    any_queue one{policy, w.rt, at_most(policy, 1, "one")};
    const unsigned cpu = *w.rt.cpus().begin();
    gate g;
    g.hold(one, cpu);
    cmwq::delayed_work d{[&] { ++w.runs; }};
    CHECK(one.queue_on(cpu, d) == queue_status::queued); // waits at the limit
    CHECK(w.q.modify(10ms, d) == queue_status::modified);
    g.open();
    one.flush();
    CHECK(w.runs == 0);
    CHECK(w.after(10ms) == 1);
}

POLICY_TEST_CASE("delayed: modify ends a flush of the item and a flush of its queue without a run", "", every_policy) {
    world w{policy};
    any_queue one{policy, w.rt, at_most(policy, 1, "one")};
    const unsigned cpu = *w.rt.cpus().begin();
    gate g;
    g.hold(one, cpu);
    cmwq::delayed_work d{[&] { ++w.runs; }};
    CHECK(one.queue_on(cpu, d) == queue_status::queued); // waits behind the running item
    caller item_flush([&] { d.flush(); });
    caller queue_flush([&] { one.flush(); });
    CHECK(item_flush.waits());
    CHECK(queue_flush.waits());
    CHECK(one.modify(1h, d) == queue_status::modified);
    CHECK(item_flush.returns());
    CHECK(w.runs == 0);
    CHECK(d.pending());
    g.open();
    CHECK(queue_flush.returns()); // it has waited for the item of the gate, and waits for no timer
    CHECK(w.runs == 0);
    CHECK(d.pending());
}

POLICY_TEST_CASE("delayed: cancel removes the timer and flush runs the item at once", "", every_policy) {
    world w{policy};
    cmwq::delayed_work d{[&] { ++w.runs; }};
    w.q.queue_after(10ms, d);
    CHECK(d.cancel());
    CHECK_FALSE(d.pending());
    CHECK(w.after(1h) == 0);
    w.q.queue_after(10ms, d);
    CHECK(d.cancel_sync());
    CHECK(w.after(1h) == 0);
    w.q.queue_after(10ms, d);
    CHECK(d.flush());
    CHECK(w.runs == 1);
    CHECK(w.after(1h) == 1);
    w.q.queue_after(10ms, d);
    CHECK(d.disable());
    CHECK(w.q.queue_after(10ms, d) == queue_status::disabled);
    CHECK(w.after(1h) == 1);
    d.enable();
}

// proves: life-4
POLICY_TEST_CASE("delayed: flush of a queue ignores its armed timers; drain and the destructor run their items at once",
                 "", every_policy) {
    world w{policy};
    cmwq::delayed_work d{[&] { ++w.runs; }};
    {
        any_queue q{policy, w.rt, "drained"};
        q.queue_after(1h, d);
        q.flush();
        CHECK(w.runs == 0);
        q.drain();
        CHECK(w.runs == 1);
        CHECK(q.queue_after(1h, d) == queue_status::queued);
    }
    CHECK(w.runs == 2);
    CHECK_FALSE(d.busy());
    CHECK(w.after(2h) == 2);
}

POLICY_TEST_CASE("delayed: a drain ends although an item tries to arm its own timer again and again", "",
                 every_policy) {
    world w{policy};
    std::atomic<int> rejected{0};
    cmwq::delayed_work<std::function<void()>> beat{[&] {
        ++w.runs;
        if (w.q.queue_after(10ms, beat) == queue_status::rejected) ++rejected;
    }};
    w.q.queue_after(10ms, beat);
    CHECK(w.after(10ms) == 1);
    CHECK(w.after(10ms) == 2);
    w.q.drain();
    CHECK(w.runs == 3);
    CHECK(rejected == 1);
    CHECK_FALSE(beat.pending());
}

POLICY_TEST_CASE("delayed: the destructor of a delayed item removes its timer", "", every_policy) {
    world w{policy};
    {
        cmwq::delayed_work d{[&] { ++w.runs; }};
        w.q.queue_after(10ms, d);
    }
    CHECK(w.after(1h) == 0);
}

POLICY_TEST_CASE("delayed: every operation finds a timer whatever CPU it is armed for", "", every_policy) {
    world w{policy};
    using item = cmwq::delayed_work<std::function<void()>>;
    std::deque<item> items;
    const auto arm_one_on_each_cpu = [&](cmwq::workqueue_base& q) {
        items.clear();
        for (const unsigned cpu : w.rt.cpus()) {
            items.emplace_back([&] { ++w.runs; });
            REQUIRE(q.queue_after_on(cpu, 10ms, items.back()) == queue_status::queued);
        }
        w.runs = 0;
    };
    const int all = static_cast<int>(w.rt.cpus().size());
    arm_one_on_each_cpu(w.q);
    CHECK(w.after(10ms) == all);
    arm_one_on_each_cpu(w.q);
    for (item& i : items) CHECK(i.cancel());
    CHECK(w.after(10ms) == 0);
    arm_one_on_each_cpu(w.q);
    for (item& i : items) CHECK(w.q.modify(20ms, i) == queue_status::modified); // to the CPU of this thread
    CHECK(w.after(19ms) == 0);
    CHECK(w.after(1ms) == all);
    arm_one_on_each_cpu(w.q);
    for (item& i : items) CHECK(i.flush());
    CHECK(w.runs == all);
    arm_one_on_each_cpu(w.q);
    items.clear(); // the destructors
    CHECK(w.after(10ms) == 0);
    arm_one_on_each_cpu(w.q);
    w.q.drain();
    CHECK(w.runs == all);
    {
        any_queue q{policy, w.rt, "short-lived"};
        arm_one_on_each_cpu(q);
    }
    CHECK(w.runs == all);
    any_queue q{policy, w.rt, "shut"};
    arm_one_on_each_cpu(q);
    CHECK(q.shutdown(cmwq::cancel_pending) == items.size());
    CHECK(w.after(10ms) == 0);
}

// proves: progress-17
POLICY_TEST_CASE("delayed: many timers near and far away fire at their times and no other", "", every_policy) {
    world w{policy};
    std::mt19937_64 random(seed());
    struct timed {
        explicit timed(world& of) : item([this, &of] { ran_at = of.clock.now(), ++of.runs; }) {}
        cmwq::delayed_work<std::function<void()>> item;
        std::int64_t due = 0;
        std::atomic<std::int64_t> ran_at{0};
    };
    std::deque<timed> timers;
    const auto delay = [&] { // from nanoseconds to some ten years, and often equal
        const auto ns = static_cast<std::int64_t>(random() >> (4 + random() % 56));
        return std::chrono::nanoseconds{random() % 2 == 0 ? ns + 1 : (ns / 1'000'000 + 1) * 1'000'000};
    };
    const auto cpu = [&] { return w.rt.cpus().next(static_cast<unsigned>(random() % w.rt.cpus().size())); };
    for (int i = 0; i < 500; ++i) {
        timed& t = timers.emplace_back(w);
        const auto d = delay();
        t.due = w.clock.now() + d.count();
        REQUIRE(w.q.queue_after_on(cpu(), d, t.item) == queue_status::queued);
    }
    int expected = 500;
    for (std::size_t i = 0; i < timers.size(); i += 3) {
        if (i % 2 == 0) {
            const auto d = delay();
            timers[i].due = w.clock.now() + d.count();
            REQUIRE(w.q.modify(d, timers[i].item) == queue_status::modified);
        } else {
            REQUIRE(timers[i].item.cancel());
            timers[i].due = INT64_MAX;
            --expected;
        }
    }
    std::int64_t before = w.clock.now();
    for (int jump = 0; jump < 64 && w.runs < expected; ++jump) {
        w.after(std::chrono::nanoseconds{std::int64_t{1} << std::min(jump, 60)});
        for (const timed& t : timers) {
            const bool now_due = t.due > before && t.due <= w.clock.now();
            REQUIRE((t.ran_at == w.clock.now()) == now_due);
        }
        before = w.clock.now();
    }
    CHECK(w.runs == expected);
}

// The timers of a CPU expire in the order of their deadlines. Those of different CPUs do so as well, but one that is
// due does not wait until a flood of earlier ones of another CPU has been served.
// proves: progress-18
TEST_CASE("delayed: a flood of timers on one CPU does not keep back a timer of another CPU") {
    const cmwq::topology machine = cmwq::topology::synthetic("core:2 pu:1");
    cmwq::testing::manual_clock clock;
    cmwq::runtime rt{{.machine = machine, .clock = &clock}};
    // One pool, and one item at a time: the items run in the order in which the timers have queued them.
    cmwq::workqueue<cmwq::unbound> q{
        rt, {.name = "q", .max_active = 1, .attrs = cmwq::attrs{}.affinity(cmwq::affinity_scope::system)}};
    constexpr int many = 5'000;
    std::vector<int> order;
    std::deque<cmwq::delayed_work<std::function<void()>>> flood;
    for (int i = 0; i < many; ++i) {
        flood.emplace_back([&order, i] { order.push_back(i); });
        q.queue_after_on(0, 1ms, flood.back());
    }
    cmwq::delayed_work other{[&] { order.push_back(many); }};
    q.queue_after_on(1, 2ms, other);
    clock.advance(3ms);
    q.flush();
    REQUIRE(order.size() == many + 1);
    const auto at = std::find(order.begin(), order.end(), many);
    CHECK(at - order.begin() <= 300);
    order.erase(at);
    CHECK(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE("delayed: timers of several CPUs fire in the order of their deadlines when the clock jumps") {
    // One pool and one active item, so that the items run in the order in which they were queued.
    cmwq::testing::manual_clock clock;
    cmwq::runtime rt{{.clock = &clock}};
    cmwq::workqueue<cmwq::unbound> q{
        rt, {.name = "q", .max_active = 1, .attrs = cmwq::attrs{}.affinity(cmwq::affinity_scope::system)}};
    using item = cmwq::delayed_work<std::function<void()>>;
    std::deque<item> items;
    std::vector<int> order, expected;
    constexpr int many = 200;
    for (int i = 0; i < many; ++i) {
        items.emplace_back([&order, i] { order.push_back(i); });
        const unsigned cpu = rt.cpus().next(static_cast<unsigned>(i) % static_cast<unsigned>(rt.cpus().size()));
        q.queue_after_on(cpu, std::chrono::milliseconds{many - i}, items.back());
        expected.insert(expected.begin(), i);
    }
    clock.advance(1s);
    q.flush();
    CHECK(order == expected);
}

// proves: progress-17
TEST_CASE("delayed: equal timers of an ordered queue fire in the order of arming whatever CPU they are armed for") {
    cmwq::testing::manual_clock clock;
    cmwq::runtime rt{{.clock = &clock}};
    cmwq::workqueue<cmwq::ordered> q{rt, "q"};
    using item = cmwq::delayed_work<std::function<void()>>;
    std::deque<item> items;
    std::vector<int> order, expected;
    for (int round = 0; round < 20; ++round) {
        for (const unsigned cpu : rt.cpus()) {
            const int i = static_cast<int>(items.size());
            items.emplace_back([&order, i] { order.push_back(i); });
            q.queue_after_on(cpu, 10ms, items.back());
            expected.push_back(i);
        }
    }
    std::rotate(expected.begin(), expected.end() - 1, expected.end());
    q.modify(5ms, items.back()); // now the first
    clock.advance(1s);
    q.flush();
    CHECK(order == expected);
}

POLICY_TEST_CASE("delayed: an item that arms its timer in each run does so once for each time", "", every_policy) {
    world w{policy};
    cmwq::delayed_work<std::function<void()>> beat{[&] {
        ++w.runs;
        w.q.modify(10ms, beat);
    }};
    w.q.queue_after(10ms, beat);
    for (int i = 1; i <= 50; ++i) CHECK(w.after(10ms) == i);
    CHECK(beat.cancel_sync());
    CHECK(w.after(1h) == 50);
}

POLICY_TEST_CASE("delayed: flush() runs an item that arms its timer in each run once", "", every_policy) {
    world w{policy};
    cmwq::delayed_work<std::function<void()>> d{[&] {
        ++w.runs;
        w.q.queue_after(1h, d);
    }};
    w.q.queue_after(1h, d);
    for (int n = 1; n <= 1000; ++n) {
        CHECK(d.flush());
        REQUIRE(w.runs == n);
    }
}

POLICY_TEST_CASE("delayed: a caller on a CPU that the runtime does not use arms and cancels timers", "", every_policy) {
    const cmwq::cpuset mine = cpus_of_this_task();
    cmwq::testing::manual_clock clock;
    cmwq::runtime_options o;
    o.cpus = cmwq::cpuset{*mine.begin()};
    o.clock = &clock;
    cmwq::runtime rt{std::move(o)};
    any_queue q{policy, rt, "q"};
    std::atomic<int> runs{0};
    for (const unsigned cpu : mine) {
        std::thread([&] {
            static_cast<void>(cmwq::detail::bind_this_thread(cmwq::cpuset{cpu}));
            cmwq::delayed_work fires{[&] { ++runs; }};
            cmwq::delayed_work does_not{[&] { ++runs; }};
            CHECK(q.queue_after(10ms, fires) == queue_status::queued);
            CHECK(q.queue_after(5ms, does_not) == queue_status::queued);
            CHECK(does_not.cancel());
            clock.advance(10ms);
            q.flush();
            CHECK(runs.exchange(0) == 1);
        }).join();
    }
}

POLICY_TEST_CASE("delayed: the service thread wakes for an earlier timer of any CPU on the real clock", "",
                 every_policy) {
    cmwq::runtime rt;
    any_queue q{policy, rt, "q"};
    std::counting_semaphore<> ran{0};
    cmwq::delayed_work never{[] {}};
    q.queue_after(1h, never);
    for (const unsigned cpu : rt.cpus()) {
        cmwq::delayed_work d{[&] { ran.release(); }};
        q.queue_after_on(cpu, 1ms, d);
        ran.acquire();
        q.flush(); // the item is destroyed after its run
    }
    CHECK(never.cancel());
}

POLICY_TEST_CASE("delayed: timers also fire on the real clock", "", every_policy) {
    const without_clock_jumps here; // this test measures with a clock that does not jump
    any_queue q{policy, "q"};
    std::binary_semaphore ran{0};
    cmwq::delayed_work d{[&] { ran.release(); }};
    const auto start = std::chrono::steady_clock::now();
    q.queue_after(5ms, d);
    ran.acquire();
    CHECK(std::chrono::steady_clock::now() - start >= 5ms);
}

// proves: life-22
POLICY_TEST_CASE("delayed: surplus idle workers end after the idle timeout until the baseline is left", "",
                 limited_policies) {
    cmwq::testing::manual_clock clock;
    cmwq::runtime rt{{.idle_timeout = 30s, .clock = &clock}};
    any_queue q{policy, rt, "q"};
    const unsigned cpu = *rt.cpus().begin();
    constexpr int many = 20;
    std::counting_semaphore<> entered{0}, leave{0};
    for (int i = 0; i < many; ++i) {
        q.post_on(cpu, [&] {
            entered.release();
            leave.acquire();
        });
    }
    for (int i = 0; i < many; ++i) entered.acquire();
    CHECK(rt.stats().threads >= many);
    leave.release(many);
    q.flush();
    clock.advance(29s);
    CHECK(rt.stats().threads >= many);
    // The last worker may become idle a moment after the flush, so time must pass again for it.
    CHECK(eventually([&] {
        clock.advance(30s);
        return rt.stats().threads == 2;
    }));
    std::atomic<int> runs{0};
    for (int i = 0; i < 5; ++i) q.post_on(cpu, [&] { ++runs; });
    q.flush();
    CHECK(runs == 5);
}

namespace {

/// A simulated machine in which each CPU is a pod. Two of the CPUs exist. On a simulated machine the library binds no
/// thread, so an item can choose the CPU on which it ends: in the pod of `inside` or elsewhere.
struct two_pods {
    explicit two_pods(std::chrono::nanoseconds idle_timeout) {
        const cmwq::cpuset mine = cpus_of_this_task();
        if (mine.size() < 2) return;
        inside = *mine.begin();
        outside = mine.next(inside + 1);
        cmwq::runtime_options o;
        o.idle_timeout = idle_timeout;
        o.default_scope = cmwq::affinity_scope::cpu;
        o.clock = &clock;
        o.machine = cmwq::topology::synthetic("core:" + std::to_string(outside + 1) + " pu:1");
        rt.emplace(std::move(o));
    }
    static void end_on(unsigned cpu) { static_cast<void>(cmwq::detail::bind_this_thread(cmwq::cpuset{cpu})); }

    cmwq::testing::manual_clock clock;
    unsigned inside = 0, outside = 0;
    std::optional<cmwq::runtime> rt; // empty if there is only one CPU
};

/// An item that waits until the test chooses the CPU on which it ends.
struct held_item {
    std::binary_semaphore entered{0}, leave{0};
    std::thread::id runner;
    unsigned ends_on = 0;
    void operator()() {
        runner = std::this_thread::get_id();
        entered.release();
        {
            const cmwq::blocking_region announced;
            leave.acquire();
        }
        two_pods::end_on(ends_on);
    }
};

} // namespace

POLICY_TEST_CASE("delayed: surplus workers end after the idle timeout inside and outside of the pod", "",
                 parallel_policies) {
    two_pods m(30s);
    if (!m.rt) return;
    any_queue q{policy, *m.rt, "q"};
    constexpr int many = 20;
    std::deque<held_item> items(many);
    for (held_item& i : items) q.post_on(m.inside, std::ref(i));
    for (held_item& i : items) {
        i.entered.acquire();
        i.ends_on = &i - &items.front() >= many / 2 ? m.inside : m.outside;
    }
    for (held_item& i : items) i.leave.release();
    q.flush();
    CHECK(m.rt->stats().threads >= many);
    // In each round one worker inside and one worker outside become idle last.
    CHECK(eventually([&] {
        m.clock.advance(20s);
        for (const unsigned cpu : {m.outside, m.inside}) {
            q.post_on(m.inside, [cpu] { two_pods::end_on(cpu); });
            q.flush();
        }
        return m.rt->stats().threads <= 8;
    }));
}

#if CMWQ_SYNC != 1 // injected faults wake workers, which take any item
TEST_CASE("delayed: the last idle worker is woken first; workers in the pod are woken before those elsewhere") {
    two_pods m(30s);
    if (!m.rt) return;
    cmwq::workqueue<cmwq::unbound> q{*m.rt, "q"};
    const auto nr_idle = [&] {
        std::size_t n = 0;
        const auto& pools = cmwq_test::shared_pools_of(*m.rt);
        for (std::size_t i = 0; i < pools.size(); ++i) n += pools.at(i).summary().idle;
        return n;
    };
    constexpr int many = 6;
    std::deque<held_item> first(many), second(many);
    for (held_item& i : first) {
        q.post_on(m.inside, std::ref(i));
        i.entered.acquire();
    }
    CHECK(eventually([&] { return nr_idle() == 1; })); // the spare worker, which has run no item
    std::vector<std::thread::id> inside, outside;
    for (held_item& i : first) {
        const bool here = inside.size() == outside.size();
        i.ends_on = here ? m.inside : m.outside;
        (here ? inside : outside).push_back(i.runner);
        i.leave.release();
        CHECK(eventually([&] { return nr_idle() == 1 + inside.size() + outside.size(); }));
    }
    std::vector<std::thread::id> expected(inside.rbegin(), inside.rend()), order;
    expected.insert(expected.end(), outside.rbegin(), outside.rend());
    for (held_item& i : second) {
        i.ends_on = m.inside;
        q.post_on(m.inside, std::ref(i));
        i.entered.acquire();
        order.push_back(i.runner);
    }
    CHECK(order == expected);
    for (held_item& i : second) i.leave.release();
    q.flush();
}
#endif
