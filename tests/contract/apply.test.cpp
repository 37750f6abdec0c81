// SPDX-License-Identifier: BSL-1.0
//
// Attributes of live queues: the pools and the order in which items run while attributes change, and the end of pools
// that no queue uses any more.
#include "any_queue.hpp"
#include "catch.hpp"
#include "core_of.hpp"
#include "eventually.hpp"
#include "fake_threads.hpp"
#include "gate.hpp"
#include "policy_list.hpp"
#include "policy_test_case.hpp"
#include "pool_name.hpp"
#include "simulated.hpp"
#include "this_task.hpp"
#include "threads_named.hpp"

#include <cmwq/cmwq.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <semaphore>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using cmwq::affinity_scope;
using cmwq::attrs;
using cmwq::cpuset;
using cmwq::queue_status;
using namespace cmwq_test;

namespace {

/// An item that records the nice value of its thread.
struct noted {
    std::atomic<long> nice{-100};
    cmwq::work<std::function<void()>> item{[this] { nice = nice_of_this_task(); }};
};

/// The ids of the manager threads of all runtimes.
std::set<long> manager_threads() {
    std::set<long> found;
    for_each_thread([&](long id, const auto& /*folder*/, const std::string& name) {
        if (name == "cmwq/manager") found.insert(id);
    });
    return found;
}

std::vector<int> numbers(int n) {
    std::vector<int> v;
    for (int i = 0; i < n; ++i) v.push_back(i);
    return v;
}

} // namespace

// proves: progress-25, life-20
TEST_CASE("apply: an ordered queue goes on in its new pool while the start of a thread stalls") {
    const int nr_changes = GENERATE(1, 3); // the pools in between get no items, and have no workers
    fake_threads threads;
    cmwq::runtime rt{{.threads = &threads}};
    cmwq::options<cmwq::ordered> o{.name = "q", .rescuer = true}, of_there;
    of_there.name = "there";
    of_there.attrs.nice(nr_changes);
    cmwq::workqueue<cmwq::ordered> q{rt, std::move(o)}, there{rt, std::move(of_there)};
    there.post([] {}); // the last pool has a worker
    there.flush();
    gate g;
    g.hold(q);
    threads.stall();
    cmwq::workqueue<> other{rt, "other"};
    other.post([] {});                                              // its pool has no worker
    REQUIRE(eventually([&] { return threads.nr_stalled() == 1; })); // the only thread that makes workers is stalled
    for (int change = 1; change <= nr_changes; ++change) q.apply(attrs{}.nice(change));
    std::atomic<long> nice{-100};
    q.post([&] { nice = nice_of_this_task(); });
    g.open();
    CHECK(eventually([&] { return nice == nr_changes; }));
    threads.go_on();
    q.flush();
    other.flush();
}

TEST_CASE("apply: a producer that is stopped in queue() holds up apply() but no other call and no other pool") {
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::unbound> q{rt, "q"};
    std::vector<std::unique_ptr<cmwq::workqueue<cmwq::unbound>>> others;
    for (int i = 0; i < 5; ++i) {
        cmwq::options<cmwq::unbound> o;
        o.attrs.nice(5 + i); // a pool without workers
        others.push_back(std::make_unique<cmwq::workqueue<cmwq::unbound>>(rt, std::move(o)));
    }
    gate g;
    g.hold(q);
    q.apply(attrs{}.nice(1)); // the old pool is freed when the gate opens
    cmwq::detail::grace_reader producer;
    core_of(rt).queues().for_each([&](cmwq::detail::queue_core& c) {
        if (c.name == "q") producer.enter(*c.routes.readers, 0);
    });
    std::thread applier([&] { q.apply(attrs{}.nice(2)); });
    const auto applies = [&] {
        if (!core_of(rt).placing().lock().try_lock()) return true;
        core_of(rt).placing().lock().unlock();
        return false;
    };
    CHECK(eventually(applies));
    CHECK(q.stats().started == 1);
    g.open();
    q.flush();
    core_of(rt).env().requests.request_cpu_check();
    for (auto& other : others) {
        std::atomic<bool> ran{false};
        other->post([&] { ran = true; });
        CHECK(eventually([&] { return ran.load(); }));
    }
    CHECK(applies());
    producer.leave();
    applier.join();
    q.flush();
}

