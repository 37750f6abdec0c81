// SPDX-License-Identifier: BSL-1.0
//
// Freezing: running items finish, no other item starts until the thaw, and then all run in order.
#include "any_queue.hpp"
#include "catch.hpp"
#include "error_of.hpp"
#include "eventually.hpp"
#include "freezable.hpp"
#include "gate.hpp"
#include "policy_list.hpp"
#include "policy_test_case.hpp"

#include <cmwq/cmwq.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <semaphore>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using cmwq::queue_status;
using namespace cmwq_test;

namespace {

using item = cmwq::work<std::function<void()>>;

} // namespace

// proves: life-7
POLICY_TEST_CASE("freeze: running items finish; no other item starts until the thaw; order is kept", "",
                 threaded_policies) {
    freezable_world w{policy, 1};
    gate g;
    std::vector<int> order; // not atomic: one item runs at a time
    const auto queue_ten = [&](int first) {
        for (int i = first; i < first + 10; ++i) w.q.post_on(w.cpu, [&order, i] { order.push_back(i); });
    };
    g.hold(w.q, w.cpu);
    queue_ten(0);
    CHECK_FALSE(w.rt.frozen());
    w.rt.freeze();
    queue_ten(10);
    CHECK_FALSE(w.rt.frozen()); // the item of the gate still runs
    CHECK_FALSE(w.rt.wait_frozen_for(1ms));
    g.open();
    CHECK(w.rt.wait_frozen());
    CHECK(w.rt.frozen());
    CHECK_FALSE(g.item.busy());
    w.let_start();
    CHECK(w.q.stats().started == 1);
    CHECK(order.empty());
    queue_ten(20);
    w.let_start();
    CHECK(order.empty());
    CHECK(w.rt.frozen());
    w.rt.thaw();
    CHECK_FALSE(w.rt.frozen());
    w.q.flush();
    REQUIRE(order.size() == 30);
    CHECK(std::is_sorted(order.begin(), order.end()));
}

POLICY_TEST_CASE("freeze: active items finish even if they have not started before the freeze", "", limited_policies) {
    freezable_world w{policy, 4};
    std::atomic<bool> go{false};
    std::counting_semaphore<> entered{0};
    std::atomic<int> ran{0};
    for (int i = 0; i < 6; ++i) {
        w.q.post_on(w.cpu, [&] {
            entered.release();
            while (!go) std::this_thread::yield(); // computes: on a managed pool the next items wait
            ++ran;
        });
    }
    entered.acquire();
    item seventh{[] {}};
    w.q.queue_on(w.cpu, seventh);
    CHECK(seventh.cancel()); // the pool has accepted all queued items: four are active, two wait
    w.rt.freeze();
    go = true;
    CHECK(w.rt.wait_frozen());
    w.let_start();
    CHECK(ran == 4);
    w.rt.thaw();
    w.q.flush();
    CHECK(ran == 6);
}

POLICY_TEST_CASE("freeze: freezes nest and the last thaw ends the freeze", "", threaded_policies) {
    freezable_world w{policy};
    std::atomic<int> runs{0};
    CHECK_THROWS_AS(w.rt.thaw(), std::logic_error);
    for (int i = 0; i < 3; ++i) w.rt.freeze();
    CHECK(w.rt.frozen()); // no item runs, so the freeze is complete at once
    w.q.post([&] { ++runs; });
    for (int i = 0; i < 2; ++i) {
        w.rt.thaw();
        w.let_start();
        CHECK(runs == 0);
        CHECK(w.rt.frozen());
        CHECK(w.rt.wait_frozen());
    }
    w.rt.thaw();
    w.q.flush();
    CHECK(runs == 1);
    CHECK_THROWS_AS(w.rt.thaw(), std::logic_error);
    w.rt.freeze(); // the refused thaw has changed nothing
    CHECK(w.rt.frozen());
    w.rt.thaw();
}

