// SPDX-License-Identifier: BSL-1.0
//
// The promises of every queue: limits, order, flush, drain, destruction.
#include "any_queue.hpp"
#include "catch.hpp"
#include "eventually.hpp"
#include "faults.hpp"
#include "gate.hpp"
#include "policy_list.hpp"
#include "policy_test_case.hpp"
#include "stress.hpp"

#include <cmwq/cmwq.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using cmwq::queue_status;
using namespace cmwq_test;

namespace {

// An item of the queue runs during the lifetime of this object.
class occupied {
public:
    explicit occupied(any_queue& q) { g_.hold(q); }
    void end() { g_.open(); }

private:
    gate g_;
};

// A pool of this policy on one CPU starts an item when the one before it has ended or blocked.
bool runs_one_by_one(const any_policy& p) { return p.is_managed && !p.runs_one_at_a_time; }

} // namespace

TEST_CASE("queues: an invalid priority is refused and its value is named; no queue is made") {
    constexpr auto refused = [](auto o, unsigned value, auto make) {
        o.priority = static_cast<cmwq::priority>(value);
        CHECK_THROWS_AS(make(o), std::invalid_argument);
        CHECK_THROWS_WITH(make(o), Catch::Contains("priority") && Catch::Contains(std::to_string(value)));
    };
    for (const unsigned value : {3u, 77u, 255u}) {
        refused(cmwq::options<cmwq::bound>{.name = "q"}, value,
                [](auto& o) { cmwq::workqueue<cmwq::bound>{{.name = "q", .priority = o.priority}}; });
        refused(cmwq::options<cmwq::bound>{.name = "q"}, value, [](auto& o) {
            cmwq::workqueue<cmwq::bound>{{.name = "q", .priority = o.priority, .power_efficient = true}};
        });
        refused(cmwq::options<cmwq::bh>{.name = "q"}, value,
                [](auto& o) { cmwq::workqueue<cmwq::bh>{{.name = "q", .priority = o.priority}}; });
    }
}

POLICY_TEST_CASE("queues: items queued on a CPU run in queueing order if they run one at a time", "", every_policy) {
    any_queue one{policy, at_most(policy, 1, "one")};
    std::vector<int> order; // not atomic: one item runs at a time
    for (int i = 0; i < 1000; ++i) one.post_on(first_cpu(), [&order, i] { order.push_back(i); });
    one.flush();
    REQUIRE(order.size() == 1000);
    CHECK(std::is_sorted(order.begin(), order.end()));
}

