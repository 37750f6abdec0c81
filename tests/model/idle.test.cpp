// SPDX-License-Identifier: BSL-1.0
//
// A push beside a worker that goes idle: the item runs in either order of the two, and no time has to pass for that.
//
// When these defects were put into the engine, these searches found them: no second look after a worker has put itself
// on the idle list; a relaxed look at nr_running behind the push; a relaxed look at the inbox; no wake-up after the
// push; a worker that stays counted when it goes idle; a relaxed store when the run of an item of an ordered queue
// ends; a worker that arms no detector for the inbox before it runs an item.
#include "catch.hpp"
#include "model/machine.hpp"

using namespace cmwq_test;

namespace {

/// One item after the other: at the second push the worker is at any point between the first item's function and its
/// sleep.
template <class Machine = machine>
void one_after_the_other(setup s) {
    Machine m(s);
    model::semaphore done{0};
    cmwq::work a{[&] { done.release(); }};
    cmwq::work b{[&] { done.release(); }};
    m.q.queue(a);
    done.acquire();
    m.q.queue(b);
    done.acquire();
    if (!s.sentinel) model::require(m.waited() == 0, "no thread waited for the monitor");
    m.q.flush();
}

/// Two producers at once: each item may come when the worker is already on its way to sleep.
template <class Machine = machine>
void two_producers(setup s) {
    Machine m(s);
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
    if (!s.sentinel) model::require(m.waited() == 0, "no thread waited for the monitor");
    m.q.flush();
    model::require(runs_a == 1 && runs_b == 1, "each ran once");
}

/// The first item waits for the second, which may come while a worker is on its way to the first. The wait is not
/// annotated.
void first_waits_for_second(cmwq::workqueue_base& of_first, cmwq::workqueue_base& of_second) {
    model::semaphore gate{0}, done{0};
    cmwq::work first{[&] {
        gate.acquire();
        done.release();
    }};
    cmwq::work second{[&] { gate.release(); }};
    auto t = model::spawn([&] { of_second.queue(second); });
    of_first.queue(first);
    done.acquire();
    t.join();
    first.flush();
    second.flush();
}

/// An item of an ordered queue comes while the worker goes from the previous one to the item of another queue of the
/// pool, which waits for it.
template <class Machine, class Policy>
void before_a_stranger() {
    Machine m;
    model::unsearched quiet;
    quiet.begin();
    cmwq::workqueue<Policy> other{m.rt, "other"}; // uses the same pool
    quiet.end();
    model::semaphore gate{0}, done{0};
    cmwq::work first{[] {}};
    cmwq::work second{[&] { gate.release(); }};
    cmwq::work stranger{[&] {
        gate.acquire();
        done.release();
    }};
    auto t = model::spawn([&] {
        m.q.queue(first);
        m.q.queue(second);
    });
    other.queue(stranger);
    done.acquire();
    t.join();
    if (!Policy::concurrency_managed) model::require(m.waited() == 0, "no detector is needed");
    first.flush();
    second.flush();
    stranger.flush();
    quiet.begin();
}

} // namespace

TEST_CASE("idle: an item is queued while the worker goes idle after the previous item") {
    CHECK(model::explore(search("one-after-the-other", 5, 3), [] { one_after_the_other({}); }));
    CHECK(model::explore(search("one-after-the-other-sentinel", 3), [] { one_after_the_other({.sentinel = true}); }));
}

TEST_CASE("idle: two producers queue items") {
    CHECK(model::explore(search("two-producers", 5), [] { two_producers({}); }));
    CHECK(model::explore(search("two-producers-sentinel", 3), [] { two_producers({.sentinel = true}); }));
}

