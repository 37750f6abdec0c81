// SPDX-License-Identifier: BSL-1.0
//
// Several pools share the slots of a node: no more items are active than the limit allows, no slot is lost on its way
// from one pool to another, and no item waits while a slot is free.
//
// The pools of an unbound queue are not managed: no detector finds a lost item or slot, so the search ends in a
// deadlock.
//
// When these defects were put into the engine, these searches found them: a relaxed look on either side of NODE-1 and
// NODE-2; no second look after a wait was recorded; a count that is raised too far and not taken back, or after which
// nobody looks who waits; a slot taken that way for another pool, which is not told; a pwq with more items
// that does not wait for a slot again; a slot that came too late and is not given back; a waiting pwq that is not
// forgotten; a pool that is not woken for its slot, or looks for it only when its inbox is not empty; a limit that
// rises and grants nothing, or wakes no pool.
#include "catch.hpp"
#include "core_of.hpp"
#include "model/machine.hpp"

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/engine/report/runtime_report.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

using cmwq::detail::atomic;
using cmwq::detail::relaxed;
using namespace cmwq_test;

namespace {

setup two_pools(unsigned max_active = 1) { return {.attributes = pool_for_each_cpu(), .max_active = max_active}; }

/// Checks the number of concurrent runs. Only the slots keep the items apart and order their effects.
class gauge {
public:
    explicit gauge(int limit = 1) : limit_(limit) {}
    void enter() {
        model::require(now_.fetch_add(1, relaxed) < limit_, "no more are active than the limit allows");
        if (limit_ == 1) alone_ = alone_ + 1;
    }
    void leave() { now_.fetch_sub(1, relaxed); }
    void operator()() {
        enter();
        leave();
    }

private:
    int limit_;
    atomic<int> now_{0};
    model::checked<int> alone_{0};
};

/// Two producers, each with one item on its own CPU. `behind` is 0: no more items; 1: one more on CPU 0; 2: one more on
/// CPU 1.
void two_producers(int behind) {
    unbound_machine m(two_pools());
    gauge g;
    model::semaphore done{0};
    const auto body = [&] {
        g();
        done.release();
    };
    cmwq::work a{body}, b{body}, c{body};
    auto t = model::spawn([&] {
        m.q.queue_on(1, b);
        if (behind > 1) m.q.queue_on(1, c);
    });
    m.q.queue_on(0, a);
    if (behind == 1) m.q.queue_on(0, c);
    // No flush() here: it looks at all pools itself and could hide a missing wake-up.
    for (int i = 0; i < 2 + (behind != 0 ? 1 : 0); ++i) done.acquire();
    t.join();
    model::require(m.waited() == 0, "no thread waited for time to pass");
    m.q.flush();
}

} // namespace

// --- node_slots alone ------------------------------------------------------------------------------------------------

namespace {

/// A node with one slot, which is taken, and pwqs that may want it. One thread uses each pwq, as if it held the lock of
/// the pool.
class node {
public:
    node()
        : q_(core_, core_.env(), core_.timers(), settings()),
          pwqs_{{q_, core_.pools().pool_at(0, cmwq::priority::normal), &slots},
                {q_, core_.pools().pool_at(0, cmwq::priority::high), &slots},
                {q_, core_.pools().pool_at(0, cmwq::priority::fifo), &slots}} {
        slots.set_max(1);
        model::require(slots.take(pwqs_[0]).yes, "there is one slot");
        quiet_.end();
    }
    ~node() { quiet_.begin(); }
    node(const node&) = delete;
    node& operator=(const node&) = delete;