TEST_CASE(
    "apply: while a producer is stopped in queue() the CPUs of the process change and items of other pools start") {
    const cpuset all = cmwq::runtime::global().cpus();
    if (all.size() < 2) return;
    std::set<long> before, now; // threads get their names soon after their start
    REQUIRE(eventually([&] { return (before = manager_threads()).size() == 1; }));
    cmwq::runtime rt;
    REQUIRE(eventually([&] { return (now = manager_threads()).size() == 2; }));
    const long manager = *std::ranges::find_if(now, [&](long tid) { return !before.contains(tid); });
    cmwq::workqueue<cmwq::unbound> q{rt, "q"};
    cmwq::options<cmwq::unbound> o{.name = "other"};
    o.attrs.nice(5);
    cmwq::workqueue<cmwq::unbound> other{rt, std::move(o)}; // its pool has no worker
    q.post([] {});
    q.flush();
    cmwq::detail::grace_reader producer;
    core_of(rt).queues().for_each([&](cmwq::detail::queue_core& c) {
        if (c.name == "q") producer.enter(*c.routes.readers, 0);
    });
    const auto some_missing = [&](bool yes) { // the CPUs of that thread are those that the runtime considers as present
        REQUIRE(cmwq::detail::bind_thread(manager, yes ? cpuset{*all.begin()} : all) == 0);
        return eventually([&] {
            core_of(rt).env().requests.request_cpu_check();
            return (core_of(rt).env().cpus.binding() % 2 == 1) == yes;
        });
    };
    CHECK(some_missing(true));
    std::atomic<bool> ran{false};
    other.post([&] { ran = true; });
    CHECK(eventually([&] { return ran.load(); }));
    q.post([] {});
    q.flush();
    producer.leave();
    q.apply(attrs{}.nice(1));
    CHECK(some_missing(false));
    q.post([] {});
    q.flush();
    CHECK(q.stats().completed == 3);
}

POLICY_TEST_CASE("apply: an item queued before apply() runs in the old pool and one queued after it in the new pool",
                 "", keyed_policies) {
    cmwq::runtime rt;
    const unsigned cpu = *rt.cpus().begin();
    any_queue q{policy, rt, at_most(policy, 1, "q")};
    for (int change = 1; change <= 3; ++change) {
        gate g;
        g.hold(q, cpu);
        std::vector<std::unique_ptr<noted>> before, after;
        for (int i = 0; i < 10; ++i) {
            before.push_back(std::make_unique<noted>());
            q.queue_on(cpu, before.back()->item); // beyond the limit: waits
        }
        q.apply(attrs{}.nice(change)); // does not wait for these items
        for (int i = 0; i < 10; ++i) {
            after.push_back(std::make_unique<noted>());
            q.queue_on(cpu, after.back()->item);
        }
        CHECK(g.item.busy());
        CHECK(q.stats().started - q.stats().completed == 1); // the limit is that of the queue, not of a pool
        g.open();
        q.flush();
        for (const auto& one : before) CHECK(one->nice == change - 1);
        for (const auto& one : after) CHECK(one->nice == change);
    }
    CHECK(q.stats().completed == 63);
}

