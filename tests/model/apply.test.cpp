// SPDX-License-Identifier: BSL-1.0
//
// Live queues whose pools are exchanged: apply() and set_unbound_cpus() beside all other operations on the queue.
//
// When these defects were put into the engine, these searches found them: a map published with release, or read with
// acquire; no grace period before the old pwqs are detached, or before the pools are returned; a pwq reaped before it
// has drained, or never; a pool that ends while it has users; an item that runs in two pools at once; an ordered queue
// whose next pwq is not plugged, or gets its turn too early, or never, or starts no item then; an empty pwq that does
// not pass the turn on; a queue that is destroyed while another thread has a plan for it, or that leaves its list
// before it has drained; a pool that is looked up by an id without memory ordering.
#include "catch.hpp"
#include "model/machine.hpp"

#include <cmwq/detail/base/atomic.hpp>

#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>

using cmwq::attrs;
using cmwq::queue_status;
using cmwq::detail::atomic;
using cmwq::detail::relaxed;
using namespace cmwq_test;

namespace {

/// Attributes of other pools. with_others() keeps these pools warm.
attrs other(int nice = 1) { return attrs{}.nice(nice); }
setup with_others() { return {.others = other()}; }

/// The body of items that must run one at a time, each after its predecessor.
class sequence {
public:
    void operator()(int number) {
        model::require(now_.fetch_add(1, relaxed) == 0, "one at a time");
        model::require(last_ == number - 1, "in the order of queueing");
        last_ = number;
        now_.fetch_sub(1, relaxed);
    }
    [[nodiscard]] int last() const { return last_; }

private:
    atomic<int> now_{0};
    model::checked<int> last_{0};
};

/// An ordered queue changes its pools `changes` times while `nr` items are queued.
void ordered_across(int nr, int changes) {
    ordered_machine m(with_others());
    sequence in_order;
    model::semaphore done{0};
    int next = 0;
    std::optional<model::task> applier;
    applier = model::spawn([&] {
        m.q.apply(other());
        if (changes > 1) m.q.apply(attrs{});
    });
    const auto queue_one = [&] {
        const int number = ++next;
        m.q.post([&, number] {
            in_order(number);
            done.release();
        });
    };
    for (int i = 0; i < nr; ++i) queue_one();
    for (int i = 0; i < nr; ++i) done.acquire();
    applier->join();
    m.q.flush();
    queue_one();
    m.q.flush();
    model::require(in_order.last() == nr + 1, "all have run");
}

} // namespace

// --- unbound ---------------------------------------------------------------------------------------------------------

TEST_CASE("apply: a thread calls it while another thread calls queue()") {
    CHECK(model::explore(search_on(1, "queue", 2), [] {
        unbound_machine m(with_others());
        model::semaphore done{0};
        int runs = 0;
        cmwq::work a{[&] { done.release(); }};
        cmwq::work b{[&] {
            ++runs;
            done.release();
        }};
        auto t = model::spawn([&] { m.q.queue(b); });
        auto u = model::spawn([&] { m.q.apply(other()); });
        m.q.queue(a);
        done.acquire();
        done.acquire();
        t.join();
        u.join();
        m.q.flush();
        model::require(runs == 1, "it has run");
    }));
}

TEST_CASE("apply: an item that is queued again never runs twice at once") {
    CHECK(model::explore(search_on(1, "again", 3), [] {
        unbound_machine m(with_others());
        model::checked<int> runs{0}; // a data race if two runs overlap
        atomic<int> inside{0}, queued{0};
        cmwq::work w{[&] {
            model::require(inside.fetch_add(1, relaxed) == 0, "no two runs at once");
            runs = runs + 1;
            inside.fetch_sub(1, relaxed);
        }};
        const auto queue = [&] {
            if (m.q.queue(w) == queue_status::queued) queued.fetch_add(1, relaxed);
        };
        auto t = model::spawn(queue);
        queue();
        m.q.apply(other());
        queue();
        t.join();
        m.q.drain();
        model::require(runs == queued.load(relaxed), "one run for each claim");
    }));
    CHECK(model::explore(search_on(1, "from-inside", 1), [] {
        unbound_machine m(with_others());
        model::checked<int> runs{0};
        model::semaphore done{0};
        atomic<int> inside{0};
        std::unique_ptr<cmwq::work_base*> self(new cmwq::work_base*(nullptr));
        cmwq::work w{[&] {
            model::require(inside.fetch_add(1, relaxed) == 0, "no two runs at once");
            runs = runs + 1;
            const bool last = runs == 3;
            if (!last) m.q.queue(**self);
            inside.fetch_sub(1, relaxed);
            if (last) done.release();
        }};
        *self = &w;
        m.q.queue(w);
        m.q.apply(other());
        done.acquire();
        m.q.flush();
        model::require(runs == 3, "three claims, three runs");
    }));
}