    void give_back() { static_cast<void>(slots.give_back()); }
    /// Takes a slot and uses it, or waits for one.
    void want(unsigned i) {
        if (slots.take(pwqs_[i]).yes) use();
    }
    /// Takes a slot and uses it. If no slot is free, records a wait and removes it at once.
    void want_and_forget(unsigned i) {
        if (slots.take(pwqs_[i]).yes) {
            use();
            return;
        }
        slots.forget(pwqs_[i]);
        if (pwqs_[i].slot != state::granted) return;
        slots.grant_received(pwqs_[i]);
        give_back();
    }
    /// Call it when all threads have ended. Uses the granted slots, one after the other, and returns their number.
    int use_what_was_granted() {
        int n = 0;
        for (bool more = true; more;) {
            more = false;
            for (pwq& p : pwqs_) {
                if (p.slot != state::granted) continue;
                slots.grant_received(p);
                give_back();
                ++n;
                more = true;
            }
        }
        for (const pwq& p : pwqs_) model::require(p.slot == state::none, "no pool waits while a slot is free");
        model::require(slots.in_use() == 0, "all slots are back");
        return n;
    }

private:
    using pwq = cmwq::detail::pool_workqueue;
    using state = pwq::slot_state;

    static cmwq::detail::queue_settings settings() {
        return {.name = "q", .policy = "q", .how = cmwq::detail::execution_of<cmwq::unbound>(), .max_active = 1};
    }
    void use() {
        used_ = used_ + 1;
        give_back();
    }

    model::unsearched quiet_;
    cmwq::runtime rt_;
    cmwq::detail::runtime_core& core_ = cmwq_test::core_of(rt_);

public:
    cmwq::detail::node_slots slots;

private:
    cmwq::detail::queue_core q_;
    model::checked<int> used_{0};
    pwq pwqs_[3];
};

} // namespace

TEST_CASE("slots: a slot comes back while pools want one") {
    CHECK(model::explore(search_on(1, "one-wants", 1), [] {
        node n;
        auto t = model::spawn([&] { n.want(1); });
        n.give_back();
        t.join();
        n.use_what_was_granted();
    }));
    CHECK(model::explore(search_on(1, "two-want", 2), [] {
        node n;
        auto t = model::spawn([&] { n.want(1); });
        auto u = model::spawn([&] { n.want(2); });
        n.give_back();
        t.join();
        u.join();
        n.use_what_was_granted();
    }));
    // One of them raises the count too far, while the one that gives the only slot back looks who waits.
    CHECK(model::explore(search_on(1, "three-want", 3), [] {
        node n;
        auto t = model::spawn([&] { n.want(1); });
        auto u = model::spawn([&] { n.want(2); });
        n.give_back();
        n.want(0);
        t.join();
        u.join();
        n.use_what_was_granted();
    }));
    CHECK(model::explore(search_on(1, "one-forgets", 2), [] {
        node n;
        auto t = model::spawn([&] { n.want_and_forget(1); });
        auto u = model::spawn([&] { n.want(2); });
        n.give_back();
        t.join();
        u.join();
        n.use_what_was_granted();
    }));
    CHECK(model::explore(search_on(1, "higher-limit", 1), [] {
        node n;
        auto t = model::spawn([&] { n.want(1); });
        n.slots.set_max(2);
        while (n.slots.grant() != nullptr) {}
        t.join();
        n.give_back();
        n.use_what_was_granted();
    }));
}

// --- through the engine ----------------------------------------------------------------------------------------------

TEST_CASE("slots: two pools share one slot") {
    CHECK(model::explore(search_on(2, "one-each", 2), [] { two_producers(0); }));
    CHECK(model::explore(search_on(2, "one-more-behind", 2), [] { two_producers(1); }));
    CHECK(model::explore(search_on(2, "one-more-on-the-other", 2), [] { two_producers(2); }));
}