POLICY_TEST_CASE("apply: changes under load lose no item and run no item twice", "", keyed_policies) {
    cmwq::runtime rt{two_nodes()};
    any_queue q{policy, rt, at_most(policy, 4, "q")};
    std::atomic<bool> stop{false};
    std::atomic<int> runs{0}, posted{0}, overlaps{0}, item_queued{0};
    struct shared {
        std::atomic<int> inside{0}, runs{0};
    } one;
    cmwq::work w{[&] {
        if (one.inside.fetch_add(1) != 0) ++overlaps;
        ++one.runs;
        one.inside.fetch_sub(1);
    }};
    std::vector<std::thread> producers;
    for (unsigned t = 0; t < 3; ++t) {
        producers.emplace_back([&, t] {
            for (unsigned i = t; !stop; ++i) {
                if (q.post_on(i % 16, [&] { ++runs; }) == queue_status::queued) ++posted;
                if (q.queue_on(i * 7 % 16, w) == queue_status::queued) ++item_queued;
                if (i % 64 == 0) q.flush();
            }
        });
    }
    for (int i = 0; i < 200; ++i) {
        const auto scope = cmwq::affinity_scopes[static_cast<std::size_t>(i) % std::size(cmwq::affinity_scopes)];
        q.apply(attrs{}.nice(i % 3).affinity(scope).strict(i % 2 == 0));
    }
    stop = true;
    for (auto& t : producers) t.join();
    q.flush();
    CHECK(runs == posted);
    CHECK(one.runs == item_queued);
    CHECK(overlaps == 0);
    CHECK(q.stats().completed == static_cast<std::uint64_t>(runs + one.runs));
}

// proves: kernel-23
POLICY_TEST_CASE("apply: an item may call apply() on its own queue", "", keyed_policies) {
    cmwq::runtime rt;
    any_queue q{policy, rt, "q"};
    std::vector<long> nice; // not atomic: each item queues the next one at its end
    std::function<void()> step = [&] {
        nice.push_back(nice_of_this_task());
        if (nice.size() == 5) return;
        q.apply(attrs{}.nice(static_cast<int>(nice.size())));
        q.post([&] { step(); });
    };
    q.post([&] { step(); });
    q.drain();
    CHECK(nice == std::vector<long>{0, 1, 2, 3, 4});
}

POLICY_TEST_CASE("apply: equal attributes change nothing; the pools and the running items stay", "", keyed_policies) {
    cmwq::runtime rt;
    const unsigned cpu = *rt.cpus().begin();
    const attrs a = attrs{}.nice(1);
    any_options o = at_most(policy, 2, "q");
    o.attrs = a;
    any_queue q{policy, rt, std::move(o)};
    gate g;
    g.hold(q, cpu);
    const std::size_t nr_pools = cmwq_test::shared_pools_of(rt).size();
    for (int i = 0; i < 100; ++i) q.apply(a);
    CHECK(cmwq_test::shared_pools_of(rt).size() == nr_pools);
    std::string pool, other;
    cmwq::work w{[&] { pool = this_pool(); }};
    q.queue_on(cpu, w);
    g.open();
    w.flush();
    q.apply(a);
    other.swap(pool);
    q.queue_on(cpu, w);
    w.flush();
    CHECK(other == pool);
    q.flush();
    CHECK(q.stats().completed == 3);
}

POLICY_TEST_CASE("apply: flush and drain cover the items that still run in the old pools", "", keyed_policies) {
    cmwq::runtime rt;
    const bool drain = GENERATE(false, true);
    any_queue q{policy, rt, "q"};
    gate g;
    g.hold(q, *rt.cpus().begin());
    q.apply(attrs{}.nice(1));
    q.apply(attrs{}.nice(2));
    std::atomic<bool> returned{false};
    std::atomic<std::uint64_t> completed{0};
    std::thread waiter([&] {
        if (drain) q.drain();
        else q.flush();
        completed = q.stats().completed;
        returned = true;
    });
    noted n;
    if (drain) CHECK(eventually([&] { return q.queue(n.item) == queue_status::rejected; }));
    CHECK_FALSE(returned);
    g.open();
    waiter.join();
    CHECK(completed >= 1);
    CHECK_FALSE(g.item.busy());
}