TEST_CASE("apply: a thread calls it while other threads cancel and flush and drain") {
    CHECK(model::explore(search_on(1, "cancel", 1), [] {
        unbound_machine m(with_others());
        model::checked<int> runs{0};
        cmwq::work w{[&] { runs = runs + 1; }};
        auto t = model::spawn([&] { m.q.apply(other()); });
        m.q.queue(w);
        const bool cancelled = w.cancel_sync();
        model::require(runs == (cancelled ? 0 : 1) && !w.busy(), "it has run, or was cancelled");
        t.join();
        model::require(m.q.queue(w) == queue_status::queued, "it can be queued again");
        m.q.flush();
        model::require(runs == (cancelled ? 1 : 2), "and runs again");
    }));
    CHECK(model::explore(search_on(1, "flush", 1), [] {
        unbound_machine m(with_others());
        model::checked<int> runs{0};
        cmwq::work a{[&] { runs = runs + 1; }};
        auto t = model::spawn([&] { m.q.apply(other()); });
        m.q.queue(a);
        m.q.flush();
        model::require(runs == 1, "the items queued before the flush have run");
        m.q.queue(a);
        a.flush();
        model::require(runs == 2, "the items queued before the flush have run");
        t.join();
    }));
    CHECK(model::explore(search_on(1, "drain", 1), [] {
        unbound_machine m(with_others());
        model::checked<int> length{0};
        cmwq::work second{[&] { length = length + 1; }};
        cmwq::work first{[&] {
            length = length + 1;
            model::require(m.q.queue(second) == queue_status::queued, "accepted from inside");
        }};
        auto t = model::spawn([&] { m.q.apply(other()); });
        m.q.queue(first);
        m.q.drain();
        model::require(length == 2, "the whole chain has run");
        t.join();
    }));
}

TEST_CASE("apply: an item calls it while its queue is being destroyed") {
    CHECK(model::explore(search_on(1, "destroyed", 1), [] {
        unbound_machine m({.others = other(), .end_searched = true});
        model::checked<int> runs{0};
        m.q.post([&] {
            runs = runs + 1;
            try {
                m.q.apply(other());
            } catch (const std::invalid_argument&) {}
            runs = runs + 1;
        });
        m.end_queue();
        model::require(runs == 2, "it has run");
    }));
}

TEST_CASE("apply: two calls run at once") {
    CHECK(model::explore(search_on(1, "two-appliers", 2), [] {
        unbound_machine m(with_others());
        model::checked<int> runs{0};
        cmwq::work w{[&] { runs = runs + 1; }};
        auto t = model::spawn([&] { m.q.apply(other()); });
        m.q.queue(w);
        m.q.apply(other(2));
        t.join();
        m.q.flush();
        model::require(runs == 1, "it has run");
        const int nice = m.q.attributes().nice();
        model::require(nice == 1 || nice == 2, "the attributes of one of the two calls");
    }));
}

TEST_CASE("apply: an item is removed from a pool that has just been made") {
    CHECK(model::explore(search_on(1, "new-pool", 3), [] {
        unbound_machine m;
        model::checked<int> runs{0};
        cmwq::work w{[&] { runs = runs + 1; }};
        auto t = model::spawn([&] { m.q.queue(w); });
        auto u = model::spawn([&] { m.q.apply(other()); }); // also after the claim, which then does not know the pool
        const bool cancelled = w.cancel();
        t.join();
        u.join();
        m.q.flush();
        model::require(runs == (cancelled ? 0 : 1), "it has run, or was cancelled");
    }));
}

// --- pools without a user --------------------------------------------------------------------------------------------

