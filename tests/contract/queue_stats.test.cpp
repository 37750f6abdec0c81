// SPDX-License-Identifier: BSL-1.0
//
// What `stats()`, `pending()` and `active()` of a queue say: where its items are, and what has happened to them.
#include "any_queue.hpp"
#include "catch.hpp"
#include "eventually.hpp"
#include "gate.hpp"
#include "policy_list.hpp"
#include "policy_test_case.hpp"

#include <cmwq/cmwq.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <semaphore>
#include <thread>

using namespace cmwq_test;
using namespace std::chrono_literals;

namespace {

using item = cmwq::work<std::function<void()>>;

/// A part of `queue_stats`: the items that are in the queue now.
struct places {
    std::uint64_t running, pending, active, inactive;

    friend bool operator==(const places&, const places&) = default;
    friend std::ostream& operator<<(std::ostream& to, const places& p) {
        return to << "running " << p.running << ", pending " << p.pending << ", active " << p.active << ", inactive "
                  << p.inactive;
    }
};

template <class Queue>
places places_in(const Queue& q) {
    const cmwq::queue_stats s = q.stats();
    CHECK(s.running == s.started - s.completed);
    return {s.running, s.pending, s.active, s.inactive};
}

} // namespace

POLICY_TEST_CASE("queue_stats: an item is pending until it starts, and inactive beyond the limit", "", every_policy) {
    std::array<item, 4> items{item{[] {}}, item{[] {}}, item{[] {}}, item{[] {}}};
    cmwq::delayed_work<std::function<void()>> later{[] {}};
    gate held;
    any_queue q{policy, at_most(policy, 1, "q")};
    CHECK(places_in(q) == places{});
    held.hold(q);
    CHECK(places_in(q) == places{.running = 1, .pending = 0, .active = 1, .inactive = 0});
    for (item& w : items) q.queue_on(first_cpu(), w);
    q.queue_after(1h, later);
    // `later` is not among them: its time has not come.
    const std::uint64_t slots = policy.runs_in_the_caller ? 5 : 1; // bottom halves have no limit
    CHECK(places_in(q) == places{.running = 1, .pending = 4, .active = slots, .inactive = 5 - slots});
    CHECK(q.base().pending() == 4);
    CHECK(q.base().active() == slots);
    CHECK(items[1].cancel());
    CHECK(q.base().pending() == 3);
    q.queue_on(first_cpu(), held.item); // behind its own run
    CHECK(q.base().pending() == 4);
    held.open(2);
    q.flush();
    CHECK(later.cancel());
    CHECK(places_in(q) == places{});
    CHECK(q.stats().started == 5);
    CHECK(q.stats().completed == 5);
}

POLICY_TEST_CASE("queue_stats: items that a freeze keeps back are inactive", "", threaded_policies) {
    cmwq::runtime rt;
    std::array<item, 2> items{item{[] {}}, item{[] {}}};
    any_queue q{policy, rt, {.name = "q", .freezable = true}};
    rt.freeze();
    for (item& w : items) q.queue(w);
    CHECK(places_in(q) == places{.running = 0, .pending = 2, .active = 0, .inactive = 2});
    rt.thaw();
    q.flush();
    CHECK(places_in(q) == places{});
}

TEST_CASE("queue_stats: items on the list of a worker are pending") {
    constexpr std::uint64_t many = 20;
    std::binary_semaphore posted{0};
    std::counting_semaphore<> leave{0};
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::elastic> q{rt, {.name = "q", .max_active = 1}}, other{rt, "other"};
    q.post([&] {
        for (std::uint64_t i = 0; i < many; ++i) q.post([] {});
        posted.release();
        leave.acquire();
    });
    posted.acquire();
    const places now = places_in(q); // other workers may have moved the items to the inactive list
    CHECK(now.running == 1);
    CHECK(now.pending == many);
    CHECK(now.active == 1);
    CHECK(other.pending() == 0);
    leave.release();
    q.flush();
    CHECK(places_in(q) == places{});
    CHECK(q.stats().completed == many + 1);
}

POLICY_TEST_CASE("queue_stats: an item that waits for another one runs, like that one", "", parallel_policies) {
    any_queue q{policy, "q"};
    places in_item, in_task;
    item inner{[&] { in_item = places_in(q); }};
    item outer{[&] {
        q.queue(inner);
        inner.flush();
        const auto group = q.make_group();
        group->run([&] { in_task = places_in(q); });
        group->wait();
    }};
    q.queue(outer);
    outer.flush();
    CHECK(in_item == places{.running = 2, .pending = 0, .active = 2, .inactive = 0});
    CHECK(in_task.running == 2);
    CHECK(in_task.pending == 0);
    q.flush();
    CHECK(q.stats().completed == 3);
}

// proves: observe-9
POLICY_TEST_CASE("queue_stats: an item that has ended has completed, also while its successor waits", "",
                 threaded_policies) {
    constexpr int n = 5;
    std::counting_semaphore<> leave{0};
    cmwq::runtime rt;
    any_queue q{policy, rt, "q"};
    std::atomic<int> count{0};
    std::function<void()> chain = [&] {
        if (++count == n) leave.acquire();
        else q.post(chain);
    };
    q.post(chain);
    CHECK(eventually([&] { return q.stats().completed == n - 1 && q.stats().started == n; }));
    CHECK(places_in(q) == places{.running = 1, .pending = 0, .active = 1, .inactive = 0});
    CHECK(rt.stats().items_started == n);
    CHECK(rt.stats().items_completed == n - 1);
    leave.release();
    q.flush();
    CHECK(q.stats().completed == n);
    CHECK(rt.stats().items_completed == n);
}