POLICY_TEST_CASE("apply: items that wait in an old pool can be cancelled and flushed", "", keyed_policies) {
    cmwq::runtime rt;
    const unsigned cpu = *rt.cpus().begin();
    any_queue q{policy, rt, at_most(policy, 1, "q")};
    gate g;
    g.hold(q, cpu);
    noted a, b, c, d;
    q.queue_on(cpu, a.item);
    q.queue_on(cpu, b.item);
    q.apply(attrs{}.nice(1));
    q.queue_on(cpu, c.item);
    q.queue_on(cpu, d.item);
    CHECK(q.queue_on(cpu, a.item) == queue_status::already_pending);
    CHECK(a.item.cancel());
    CHECK(c.item.cancel_sync());
    CHECK(q.queue_on(cpu, a.item) == queue_status::queued); // now it is an item of the new pool
    std::thread opener([&] { g.open(); });
    b.item.flush();
    d.item.flush();
    a.item.flush();
    opener.join();
    CHECK(a.nice == 1);
    CHECK(b.nice == 0);
    CHECK(c.nice == -100);
    CHECK(d.nice == 1);
}

// --- order -----------------------------------------------------------------------------------------------------------

// proves: kernel-21
TEST_CASE("apply: an ordered queue keeps its order across changes and runs one item at a time") {
    cmwq::runtime rt{two_nodes()};
    const int waiting = GENERATE(0, 1, 2, 3, 50);
    const int changes = GENERATE(1, 2, 3, 5);
    const bool unbound_cpus = GENERATE(false, true);
    cmwq::workqueue<cmwq::ordered> q{rt, "q"};
    gate g;
    std::vector<int> order; // not atomic: one item runs at a time
    std::atomic<int> inside{0}, overlaps{0};
    int next = 0;
    const auto post = [&](int n) {
        for (; n > 0; --n) {
            q.post_on(static_cast<unsigned>(next % 16), [&, i = next] {
                if (inside.fetch_add(1) != 0) ++overlaps;
                order.push_back(i);
                inside.fetch_sub(1);
            });
            ++next;
        }
    };
    g.hold(q, 3);
    post(waiting);
    for (int i = 0; i < changes; ++i) {
        // The value alternates: the queue returns to a pool in which older items still wait.
        if (unbound_cpus) rt.set_unbound_cpus(i % 2 == 0 ? cpuset::range(0, 8) : cpuset::range(0, 16));
        else q.apply(attrs{}.nice(1 - i % 2));
        post(waiting);
    }
    CHECK(order.empty());
    g.open();
    q.flush();
    CHECK(order == numbers(next));
    CHECK(overlaps == 0);
    post(10);
    q.drain();
    CHECK(order == numbers(next));
}

TEST_CASE("apply: an ordered queue continues after all items of an intermediate pool were cancelled") {
    cmwq::runtime rt;
    const unsigned cpu = *rt.cpus().begin();
    cmwq::workqueue<cmwq::ordered> q{rt, "q"};
    gate g;
    g.hold(q, cpu);
    noted a, b, c, d;
    q.apply(attrs{}.nice(1));
    q.queue_on(cpu, a.item);
    q.queue_on(cpu, b.item);
    q.apply(attrs{}.nice(2));
    q.queue_on(cpu, c.item);
    q.apply(attrs{}.nice(3));
    q.queue_on(cpu, d.item);
    CHECK(a.item.cancel());
    CHECK(b.item.cancel());
    CHECK(c.item.cancel());
    g.open();
    d.item.flush();
    CHECK(d.nice == 3);
    q.queue_on(cpu, a.item);
    a.item.flush();
    CHECK(a.nice == 3);
}

