// SPDX-License-Identifier: BSL-1.0
//
// In which order local_lists takes items that have waited for long, and where items go that are recalled.
#include "catch.hpp"
#include "lists_machine.hpp"

#include <cmwq/detail/engine/ledger/wait_stamp.hpp>
#include <cmwq/detail/engine/threads/local_lists.hpp>

#include <algorithm>
#include <array>
#include <vector>

using namespace cmwq::detail;
using cmwq::work_base;
using item = cmwq_test::bare_item;
using cmwq_test::bare_queue_in;
using cmwq_test::lists_machine;

namespace {

using order = std::vector<work_base*>;

/// The items of the pool that wait for a worker, all of them on the worklist now.
order recalled(lists_machine& m) {
    static_cast<void>(m.ledger.traffic_of(m.pwq)); // must know all items
    order all;
    const scoped_lock g(m.ledger.lock);
    while (work_base* const w = m.ledger.first_listed_locked()) {
        all.push_back(w);
        static_cast<void>(m.ledger.unlist_to_run_locked(*w));
        work_access::set_location(*w, 0);
    }
    return all;
}

} // namespace

// proves: progress-9
TEST_CASE("old items: of all lists the oldest item goes first, whoever takes it") {
    lists_machine m;
    std::array<item, 6> w;
    m.queue_by(m.b, w[0]);
    m.tick();
    m.tick();
    m.queue(w[1]);
    m.tick();
    m.tick();
    m.queue_by(m.a, w[2]);
    m.tick();
    m.tick();
    m.queue_by(m.guest, w[3]);
    m.tick();
    m.tick();
    m.queue_by(m.b, w[4]);
    m.tick();
    m.tick();
    m.tick();
    m.queue_by(m.a, w[5]); // young: it is not taken before the others
    worker& by = GENERATE(0, 1) == 0 ? m.a : m.b;
    CHECK(m.run_all(by) == order{&w[0], &w[1], &w[2], &w[3], &w[4], &w[5]});
}

TEST_CASE("old items: an item is old after a while, and the oldest go first only until none is old") {
    lists_machine m;
    std::array<item, 5> w;
    m.queue_by(m.a, w[0]);
    m.queue_by(m.a, w[1]);
    m.tick();
    CHECK(m.start(m.a) == &w[1]); // the newest one
    m.end(m.a);
    m.queue_by(m.a, w[2]);
    m.tick();
    m.queue_by(m.a, w[3]);
    CHECK(m.start(m.a) == &w[0]);
    m.end(m.a);
    m.queue_by(m.a, w[4]);
    CHECK(m.run_all(m.a) == order{&w[4], &w[3], &w[2]});
}

TEST_CASE("old items: what was queued little later than the oldest one may start with it, in any order") {
    lists_machine m;
    std::array<item, 4> w;
    m.queue_by(m.b, w[0]);
    m.queue_by(m.a, w[1]);
    m.tick(1, 1);
    m.queue_by(m.a, w[2]);
    m.tick(3);
    m.queue_by(m.a, w[3]);
    CHECK(m.run_all(m.a) == order{&w[1], &w[2], &w[0], &w[3]});
}

TEST_CASE("old items: while one is old, an item follows in a run only if it is one of the oldest") {
    const bool own = GENERATE(true, false);
    lists_machine m;
    item outer;
    std::array<item, 3> w;
    m.queue(outer);
    REQUIRE(m.start(m.a) == &outer);
    m.queue_by(own ? m.a : m.b, w[0]);
    m.tick(3);
    m.queue_by(m.a, w[1]);
    m.tick(2);
    CHECK(m.lists.take_follow_up(m.ledger, m.a) == (own ? &w[0] : nullptr));
    if (own) {
        static_cast<void>(m.ledger.begin_follow_up(m.a, w[0]));
        CHECK(m.lists.take_follow_up(m.ledger, m.a) == nullptr); // the next one is younger: others are to be looked at
    }
    m.end(m.a);
    CHECK(m.run_all(m.a) == (own ? order{&w[1]} : order{&w[0], &w[1]}));
}

TEST_CASE("old items: a rescuer takes none of the local ones, and a worker first what waits for its own run") {
    lists_machine m;
    item again, w;
    m.queue(again);
    REQUIRE(m.start(m.a) == &again);
    m.queue_by(m.b, w);
    m.tick(4);
    m.queue(again); // while it runs
    {
        deferred d;
        const scoped_lock g(m.ledger.lock);
        m.ledger.drain_locked(d);
        CHECK(m.ledger.take_locked(m.b) == nullptr); // it waits behind the run of `a`
    }
    m.end(m.a);
    CHECK(m.run_all(m.a) == order{&again, &w});
}