// There is one worker, so no item starts or ends meanwhile.
// proves: observe-9
POLICY_TEST_CASE("queue_stats: an item sees exact numbers of its own queue", "", threaded_policies) {
    cmwq::runtime rt{{.max_threads = 1}};
    any_queue q{policy, rt, "q"};
    std::uint64_t nr_started = 0, nr_wrong = 0;
    const auto check = [&](std::uint64_t running) {
        const cmwq::queue_stats s = q.stats();
        const cmwq::runtime_stats all = rt.stats();
        if (s.started != nr_started || s.completed != nr_started - running || s.running != running) ++nr_wrong;
        if (all.items_started != nr_started || all.items_completed != nr_started - running) ++nr_wrong;
    };
    int left = 200;
    std::binary_semaphore all{0};
    const auto run_tasks = [&] {
        if (policy.runs_one_at_a_time) return; // the tasks would wait for the item
        const auto group = q.make_group();
        for (int i = 0; i < 3; ++i) {
            group->run([&] {
                ++nr_started;
                check(2);
            });
        }
        group->wait();
        check(1);
    };
    std::function<void()> own_chain;
    item once{[&] {
        ++nr_started;
        check(1);
        run_tasks();
        q.post(own_chain);
    }};
    own_chain = [&] {
        ++nr_started;
        check(1);
        if (left % 7 == 0) run_tasks();
        check(1);
        if (--left == 0) return all.release();
        if (left % 5 == 0) q.queue(once);
        else q.post(own_chain);
    };
    q.post(own_chain);
    all.acquire();
    q.flush();
    CHECK(nr_wrong == 0);
    CHECK(q.stats().completed == nr_started);
}

TEST_CASE("queue_stats: blocks count for the queue of the item that blocks, and outlive an apply()") {
    const bool elastic = GENERATE(false, true);
    cmwq::runtime rt{{.sentinel = false}};
    const any_policy policy = elastic ? policy_of<cmwq::elastic> : policy_of<cmwq::bound>;
    any_queue q{policy, rt, "q"}, other{policy, rt, "other"};
    const unsigned cpu = *rt.cpus().begin();
    std::counting_semaphore<> leave{0};
    const auto nr_blocks = [&] { return q.stats().blocks_by_guard; };
    // As many items as CPUs occupy the pools, then an item is pending behind them: each block leaves a CPU idle.
    const auto block_all = [&] {
        std::counting_semaphore<> go{0};
        std::atomic<unsigned> blocked{0};
        const auto n = static_cast<unsigned>(elastic ? rt.cpus().size() : 1);
        for (unsigned i = 0; i < n; ++i) {
            q.post_on(cpu, [&] {
                while (!go.try_acquire()) std::this_thread::yield();
                const cmwq::blocking_region region;
                ++blocked;
                leave.acquire();
            });
        }
        other.post_on(cpu, [] {});
        go.release(n);
        CHECK(eventually([&] { return blocked == n; }));
    };
    CHECK(eventually([&] { // an item may get the CPU only after the other one has run
        const std::uint64_t before = nr_blocks();
        block_all();
        const bool counted = nr_blocks() > before; // also while the item runs
        leave.release(64);
        q.flush();
        while (leave.try_acquire()) {}
        return counted;
    }));
    const cmwq::queue_stats s = q.stats();
    CHECK(s.blocks_by_guard == rt.stats().blocks_by_guard);
    CHECK(s.spare_wakeups <= rt.stats().spare_wakeups);
    CHECK(s.blocks_by_sentinel == 0);
    CHECK(other.stats().blocks_by_guard == 0);
    if (!elastic) return;
    q.apply(cmwq::attrs{}.nice(1));
    q.post([] {});
    q.flush();
    CHECK(nr_blocks() == s.blocks_by_guard);
    CHECK(q.stats().completed == s.completed + 1);
}

TEST_CASE("queue_stats: a detector finds blocks, which count for the queue of the item that blocks") {
    const bool sentinel = GENERATE(true, false);
    cmwq::runtime rt{{.overdue_after = 0ns, .sentinel = sentinel}}; // nothing else lets the second item start
    const unsigned cpu = *rt.cpus().begin();
    cmwq::workqueue<> q{rt, "q"}, other{rt, "other"};
    std::binary_semaphore ran{0};
    q.post_on(cpu, [&] {
        other.post_on(cpu, [&] { ran.release(); });
        ran.acquire(); // not announced
    });
    q.flush();
    const cmwq::queue_stats s = q.stats();
    CHECK(s.blocks_by_sentinel + s.blocks_by_monitor == 1);
    if (!sentinel) CHECK(s.blocks_by_sentinel == 0);
    CHECK(s.spare_wakeups <= 1);
    CHECK(other.stats().blocks_by_sentinel + other.stats().blocks_by_monitor == 0);
}
