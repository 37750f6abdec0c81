// SPDX-License-Identifier: BSL-1.0
//
// The promises of delayed items on every queue. The clock moves only when the test advances it.
#include "caller.hpp"
#include "catch.hpp"
#include "core_of.hpp"
#include "eventually.hpp"
#include "faults.hpp"
#include "gate.hpp"
#include "policy_list.hpp"
#include "this_task.hpp"

#include <cmwq/cmwq.hpp>
#include <cmwq/testing/manual_clock.hpp>

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using cmwq::queue_status;
using namespace cmwq_test;

namespace {

template <class P>
struct world {
    cmwq::testing::manual_clock clock;
    cmwq::runtime rt{{.clock = &clock}};
    cmwq::workqueue<P> q{rt, "q"};
    std::atomic<int> runs{0};

    // Items that are due are queued when advance() returns; the flush waits for them.
    int after(std::chrono::nanoseconds d) {
        clock.advance(d);
        q.flush();
        return runs;
    }
};

} // namespace

TEMPLATE_LIST_TEST_CASE("delayed: a delayed item runs at its time and not earlier", "", every_policy) {
    world<TestType> w;
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

TEMPLATE_LIST_TEST_CASE("delayed: a delay of zero or less queues at once", "", every_policy) {
    world<TestType> w;
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

TEMPLATE_LIST_TEST_CASE(
    "delayed: timers fire in the order of their deadlines and equal ones in the order of their arming", "",
    every_policy) {
    world<TestType> w;
    cmwq::workqueue<TestType> one{w.rt, at_most<TestType>(1, "one")};
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

TEMPLATE_LIST_TEST_CASE("delayed: modify sets a new time for an idle item and for a pending item", "", every_policy) {
    world<TestType> w;
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

TEMPLATE_LIST_TEST_CASE("delayed: modify takes a pending item from another queue", "", every_policy) {
    world<TestType> w;
    cmwq::workqueue<TestType> one{w.rt, at_most<TestType>(1, "one")};
    const unsigned cpu = *w.rt.cpus().begin();
    gate<TestType> g;
    g.hold(one, cpu);
    cmwq::delayed_work d{[&] { ++w.runs; }};
    CHECK(one.queue_on(cpu, d) == queue_status::queued); // waits at the limit
    CHECK(w.q.modify(10ms, d) == queue_status::modified);
    g.open();
    one.flush();
    CHECK(w.runs == 0);
    CHECK(w.after(10ms) == 1);
}

TEMPLATE_LIST_TEST_CASE("delayed: modify ends a flush of the item and a flush of its queue without a run", "",
                        every_policy) {
    world<TestType> w;
    cmwq::workqueue<TestType> one{w.rt, at_most<TestType>(1, "one")};
    const unsigned cpu = *w.rt.cpus().begin();
    gate<TestType> g;
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

TEMPLATE_LIST_TEST_CASE("delayed: cancel removes the timer and flush runs the item at once", "", every_policy) {
    world<TestType> w;
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

TEMPLATE_LIST_TEST_CASE(
    "delayed: flush of a queue ignores its armed timers; drain and the destructor run their items at once", "",
    every_policy) {
    world<TestType> w;
    cmwq::delayed_work d{[&] { ++w.runs; }};
    {
        cmwq::workqueue<TestType> q{w.rt, "drained"};
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

TEMPLATE_LIST_TEST_CASE("delayed: a drain ends although an item tries to arm its own timer again and again", "",
                        every_policy) {
    world<TestType> w;
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

TEMPLATE_LIST_TEST_CASE("delayed: the destructor of a delayed item removes its timer", "", every_policy) {
    world<TestType> w;
    {
        cmwq::delayed_work d{[&] { ++w.runs; }};
        w.q.queue_after(10ms, d);
    }
    CHECK(w.after(1h) == 0);
}

TEMPLATE_LIST_TEST_CASE("delayed: timers also fire on the real clock", "", every_policy) {
    const without_clock_jumps here; // this test measures with a clock that does not jump
    cmwq::workqueue<TestType> q{"q"};
    std::binary_semaphore ran{0};
    cmwq::delayed_work d{[&] { ran.release(); }};
    const auto start = std::chrono::steady_clock::now();
    q.queue_after(5ms, d);
    ran.acquire();
    CHECK(std::chrono::steady_clock::now() - start >= 5ms);
}

TEMPLATE_LIST_TEST_CASE("delayed: surplus idle workers end after the idle timeout until the baseline is left", "",
                        limited_policies) {
    cmwq::testing::manual_clock clock;
    cmwq::runtime rt{{.idle_timeout = 30s, .clock = &clock}};
    cmwq::workqueue<TestType> q{rt, "q"};
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
    int rounds = 0;
    while (rt.stats().threads > 2 && ++rounds < 1000) clock.advance(30s);
    CHECK(rt.stats().threads == 2);
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

TEMPLATE_LIST_TEST_CASE("delayed: surplus workers end after the idle timeout inside and outside of the pod", "",
                        parallel_policies) {
    two_pods m(30s);
    if (!m.rt) return;
    cmwq::workqueue<TestType> q{*m.rt, "q"};
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
    int rounds = 0;
    while (m.rt->stats().threads > 8 && ++rounds < 50) {
        m.clock.advance(20s);
        for (const unsigned cpu : {m.outside, m.inside}) {
            q.post_on(m.inside, [cpu] { two_pods::end_on(cpu); });
            q.flush();
        }
    }
    CHECK(m.rt->stats().threads <= 8);
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
