// SPDX-License-Identifier: BSL-1.0
//
// runtime_options::max_threads: never more workers, nothing lost for want of them, and who counts.
#include "catch.hpp"
#include "eventually.hpp"
#include "policy_list.hpp"
#include "scarce_threads.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <semaphore>

using namespace cmwq_test;
using kind = cmwq::event::kind;

namespace {

/// All workers that there may be, each blocked in an item until `leave` is released for it.
template <class P>
struct crowd {
    static constexpr unsigned limit = 4;

    crowd() {
        for (unsigned i = 0; i < 2 * limit; ++i) {
            q.post_on(cpu, [&] {
                ++inside;
                const cmwq::blocking_region region; // says so, and a spare is asked for: not an error
                leave.acquire();
            });
        }
        REQUIRE(eventually([&] { return inside == int{limit}; }));
    }
    void end() {
        leave.release(2 * limit);
        q.flush();
    }

    event_log events;
    cmwq::runtime rt{{.max_threads = limit, .on_event = events.listener()}};
    unsigned cpu = *rt.cpus().begin();
    std::atomic<int> inside{0};
    std::counting_semaphore<> leave{0};
    cmwq::workqueue<P> q{rt, "crowd"};
};

} // namespace

TEMPLATE_LIST_TEST_CASE("thread limit: what needs one more worker waits for it, it is told once, and all runs", "",
                        crowded_policies) {
    crowd<TestType> c;
    CHECK(eventually([&] { return c.events.count(kind::thread_limit) == 1; }));
    c.end();
    CHECK(c.inside == 2 * int{c.limit});
    CHECK(c.rt.stats().peak_threads == c.limit);
    CHECK(c.events.count(kind::thread_limit) == 1);
    CHECK(c.events.count(kind::no_thread) == 0); // the system has refused nothing
}

TEMPLATE_LIST_TEST_CASE("thread limit: a queue with a rescuer goes on when all workers are blocked", "",
                        crowded_policies) {
    crowd<TestType> c;
    cmwq::workqueue<TestType> helped{c.rt, with_rescuer<TestType>()};
    std::atomic<int> rescued{0};
    for (int i = 0; i < 100; ++i) helped.post_on(c.cpu, [&] { rescued += cmwq::this_work::on_rescuer() ? 1 : 0; });
    helped.flush();
    CHECK(rescued == 100);
    CHECK(c.inside == int{c.limit});
    c.end();
    CHECK(c.inside == 2 * int{c.limit});
    CHECK(c.rt.stats().peak_threads == c.limit);
}

TEMPLATE_LIST_TEST_CASE("thread limit: one worker is enough for the pools of all CPUs", "", threaded_policies) {
    cmwq::runtime rt{{.max_threads = 1}};
    cmwq::workqueue<TestType> q{rt, "q"};
    std::atomic<int> runs{0};
    int posted = 0;
    for (int round = 0; round < 5; ++round) {
        for (const unsigned cpu : rt.cpus()) {
            for (int i = 0; i < 20; ++i, ++posted) q.post_on(cpu, [&] { ++runs; });
        }
        q.flush();
        CHECK(runs == posted);
    }
    CHECK(rt.stats().peak_threads == 1);
}

TEMPLATE_LIST_TEST_CASE("thread limit: a pool gets the worker that another one has idle", "", keyed_policies) {
    cmwq::runtime rt{{.max_threads = 2}};
    cmwq::workqueue<TestType> q{rt, "q"}, nice{rt, "nice"};
    nice.apply(cmwq::attrs{}.nice(1)); // another pool
    std::atomic<int> runs{0};
    for (int round = 1; round <= 20; ++round) {
        cmwq::workqueue<TestType>& next = round % 2 == 0 ? q : nice;
        for (int i = 0; i < 5; ++i) next.post([&] { ++runs; });
        next.flush();
        CHECK(runs == 5 * round);
    }
    CHECK(rt.stats().peak_threads <= 2);
}

TEST_CASE("thread limit: the threads of bottom halves do not count") {
    cmwq::runtime rt{{.max_threads = 1}};
    std::atomic<int> ran{0};
    cmwq::workqueue<cmwq::bh> fast{rt, "fast"};
    // All but the one for this CPU, or all if this thread moves, run in threads of their own.
    for (int n = 1; n <= 2; ++n) {
        for (const unsigned cpu : rt.cpus()) fast.post_on(cpu, [&] { ++ran; });
    }
    fast.flush();
    CHECK(ran == 2 * static_cast<int>(rt.cpus().size()));
    const unsigned before = rt.stats().threads;

    cmwq::workqueue<cmwq::unbound> q{rt, "q"};
    std::atomic<bool> has_run{false};
    q.post([&] { has_run = true; });
    CHECK(eventually([&] { return has_run.load(); }));
    CHECK(rt.stats().threads == before + 1);
    if (!has_run) std::abort(); // the queue would wait for ever
}