// A producer that sees an item of the ordered queue run wakes no worker.
TEST_CASE("idle: an item of an ordered queue comes while the previous one runs or ends") {
    CHECK(
        model::explore(search("ordered-one-after-the-other", 3, 3), [] { one_after_the_other<ordered_machine>({}); }));
    CHECK(model::explore(search("ordered-two-producers", 3), [] { two_producers<ordered_machine>({}); }));
    CHECK(model::explore(search("strand-one-after-the-other", 3, 3), [] { one_after_the_other<strand_machine>({}); }));
    CHECK(model::explore(search("strand-two-producers", 3), [] { two_producers<strand_machine>({}); }));
}

TEST_CASE("idle: an item of an ordered queue comes while a worker goes from the previous one to another queue's item") {
    CHECK(model::explore(search("ordered-before-a-stranger", 3, 3), before_a_stranger<ordered_machine, cmwq::ordered>));
    // In a managed pool no other worker is awake that would find the item.
    CHECK(model::explore(search("strand-before-a-strand", 3, 3), before_a_stranger<strand_machine, strand>));
    CHECK(model::explore(search("strand-before-an-elastic", 3, 3), before_a_stranger<strand_machine, cmwq::elastic>));
}

TEST_CASE("idle: a pool gets its first two items and then ends") {
    CHECK(model::explore(search("cold", 3), [] { two_producers({.warm = false, .end_searched = true}); }));
}

// proves: kernel-6
TEST_CASE("idle: flush() right after a push finds the item in the inbox or its woken worker") {
    CHECK(model::explore(search("flush-after-push", 3), [] {
        machine m;
        model::checked<int> runs{0};
        cmwq::work w{[&] { runs = runs + 1; }};
        auto t = model::spawn([&] { m.q.flush(); });
        m.q.queue(w);
        m.q.flush();
        model::require(runs == 1, "it has run");
        t.join();
        model::require(m.waited() == 0, "no thread waited for the monitor");
    }));
}

TEST_CASE("idle: an item queues an item") {
    CHECK(model::explore(search("by-an-item", 3), [] {
        machine m;
        model::semaphore done{0};
        cmwq::work b{[&] { done.release(); }};
        cmwq::work a{[&] { m.q.queue(b); }};
        auto t = model::spawn([&] { m.q.flush(); });
        m.q.queue(a);
        done.acquire();
        t.join();
        model::require(m.waited() == 0, "no thread waited for the monitor");
        m.q.flush();
    }));
}

// proves: progress-5
TEST_CASE("idle: the first item waits for the second on every kind of pool") {
    CHECK(model::explore(search("waits-bound", 2), [] {
        machine m;
        first_waits_for_second(m.q, m.q); // the monitor finds that the first item blocks
    }));
    CHECK(model::explore(search("waits-bound-sentinel", 2), [] {
        machine m({.sentinel = true});
        first_waits_for_second(m.q, m.q);
    }));
    CHECK(model::explore(search_on(2, "waits-elastic", 3), [] {
        elastic_machine m;
        first_waits_for_second(m.q, m.q);
        model::require(m.waited() == 0, "one more worker keeps the second CPU busy");
    }));
    CHECK(model::explore(search("waits-unbound", 3), [] {
        unbound_machine m;
        first_waits_for_second(m.q, m.q);
        model::require(m.waited() == 0, "no detector is needed");
    }));
    CHECK(model::explore(search("waits-ordered", 3), [] {
        ordered_machine m;
        model::unsearched quiet;
        quiet.begin();
        cmwq::workqueue<cmwq::ordered> other{m.rt, "other"}; // uses the same pool
        quiet.end();
        first_waits_for_second(m.q, other);
        model::require(m.waited() == 0, "no detector is needed");
        quiet.begin();
    }));
}