TEST_CASE("apply: a pool ends and the next pool uses its record") {
    CHECK(model::explore(search_on(1, "retired", 2), [] {
        unbound_machine m({.end_searched = true});
        model::semaphore done{0};
        const auto body = [&] { done.release(); };
        cmwq::work a{body}, b{body};
        auto t = model::spawn([&] { m.q.queue(a); });
        m.q.apply(other());
        done.acquire();
        m.q.apply(other(2));
        m.q.queue(b);
        done.acquire();
        t.join();
    }));
}

TEST_CASE("apply: the queue ends while another thread is just leaving queue()") {
    CHECK(model::explore(search_on(1, "leaving", 1), [] {
        unbound_machine m({.end_searched = true});
        model::semaphore done{0};
        cmwq::work a{[&] { done.release(); }};
        auto t = model::spawn([&] { m.q.queue(a); });
        done.acquire();
        m.end_queue();
        t.join();
    }));
}

// --- ordered ---------------------------------------------------------------------------------------------------------

TEST_CASE("apply: an ordered queue keeps its order and runs one item at a time") {
    CHECK(model::explore(search_on(1, "ordered-0", 1), [] { ordered_across(0, 1); }));
    CHECK(model::explore(search_on(1, "ordered-1", 1), [] { ordered_across(1, 1); }));
    CHECK(model::explore(search_on(1, "ordered-2", 2), [] { ordered_across(2, 1); }));
    CHECK(model::explore(search_on(1, "ordered-3", 1), [] { ordered_across(3, 1); }));
    CHECK(model::explore(search_on(1, "ordered-back", 2), [] { ordered_across(2, 2); }));
}

TEST_CASE("apply: all items of the old pool of an ordered queue come before those of the new one") {
    CHECK(model::explore(search_on(1, "ordered-backlog", 1), [] {
        ordered_machine m(with_others());
        sequence in_order;
        model::semaphore gate{0};
        m.q.post([&] {
            gate.acquire();
            in_order(1);
        });
        m.q.post([&] { in_order(2); });
        m.q.post([&] { in_order(3); });
        m.q.apply(other());
        m.q.post([&] { in_order(4); });
        gate.release();
        m.q.flush();
        model::require(in_order.last() == 4, "all have run");
    }));
}

TEST_CASE("apply: an item of an ordered queue changes the queue while other items wait") {
    CHECK(model::explore(search_on(1, "ordered-inside", 1), [] {
        ordered_machine m(with_others());
        sequence in_order;
        m.q.post([&] {
            in_order(1);
            m.q.post([&] { in_order(2); });
            m.q.apply(other());
            m.q.post([&] { in_order(3); });
            m.q.apply(attrs{});
            m.q.post([&] { in_order(4); });
        });
        m.q.drain();
        model::require(in_order.last() == 4, "all have run");
    }));
}

TEST_CASE("apply: an item that waits in the next pool of an ordered queue is cancelled") {
    CHECK(model::explore(search_on(1, "ordered-cancel", 1), [] {
        ordered_machine m(with_others());
        model::semaphore gate{0};
        model::checked<int> runs{0};
        m.q.post([&] { gate.acquire(); });
        m.q.apply(other());
        cmwq::work w{[&] { runs = runs + 1; }};
        m.q.queue(w);
        auto t = model::spawn([&] { gate.release(); });
        const bool cancelled = w.cancel_sync();
        model::require(runs == (cancelled ? 0 : 1), "it has run, or was cancelled");
        t.join();
        m.q.flush();
        m.q.queue(w);
        m.q.flush();
        model::require(runs == (cancelled ? 1 : 2), "the next pool runs items");
    }));
}

// --- all queues at once ----------------------------------------------------------------------------------------------

TEST_CASE("apply: set_unbound_cpus() runs beside queues that are made and used and destroyed") {
    CHECK(model::explore(search_on(2, "unbound-cpus", 3), [] {
        unbound_machine m({.attributes = pool_for_each_cpu()});
        model::checked<int> runs{0};
        cmwq::work w{[&] { runs = runs + 1; }};
        auto t = model::spawn([&] { m.rt.set_unbound_cpus(cmwq::cpuset{1}); });
        {
            cmwq::workqueue<cmwq::ordered> q(m.rt, "young");
            q.queue(w);
        }
        model::require(runs == 1, "the destructor has waited for it");
        m.q.queue(w);
        m.q.flush();
        model::require(runs == 2, "it has run");
        t.join();
    }));
}