// A pool that is managed gets no further worker for the slot: its worker has to look for it between two items of the
// backlog.
// proves: progress-6
TEST_CASE("slots: a pool is granted a slot while it has a backlog of another queue") {
    CHECK(model::explore(search_on(2, "backlog", 3), [] {
        elastic_machine m(two_pools());
        cmwq::workqueue<cmwq::elastic> other{m.rt, elastic_machine::queue_options("other", pool_for_each_cpu(), 1)};
        constexpr int many = 12, at_once = 2;
        model::semaphore leave{0}, done{0};
        atomic<int> nr_started{0}, nr_before{-1};
        cmwq::work a{[&] { leave.acquire(); }};
        cmwq::work b{[&] {
            nr_before.store(nr_started.load(relaxed), relaxed);
            done.release();
        }};
        m.q.queue_on(1, a);
        {
            const model::unsearched quiet;
            model::sleep(1000 * ms); // it runs
        }
        m.q.queue_on(0, b);
        for (int i = 0; i < many; ++i) {
            other.post_on(0, [&] {
                cmwq::detail::yield_this_thread();
                nr_started.fetch_add(1, relaxed);
            });
        }
        leave.release();
        a.flush();
        static_cast<void>(m.q.stats()); // takes the locks of the pools: now the pool of b has the slot
        const int granted_after = nr_started.load(relaxed);
        done.acquire(); // no flush(): it looks at the pool itself
        model::require(nr_before.load(relaxed) <= granted_after + at_once, "it has started in its turn");
        other.flush();
    }));
}

TEST_CASE("slots: an item that waits for a slot is removed") {
    CHECK(model::explore(search_on(2, "cancel", 2), [] {
        unbound_machine m(two_pools());
        gauge g;
        model::semaphore done{0};
        model::checked<int> runs_b{0};
        cmwq::work a{[&] {
            g();
            done.release();
        }};
        cmwq::work b{[&] {
            g();
            runs_b = runs_b + 1;
        }};
        cmwq::work c{[&] {
            g();
            done.release();
        }};
        auto t = model::spawn([&] { m.q.queue_on(0, a); });
        m.q.queue_on(1, b);
        const bool cancelled = b.cancel_sync();
        model::require(runs_b == (cancelled ? 0 : 1), "it has run, or was cancelled");
        m.q.queue_on(1, c); // uses the slot for which b waited
        done.acquire();
        done.acquire();
        t.join();
        model::require(m.waited() == 0, "no thread waited for time to pass");
        m.q.flush();
    }));
    // The cancelled item is not the item that waits: the next item gets the slot.
    CHECK(model::explore(search_on(2, "cancel-the-active", 2), [] {
        unbound_machine m(two_pools());
        gauge g;
        model::semaphore done{0};
        int ran_a = 0;
        cmwq::work a{[&] {
            g();
            ++ran_a;
        }};
        cmwq::work b{[&] {
            g();
            done.release();
        }};
        m.q.queue_on(0, a);
        auto t = model::spawn([&] { m.q.queue_on(1, b); });
        const bool cancelled = a.cancel_sync();
        model::require(ran_a == (cancelled ? 0 : 1), "it has run, or was cancelled");
        done.acquire();
        t.join();
        model::require(m.waited() == 0, "no thread waited for time to pass");
        m.q.flush();
    }));
}

TEST_CASE("slots: a higher limit lets the next item start at once") {
    CHECK(model::explore(search_on(2, "raise", 2), [] {
        unbound_machine m(two_pools());
        model::semaphore gate{0}, done{0};
        cmwq::work holds{[&] {
            gate.acquire();
            done.release();
        }};
        cmwq::work opens{[&] {
            gate.release();
            done.release();
        }};
        auto t = model::spawn([&] { m.q.set_max_active(2); });
        auto u = model::spawn([&] { m.q.queue_on(1, opens); });
        m.q.queue_on(0, holds);
        done.acquire();
        done.acquire();
        t.join();
        u.join();
        model::require(m.waited() == 0, "no thread waited for time to pass");
        m.q.flush();
    }));
    // A lowered limit holds for the items that are queued afterwards.
    CHECK(model::explore(search_on(2, "lower", 1), [] {
        unbound_machine m(two_pools(2));
        m.q.set_max_active(1);
        gauge g;
        model::semaphore done{0};
        const auto body = [&] {
            g();
            done.release();
        };
        cmwq::work a{body}, b{body};
        auto t = model::spawn([&] { m.q.queue_on(1, b); });
        m.q.queue_on(0, a);
        done.acquire();
        done.acquire();
        t.join();
        m.q.flush();
    }));
}

