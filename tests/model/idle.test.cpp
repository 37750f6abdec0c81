// SPDX-License-Identifier: BSL-1.0
//
// A push against a worker that goes idle: whichever comes first, the item runs, and without the help of time.
//
// Seen to find: no second look after a worker has put itself on the idle list; a relaxed look at nr_running behind the
// push; a relaxed look at the inbox; no wake-up after the push; a worker that stays counted when it goes idle.
#include "catch.hpp"
#include "model/machine.hpp"

namespace model = cmwq::detail::model;
using cmwq_test::machine;
using cmwq_test::search;
using cmwq_test::setup;

namespace {

/// One item after the other: the second push meets a worker anywhere between the first item's function and its sleep.
void one_after_the_other(setup s) {
    machine m(s);
    model::semaphore done{0};
    cmwq::work a{[&] { done.release(); }};
    cmwq::work b{[&] { done.release(); }};
    m.q.queue(a);
    done.acquire();
    m.q.queue(b);
    done.acquire();
    if (!s.sentinel) model::require(m.waited() == 0, "nobody waited for the monitor");
    m.q.flush();
}

/// Two producers at once, and each item queued again when the worker may already be on its way to sleep.
void two_producers(setup s) {
    machine m(s);
    model::checked<int> runs_a{0}, runs_b{0};
    model::semaphore done_a{0}, done_b{0};
    cmwq::work a{[&] {
        runs_a = runs_a + 1;
        done_a.release();
    }};
    cmwq::work b{[&] {
        runs_b = runs_b + 1;
        done_b.release();
    }};
    auto t = model::spawn([&] {
        m.q.queue(b);
        done_b.acquire();
    });
    m.q.queue(a);
    done_a.acquire();
    t.join();
    if (!s.sentinel) model::require(m.waited() == 0, "nobody waited for the monitor");
    m.q.flush();
    model::require(runs_a == 1 && runs_b == 1, "each ran once");
}

} // namespace

TEST_CASE("idle: an item queued while the worker goes idle after the one before") {
    CHECK(model::explore(search("one-after-the-other", 5, 3), [] { one_after_the_other({}); }));
    CHECK(model::explore(search("one-after-the-other-sentinel", 3), [] { one_after_the_other({.sentinel = true}); }));
}

TEST_CASE("idle: two producers") {
    CHECK(model::explore(search("two-producers", 5), [] { two_producers({}); }));
    CHECK(model::explore(search("two-producers-sentinel", 3), [] { two_producers({.sentinel = true}); }));
}

TEST_CASE("idle: the first two items that a pool ever gets, and its end") {
    CHECK(model::explore(search("cold", 3), [] { two_producers({.warm = false, .end_searched = true}); }));
}

TEST_CASE("idle: flush() right after a push finds what is still in the inbox, and whoever it woke") {
    CHECK(model::explore(search("flush-after-push", 3), [] {
        machine m;
        model::checked<int> runs{0};
        cmwq::work w{[&] { runs = runs + 1; }};
        auto t = model::spawn([&] { m.q.flush(); });
        m.q.queue(w);
        m.q.flush();
        model::require(runs == 1, "it has run");
        t.join();
        model::require(m.waited() == 0, "nobody waited for the monitor");
    }));
}

TEST_CASE("idle: an item queued by an item") {
    CHECK(model::explore(search("by-an-item", 3), [] {
        machine m;
        model::semaphore done{0};
        cmwq::work b{[&] { done.release(); }};
        cmwq::work a{[&] { m.q.queue(b); }};
        auto t = model::spawn([&] { m.q.flush(); });
        m.q.queue(a);
        done.acquire();
        t.join();
        model::require(m.waited() == 0, "nobody waited for the monitor");
        m.q.flush();
    }));
}
