// SPDX-License-Identifier: BSL-1.0
//
// pool_ledger alone: the test pushes, takes, runs and ends items itself, in the order that it wants.
#include "bare_pool.hpp"
#include "catch.hpp"

#include <cmwq/detail/engine/ledger/node_slots.hpp>
#include <cmwq/detail/engine/ledger/pool_ledger.hpp>

#include <array>
#include <thread>
#include <vector>

using namespace cmwq::detail;
using cmwq::work_base;
using cmwq_test::bare_env;
using cmwq_test::bare_pool;
using item = cmwq_test::bare_item;
using cmwq_test::bare_queue;
using cmwq_test::bare_queue_in;

namespace {

/// A pool with two workers, and a queue with a limit of its own in this pool.
template <class Policy = cmwq::bound>
class ledger_machine {
    bare_env env_;

public:
    explicit ledger_machine(unsigned max_active = 8)
        : pool(env_), queue(env_), pwq(queue.face, pool, nullptr), a(pool.add_worker()), b(pool.add_worker()) {
        pwq.max_active = max_active;
    }

    [[nodiscard]] const bare_env& env() const { return env_; }

    bool push(work_base& w, pool_workqueue& to) { return pool.push(w, to); }
    bool push(work_base& w) { return pool.push(w, pwq); }
    work_base* start(worker& by) { return pool.start(by); }
    void end(worker& by) { pool.end(by); }
    /// Runs everything that may start, and returns it in order.
    std::vector<work_base*> run_all() {
        std::vector<work_base*> order;
        while (work_base* const w = start(a)) {
            order.push_back(w);
            end(a);
        }
        return order;
    }

    bare_pool pool;
    pool_ledger& ledger = pool.ledger;
    bare_queue<Policy> queue;
    pool_workqueue pwq;
    worker &a, &b;
};

using order = std::vector<work_base*>;

} // namespace

TEST_CASE("ledger: items start in the order of their pushes") {
    ledger_machine m;
    std::array<item, 3> w;
    for (item& one : w) CHECK(m.push(one));
    CHECK_FALSE(m.push(w[1])); // pending
    CHECK(m.ledger.pending());
    CHECK(m.run_all() == order{&w[0], &w[1], &w[2]});
    CHECK_FALSE(m.ledger.pending());
    CHECK(m.ledger.nr_started() == 3);
    CHECK(m.ledger.nr_completed() == 3);
}

TEST_CASE("ledger: a run that never ends may count billions of tasks") {
    constexpr std::uint64_t many = 5'000'000'000;
    ledger_machine m;
    item w;
    m.push(w);
    m.start(m.a);
    m.a.nr_more_started.store(many + 1, relaxed);
    m.a.nr_ended.store(many, relaxed);
    {
        const scoped_lock g(m.ledger.lock);
        const pwq_stats s = m.ledger.stats_of_locked(m.pwq);
        CHECK(s.started == many + 2);
        CHECK(s.completed == many);
    }
    m.a.nr_ended.store(many + 1, relaxed);
    m.end(m.a);
    const scoped_lock g(m.ledger.lock);
    CHECK(m.ledger.stats_of_locked(m.pwq).completed == many + 2);
}

TEST_CASE("ledger: beyond the limit an item becomes active when another one has ended") {
    ledger_machine m(2);
    std::array<item, 4> w;
    for (item& one : w) m.push(one);
    CHECK(m.start(m.a) == &w[0]);
    CHECK(m.start(m.b) == &w[1]);
    worker& c = m.pool.add_worker();
    CHECK(m.start(c) == nullptr);
    CHECK(m.ledger.nr_active_of(m.pwq) == 2);
    m.end(m.b);
    CHECK(m.start(c) == &w[2]);
    m.end(c);
    CHECK(m.start(c) == &w[3]);
    m.end(c);
    m.end(m.a);
    CHECK(m.ledger.nr_active_of(m.pwq) == 0);
    CHECK(m.pwq.drained());
}