TEST_CASE("slots: three pools share one slot or two slots") {
    CHECK(model::explore(search_on(3, "three-pools", 2), [] {
        unbound_machine m(two_pools());
        gauge g;
        model::semaphore done{0};
        const auto body = [&] {
            g();
            done.release();
        };
        cmwq::work a{body}, b{body}, c{body};
        auto t = model::spawn([&] { m.q.queue_on(1, b); });
        auto u = model::spawn([&] { m.q.queue_on(2, c); });
        m.q.queue_on(0, a);
        for (int i = 0; i < 3; ++i) done.acquire();
        t.join();
        u.join();
        model::require(m.waited() == 0, "no thread waited for time to pass");
        m.q.flush();
    }));
    CHECK(model::explore(search_on(3, "limit-two", 1), [] {
        unbound_machine m(two_pools(2));
        m.q.set_min_active(1);
        gauge g(2);
        model::semaphore done{0};
        const auto body = [&] {
            g();
            done.release();
        };
        cmwq::work a{body}, b{body}, c{body};
        auto t = model::spawn([&] { m.q.queue_on(1, b); });
        auto u = model::spawn([&] { m.q.queue_on(2, c); });
        m.q.queue_on(0, a);
        for (int i = 0; i < 3; ++i) done.acquire();
        t.join();
        u.join();
        m.q.flush();
    }));
}

// One node for each CPU, and a limit of two. With a min_active of one it is divided: one item for each node.
// proves: progress-14
TEST_CASE("slots: the limit is divided between nodes, or no longer, while items run and wait") {
    static const cmwq::topology two_nodes = cmwq::topology::synthetic("numa:2 core:1 pu:1");
    setup s = two_pools(2);
    s.shape = two_nodes;
    enum class during : bool { queueing, ending };
    const auto changes = [&s](unsigned from, unsigned to, during what) {
        s.min_active = from;
        unbound_machine m(s);
        gauge g(2);
        model::semaphore leave{0}, done{0};
        const auto body = [&] {
            g.enter();
            leave.acquire();
            g.leave();
            done.release();
        };
        cmwq::work a{body}, b{body}, c{body};
        {
            const model::unsearched quiet;
            m.q.queue_on(0, a);
            m.q.queue_on(0, b);
            if (what == during::ending) m.q.queue_on(1, c);
            model::sleep(1000 * ms); // those that may run do so
        }
        const std::int64_t before = m.waited();
        auto t = model::spawn([&] { m.q.set_min_active(to); });
        if (what == during::queueing) {
            m.q.queue_on(1, c);
            t.join();
        }
        for (int i = 0; i < 3; ++i) leave.release();
        for (int i = 0; i < 3; ++i) done.acquire();
        if (what == during::ending) t.join();
        model::require(m.waited() == before, "no thread waited for time to pass");
        m.q.flush();
        const model::unsearched quiet;
        const auto report = cmwq_test::core_of(m.rt).report();
        for (const auto& q : report.queues) {
            for (const auto& slots : q.slots_of_nodes) model::require(slots.in_use == 0, "all slots are back");
        }
    };
    CHECK(model::explore(search_on(2, "unite-queueing", 1), [&] { changes(1, 2, during::queueing); }));
    CHECK(model::explore(search_on(2, "unite-ending", 1), [&] { changes(1, 2, during::ending); }));
    CHECK(model::explore(search_on(2, "divide-queueing", 2), [&] { changes(2, 1, during::queueing); }));
    CHECK(model::explore(search_on(2, "divide-ending", 1), [&] { changes(2, 1, during::ending); }));
    // Not while both slots are in use on one node; but when these items have ended, without a further change.
    CHECK(model::explore(search_on(2, "divide-later", 2), [&] {
        s.min_active = 2;
        unbound_machine m(s);
        model::semaphore go{0};
        const auto body = [&] { go.acquire(); };
        cmwq::work a{body}, b{body};
        {
            const model::unsearched quiet;
            m.q.queue_on(0, a);
            m.q.queue_on(0, b);
            model::sleep(1000 * ms); // they run
        }
        auto t = model::spawn([&] { m.q.set_min_active(1); });
        go.release();
        go.release();
        t.join();
        m.q.flush();
        const model::unsearched quiet;
        model::sleep(1000 * ms); // the manager thread has divided it
        model::semaphore leave{0}, entered{0};
        cmwq::work first{[&] {
            entered.release();
            leave.acquire();
        }};
        cmwq::work second{[&] { entered.release(); }};
        m.q.queue_on(0, first);
        m.q.queue_on(0, second);
        entered.acquire();
        model::sleep(1000 * ms);
        model::require(second.pending(), "one of them runs on that node");
        leave.release();
        m.q.flush();
    }));
}