TEST_CASE("apply: an item removed from a new pool of an ordered queue still counts as running in the old pool") {
    cmwq::runtime rt;
    const unsigned cpu = *rt.cpus().begin();
    cmwq::workqueue<cmwq::ordered> q{rt, "q"};
    const auto ways = GENERATE(0, 1, 2);
    CAPTURE(ways);
    std::atomic<bool> left{false};
    std::binary_semaphore entered{0}, leave{0};
    cmwq::delayed_work<std::function<void()>> item{[&] {
        entered.release();
        leave.acquire();
        left = true;
    }};
    q.queue_on(cpu, item);
    entered.acquire();
    q.apply(attrs{}.nice(1));
    REQUIRE(q.queue_on(cpu, item) == queue_status::queued); // waits until the old pool is done
    if (ways == 0) {
        CHECK(item.cancel());
    } else if (ways == 1) {
        REQUIRE(q.modify(std::chrono::hours{1}, item) == queue_status::modified);
        CHECK(item.cancel());
    } else {
        CHECK(item.disable());
        CHECK_FALSE(item.disable());
    }
    CHECK_FALSE(item.pending());
    CHECK(item.busy());
    std::thread opens([&] { leave.release(); });
    CHECK_FALSE(item.cancel_sync());
    CHECK(left);
    CHECK_FALSE(item.busy());
    opens.join();
}

TEST_CASE("apply: shutdown() drops items in a new pool of an ordered queue; their runs in the old pool still count") {
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::ordered> q{rt, "q"};
    gate g;
    g.hold(q);
    q.apply(attrs{}.nice(1));
    REQUIRE(q.queue(g.item) == queue_status::queued);
    std::size_t dropped = 0;
    std::thread shuts([&] { dropped = q.shutdown(cmwq::cancel_pending); });
    CHECK(eventually([&] { return !g.item.pending(); }));
    CHECK(g.item.busy());
    g.open();
    shuts.join();
    CHECK(dropped == 1);
    CHECK(g.runs == 1);
}

TEST_CASE("apply: an ordered queue keeps the order of the items of each producer while its attributes change") {
    cmwq::runtime rt{two_nodes()};
    cmwq::workqueue<cmwq::ordered> q{rt, "q"};
    constexpr int nr_producers = 3, each = 2000;
    std::vector<int> last(nr_producers, -1); // not atomic: one item runs at a time
    std::atomic<int> wrong{0}, runs{0}, running{nr_producers};
    std::vector<std::thread> producers;
    for (int t = 0; t < nr_producers; ++t) {
        producers.emplace_back([&, t] {
            for (int i = 0; i < each; ++i) {
                q.post([&, t, i] {
                    int& before = last[static_cast<std::size_t>(t)];
                    if (before != i - 1) ++wrong;
                    before = i;
                    ++runs;
                });
            }
            --running;
        });
    }
    for (int i = 0; running > 0; ++i) {
        if (i % 5 == 4) rt.set_unbound_cpus(cpuset::range(0, i % 2 == 0 ? 16 : 4));
        else q.apply(attrs{}.nice(i % 3));
    }
    for (auto& t : producers) t.join();
    q.flush();
    CHECK(runs == nr_producers * each);
    CHECK(wrong == 0);
}

// --- the runtime's set of CPUs ---------------------------------------------------------------------------------------

POLICY_TEST_CASE("apply: set_unbound_cpus moves live queues and leaves running items alone", "", keyed_policies) {
    cmwq::runtime rt;
    if (rt.cpus().size() < 2) return; // there is no other CPU
    const unsigned first = *rt.cpus().begin(), second = rt.cpus().next(first + 1);
    any_queue q{policy, rt, "q"};
    cmwq::workqueue<cmwq::bound> b{rt, "bound"};
    std::atomic<bool> right{true};
    const auto runs_on = [&](const cpuset& wanted) {
        return [&right, wanted] {
            if (cpus_of_this_task() != wanted) right = false;
        };
    };
    for (int round = 0; round < 10; ++round) {
        for (const unsigned cpu : {first, second}) {
            rt.set_unbound_cpus({cpu});
            CHECK(rt.unbound_cpus() == cpuset{cpu});
            q.post_on(first, runs_on({cpu}));
            q.post_on(second, runs_on({cpu}));
            b.post_on(first, runs_on({first}));
            b.post_on(second, runs_on({second}));
        }
    }
    q.flush();
    b.flush();
    CHECK(right);
    CHECK(q.stats().completed == 40);
}

