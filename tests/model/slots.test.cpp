// SPDX-License-Identifier: BSL-1.0
//
// The slots of a node that several pools share: never more active than the limit, no slot is lost on its way from one
// pool to another, and nobody waits beside a free one.
//
// The pools of an unbound queue are not managed: no detector comes along to find what was lost, the search ends in a
// deadlock.
#include "catch.hpp"
#include "model/keyed_machine.hpp"

#include <cmwq/detail/sync/atomic.hpp>

namespace model = cmwq::detail::model;
using cmwq::detail::atomic;
using cmwq::detail::relaxed;
using cmwq_test::keyed_setup;
using cmwq_test::pool_for_each_cpu;
using cmwq_test::search_on;

namespace {

using machine = cmwq_test::keyed_machine<cmwq::unbound>;

keyed_setup two_pools(unsigned max_active = 1) {
    return {.attributes = pool_for_each_cpu(), .max_active = max_active};
}

/// How many run at once. Nothing but the slots keeps the items apart, and orders their effects.
class gauge {
public:
    explicit gauge(int limit = 1) : limit_(limit) {}
    void operator()() {
        model::require(now_.fetch_add(1, relaxed) < limit_, "no more are active than the limit allows");
        if (limit_ == 1) alone_ = alone_ + 1;
        now_.fetch_sub(1, relaxed);
    }

private:
    int limit_;
    atomic<int> now_{0};
    model::checked<int> alone_{0};
};

/// Two producers, each on a CPU of its own; `behind` more items on the first.
void two_producers(int behind) {
    machine m(two_pools());
    gauge g;
    model::semaphore done{0};
    const auto body = [&] {
        g();
        done.release();
    };
    cmwq::work a{body}, b{body}, c{body};
    auto t = model::spawn([&] {
        m.q().queue_on(1, b);
        if (behind > 1) m.q().queue_on(1, c);
    });
    m.q().queue_on(0, a);
    if (behind == 1) m.q().queue_on(0, c);
    // Not by flush(), which takes a look at all pools itself.
    for (int i = 0; i < 2 + (behind != 0 ? 1 : 0); ++i) done.acquire();
    t.join();
    model::require(m.waited() == 0, "nobody waited for time to pass");
    m.q().flush();
}

} // namespace

TEST_CASE("slots: one slot, two pools") {
    CHECK(model::explore(search_on(2, "one-each", 4), [] { two_producers(0); }));
    CHECK(model::explore(search_on(2, "one-more-behind", 3), [] { two_producers(1); }));
    CHECK(model::explore(search_on(2, "one-more-on-the-other", 3), [] { two_producers(2); }));
}

TEST_CASE("slots: what waits for one is taken away") {
    CHECK(model::explore(search_on(2, "cancel", 3), [] {
        machine m(two_pools());
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
        auto t = model::spawn([&] { m.q().queue_on(0, a); });
        m.q().queue_on(1, b);
        const bool cancelled = b.cancel_sync();
        model::require(runs_b == (cancelled ? 0 : 1), "it has run, or was cancelled");
        m.q().queue_on(1, c); // with whatever became of the slot that b waited for
        done.acquire();
        done.acquire();
        t.join();
        model::require(m.waited() == 0, "nobody waited for time to pass");
        m.q().flush();
    }));
    // The one that is cancelled is not the one that waits: the slot goes to those behind.
    CHECK(model::explore(search_on(2, "cancel-the-active", 3), [] {
        machine m(two_pools());
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
        m.q().queue_on(0, a);
        auto t = model::spawn([&] { m.q().queue_on(1, b); });
        const bool cancelled = a.cancel_sync();
        model::require(ran_a == (cancelled ? 0 : 1), "it has run, or was cancelled");
        done.acquire();
        t.join();
        model::require(m.waited() == 0, "nobody waited for time to pass");
        m.q().flush();
    }));
}