POLICY_TEST_CASE("freeze: other queues and bottom halves and other runtimes continue", "", threaded_policies) {
    freezable_world w{policy};
    freezable_world elsewhere{policy};
    cmwq::workqueue<cmwq::bh> fast{w.rt, "fast"};
    const cmwq::freeze_guard still{w.rt};
    std::atomic<int> runs{0};
    const auto count = [&] { ++runs; };
    w.other.post(count);
    fast.post(count);
    elsewhere.q.post(count);
    w.other.flush();
    fast.flush();
    elsewhere.q.flush();
    CHECK(runs == 3);
    CHECK_FALSE(elsewhere.rt.frozen());
}

POLICY_TEST_CASE("freeze: a queue that is made during a freeze begins frozen", "", threaded_policies) {
    freezable_world w{policy};
    w.rt.freeze();
    any_queue late{policy, w.rt, freezable(policy)};
    std::atomic<int> runs{0};
    CHECK(late.post_on(w.cpu, [&] { ++runs; }) == queue_status::queued);
    w.let_start();
    CHECK(runs == 0);
    CHECK(w.rt.frozen());
    w.rt.thaw();
    late.flush();
    CHECK(runs == 1);
}

// --- waiting for a freeze --------------------------------------------------------------------------------------------

POLICY_TEST_CASE("freeze: wait_frozen returns false without a freeze and after a thaw", "", threaded_policies) {
    freezable_world w{policy};
    gate g;
    CHECK_FALSE(w.rt.wait_frozen());
    CHECK_FALSE(w.rt.wait_frozen_for(1h));
    g.hold(w.q, w.cpu);
    for (const bool limited : {false, true}) {
        w.rt.freeze();
        std::atomic<bool> thawed{false};
        std::thread thaws([&] {
            thawed = true;
            w.rt.thaw();
        });
        const bool frozen = limited ? w.rt.wait_frozen_for(1h) : w.rt.wait_frozen();
        CHECK_FALSE(frozen);
        CHECK(thawed);
        thaws.join();
    }
    g.open();
}

POLICY_TEST_CASE("freeze: any number of threads may wait and each sets its own time limit", "", threaded_policies) {
    freezable_world w{policy};
    gate g;
    g.hold(w.q, w.cpu);
    w.rt.freeze();
    std::atomic<int> frozen{0}, given_up{0};
    std::vector<std::thread> waiters;
    for (int i = 0; i < 4; ++i) {
        waiters.emplace_back([&] { frozen += w.rt.wait_frozen() ? 1 : 0; });
        waiters.emplace_back([&] { frozen += w.rt.wait_frozen_for(1h) ? 1 : 0; });
        waiters.emplace_back([&] { given_up += w.rt.wait_frozen_for(100us) ? 0 : 1; });
    }
    CHECK(eventually([&] { return given_up == 4; }));
    CHECK_FALSE(w.rt.wait_frozen_for(0s));
    CHECK_FALSE(w.rt.wait_frozen_for(-1h));
    CHECK(frozen == 0);
    g.open();
    for (std::thread& t : waiters) t.join();
    CHECK(frozen == 8);
    CHECK(w.rt.wait_frozen_for(0s));
    w.rt.thaw();
}

// --- guards ----------------------------------------------------------------------------------------------------------

POLICY_TEST_CASE("freeze: a guard waits for the freeze and nests; it also thaws if an exception leaves its block", "",
                 threaded_policies) {
    freezable_world w{policy};
    item counts{[] {}};
    int territory = 0; // not atomic: the items use it, or the holder of the guard
    for (int i = 0; i < 100; ++i) w.q.post_on(w.cpu, [&] { w.q.queue_on(w.cpu, counts); });
    try {
        const cmwq::freeze_guard outer{w.rt};
        CHECK(w.rt.frozen());
        ++territory;
        try {
            const cmwq::freeze_guard inner{w.rt};
            throw std::runtime_error("inside");
        } catch (const std::runtime_error&) {}
        CHECK(w.rt.frozen());
        w.q.post([&] { ++territory; });
        throw std::runtime_error("inside");
    } catch (const std::runtime_error&) {
        CHECK_FALSE(w.rt.frozen());
    }
    w.q.flush();
    CHECK(territory == 2);
    CHECK_THROWS_AS(w.rt.thaw(), std::logic_error);
}