// The second item waits for a slot, which comes from another pool while a worker is on its way to the first item.
// proves: progress-5
TEST_CASE("idle: an item waits for an item that waits for a slot of another pool") {
    const auto body = [](auto& m) {
        model::semaphore gate{0}, hold{0}, done{0};
        cmwq::work holder{[&] { hold.acquire(); }};
        cmwq::work first{[&] {
            gate.acquire();
            done.release();
        }};
        cmwq::work second{[&] { gate.release(); }};
        m.q.queue_on(1, holder);
        auto t = model::spawn([&] { hold.release(); });
        m.q.queue_on(0, first);
        m.q.queue_on(0, second);
        done.acquire();
        t.join();
        holder.flush();
        second.flush();
    };
    CHECK(model::explore(search_on(2, "granted-unbound", 3), [&] {
        unbound_machine m({.attributes = pool_for_each_cpu(), .max_active = 2});
        body(m);
        model::require(m.waited() == 0, "no detector is needed");
    }));
    CHECK(model::explore(search_on(2, "granted-elastic", 3), [&] {
        elastic_machine m({.attributes = pool_for_each_cpu(), .max_active = 2});
        body(m); // the monitor finds that the first item blocks
    }));
}

namespace {

model::options with_stall(std::string name, unsigned cpus = 1) {
    model::options o = search_on(cpus, std::move(name), 2);
    o.stalls = 1;
    return o;
}

/// One producer is stopped at any point of queueing, before another producer begins to queue or while it queues.
void beside_a_stopped_producer(cmwq::workqueue_base& q) {
    model::semaphore done{0};
    cmwq::work a{[] {}};
    cmwq::work b{[&] { done.release(); }};
    auto t = model::spawn([&] {
        const model::may_stall here;
        q.queue(a);
    });
    const std::int64_t before = model::elapsed();
    q.queue(b);
    done.acquire();
    model::require(model::elapsed() == before, "no producer waited for the stopped one");
    t.join();
    a.flush();
    b.flush();
}

/// The same, but both producers queue behind an item that waits for the item of the second producer.
void beside_a_stopped_producer_behind_a_block(cmwq::workqueue_base& q) {
    model::semaphore gate{0}, began{0}, done{0};
    cmwq::work a{[] {}};
    cmwq::work b{[&] { gate.release(); }};
    cmwq::work blocked{[&] {
        began.release();
        gate.acquire();
        done.release();
    }};
    q.queue(blocked);
    began.acquire();
    auto t = model::spawn([&] {
        const model::may_stall here;
        q.queue(a);
    });
    const std::int64_t before = model::elapsed();
    q.queue(b);
    done.acquire();
    model::require(model::elapsed() - before < 100'000'000, "a detector was armed");
    t.join();
    a.flush();
    b.flush();
    blocked.flush();
}

} // namespace

// proves: progress-7
TEST_CASE("idle: a producer that is stopped in the middle of queueing delays no other producer") {
    CHECK(model::explore(with_stall("stopped-bound"), [] {
        machine m;
        beside_a_stopped_producer(m.q);
    }));
    CHECK(model::explore(with_stall("stopped-bound-cold"), [] {
        machine m({.warm = false});
        beside_a_stopped_producer(m.q);
    }));
    CHECK(model::explore(with_stall("stopped-elastic", 2), [] {
        elastic_machine m;
        beside_a_stopped_producer(m.q);
    }));
    CHECK(model::explore(with_stall("stopped-unbound"), [] {
        unbound_machine m;
        beside_a_stopped_producer(m.q);
    }));
    CHECK(model::explore(with_stall("stopped-ordered"), [] {
        ordered_machine m;
        beside_a_stopped_producer(m.q);
    }));
}

// proves: progress-7
TEST_CASE("idle: a producer that is stopped in the middle of queueing does not keep the detectors from being armed") {
    CHECK(model::explore(with_stall("stopped-before-the-monitor"), [] {
        machine m;
        beside_a_stopped_producer_behind_a_block(m.q);
    }));
    CHECK(model::explore(with_stall("stopped-before-the-sentinel"), [] {
        machine m({.sentinel = true});
        beside_a_stopped_producer_behind_a_block(m.q);
    }));
    CHECK(model::explore(with_stall("stopped-before-the-elastic-sentinels", 2), [] {
        elastic_machine m({.sentinel = true});
        beside_a_stopped_producer_behind_a_block(m.q);
    }));
}