TEST_CASE("ledger: a raised limit starts waiting items, a lowered one stops none") {
    ledger_machine m(1);
    std::array<item, 3> w;
    for (item& one : w) m.push(one);
    CHECK(m.start(m.a) == &w[0]);
    CHECK(m.start(m.b) == nullptr);
    const int before = m.pool.nr_notified;
    m.ledger.set_max_active(m.pwq, 2);
    CHECK(m.pool.nr_notified > before); // an item has become active, and nobody may run it but a thread of the pool
    CHECK(m.start(m.b) == &w[1]);
    m.ledger.set_max_active(m.pwq, 1);
    CHECK(m.ledger.nr_active_of(m.pwq) == 2);
    m.end(m.b);
    CHECK(m.start(m.b) == nullptr);
    m.end(m.a);
    CHECK(m.run_all() == order{&w[2]});
}

TEST_CASE("ledger: an item of another queue starts behind the active items, not behind the backlog") {
    ledger_machine m(1);
    bare_queue_in<cmwq::bound> other(m.env(), m.pool, 1);
    std::array<item, 3> w;
    item stranger;
    for (item& one : w) m.push(one);
    m.push(stranger, other.pwq);
    CHECK(m.run_all() == order{&w[0], &stranger, &w[1], &w[2]});
}

TEST_CASE("ledger: an item that is queued while it runs waits for its run, whoever looks for items") {
    ledger_machine m;
    item w, next;
    m.push(w);
    CHECK(m.start(m.a) == &w);
    CHECK(m.ledger.runs(w));
    CHECK(m.ledger.runs_now(w));
    CHECK(m.ledger.may_run(w));
    CHECK(m.push(w));
    m.push(next);
    CHECK(m.start(m.b) == &next);
    m.end(m.b);
    CHECK(m.start(m.b) == nullptr);
    m.end(m.a);
    CHECK_FALSE(m.ledger.runs(w));
    CHECK(m.start(m.b) == nullptr); // it is the turn of the worker that ran it
    CHECK(m.start(m.a) == &w);
    m.end(m.a);
    CHECK(m.pwq.counts.completed == 3);
}

TEST_CASE("ledger: an item that another pool would run goes behind its run here, for the same queue only") {
    ledger_machine m(2);
    bare_queue<cmwq::bound> other(m.env());
    item w, earlier;
    m.push(w);
    CHECK(m.start(m.a) == &w);
    m.push(earlier);
    REQUIRE(work_access::claim(w) == claim_result::claimed);
    CHECK_FALSE(m.ledger.push_behind_own_run(w, other.face));
    CHECK(m.ledger.push_behind_own_run(w, m.queue.face));
    CHECK(m.start(m.b) == &earlier); // it has the second slot
    m.end(m.b);
    CHECK(m.start(m.b) == nullptr);
    m.end(m.a);
    CHECK(m.start(m.a) == &w);
    m.end(m.a);
}

TEST_CASE("ledger: a pending item can be stolen from every list, a running one cannot") {
    ledger_machine m(1);
    item running, again, inactive, arrived;
    m.push(running);
    CHECK_FALSE(m.ledger.steal(again)); // it is idle
    CHECK(m.start(m.a) == &running);
    CHECK_FALSE(m.ledger.steal(running));
    m.push(inactive);
    CHECK(m.start(m.b) == nullptr); // accepts it
    m.push(arrived);
    m.push(running);
    CHECK(m.ledger.steal(inactive));
    CHECK(m.ledger.steal(arrived));
    CHECK(m.ledger.steal(running)); // the instance that waits for the run
    for (item* one : {&inactive, &arrived, &running}) {
        CHECK(work_access::pending(*one)); // the caller owns it
        work_access::clear_pending(*one);
    }
    m.end(m.a);
    CHECK(m.run_all().empty());
    CHECK(m.pwq.drained());
    CHECK(m.pwq.counts.completed == 1);
}

TEST_CASE("ledger: a stolen active item leaves its place to the next one") {
    ledger_machine m(1);
    item first, second;
    m.push(first);
    m.push(second);
    CHECK(m.ledger.steal(first));
    CHECK(m.run_all() == order{&second});
    work_access::clear_pending(first);
}

