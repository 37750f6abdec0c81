// SPDX-License-Identifier: BSL-1.0
//
// node_slots alone: pwqs take slots, wait for them, and get them in turn. (tests/model/slots.test.cpp searches the
// races.)
#include "bare_pool.hpp"
#include "catch.hpp"

#include <cmwq/detail/engine/ledger/node_slots.hpp>

using namespace cmwq::detail;
using cmwq_test::bare_env;
using cmwq_test::bare_pool;
using cmwq_test::bare_queue;

namespace {

using state = pool_workqueue::slot_state;

/// Three pwqs in pools of their own that share slots.
struct node {
    explicit node(unsigned max) { slots.set_max(max); }
    ~node() { // the grants in the inboxes are on no list then
        for (pool_workqueue* p : {&a, &b, &c}) p->ledger->receive_turn();
    }
    node(const node&) = delete;
    node& operator=(const node&) = delete;

    bare_env env;
    bare_pool first{env, 1}, second{env, 2}, third{env, 3};
    bare_queue<cmwq::unbound> queue{env};
    node_slots slots;
    pool_workqueue a{queue.face, first, &slots}, b{queue.face, second, &slots}, c{queue.face, third, &slots};
};

} // namespace

TEST_CASE("node slots: no more are taken than there are") {
    node n(2);
    CHECK(n.slots.take(n.a).yes);
    CHECK(n.slots.take(n.a).yes);
    CHECK_FALSE(n.slots.take(n.b).yes);
    CHECK(n.slots.in_use() == 2);
    CHECK(n.b.slot == state::waiting);
    n.slots.forget(n.b);
    CHECK(n.b.slot == state::none);
    CHECK(n.slots.give_back() == nullptr); // nobody waits
    CHECK(n.slots.take(n.b).yes);
}

TEST_CASE("node slots: a slot that is given back goes to the pwq that has waited longest") {
    node n(1);
    CHECK(n.slots.take(n.a).yes);
    CHECK_FALSE(n.slots.take(n.c).yes);
    CHECK_FALSE(n.slots.take(n.b).yes);
    CHECK_FALSE(n.slots.take(n.c).yes); // it waits already, and keeps its place
    CHECK(n.slots.give_back() == &n.third);
    CHECK(n.c.slot == state::granted);
    CHECK(n.third.ledger.pending()); // the grant is in the inbox of its pool
    CHECK(n.slots.in_use() == 1);    // the slot is taken for it
    n.slots.grant_received(n.c);
    CHECK(n.slots.give_back() == &n.second);
    n.slots.grant_received(n.b);
    CHECK(n.slots.give_back() == nullptr);
    CHECK(n.slots.in_use() == 0);
}

TEST_CASE("node slots: a pwq keeps its slot only while no other one waits") {
    node n(1);
    CHECK(n.slots.take(n.a).yes);
    CHECK_FALSE(n.slots.take(n.a).yes); // for the next item
    CHECK(n.slots.has_no_other_waiter());
    CHECK_FALSE(n.slots.take(n.b).yes);
    CHECK_FALSE(n.slots.has_no_other_waiter());
    n.slots.forget(n.b);
    n.slots.set_max(0);
    CHECK_FALSE(n.slots.has_no_other_waiter()); // more are in use than there are
}

TEST_CASE("node slots: a raised limit is granted to those that wait, one after the other") {
    node n(1);
    CHECK(n.slots.take(n.a).yes);
    CHECK_FALSE(n.slots.take(n.b).yes);
    CHECK_FALSE(n.slots.take(n.c).yes);
    CHECK(n.slots.grant() == nullptr);
    n.slots.set_max(3);
    CHECK(n.slots.grant() == &n.second);
    CHECK(n.slots.grant() == &n.third);
    CHECK(n.slots.grant() == nullptr);
    CHECK(n.slots.in_use() == 3);
}

TEST_CASE("node slots: one beyond the limit delays the next ones") {
    node n(1);
    n.slots.take_beyond_max();
    n.slots.take_beyond_max();
    CHECK_FALSE(n.slots.take(n.a).yes);
    CHECK(n.slots.give_back() == nullptr);
    CHECK(n.slots.give_back() == &n.first);
}

TEST_CASE("node slots: they tell once that few are in use") {
    node n(3);
    CHECK(n.slots.take(n.a).yes);
    CHECK(n.slots.take(n.a).yes);
    CHECK_FALSE(n.slots.is_down());
    n.slots.set_mark(1);
    CHECK_FALSE(n.slots.is_down());
    CHECK(n.slots.give_back() == nullptr);
    CHECK(n.slots.is_down());
    CHECK_FALSE(n.slots.is_down());
}

TEST_CASE("node slots: items move to other slots, also beyond their limit") {
    node n(2);
    node_slots other;
    other.set_max(1);
    CHECK(n.slots.take(n.a).yes);
    CHECK(n.slots.take(n.a).yes);
    n.slots.set_max(0);
    n.slots.move_to(other, 2);
    CHECK(n.slots.in_use() == 0);
    CHECK(other.in_use() == 2);
}