TEST_CASE("old items: after a sleep of any length an item from before is as old as the time since then") {
    lists_machine m;
    for (const int minutes : {1, 36, 37, 72, 74, 1'000}) {
        INFO(minutes);
        std::array<item, 2> w;
        m.queue_by(m.b, w[0]); // its stamp is that of the last tick
        m.sleep(minutes);
        m.queue_by(m.a, w[1]);
        m.tick();
        CHECK(m.start(m.a) == &w[1]); // none is old yet
        m.end(m.a);
        m.tick(2);
        m.queue_by(m.a, w[1]);
        CHECK(m.run_all(m.a) == order{&w[0], &w[1]});
    }
}

TEST_CASE("old items: the limit keeps an old item back at the place of its age") {
    lists_machine m(1);
    item runs;
    std::array<item, 4> w;
    m.queue(runs);
    REQUIRE(m.start(m.b) == &runs);
    m.queue_by(m.b, w[0]);
    m.tick(2);
    m.queue_by(m.a, w[1]);
    m.tick(2);
    m.queue(w[2]);
    CHECK(m.start(m.a) == nullptr); // all are on the inactive list now
    CHECK_FALSE(m.lists.any());
    m.tick(2);
    m.queue_by(m.a, w[3]);
    m.end(m.b);
    CHECK(m.run_all(m.b) == order{&w[0], &w[1], &w[2], &w[3]});
}

// A backlog of another queue waits. The local items were queued before the most of it.
TEST_CASE("old items: a local item that the limit keeps back goes to the place of its age when it becomes active") {
    lists_machine m(1);
    bare_queue_in<cmwq::elastic> busy(m.environment(), m.pool, 1'000);
    item runs, before, outside;
    std::array<item, 3> w;
    std::array<item, 40> backlog;
    m.queue(runs);
    REQUIRE(m.start(m.b) == &runs);
    const bool is_first = GENERATE(true, false);
    if (!is_first) m.queue_by(m.guest, before, busy.pwq);
    m.tick();
    for (work_base& local : w) m.queue_by(m.b, local);
    m.tick();
    m.queue(outside);
    for (work_base& other : backlog) m.queue_by(m.guest, other, busy.pwq);
    static_cast<void>(m.ledger.traffic_of(m.pwq)); // recalls them
    REQUIRE(m.pwq.inactive.size() == 4);
    m.tick();
    m.end(m.b);
    const order ran = m.run_all(m.b);
    const auto at = [&ran](const work_base& one) { return std::find(ran.begin(), ran.end(), &one) - ran.begin(); };
    for (int i = 0; i < 3; ++i) CHECK(at(w[static_cast<std::size_t>(i)]) == i + (is_first ? 0 : 1));
    CHECK(at(outside) == (is_first ? 43 : 44)); // the limit kept it back on its arrival: its age began late
    CHECK(m.pwq.drained());
}

TEST_CASE("old items: one that a limit has kept back for long keeps a tenth of a second of its age") {
    lists_machine m(1);
    bare_queue_in<cmwq::elastic> busy(m.environment(), m.pool, 1'000);
    item runs, w;
    std::array<item, 2> other;
    m.queue(runs);
    REQUIRE(m.start(m.b) == &runs);
    m.queue_by(m.b, w);
    static_cast<void>(m.ledger.traffic_of(m.pwq)); // recalls it
    m.tick(1, 3'000);
    m.queue(other[0], busy.pwq);
    m.tick(1, 150);
    m.queue(other[1], busy.pwq);
    m.ledger.receive_turn(); // accepts them
    m.tick(1, 50);
    m.end(m.b);
    CHECK(m.run_all(m.b) == order{&other[0], &w, &other[1]});
}

TEST_CASE("old items: at the limit an older item takes the slot of a younger one that has not started") {
    const bool recalled = GENERATE(true, false);
    lists_machine m(2);
    item runs;
    std::array<item, 3> w;
    m.queue(runs);
    REQUIRE(m.start(m.b) == &runs);
    m.queue_by(m.b, w[0]);
    m.tick(2);
    m.queue(w[1]);
    m.queue(w[2]);
    item_waiter iw;
    SECTION("nobody waits for the younger one") {
        m.tick();
        if (recalled) static_cast<void>(m.ledger.traffic_of(m.pwq));
        CHECK(m.start(m.a) == &w[0]);
        CHECK(m.ledger.nr_active_of(m.pwq) == 2);
        CHECK(m.pwq.inactive.size() == 2);
        m.end(m.a);
        CHECK(m.run_all(m.a) == order{&w[1], &w[2]});
    }
    SECTION("a thread waits for it") {
        CHECK(m.ledger.wait_for(w[1], iw, pool_ledger::instance::last_queued) == pool_ledger::item_state::pending);
        m.tick();
        if (recalled) static_cast<void>(m.ledger.traffic_of(m.pwq));
        CHECK(m.run_all(m.a) == order{&w[1], &w[0], &w[2]});
    }
    SECTION("the queue is frozen") {
        m.ledger.receive_turn(); // accepts the items of the inbox
        m.ledger.set_frozen(m.pwq, true);
        CHECK(m.run_all(m.a) == order{&w[1]}); // was active
        m.ledger.set_frozen(m.pwq, false);
        CHECK(m.run_all(m.a) == order{&w[0], &w[2]});
    }
    m.end(m.b);
    CHECK(m.pwq.drained());
}

// Its age has begun when it became active; the local item, queued after it, looks older.
TEST_CASE("old items: an item that the limit kept back does not lose its slot to a later one of its queue") {
    const bool recalled = GENERATE(true, false);
    lists_machine m(1);
    std::array<item, 3> w;
    m.queue(w[0]);
    REQUIRE(m.start(m.b) == &w[0]);
    m.queue(w[1]);
    m.ledger.receive_turn(); // accepts it: the limit keeps it back
    m.tick();
    m.queue_by(m.b, w[2]); // as an item of a chain does
    m.tick(2);
    m.end(m.b);
    REQUIRE(m.ledger.nr_active_of(m.pwq) == 1);
    m.tick(2);
    if (recalled) static_cast<void>(m.ledger.traffic_of(m.pwq));
    CHECK(m.run_all(m.a) == order{&w[1], &w[2]});
    CHECK(m.pwq.drained());
}

// An exact stamp may be younger than that of the next item, which is from the last tick.
TEST_CASE("old items: a list that is not quite sorted is recalled at the limit") {
    lists_machine m(2);
    item runs;
    std::array<item, 4> w;
    m.queue(runs);
    REQUIRE(m.start(m.b) == &runs);
    m.tick();
    const wait_stamp older = m.environment().ticks.now();
    m.tick();
    m.queue_by(m.b, w[1]);
    m.queue_by(m.b, w[0]);
    work_access::set_queued_at(w[0], older);
    m.tick();
    m.queue(w[2]);
    m.queue(w[3]);
    static_cast<void>(m.ledger.traffic_of(m.pwq)); // each of the two takes a slot, the second one that of the first
    CHECK(m.run_all(m.a) == order{&w[0], &w[1], &w[2], &w[3]});
    m.end(m.b);
    CHECK(m.pwq.drained());
}

// proves: progress-9
TEST_CASE("old items: items that are recalled go to the places of their ages") {
    lists_machine m;
    std::array<item, 7> w;
    m.queue_by(m.b, w[0]);
    m.tick();
    m.queue_by(m.a, w[1]);
    m.tick();
    m.queue_by(m.b, w[2]);
    m.queue(w[3]); // in the same tick: those of the pool come first
    m.tick();
    m.queue(w[4]);
    m.tick();
    m.queue_by(m.a, w[5]);
    m.tick();
    m.queue(w[6]);
    CHECK(recalled(m) == order{&w[0], &w[1], &w[3], &w[2], &w[4], &w[5], &w[6]});
}

TEST_CASE("old items: an item that a wait could not run goes to the place of its age") {
    const unsigned limit = GENERATE(1u, 8u); // the inactive list, or the worklist
    lists_machine m(limit);
    item runs;
    std::array<item, 3> w;
    m.queue(runs);
    REQUIRE(m.start(m.b) == &runs);
    m.queue(w[0]);
    m.tick();
    m.queue_by(m.b, w[1]);
    m.tick();
    m.queue(w[2]);
    m.ledger.receive_turn(); // accepts the items of the inbox
    {
        const scoped_lock g(m.ledger.lock);
        REQUIRE(m.b.local.take_back(w[1]));
        m.ledger.accept_locked(w[1]);
        m.ledger.move_by_age_locked(w[1]);
        m.ledger.publish_pending_locked();
    }
    m.end(m.b);
    CHECK(m.run_all(m.a) == order{&w[0], &w[1], &w[2]});
    CHECK(m.pwq.drained());
}

TEST_CASE("old items: those that the limit keeps back do so, too, each in its queue") {
    lists_machine m(1);
    bare_queue_in<cmwq::elastic> second(m.environment(), m.pool, 1);
    item runs, runs_too;
    std::array<item, 6> w;
    m.queue(runs);
    REQUIRE(m.start(m.b) == &runs);
    m.queue_by(m.a, runs_too, second.pwq);
    REQUIRE(m.start(m.a) == &runs_too);
    const auto in = [&](std::size_t i) -> pool_workqueue& { return i % 2 == 0 ? m.pwq : second.pwq; };
    for (const std::size_t i : {0u, 1u, 2u, 3u, 4u, 5u}) {
        m.queue_by(i < 2 ? m.b : m.a, w[i], in(i));
        if (i == 3) static_cast<void>(m.ledger.traffic_of(m.pwq)); // recalls the first four
        m.tick();
    }
    static_cast<void>(m.ledger.traffic_of(m.pwq));
    for (std::size_t i = 0; i < 2; ++i) {
        const work_base* one = in(i).inactive.front();
        for (std::size_t k = i; k < w.size(); k += 2, one = in(i).inactive.next(const_cast<work_base&>(*one)))
            CHECK(one == &w[k]);
    }
    m.end(m.a);
    m.end(m.b);
    CHECK(m.run_all(m.a).size() == w.size());
}