namespace {

// The number of items of a queue with a long backlog that start before an item of another queue of the same pool runs,
// beyond its active items. The items that started before the other queue got its item do not count.
int backlog_that_overtakes(const any_policy& policy, unsigned limit) {
    // These settings exclude that an item starts beside one that is overdue, or is a CPU hog, or seems to be blocked.
    cmwq::runtime rt{{.cpus = {first_cpu()}, .cpu_hog_threshold = {}, .overdue_after = {}}};
    any_queue busy{policy, rt, at_most(policy, limit, "busy")}, other{policy, rt, "other"};
    std::atomic<int> started{0};
    std::atomic<bool> go{false};
    for (int i = 0; i < 5000; ++i) {
        busy.post([&] {
            ++started;
            while (!go) std::this_thread::yield();
            if (!runs_one_by_one(policy)) stress::burn(20'000);
        });
    }
    CHECK(eventually([&] { return started > 0; }));
    cmwq::work last{[] {}};
    busy.queue(last);
    CHECK(last.cancel()); // the pool has accepted it, so all items queued before wait at the limit now
    int seen = 0;
    cmwq::work item{[&] { seen = started; }};
    other.queue(item);
    const int before = started;
    go = true;
    item.flush();
    busy.flush();
    CHECK(started == 5000);
    return seen - before - static_cast<int>(std::min(limit, busy.max_active()));
}

} // namespace

// The two queues have the same policy and use one CPU, so they share a pool.
// proves: progress-6
POLICY_TEST_CASE("queues: the backlog of one queue delays another queue by its active items at most", "[timing]",
                 threaded_policies) {
    const unsigned limit = GENERATE(1u, 16u);
    const cmwq_test::without_naps no_naps;
    const cmwq_test::without_clock_jumps no_jumps;
    if (runs_one_by_one(policy)) {
        CHECK(backlog_that_overtakes(policy, limit) <= 0);
    } else {
        // The worker that has taken the item may lose its CPU before it runs it, while other workers continue. This
        // does not happen every time.
        constexpr int allowance = 1000;
        int overtook = backlog_that_overtakes(policy, limit);
        for (int round = 1; round < 20 && overtook > allowance; ++round)
            overtook = backlog_that_overtakes(policy, limit);
        CHECK(overtook <= allowance);
    }
}

POLICY_TEST_CASE("queues: set_max_active takes effect at once: raising starts waiting items; lowering stops none", "",
                 limited_policies) {
    any_queue q{policy, at_most(policy, 1, "q")};
    CHECK(q.max_active() == 1);
    std::counting_semaphore<> entered{0}, leave{0};
    std::atomic<int> inside{0};
    for (int i = 0; i < 5; ++i) {
        q.post_on(first_cpu(), [&] {
            ++inside;
            entered.release();
            leave.acquire();
            --inside;
        });
    }
    entered.acquire();
    CHECK(inside == 1);
    q.set_max_active(3);
    entered.acquire();
    entered.acquire();
    CHECK(inside == 3);
    q.set_max_active(2);
    CHECK(inside == 3);
    leave.release(); // two items are left, so no other item starts
    CHECK(eventually([&] { return q.stats().completed == 1; }));
    CHECK(q.stats().started == 3);
    leave.release(4);
    q.flush();
    CHECK(q.stats().completed == 5);
}

POLICY_TEST_CASE("queues: an impossible max_active is refused by the call and nothing changes", "", limited_policies) {
    CHECK_THROWS_AS(any_queue(policy, at_most(policy, 0, "q")), std::invalid_argument);
    CHECK_THROWS_AS(any_queue(policy, at_most(policy, 2049, "q")), std::invalid_argument);
    any_queue q{policy, at_most(policy, 2048, "q")};
    CHECK_THROWS_AS(q.set_max_active(0), std::invalid_argument);
    CHECK_THROWS_AS(q.set_max_active(2049), std::invalid_argument);
    CHECK_THROWS_AS(q.set_max_active(1'000'000'000), std::invalid_argument);
    CHECK(q.max_active() == 2048);
    try {
        q.set_max_active(0);
    } catch (const std::invalid_argument& e) {
        CHECK(std::string(e.what()).find("1 to 2048") != std::string::npos);
    }
}

// proves: kernel-20
POLICY_TEST_CASE("queues: a limit that is fixed by the policy cannot be changed", "", every_policy) {
    any_queue q{policy, "q"};
    cmwq::workqueue_base& base = q;
    CHECK(base.max_active() == policy.default_max_active);
    if (policy.has_limit) {
        base.set_max_active(7);
        CHECK(base.max_active() == 7);
    } else {
        CHECK_THROWS_AS(base.set_max_active(1), std::invalid_argument);
        CHECK_THROWS_AS(base.set_max_active(7), std::invalid_argument);
        CHECK(base.max_active() == 1);
    }
    std::atomic<int> runs{0};
    cmwq::work w{[&] { ++runs; }};
    q.queue(w);
    w.flush();
    CHECK(runs == 1);
}

POLICY_TEST_CASE("queues: a constructor that fails leaves the exception handler with its owner", "", limited_policies) {
    const auto counted = std::make_shared<int>(0);
    {
        any_options o = at_most(policy, 0, "q");
        o.on_exception = [counted](std::exception_ptr) {};
        CHECK(counted.use_count() == 2);
        CHECK_THROWS_AS(any_queue(policy, std::move(o)), std::invalid_argument);
    }
    CHECK(counted.use_count() == 1);
}

TEMPLATE_LIST_TEST_CASE("queues: a queue keeps its whole name; a queue without a name has the name of its policy", "",
                        every_policy) {
    const std::string name(200, 'n');
    cmwq::workqueue<TestType> q{name};
    CHECK(q.name() == name);
    cmwq::workqueue<TestType> nameless{cmwq::options<TestType>{}};
    CHECK(nameless.name() == TestType::name);
    cmwq::workqueue<TestType> by_default;
    CHECK(by_default.name() == TestType::name);
    cmwq::runtime rt;
    cmwq::workqueue<TestType> of_runtime{rt};
    CHECK(of_runtime.name() == TestType::name);
}

// proves: kernel-31
POLICY_TEST_CASE("queues: flush covers all items that were queued before on every CPU including waiting items", "",
                 every_policy) {
    any_queue q{policy, at_most(policy, 2, "q")};
    const int expected = 20 * static_cast<int>(cmwq::runtime::global().cpus().size());
    for (int round = 0; round < 20; ++round) {
        std::atomic<int> runs{0};
        for (const unsigned cpu : cmwq::runtime::global().cpus()) {
            for (int i = 0; i < 20; ++i) q.post_on(cpu, [&] { ++runs; });
        }
        q.flush();
        CHECK(runs == expected);
    }
}

POLICY_TEST_CASE("queues: flush does not wait for items that are queued later", "", every_policy) {
    any_queue q{policy, "q"};
    std::atomic<bool> stop{false};
    std::atomic<int> runs{0};
    cmwq::work<std::function<void()>> self{[&] {
        ++runs;
        if (!stop) q.queue(self);
    }};
    q.queue(self);
    for (int i = 0; i < 100; ++i) q.flush(); // would never return if it waited for later items
    stop = true;
    q.drain();
    CHECK(runs > 0);
}

POLICY_TEST_CASE("queues: the number of threads that flush at once may exceed the number of colors", "", every_policy) {
    any_queue q{policy, at_most(policy, 4, "q")};
    std::atomic<int> failures{0};
    std::vector<std::thread> flushers;
    for (int t = 0; t < 40; ++t) {
        flushers.emplace_back([&] {
            for (int i = 0; i < 20; ++i) {
                std::atomic<bool> ran{false};
                q.post([&] { ran = true; });
                q.flush();
                if (!ran) ++failures;
            }
        });
    }
    for (auto& t : flushers) t.join();
    CHECK(failures == 0);
}

// proves: kernel-12
POLICY_TEST_CASE("queues: drain waits for chained items and rejects other items meanwhile", "", every_policy) {
    any_queue q{policy, "q"};
    std::binary_semaphore entered{0};
    std::counting_semaphore<> leave{0};
    std::atomic<int> chained{0}, refused{0};
    std::function<void(int)> chain = [&](int left) {
        ++chained;
        if (left > 0 && q.post([&chain, left] { chain(left - 1); }) != queue_status::queued) ++refused;
    };
    const call_from_aside caller(policy, [&] {
        q.post([&] {
            entered.release();
            wait_in_item(policy, leave);
            chain(9);
        });
    });
    entered.acquire();
    std::thread drainer([&] { q.drain(); });
    std::atomic<int> foreign{0};
    cmwq::work stranger{[&] { ++foreign; }};
    int accepted = 0;
    CHECK(eventually([&] {
        const queue_status s = q.queue(stranger);
        accepted += s == queue_status::queued ? 1 : 0;
        return s == queue_status::rejected;
    }));
    CHECK(q.post([&] { ++foreign; }) == queue_status::rejected); // and its closure is destroyed
    leave.release();
    drainer.join();
    CHECK(chained == 10);
    CHECK(refused == 0);
    CHECK(foreign <= accepted); // several calls before the drain may have led to one run
    CHECK_FALSE(stranger.pending());
    CHECK(q.queue(stranger) == queue_status::queued); // after the drain it accepts items again
    q.flush();
}

// proves: life-4
POLICY_TEST_CASE("queues: the destructor runs every accepted item including chained and waiting ones", "",
                 every_policy) {
    std::atomic<int> runs{0};
    {
        any_queue q{policy, at_most(policy, 1, "q")};
        for (int i = 0; i < 100; ++i) {
            q.post([&] {
                ++runs;
                q.post([&] { ++runs; });
            });
        }
    }
    CHECK(runs == 200);
}

POLICY_TEST_CASE("queues: a queue may be destroyed while its items run and then rejects new items", "", every_policy) {
    std::binary_semaphore entered{0};
    std::counting_semaphore<> leave{0};
    std::atomic<bool> done{false}, in_time{false}, destroyed{false};
    auto q = std::make_unique<any_queue>(policy, "q");
    any_queue& alive = *q;
    any_queue other{policy, "other"};
    const call_from_aside caller(policy, [&] {
        alive.post([&] {
            entered.release();
            wait_in_item(policy, leave);
            done = true;
        });
    });
    entered.acquire();
    std::thread destroyer([&] {
        q.reset();
        in_time = done.load();
        destroyed = true;
    });
    cmwq::work w{[] {}};
    // An item of the queue still runs, so the queue still exists.
    CHECK(eventually([&] { return alive.queue(w) == queue_status::rejected; }));
    CHECK_FALSE(destroyed);
    CHECK(other.queue(w) != queue_status::rejected); // the item can be used as before
    leave.release();
    destroyer.join();
    CHECK(in_time);
    w.flush();
}

// proves: kernel-12
POLICY_TEST_CASE("queues: an unknown CPU is rejected and the item stays as it was", "", every_policy) {
    any_queue q{policy, "q"};
    std::atomic<int> runs{0};
    cmwq::work w{[&] { ++runs; }};
    cmwq::delayed_work d{[&] { ++runs; }};
    CHECK(q.queue_on(1'000'000, w) == queue_status::rejected);
    CHECK(q.queue_on(~0u, w) == queue_status::rejected);
    CHECK(q.queue_after_on(~0u, std::chrono::seconds{1}, d) == queue_status::rejected);
    CHECK(q.post_on(4096, [&] { ++runs; }) == queue_status::rejected);
    CHECK_FALSE(w.busy());
    CHECK_FALSE(d.busy());
    q.flush();
    CHECK(runs == 0);
    CHECK(q.queue(w) == queue_status::queued);
    w.flush();
    CHECK(runs == 1);
}

POLICY_TEST_CASE("queues: post and async own their callables", "", every_policy) {
    const auto token = std::make_shared<int>(0);
    any_queue q{policy, "q"};
    q.post([token] {});
    q.flush();
    CHECK(eventually([&] { return token.use_count() == 1; }));
    auto answer = q.async([token] { return 42; });
    CHECK(answer.get() == 42);
    CHECK_THROWS_AS(q.async([]() -> int { throw std::runtime_error("no"); }).get(), std::runtime_error);
    q.async([] {}).get();
    struct counter {
        std::unique_ptr<int> owned = std::make_unique<int>(7); // not copyable
        int operator()() { return *owned; }
    };
    CHECK(q.async(counter{}).get() == 7);
    CHECK(eventually([&] { return token.use_count() == 1; }));
}

POLICY_TEST_CASE("queues: async on a queue that rejects returns a future with an error", "", every_policy) {
    any_queue q{policy, "q"};
    occupied o{q};
    std::thread drainer([&] { q.drain(); });
    cmwq::work w{[] {}};
    CHECK(eventually([&] { return q.queue(w) == queue_status::rejected; }));
    CHECK_THROWS_AS(q.async([] { return 1; }).get(), std::system_error);
    o.end();
    drainer.join();
}

// proves: life-21
POLICY_TEST_CASE("queues: the handler of the queue gets exceptions and the worker continues", "", every_policy) {
    std::atomic<int> caught{0}, ran{0};
    any_options o;
    o.on_exception = [&](std::exception_ptr e) {
        try {
            std::rethrow_exception(e);
        } catch (const std::runtime_error&) {
            ++caught;
        }
    };
    any_queue q{policy, std::move(o)};
    for (int i = 0; i < 10; ++i) {
        q.post([] { throw std::runtime_error("item"); });
        q.post([&] { ++ran; });
    }
    q.flush();
    CHECK(caught == 10);
    CHECK(ran == 10);
}

POLICY_TEST_CASE("queues: the counters of a queue count its own runs only", "", every_policy) {
    any_queue a{policy, "a"}, b{policy, "b"};
    for (int i = 0; i < 30; ++i) a.post([] {});
    for (int i = 0; i < 10; ++i) b.post([] {});
    a.flush();
    b.flush();
    CHECK(a.stats().started == 30);
    CHECK(a.stats().completed == 30);
    CHECK(b.stats().started == 10);
    CHECK(b.stats().completed == 10);
}

// proves: kernel-1
POLICY_TEST_CASE("queues: many queues share the threads", "", every_policy) {
    cmwq::runtime rt;
    std::vector<std::unique_ptr<any_queue>> queues;
    std::atomic<int> runs{0};
    for (int i = 0; i < 500; ++i) queues.push_back(std::make_unique<any_queue>(policy, rt, "one of many"));
    for (auto& q : queues) {
        q->post([&] { ++runs; });
        q->flush();
    }
    CHECK(runs == 500);
    CHECK(rt.stats().peak_threads <= 10 * rt.cpus().size());
}

TEST_CASE("queues: the global runtime has all CPUs also if an item uses it first") {
    cmwq::runtime rt;
    cmwq::workqueue<> q{rt, "q"};
    CHECK(q.async([] { return cmwq::runtime().cpus().size(); }).get() == rt.cpus().size());
}

TEST_CASE("queues: the system queues exist; they are shared and run items") {
    CHECK(&cmwq::system_wq() == &cmwq::system_wq());
    CHECK(cmwq::system_wq().name() == "system");
    std::atomic<int> runs{0};
    cmwq::work a{[&] { ++runs; }};
    cmwq::work b{[&] { ++runs; }};
    cmwq::work c{[&] { ++runs; }};
    cmwq::system_wq().queue(a);
    cmwq::system_highpri_wq().queue(b);
    cmwq::system_long_wq().queue(c);
    a.flush();
    b.flush();
    c.flush();
    CHECK(runs == 3);
}

TEST_CASE("queues: queue() from a CPU outside of the runtime runs the item on a CPU of the runtime") {
    const cmwq::cpuset all = cmwq::runtime::global().cpus();
    cmwq::runtime rt{{.cpus = {first_cpu()}}};
    cmwq::workqueue<> q{rt, "q"};
    std::atomic<unsigned> runs{0}, elsewhere{0};
    for (const unsigned cpu : all) {
        std::thread([&] {
            static_cast<void>(cmwq::detail::bind_this_thread(cmwq::cpuset{cpu}));
            q.post([&] {
                ++runs;
                elsewhere += cmwq::detail::current_cpu() == first_cpu() ? 0 : 1;
            });
        }).join();
    }
    q.flush();
    CHECK(runs == all.size());
    CHECK(elsewhere == 0);
}

TEST_CASE("queues: an item never runs twice at once even if a pool whose workers have mostly ended is replaced") {
    cmwq::runtime rt{{.idle_timeout = std::chrono::milliseconds{1}}};
    cmwq::workqueue<cmwq::unbound> q{rt, {.name = "q", .max_active = 200}};
    std::atomic<unsigned> inside{0};
    std::counting_semaphore<> leave{0};
    for (int i = 0; i < 200; ++i) {
        q.post([&] {
            ++inside;
            leave.acquire();
        });
    }
    CHECK(eventually([&] { return inside == 200; }));
    leave.release(200);
    q.flush();
    CHECK(eventually([&] { return rt.stats().threads < 20; }));

    std::atomic<int> runs{0}, at_once{0}, overlaps{0};
    std::binary_semaphore begun{0}, go{0};
    cmwq::work item{[&] {
        overlaps += at_once.fetch_add(1);
        if (runs.fetch_add(1) == 0) {
            begun.release();
            go.acquire();
        }
        --at_once;
    }};
    q.queue(item);
    begun.acquire();
    q.apply(cmwq::attrs{}.nice(1));
    CHECK(q.queue(item) == queue_status::queued);
    std::atomic<bool> passed{false};
    cmwq::work other{[&] { passed = true; }}; // in the new pool
    q.queue(other);
    other.flush();
    CHECK(passed);
    CHECK(runs == 1);
    go.release();
    item.flush();
    CHECK(runs == 2);
    CHECK(overlaps == 0);
}

TEST_CASE("queues: shutdown(cancel_pending) drops an item that is queued behind its own run; it waits for the run") {
    cmwq::workqueue<cmwq::unbound> q{{.name = "q", .max_active = 4}};
    std::atomic<int> runs{0};
    std::binary_semaphore begun{0}, go{0};
    cmwq::work item{[&] {
        ++runs;
        begun.release();
        go.acquire();
    }};
    q.queue(item);
    begun.acquire();
    CHECK(q.queue(item) == queue_status::queued);
    std::atomic<bool> passed{false};
    q.post([&] { passed = true; }); // the worker that takes this has put the item aside
    REQUIRE(eventually([&] { return passed.load(); }));
    std::size_t dropped = 0;
    std::thread aside([&] { dropped = q.shutdown(cmwq::cancel_pending); });
    CHECK(eventually([&] { return !item.pending(); }));
    go.release();
    aside.join();
    CHECK(dropped == 1);
    CHECK(runs == 1);
}