TEST_CASE("ledger: a waiter learns of the end of the instance queued last") {
    ledger_machine m;
    using state = pool_ledger::item_state;
    item w;
    item_waiter early, late, running, none;
    CHECK(m.ledger.wait_for(w, none, pool_ledger::instance::last_queued) == state::not_here);
    m.push(w);
    CHECK(m.ledger.wait_for(w, early, pool_ledger::instance::last_queued) == state::pending);
    CHECK(m.start(m.a) == &w);
    CHECK(early.runner == &m.a);
    CHECK(m.ledger.wait_for(w, running, pool_ledger::instance::running) == state::running);
    m.push(w);
    CHECK(m.ledger.wait_for(w, late, pool_ledger::instance::last_queued) == state::pending);
    m.end(m.a);
    CHECK_FALSE(early.waits);
    CHECK_FALSE(running.waits);
    CHECK(late.waits);
    CHECK(m.ledger.wait_for(w, none, pool_ledger::instance::running) == state::not_here); // nothing runs
    CHECK(m.start(m.a) == &w);
    m.end(m.a);
    CHECK_FALSE(late.waits);
}

TEST_CASE("ledger: a cancelled instance ends the waits for it") {
    ledger_machine m;
    item w;
    item_waiter iw;
    m.push(w);
    CHECK(m.ledger.wait_for(w, iw, pool_ledger::instance::last_queued) == pool_ledger::item_state::pending);
    CHECK(m.ledger.steal(w));
    CHECK_FALSE(iw.waits);
    work_access::clear_pending(w);
}

TEST_CASE("ledger: a waiter that stops waiting is not told") {
    ledger_machine m;
    item w;
    item_waiter pending, running;
    m.push(w);
    CHECK(m.ledger.wait_for(w, pending, pool_ledger::instance::last_queued) == pool_ledger::item_state::pending);
    m.ledger.stop_waiting(pending);
    CHECK(m.start(m.a) == &w);
    CHECK(m.ledger.wait_for(w, running, pool_ledger::instance::running) == pool_ledger::item_state::running);
    m.ledger.stop_waiting(running);
    m.end(m.a);
    CHECK_FALSE((pending.waits || running.waits));
}

TEST_CASE("ledger: a flush waits for the items before it, and not for those behind it") {
    ledger_machine m(1);
    std::array<item, 3> w;
    waiter who;
    color_waiter cw{.who = &who, .pwq = &m.pwq, .pool = &m.pool};
    CHECK_FALSE(m.ledger.close_color(m.pwq, cw)); // nothing has been queued
    m.push(w[0]);
    m.push(w[1]);
    CHECK(m.ledger.close_color(m.pwq, cw)); // it accepts what has arrived
    m.push(w[2]);
    CHECK(m.start(m.a) == &w[0]);
    m.end(m.a);
    CHECK(cw.waits);
    CHECK(m.ledger.steal(w[1])); // a cancel counts, too
    work_access::clear_pending(w[1]);
    CHECK_FALSE(cw.waits);
    CHECK(m.run_all() == order{&w[2]});
}

TEST_CASE("ledger: a frozen pwq starts what is active, and nothing else until the thaw") {
    ledger_machine m(1);
    std::array<item, 3> w;
    m.push(w[0]);
    m.push(w[1]);
    CHECK(m.start(m.a) == &w[0]);
    m.ledger.set_frozen(m.pwq, true);
    m.end(m.a);
    m.push(w[2]);
    CHECK(m.run_all().empty());
    CHECK(m.ledger.nr_active_of(m.pwq) == 0);
    m.ledger.set_frozen(m.pwq, false);
    CHECK(m.run_all() == order{&w[1], &w[2]});
}

TEST_CASE("ledger: a pwq that is held back gives all items that have not started, in their order") {
    ledger_machine m(2);
    std::array<item, 4> w;
    for (item& one : w) m.push(one);
    CHECK(m.start(m.a) == &w[0]); // the next one is active, too
    m.ledger.hold_back(m.pwq);
    CHECK(m.start(m.b) == nullptr);
    for (std::size_t i = 1; i < w.size(); ++i) {
        CHECK(m.ledger.take_held_back(m.pwq) == &w[i]);
        work_access::clear_pending(w[i]);
    }
    CHECK(m.ledger.take_held_back(m.pwq) == nullptr);
    m.push(w[1]);
    CHECK(m.start(m.b) == nullptr);
    m.ledger.let_go(m.pwq);
    CHECK(m.start(m.b) == &w[1]);
    m.end(m.b);
    m.end(m.a);
}