// --- a queue that is destroyed ---------------------------------------------------------------------------------------

POLICY_TEST_CASE("apply: a queue that is being destroyed refuses apply() and nothing changes", "", keyed_policies) {
    cmwq::runtime rt;
    auto q = std::make_unique<any_queue>(policy, rt, "q");
    any_queue& alive = *q;
    std::binary_semaphore entered{0}, go{0};
    std::atomic<int> refused{0}, same{0};
    alive.post([&] {
        entered.release();
        go.acquire();
        try {
            alive.apply(attrs{}.nice(1));
        } catch (const std::invalid_argument&) {
            ++refused;
        }
        if (alive.attributes() == attrs{}) ++same;
        alive.post([&] {
            if (nice_of_this_task() == 0) ++same;
        });
    });
    entered.acquire();
    std::thread destroyer([&] { q.reset(); });
    cmwq::work w{[] {}};
    CHECK(eventually([&] { return alive.queue(w) == queue_status::rejected; })); // the destruction has begun
    go.release();
    destroyer.join();
    CHECK(refused == 1);
    CHECK(same == 2);
}

POLICY_TEST_CASE("apply: a queue may be destroyed directly after a change and during a change of the runtime", "",
                 keyed_policies) {
    cmwq::runtime rt{two_nodes()};
    constexpr int rounds = 300;
    std::atomic<int> round{0};
    std::thread changer([&] {
        for (int i = 0; round < rounds; ++i) {
            // This thread waits for the other one in each round. Otherwise it would hardly ever get the lock.
            while (round < std::min(i, rounds)) std::this_thread::yield();
            rt.set_unbound_cpus(cpuset::range(0, i % 2 == 0 ? 16 : 8));
            rt.set_default_scope(i % 3 == 0 ? affinity_scope::cpu : affinity_scope::numa);
        }
    });
    std::atomic<int> runs{0};
    for (; round < rounds; ++round) {
        any_queue q{policy, rt, "q"};
        q.post([&] { ++runs; });
        q.apply(attrs{}.nice(round % 2));
        q.post([&] { ++runs; });
    }
    changer.join();
    CHECK(runs == 2 * rounds);
}

POLICY_TEST_CASE("apply: the threads of a pool end soon after the last queue of the pool is destroyed", "",
                 keyed_policies) {
    cmwq::runtime rt;
    {
        any_options o;
        o.attrs = attrs{}.nice(7);
        any_queue a{policy, rt, std::move(o)};
        std::counting_semaphore<> entered{0}, leave{0};
        const int many = policy.runs_one_at_a_time ? 1 : 20;
        for (int i = 0; i < many; ++i) {
            a.post([&] {
                entered.release();
                leave.acquire();
            });
        }
        for (int i = 0; i < many; ++i) entered.acquire();
        CHECK(rt.stats().threads > static_cast<unsigned>(many));
        leave.release(many);
        a.flush();
        {
            any_options same;
            same.attrs = attrs{}.nice(7);
            any_queue b{policy, rt, std::move(same)};
        }
        noted n; // b is destroyed, a is not
        a.queue(n.item);
        n.item.flush();
        CHECK(n.nice == 7);
    }
    CHECK(eventually([&] { return rt.stats().threads == 0; }));
    // New pools reuse the record of the old pool: short-lived pools leave nothing behind.
    any_queue q{policy, rt, "q"};
    for (int i = 0; i < 100; ++i) {
        noted n;
        q.apply(attrs{}.nice(1 + i % 10).affinity(affinity_scope::system));
        q.queue(n.item);
        n.item.flush();
        CHECK(n.nice == 1 + i % 10);
    }
    CHECK(eventually([&] { return rt.stats().threads <= 2; }));
    CHECK(rt.stats().items_completed == q.stats().completed + (policy.runs_one_at_a_time ? 2 : 21));
}