POLICY_TEST_CASE("freeze: a freezable item cannot wait for a freeze; the freeze begins when the run of the item ends",
                 "", threaded_policies) {
    freezable_world w{policy};
    std::atomic<int> refused{0}, again{0};
    item freezes{[&] {
        const auto try_it = [&](const std::function<void()>& f) {
            if (error_of(f) == std::errc::resource_deadlock_would_occur) ++refused;
        };
        try_it([&] { const cmwq::freeze_guard still{w.rt}; });
        try_it([&] { static_cast<void>(w.rt.wait_frozen()); }); // also if no queue is frozen
        try_it([&] { static_cast<void>(w.rt.wait_frozen_for(1us)); });
        w.rt.freeze(); // this is allowed
        w.rt.freeze();
        w.rt.thaw();
        if (++again == 1) w.q.queue(freezes);
    }};
    w.q.queue_on(w.cpu, freezes);
    CHECK(eventually([&] { return w.rt.frozen(); }));
    w.let_start();
    CHECK(refused == 3);
    CHECK(again == 1);
    CHECK(freezes.pending()); // the second instance
    w.rt.thaw();              // the second run freezes again
    CHECK(eventually([&] { return again == 2 && w.rt.frozen(); }));
    w.rt.thaw();
    CHECK_THROWS_AS(w.rt.thaw(), std::logic_error); // refused guards leave nothing behind
}

POLICY_TEST_CASE("freeze: an item of another queue or of another runtime may wait for the freeze", "",
                 threaded_policies) {
    freezable_world w{policy};
    freezable_world elsewhere{policy};
    gate g;
    g.hold(w.q, w.cpu);
    std::atomic<int> frozen{0};
    const auto freezes = [&] {
        const cmwq::freeze_guard still{w.rt};
        frozen += w.rt.frozen() ? 1 : 0;
    };
    w.other.post(freezes);
    elsewhere.q.post(freezes); // a freezable queue of another runtime
    g.open();
    w.other.flush();
    elsewhere.q.flush();
    CHECK(frozen == 2);
}

TEST_CASE("freeze: a bottom half may freeze but not wait for the freeze") {
    freezable_world w{policy_of<cmwq::bound>};
    cmwq::workqueue<cmwq::bh> fast{w.rt, "fast"};
    bool refused = false;
    fast.post([&] {
        refused = error_of([&] { const cmwq::freeze_guard still{w.rt}; }) == std::errc::operation_not_permitted;
        w.rt.freeze();
    });
    fast.flush();
    CHECK(refused);
    CHECK(w.rt.frozen());
    w.rt.thaw();
    CHECK_THROWS_AS(w.rt.thaw(), std::logic_error);
}

// --- many threads ----------------------------------------------------------------------------------------------------

// proves: life-7
POLICY_TEST_CASE(
    "freeze: several threads queue and several freeze; no item runs during a freeze and all items run later", "",
    threaded_policies) {
    freezable_world w{policy, 3};
    constexpr int nr_producers = 3, each = 1500, nr_freezes = 60;
    std::atomic<int> inside{0}, runs{0}, intruders{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < nr_producers; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < each; ++i) {
                w.q.post([&] {
                    ++inside;
                    ++runs;
                    --inside;
                });
                if (i % 16 == 0) std::this_thread::yield();
            }
        });
    }
    for (int t = 0; t < 2; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < nr_freezes; ++i) {
                const cmwq::freeze_guard still{w.rt};
                const int before = runs;
                for (int look = 0; look < 20; ++look) {
                    std::this_thread::yield();
                    if (inside != 0 || runs != before) ++intruders;
                }
            }
        });
    }
    for (std::thread& t : threads) t.join();
    w.q.flush();
    CHECK(intruders == 0);
    CHECK(runs == nr_producers * each);
    CHECK(w.q.stats().completed == nr_producers * each);
}