TEST_CASE("ledger: a detached pwq may be freed when its items have left") {
    ledger_machine m;
    item w;
    m.push(w);
    CHECK_FALSE(m.ledger.may_be_freed(m.pwq)); // it is in use
    CHECK_FALSE(m.ledger.detach(m.pwq, nullptr));
    CHECK_FALSE(m.ledger.may_be_freed(m.pwq));
    CHECK(m.run_all() == order{&w});
    CHECK(m.queue.face.take_reaping());
    CHECK(m.ledger.may_be_freed(m.pwq));
}

TEST_CASE("ledger: the next pwq of an ordered queue begins when the one before it has drained") {
    ledger_machine<cmwq::ordered> m;
    node_slots slots;
    slots.set_max(1);
    pool_workqueue old(m.queue.face, m.pool, &slots), fresh(m.queue.face, m.pool, &slots);
    fresh.plugged = true;
    item first, second;
    m.push(first, old);
    m.push(second, fresh);
    CHECK(m.start(m.a) == &first);
    CHECK_FALSE(m.ledger.detach(old, &fresh));
    CHECK(m.start(m.b) == nullptr);
    m.end(m.a);
    CHECK(m.start(m.b) == &second);
    m.end(m.b);
    CHECK(slots.in_use() == 0);
}

TEST_CASE("ledger: the producer of an ordered queue learns that an item runs") {
    ledger_machine<cmwq::ordered> m;
    node_slots slots;
    slots.set_max(1);
    pool_workqueue pwq(m.queue.face, m.pool, &slots);
    item w;
    m.push(w, pwq);
    CHECK_FALSE(pwq.runs_one.load(relaxed));
    CHECK(m.start(m.a) == &w);
    CHECK(pwq.runs_one.load(relaxed));
    m.end(m.a);
    CHECK_FALSE(pwq.runs_one.load(relaxed));
}

TEST_CASE("ledger: two pwqs that share slots take turns") {
    ledger_machine<cmwq::unbound> m;
    node_slots slots;
    slots.set_max(1);
    pool_workqueue one(m.queue.face, m.pool, &slots), other(m.queue.face, m.pool, &slots);
    std::array<item, 3> first;
    std::array<item, 2> second;
    for (item& w : first) m.push(w, one);
    for (item& w : second) m.push(w, other);
    CHECK(m.start(m.a) == &first[0]);
    CHECK(m.start(m.b) == nullptr);
    m.end(m.a);
    CHECK(m.run_all() == order{&first[1], &second[0], &first[2], &second[1]}); // that one has waited first
    CHECK(slots.in_use() == 0);
}

// --- items inside others ---------------------------------------------------------------------------------------------

TEMPLATE_TEST_CASE("ledger: which items may run inside one that waits for them", "", cmwq::elastic, cmwq::unbound) {
    constexpr bool lists = cmwq::detail::has_local_lists<TestType>();
    ledger_machine<TestType> m(1);
    bare_queue_in<TestType> other(m.env(), m.pool, 1);
    item outer, active, kept_back, same_queue;
    m.push(outer);
    CHECK(m.start(m.a) == &outer);
    m.push(active, other.pwq);
    m.push(kept_back, other.pwq);
    m.push(same_queue);
    const auto may_run_inside = [&](work_base& w) {
        deferred d;
        const scoped_lock g(m.ledger.lock);
        m.ledger.drain_locked(d);
        if (!m.ledger.take_to_run_inside_locked(m.a, w)) return false;
        run_record nested(m.pool, m.a);
        m.ledger.begin_nested_locked(nested, m.a);
        static_cast<void>(m.ledger.begin_run_locked(nested, w));
        m.ledger.end_run_locked(nested, d);
        m.ledger.end_nested_locked(nested);
        CHECK(m.ledger.free_nested_record_locked() == &nested);
        return true;
    };
    CHECK_FALSE(may_run_inside(outer));          // it runs
    CHECK_FALSE(may_run_inside(kept_back));      // by the limit of a queue of which nothing waits
    CHECK(may_run_inside(same_queue) == lists);  // beyond the limit: the item that has the slot waits
    CHECK(may_run_inside(active) == lists);      // active
    if (lists) CHECK(may_run_inside(kept_back)); // active now
    m.end(m.a);
    CHECK(m.run_all().size() == (lists ? 0 : 3));
    CHECK(m.ledger.nr_started() - m.ledger.nr_begun() == (lists ? 3 : 0));
}