TEST_CASE("slots: a higher limit lets the next one start at once") {
    CHECK(model::explore(search_on(2, "raise", 3), [] {
        machine m(two_pools());
        model::semaphore gate{0}, done{0};
        cmwq::work holds{[&] {
            gate.acquire();
            done.release();
        }};
        cmwq::work opens{[&] {
            gate.release();
            done.release();
        }};
        auto t = model::spawn([&] { m.q().set_max_active(2); });
        auto u = model::spawn([&] { m.q().queue_on(1, opens); });
        m.q().queue_on(0, holds);
        done.acquire();
        done.acquire();
        t.join();
        u.join();
        model::require(m.waited() == 0, "nobody waited for time to pass");
        m.q().flush();
    }));
    // Lowered, raised again: the limit is never exceeded by more than what ran before.
    CHECK(model::explore(search_on(2, "lower", 2), [] {
        machine m(two_pools(2));
        m.q().set_max_active(1);
        gauge g;
        model::semaphore done{0};
        const auto body = [&] {
            g();
            done.release();
        };
        cmwq::work a{body}, b{body};
        auto t = model::spawn([&] { m.q().queue_on(1, b); });
        m.q().queue_on(0, a);
        done.acquire();
        done.acquire();
        t.join();
        m.q().flush();
    }));
}

TEST_CASE("slots: three pools, and a pool that gets its slot back from two sides") {
    CHECK(model::explore(search_on(3, "three-pools", 3), [] {
        machine m(two_pools());
        gauge g;
        model::semaphore done{0};
        const auto body = [&] {
            g();
            done.release();
        };
        cmwq::work a{body}, b{body}, c{body};
        auto t = model::spawn([&] { m.q().queue_on(1, b); });
        auto u = model::spawn([&] { m.q().queue_on(2, c); });
        m.q().queue_on(0, a);
        for (int i = 0; i < 3; ++i) done.acquire();
        t.join();
        u.join();
        model::require(m.waited() == 0, "nobody waited for time to pass");
        m.q().flush();
    }));
    CHECK(model::explore(search_on(3, "limit-two", 2), [] {
        machine m(two_pools(2));
        m.q().set_min_active(1);
        gauge g(2);
        model::semaphore done{0};
        const auto body = [&] {
            g();
            done.release();
        };
        cmwq::work a{body}, b{body}, c{body};
        auto t = model::spawn([&] { m.q().queue_on(1, b); });
        auto u = model::spawn([&] { m.q().queue_on(2, c); });
        m.q().queue_on(0, a);
        for (int i = 0; i < 3; ++i) done.acquire();
        t.join();
        u.join();
        m.q().flush();
    }));
}

TEST_CASE("slots: flush, drain and the end of the queue while a slot changes hands") {
    CHECK(model::explore(search_on(2, "flush", 2), [] {
        machine m(two_pools());
        model::checked<int> runs{0}; // also checks: a run happens before the next, and before the end of flush()
        const auto body = [&] { runs = runs + 1; };
        cmwq::work a{body}, b{body};
        auto t = model::spawn([&] { m.q().flush(); });
        m.q().queue_on(0, a);
        m.q().queue_on(1, b);
        m.q().flush();
        model::require(runs == 2, "both have run");
        t.join();
    }));
    CHECK(model::explore(search_on(2, "end", 3), [] {
        machine m(two_pools());
        model::checked<int> runs{0};
        model::semaphore queued{0};
        const auto body = [&] { runs = runs + 1; };
        cmwq::work a{body}, b{body}, c{body};
        auto t = model::spawn([&] {
            m.q().queue_on(1, b);
            m.q().queue_on(1, c);
            queued.release();
            c.cancel();
        });
        m.q().queue_on(0, a);
        queued.acquire();
        m.end_queue();
        model::require(runs == 2 || runs == 3, "what was not cancelled has run");
        t.join();
    }));
    CHECK(model::explore(search_on(2, "cancel-and-end", 3), [] {
        machine m(two_pools());
        int runs = 0;
        const auto body = [&] { ++runs; };
        cmwq::work a{body}, b{body};
        m.q().queue_on(0, a);
        m.q().queue_on(1, b);
        b.cancel_sync(); // while the slot of a may be on its way to it
        m.end_queue();
        model::require(runs == 1 || runs == 2, "what was not cancelled has run");
    }));
}