TEST_CASE("slots: a slot moves to another pool during flush and drain and the end of the queue") {
    CHECK(model::explore(search_on(2, "flush", 2), [] {
        unbound_machine m(two_pools());
        model::checked<int> runs{0}; // also checks that a run happens before the next run and before the end of flush()
        const auto body = [&] { runs = runs + 1; };
        cmwq::work a{body}, b{body};
        auto t = model::spawn([&] { m.q.flush(); });
        m.q.queue_on(0, a);
        m.q.queue_on(1, b);
        m.q.flush();
        model::require(runs == 2, "both have run");
        t.join();
    }));
    CHECK(model::explore(search_on(2, "end", 2), [] {
        unbound_machine m(two_pools());
        model::checked<int> runs{0};
        model::semaphore queued{0};
        const auto body = [&] { runs = runs + 1; };
        cmwq::work a{body}, b{body}, c{body};
        auto t = model::spawn([&] {
            m.q.queue_on(1, b);
            m.q.queue_on(1, c);
            queued.release();
            c.cancel();
        });
        m.q.queue_on(0, a);
        queued.acquire();
        m.end_queue();
        model::require(runs == 2 || runs == 3, "the items that were not cancelled have run");
        t.join();
    }));
    CHECK(model::explore(search_on(2, "cancel-and-end", 2), [] {
        unbound_machine m(two_pools());
        int runs = 0;
        const auto body = [&] { ++runs; };
        cmwq::work a{body}, b{body};
        m.q.queue_on(0, a);
        m.q.queue_on(1, b);
        b.cancel_sync(); // while the slot of a may be on its way to it
        m.end_queue();
        model::require(runs == 1 || runs == 2, "the items that were not cancelled have run");
    }));
}

TEST_CASE("slots: a pool whose only item was cancelled ends and keeps no slot") {
    CHECK(model::explore(search_on(2, "reaped", 3), [] {
        setup s = two_pools();
        s.others = pool_for_each_cpu().nice(1);
        unbound_machine m(s);
        gauge g;
        model::semaphore gate{0}, done{0};
        cmwq::work holds{[&] { gate.acquire(); }};
        const auto body = [&] {
            g();
            done.release();
        };
        cmwq::work b{body}, c{body};
        m.q.queue_on(0, holds);
        m.q.queue_on(1, b);
        auto t = model::spawn([&] { gate.release(); }); // the slot may be on its way to b
        const bool cancelled = b.cancel_sync();
        m.q.apply(pool_for_each_cpu().nice(1));
        m.q.queue_on(1, c);
        for (int i = cancelled ? 1 : 0; i < 2; ++i) done.acquire();
        t.join();
        m.q.flush();
    }));
}