TEMPLATE_TEST_CASE("ledger: a waiting item lets the awaited one of its queue start beyond the limit, or not", "",
                   cmwq::elastic, cmwq::unbound) {
    ledger_machine<TestType> m(1);
    item outer, awaited;
    m.push(outer);
    CHECK(m.start(m.a) == &outer);
    m.push(awaited);
    m.ledger.start_awaited_beyond_limit(awaited, m.a);
    CHECK((m.start(m.b) == &awaited) == cmwq::detail::has_local_lists<TestType>());
    if (m.b.current_pwq != nullptr) m.end(m.b);
    m.end(m.a);
    m.run_all();
    CHECK(m.pwq.counts.completed == 2);
}

// --- rescuers --------------------------------------------------------------------------------------------------------

TEST_CASE("ledger: a rescuer passes an item of another queue once, also if items near it leave") {
    ledger_machine m(64);
    bare_queue_in<cmwq::bound> other(m.env(), m.pool, 64);
    std::array<item, 20> foreign;
    item first, second, third;
    for (std::size_t i = 0; i < 10; ++i) m.push(foreign[i], other.pwq);
    m.push(first);
    for (std::size_t i = 10; i < 20; ++i) m.push(foreign[i], other.pwq);
    m.push(second);
    deferred d;
    const auto take = [&]() -> work_base* {
        const scoped_lock g(m.ledger.lock);
        m.ledger.drain_locked(d);
        work_base* const w = m.ledger.take_of_locked(m.a, m.pwq);
        if (w == nullptr) return nullptr;
        static_cast<void>(m.ledger.begin_run_locked(m.a, *w));
        m.ledger.end_run_locked(m.a, d);
        return w;
    };
    {
        const scoped_lock g(m.ledger.lock);
        m.ledger.begin_taking_locked(m.a);
    }
    CHECK(take() == &first);
    CHECK(m.a.cursor == &foreign[9]); // the search goes on behind it
    CHECK(m.ledger.steal(foreign[9]));
    CHECK(m.a.cursor == &foreign[8]);
    CHECK(m.ledger.steal(foreign[8]));
    CHECK(m.a.cursor == &foreign[7]);
    CHECK(take() == &second);
    CHECK(m.a.cursor == &foreign[19]);
    CHECK(take() == nullptr);
    m.push(third);
    CHECK(take() == &third);
    {
        const scoped_lock g(m.ledger.lock);
        m.ledger.end_taking_locked(m.a);
    }
    CHECK(m.run_all().size() == 18);
    for (item* w : {&foreign[8], &foreign[9]}) work_access::clear_pending(*w);
}

// --- reports ---------------------------------------------------------------------------------------------------------

TEST_CASE("ledger: the state of a pwq at its limit, and of its runs") {
    ledger_machine m(2);
    std::array<item, 3> w;
    for (item& one : w) m.push(one);
    CHECK(m.start(m.a) == &w[0]);
    std::array<seen_run, 4> runs;
    pool_ledger::backlog now;
    const auto look = [&] { return m.ledger.try_backlog_of(m.pwq, now, runs.data(), runs.size(), 0); };
    const auto state_of = [&](const seen_run& r) { return m.ledger.state_of(r, 0); };
    using enum pool_ledger::run_state;
    CHECK((look() && now.waiting && !now.all_run && now.completed == 0));
    CHECK(m.start(m.b) == &w[1]);
    CHECK((look() && now.waiting && now.all_run && now.runs == 2));
    CHECK((state_of(runs[0]) == goes_on && state_of(runs[1]) == goes_on));
    {
        const scoped_lock g(m.ledger.lock);
        std::thread([&] { CHECK((!look() && state_of(runs[0]) == unknown)); }).join(); // the deadline has passed
    }
    m.end(m.a);
    CHECK(state_of(runs[0]) != state_of(runs[1]));
    m.end(m.b);
    CHECK((state_of(runs[0]) == has_ended && state_of(runs[1]) == has_ended));
    CHECK((look() && !now.waiting && now.completed == 2));
    m.run_all();
}
