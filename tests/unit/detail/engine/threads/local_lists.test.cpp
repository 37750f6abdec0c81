// SPDX-License-Identifier: BSL-1.0
//
// local_lists and local_items alone: where the items go that items queue, and who takes them.
#include "catch.hpp"
#include "lists_machine.hpp"

#include <cmwq/detail/engine/threads/local_lists.hpp>

#include <array>
#include <vector>

using namespace cmwq::detail;
using cmwq::work_base;
using item = cmwq_test::bare_item;
using cmwq_test::bare_queue_in;
using cmwq_test::lists_machine;

namespace {

using order = std::vector<work_base*>;

} // namespace

TEST_CASE("local lists: a worker takes its newest item first, but behind those of the pool") {
    lists_machine m;
    std::array<item, 3> w;
    item outside;
    m.queue_by(m.a, w[0]);
    m.queue_by(m.a, w[1]);
    m.queue_by(m.a, w[2]);
    m.queue(outside);
    CHECK(m.lists.any());
    CHECK(m.pool.pending());
    CHECK(m.run_all(m.a) == order{&outside, &w[2], &w[1], &w[0]});
    CHECK_FALSE(m.lists.any());
    CHECK(m.pwq.drained());
}

TEST_CASE("local lists: a worker without items takes the older half of another one's") {
    lists_machine m;
    std::array<item, 4> w;
    for (item& one : w) m.queue_by(m.a, one);
    CHECK(m.start(m.b) == &w[0]);
    CHECK(m.a.local.size() == 2);
    CHECK(m.b.local.size() == 1);
    m.end(m.b);
    CHECK(m.start(m.b) == &w[1]);
    m.end(m.b);
    CHECK(m.run_all(m.a) == order{&w[3], &w[2]});
}

TEST_CASE("local lists: the limit counts for local items, and keeps them in the pool") {
    lists_machine m(1);
    item outer;
    std::array<item, 2> w;
    m.queue(outer);
    CHECK(m.start(m.a) == &outer);
    m.queue_by(m.a, w[0]);
    m.queue_by(m.a, w[1]);
    CHECK(m.start(m.b) == nullptr);
    CHECK_FALSE(m.lists.any()); // all of them are on the inactive list now
    m.end(m.a);
    CHECK(m.run_all(m.b).size() == 2);
}

TEST_CASE("local lists: who must know all items of the pool recalls them") {
    lists_machine m;
    std::array<item, 2> w;
    m.queue_by(m.a, w[0]);
    m.queue_by(m.b, w[1]);
    CHECK(m.ledger.steal(w[0])); // finds a local item
    CHECK_FALSE(m.lists.any());
    work_access::clear_pending(w[0]);
    CHECK(m.run_all(m.a) == order{&w[1]}); // the other one has become one of the pool
}

TEST_CASE("local lists: the next worker recalls the items of a worker that is found blocked") {
    lists_machine m;
    std::array<item, 2> w;
    item of_guest;
    m.queue_by(m.a, w[0]);
    m.a.counted.store(false, relaxed);
    m.lists.uncounted(m.a);
    m.queue_by(m.b, w[1]);
    item task;
    m.queue(task);
    CHECK(m.start(m.guest) == &task);
    m.queue_by(m.guest, of_guest);
    CHECK(m.start(m.b) == &w[0]); // it need not wait for the worker's own list to be empty
    m.end(m.b);
    CHECK(m.a.local.empty());
    CHECK(m.guest.local.size() == 1); // a guest is never counted
    CHECK(m.run_all(m.b).size() == 2);
    m.end(m.guest);
}

TEST_CASE("local lists: an item that a blocked worker queues is recalled, too") {
    lists_machine m;
    std::array<item, 2> w;
    m.a.counted.store(false, relaxed);
    m.queue_by(m.a, w[0]);
    m.queue_by(m.b, w[1]);
    CHECK(m.run_all(m.b) == order{&w[0], &w[1]});
}

