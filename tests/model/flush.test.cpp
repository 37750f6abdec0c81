// SPDX-License-Identifier: BSL-1.0
//
// Flushes beside producers, the limit of active items, and other flushes; drain() beside items that queue other items.
//
// When these defects were put into the engine, these searches found them: a color closed without draining the inbox; a
// flusher woken although its color still counts; a drain that looks only once, or adds up the entered items before
// those that have left.
#include "catch.hpp"
#include "model/machine.hpp"

using cmwq::queue_status;
using namespace cmwq_test;

namespace {

/// Queues an item of its own and flushes: the item has run when the flush returns, even if other threads queue and
/// flush too.
void queue_and_flush(machine& m) {
    model::checked<int> runs{0};
    cmwq::work w{[&] { runs = runs + 1; }};
    m.q.queue(w);
    m.q.flush();
    model::require(runs == 1, "the items queued before the flush have run");
}

} // namespace

TEST_CASE("flush: two threads each flush the item that they have queued") {
    CHECK(model::explore(search("two-flushers", 6), [] {
        machine m;
        auto t = model::spawn([&] { queue_and_flush(m); });
        queue_and_flush(m);
        t.join();
        model::require(m.waited() == 0, "no thread waited for the monitor");
    }));
}

TEST_CASE("flush: three threads flush a queue that runs one at a time and one of them has queued nothing") {
    CHECK(model::explore(search("three-flushers", 5), [] {
        machine m({.max_active = 1});
        auto a = model::spawn([&] { queue_and_flush(m); });
        auto b = model::spawn([&] { m.q.flush(); });
        queue_and_flush(m);
        a.join();
        b.join();
        model::require(m.waited() == 0, "no thread waited for the monitor");
    }));
}

TEST_CASE("flush: a flush covers an item that another thread has queued before") {
    CHECK(model::explore(search("happened-before", 3), [] {
        machine m;
        model::checked<int> runs{0};
        model::semaphore queued{0};
        cmwq::work w{[&] { runs = runs + 1; }};
        auto t = model::spawn([&] {
            m.q.queue(w);
            queued.release();
            m.q.flush();
            model::require(runs == 1, "it has run");
        });
        queued.acquire();
        m.q.flush();
        model::require(runs == 1, "it has run");
        t.join();
    }));
}

TEST_CASE("flush: a flush covers the items of two CPUs") {
    CHECK(model::explore(search_on(2, "two-cpus", 4), [] {
        machine m;
        model::checked<int> runs_a{0}, runs_b{0};
        cmwq::work a{[&] { runs_a = runs_a + 1; }};
        cmwq::work b{[&] { runs_b = runs_b + 1; }};
        auto t = model::spawn([&] { m.q.flush(); });
        m.q.queue_on(0, a);
        m.q.queue_on(1, b);
        m.q.flush();
        model::require(runs_a == 1 && runs_b == 1, "both have run");
        t.join();
    }));
}

TEST_CASE("flush: drain() waits for a chain of items and rejects items of all other threads") {
    CHECK(model::explore(search_on(2, "drain", 4), [] {
        machine m;
        model::checked<int> length{0};
        int outside = 0;
        cmwq::work third{[&] { length = length + 1; }};
        cmwq::work second{[&] {
            length = length + 1;
            model::require(m.q.queue_on(0, third) == queue_status::queued, "accepted from inside");
        }};
        cmwq::work first{[&] {
            length = length + 1;
            model::require(m.q.queue_on(1, second) == queue_status::queued, "accepted from inside");
        }};
        cmwq::work foreign{[&] { ++outside; }};
        queue_status s = queue_status::rejected;
        m.q.queue_on(0, first);
        auto t = model::spawn([&] { s = m.q.queue_on(1, foreign); });
        m.q.drain();
        model::require(length == 3, "the whole chain has run");
        t.join();
        m.q.flush();
        model::require(outside == int{s == queue_status::queued}, "every accepted item has run");
    }));
}

TEST_CASE("flush: the destructor of a queue waits for a chain of items") {
    CHECK(model::explore(search("destroyed", 2), [] {
        model::checked<int> length{0};
        {
            machine m({.end_searched = true});
            m.q.post([&] {
                length = length + 1;
                m.q.post([&] { length = length + 1; });
            });
            auto t = model::spawn([&] { m.q.flush(); });
            t.join();
        }
        model::require(length == 2, "both have run");
    }));
}
