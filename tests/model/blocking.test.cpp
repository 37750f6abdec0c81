// SPDX-License-Identifier: BSL-1.0
//
// An item blocks until another item has run, which was queued behind it or is queued at any moment. The guard, the
// sentinel or the monitor makes the other item run.
//
// When these defects were put into the engine, these searches found them: a guard that does not look at the pending
// items, or looks before it counts down; a push behind a running worker that arms no detector; a cpu_intensive item
// that wakes no worker; an item taken while another worker runs it. They do not find a monitor that disarms without a
// second look: its loop ends too seldom within the bounds.
#include "catch.hpp"
#include "model/machine.hpp"

#include <model/simulate.hpp>

#include <optional>

using cmwq::block_kind;
using namespace cmwq_test;

namespace {

/// An item blocks until another item has run, which another thread queues at any moment.
void waits_for_another(setup s, std::optional<block_kind> announce, std::int64_t patience) {
    machine m(s);
    model::semaphore gate{0}, done{0};
    model::checked<int> order{0};
    cmwq::work waits{[&] {
        wait_at(gate, announce);
        model::require(order == 1, "the other one came first");
        order = 2;
        done.release();
    }};
    cmwq::work opens{[&] {
        order = 1;
        gate.release();
    }};
    auto t = model::spawn([&] { m.q.queue(opens); });
    m.q.queue(waits);
    // No flush() here: it looks at the pool itself and could hide a missing wake-up.
    done.acquire();
    model::require(m.waited() <= patience, "the spare came in time");
    t.join();
    m.q.flush();
    model::require(order == 2, "both have run");
}

/// Three items in a row, each of which waits for the one behind it.
void chain(setup s, std::optional<block_kind> announce, std::int64_t patience) {
    machine m(s);
    model::semaphore first{0}, second{0}, done{0};
    cmwq::work a{[&] {
        wait_at(first, announce);
        done.release();
    }};
    cmwq::work b{[&] {
        wait_at(second, announce);
        first.release();
    }};
    cmwq::work c{[&] { second.release(); }};
    m.q.queue(a);
    m.q.queue(b);
    m.q.queue(c);
    done.acquire();
    model::require(m.waited() <= patience, "the spares came in time");
    m.q.flush();
}

} // namespace

TEST_CASE("blocking: a will_block guard starts a spare at once") {
    CHECK(model::explore(search("guard", 4, 3), [] { waits_for_another({}, cmwq::will_block, 0); }));
    CHECK(model::explore(search("guard-chain", 2), [] { chain({}, cmwq::will_block, 0); }));
}

TEST_CASE("blocking: a may_block guard starts a spare after its threshold") {
    CHECK(model::explore(search("may-block", 2), [] { waits_for_another({}, cmwq::may_block, 20 * ms); }));
    CHECK(model::explore(search("may-block-at-once", 1),
                         [] { waits_for_another({.may_block_threshold = 0}, cmwq::may_block, 0); }));
}

TEST_CASE("blocking: the sentinel finds an unannotated blocked item") {
    CHECK(model::explore(search("sentinel", 4), [] { waits_for_another({.sentinel = true}, {}, 2 * ms); }));
    CHECK(model::explore(search("sentinel-chain", 2), [] { chain({.sentinel = true}, {}, 4 * ms); }));
    CHECK(model::explore(search("sentinel-and-guard", 1),
                         [] { waits_for_another({.sentinel = true}, cmwq::will_block, 2 * ms); }));
}

TEST_CASE("blocking: without a sentinel the monitor finds a blocked item") {
    CHECK(model::explore(search("monitor", 3), [] { waits_for_another({}, {}, 20 * ms); }));
    CHECK(model::explore(search("monitor-chain", 1), [] { chain({}, {}, 40 * ms); }));
}

// proves: kernel-9
TEST_CASE("blocking: the first items of a pool block while its first workers are being made") {
    CHECK(model::explore(search("cold-sentinel", 2),
                         [] { waits_for_another({.sentinel = true, .warm = false}, {}, 20 * ms); }));
    CHECK(model::explore(search("cold-guard", 2),
                         [] { waits_for_another({.warm = false, .end_searched = true}, cmwq::will_block, 0); }));
}

TEST_CASE("blocking: an item of a cpu_intensive queue delays no other item whether it is annotated or not") {
    CHECK(model::explore(search("cpu-intensive", 2), [] { waits_for_another({.cpu_intensive = true}, {}, 0); }));
}

TEST_CASE("blocking: an item that is queued again while it blocks runs again only after its first run") {
    CHECK(model::explore(search("behind-itself", 2), [] {
        machine m;
        model::semaphore gate{0}, inside{0};
        model::checked<int> runs{0};
        bool running = false;
        cmwq::work w{[&] {
            model::require(!running, "no two runs at once");
            runs = runs + 1;
            if (runs != 1) return;
            running = true;
            inside.release();
            const cmwq::blocking_region region(cmwq::will_block);
            gate.acquire();
            running = false;
        }};
        cmwq::work opens{[&] { gate.release(); }};
        m.q.queue(w);
        inside.acquire();
        m.q.queue(w);
        m.q.queue(opens);
        m.q.flush();
        model::require(runs == 2, "twice, one after the other");
    }));
}

// Workers that block are likely to be back soon, so a pool with many of them starts no spare at once. Workers that wait
// inside the library come back only when other items have run.
// proves: progress-30
TEST_CASE("blocking: a new item starts at once beside many items that wait inside the library") {
    enum class waits_in { flush_of_item, flush_of_queue, group };
    const waits_in where = GENERATE(waits_in::flush_of_item, waits_in::flush_of_queue, waits_in::group);
    model::simulation around{.name = "many waiters"};
    around.around.cpus = 2;
    const auto r = model::simulate(around, [where] {
        constexpr int many = 30; // of 12 blocked workers for each CPU another one would be likely to return soon
        cmwq::runtime_options o;
        o.sentinel = false; // the monitor would find the item after 5 ms
        o.machine = cmwq::topology::flat(cmwq::cpuset::range(0, 2));
        cmwq::runtime rt{std::move(o)};
        cmwq::workqueue<> q{rt, "q"};
        cmwq::workqueue<> other{rt, "other"};
        model::semaphore gate{0}, done{0};
        cmwq::work late{[&] { gate.acquire(); }};
        cmwq::task_group late_group{other};
        other.queue_on(1, late);
        if (where == waits_in::group) late_group.run([&] { late.flush(); });
        for (int i = 0; i < many; ++i) {
            q.post_on(0, [&] {
                switch (where) {
                case waits_in::flush_of_item: late.flush(); break;
                case waits_in::flush_of_queue: other.flush(); break;
                case waits_in::group: late_group.wait(); break;
                }
                done.release();
            });
        }
        model::sleep(1000 * ms); // all of them wait, and the monitor sleeps
        const std::int64_t since = model::elapsed();
        model::semaphore ran{0};
        q.post_on(0, [&] { ran.release(); });
        ran.acquire();
        model::require(model::elapsed() == since, "it has started at once");
        gate.release();
        for (int i = 0; i < many; ++i) done.acquire();
        q.flush();
    });
    INFO(r.message);
    CHECK(r);
}