// It may be blocked, which no detector notices. But if all of its items went to the pool, no local item would follow.
TEST_CASE("local lists: the items of a guest are recalled if it has started nothing between two items of a worker") {
    const bool goes_on = GENERATE(true, false);
    lists_machine m;
    item task, own;
    std::array<item, 2> of_guest;
    m.queue(task);
    CHECK(m.start(m.guest) == &task);
    for (item& one : of_guest) m.queue_by(m.guest, one);
    m.queue_by(m.a, own);
    CHECK(m.start(m.a) == &own);
    m.end(m.a);
    if (goes_on) {
        m.end(m.guest);
        const scoped_lock g(m.ledger.lock);
        work_base* const w = local_lists::take_if_locked(m.ledger, m.guest, [](const work_base&) { return true; });
        REQUIRE(w == &of_guest[1]);
        static_cast<void>(m.ledger.begin_run_locked(m.guest, *w));
    }
    CHECK(m.guest.local.size() == (goes_on ? 1 : 2));
    m.queue_by(m.a, own);
    CHECK(m.start(m.a) == (goes_on ? &own : &of_guest[0]));
    CHECK(m.guest.local.size() == (goes_on ? 1 : 0));
    m.end(m.a);
    m.end(m.guest);
    CHECK(m.run_all(m.b).size() == (goes_on ? 1 : 2));
}

TEST_CASE("local lists: a guest takes those of its items that it wants, within the limit") {
    lists_machine m(1);
    std::array<item, 3> w;
    for (item& one : w) m.queue_by(m.guest, one);
    const auto take = [&m](const work_base& wanted) {
        const scoped_lock g(m.ledger.lock);
        work_base* const one =
            local_lists::take_if_locked(m.ledger, m.guest, [&](const work_base& it) { return &it == &wanted; });
        if (one != nullptr) static_cast<void>(m.ledger.begin_run_locked(m.guest, *one));
        return one;
    };
    const item other;
    CHECK(take(other) == nullptr);
    CHECK(take(w[1]) == &w[1]);
    CHECK(take(w[2]) == nullptr); // the limit keeps it back
    CHECK(m.guest.local.size() == 1);
    m.end(m.guest);
    CHECK(m.run_all(m.a).size() == 2);
}

TEST_CASE("local lists: a worker that goes idle leaves its items to the pool") {
    lists_machine m;
    item w;
    m.queue_by(m.a, w);
    {
        const scoped_lock g(m.ledger.lock);
        m.lists.end_work_locked(m.ledger, m.a);
    }
    CHECK_FALSE(m.lists.any());
    CHECK(m.ledger.pending());
    CHECK(m.start(m.b) == &w);
    m.end(m.b);
}

TEST_CASE("local lists: a push stops when somebody searches the lists") {
    lists_machine m;
    item running, w;
    atomic<bool> stop{true};
    m.queue(running);
    REQUIRE(m.start(m.a) == &running);
    CHECK_FALSE(m.lists.push_unless(stop, m.ledger, m.a, w));
    CHECK_FALSE(m.lists.any());
    stop.store(false, relaxed);
    REQUIRE(work_access::claim(w) == claim_result::claimed);
    CHECK(m.lists.push_unless(stop, m.ledger, m.a, w));
    std::vector<work_base*> seen;
    local_lists::for_each(m.ledger, [&](work_base& one) { seen.push_back(&one); });
    CHECK(seen == order{&w});
    CHECK(work_access::pwq(w) == &m.pwq);
    CHECK(m.run_all(m.b) == order{&w});
    m.end(m.a);
}

TEST_CASE("local lists: which item is idle") {
    lists_machine m;
    item never, runs;
    CHECK(m.lists.is_idle(m.ledger, never));
    m.queue(runs);
    CHECK(m.start(m.a) == &runs);
    CHECK_FALSE(m.lists.is_idle(m.ledger, runs));
    m.end(m.a);
    CHECK(m.lists.is_idle(m.ledger, runs));
    work_access::set_location(never, std::uint64_t{9} << location::id_shift);
    CHECK_FALSE(m.lists.is_idle(m.ledger, never)); // another pool may run it
    work_access::set_location(never, 0);
}

// --- items that follow in a run --------------------------------------------------------------------------------------

TEST_CASE("local lists: a local item follows in the run, with its color and its slot") {
    lists_machine m(1);
    item outer, next;
    m.queue(outer);
    CHECK(m.start(m.a) == &outer);
    m.queue_by(m.a, next);
    CHECK(m.lists.take_follow_up(m.ledger, m.a) == &next);
    static_cast<void>(m.ledger.begin_follow_up(m.a, next));
    CHECK(m.ledger.nr_active_of(m.pwq) == 1);
    CHECK(m.lists.take_follow_up(m.ledger, m.a) == nullptr);
    m.end(m.a);
    CHECK(m.pwq.counts.completed == 2);
    CHECK(m.pwq.drained());
}

TEST_CASE("local lists: a run does not go on with local items under a former limit") {
    lists_machine m;
    node_slots former, later;
    former.set_max(2);
    later.set_max(0);
    pool_workqueue shared(m.queue_.queue.face, m.pool, &former);
    item outer, next;
    REQUIRE(m.pool.push(outer, shared));
    CHECK(m.start(m.a) == &outer);
    m.queue_by(m.a, next, shared);
    former.set_max(0); // as queue_limits does
    m.ledger.set_slots(shared, later);
    CHECK(m.lists.take_follow_up(m.ledger, m.a) == nullptr);
    m.end(m.a);
    CHECK(m.start(m.a) == nullptr);
    later.set_max(1);
    while (pool_owner* const p = later.grant()) p->notify();
    CHECK(m.run_all(m.a) == order{&next});
}

// A flush that has begun must not wait for items that are queued later.
TEST_CASE("local lists: a run that has been recalled goes on with no local item, and the next run does") {
    const bool had_items = GENERATE(true, false);
    lists_machine m;
    item outer, next, last;
    m.queue(outer);
    CHECK(m.start(m.a) == &outer);
    if (had_items) m.queue_by(m.a, next);
    CHECK(m.ledger.traffic_of(m.pwq).entered == (had_items ? 2 : 1)); // must know all items
    if (!had_items) m.queue_by(m.a, next);
    CHECK(m.lists.take_follow_up(m.ledger, m.a) == nullptr);
    m.end(m.a);
    CHECK(m.start(m.a) == &next);
    m.queue_by(m.a, last);
    REQUIRE(m.lists.take_follow_up(m.ledger, m.a) == &last);
    static_cast<void>(m.ledger.begin_follow_up(m.a, last));
    m.end(m.a);
    CHECK(m.pwq.drained());
}

TEST_CASE("local lists: what keeps a local item from following") {
    lists_machine m;
    item outer, next;
    m.queue(outer);
    CHECK(m.start(m.a) == &outer);
    m.queue_by(m.a, next);
    SECTION("an item of the pool waits") {
        item stranger;
        m.queue(stranger);
        CHECK(m.lists.take_follow_up(m.ledger, m.a) == nullptr);
        m.end(m.a);
        CHECK(m.run_all(m.a) == order{&stranger, &next});
    }
    SECTION("the worker is not counted any more") {
        m.a.counted.store(false, relaxed);
        CHECK(m.lists.take_follow_up(m.ledger, m.a) == nullptr);
        m.end(m.a);
        CHECK(m.run_all(m.a) == order{&next});
    }
    SECTION("a thread waits for the run") {
        item_waiter iw;
        CHECK(m.ledger.wait_for(outer, iw, pool_ledger::instance::running) == pool_ledger::item_state::running);
        CHECK(m.lists.take_follow_up(m.ledger, m.a) == nullptr);
        m.end(m.a);
        CHECK_FALSE(iw.waits);
        CHECK(m.run_all(m.a) == order{&next});
    }
    SECTION("an item of a worker that is not counted any more waits") {
        item left;
        m.queue_by(m.b, left);
        m.b.counted.store(false, relaxed);
        m.lists.uncounted(m.b);
        CHECK(m.lists.take_follow_up(m.ledger, m.a) == nullptr);
        m.end(m.a);
        CHECK(m.run_all(m.a) == order{&left, &next});
    }
    SECTION("the queue is frozen") {
        m.ledger.set_frozen(m.pwq, true);
        CHECK(m.lists.take_follow_up(m.ledger, m.a) == nullptr);
        m.end(m.a);
        CHECK(m.run_all(m.a).empty());
        m.ledger.set_frozen(m.pwq, false);
        CHECK(m.run_all(m.a) == order{&next});
    }
}
