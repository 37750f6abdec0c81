// SPDX-License-Identifier: BSL-1.0
//
// load alone: how many workers run, and who is told when one blocks.
#include "bare_pool.hpp"
#include "catch.hpp"
#include "eventually.hpp"
#include "nanoseconds.hpp"

#include <cmwq/detail/engine/threads/load.hpp>
#include <cmwq/detail/sync/clock.hpp>

#include <atomic>
#include <deque>
#include <semaphore>
#include <thread>

using namespace cmwq::detail;
using cmwq::cpuset;
using cmwq_test::bare_env;
using cmwq_test::bare_pool;
using item = cmwq_test::bare_item;
using cmwq_test::bare_queue_in;
using cmwq_test::eventually;

namespace {

/// The load of a pool that has two workers in their loop; the test decides how many of them are counted.
class load_machine {
    bare_env env_{"numa:1 core:4 pu:1"};

public:
    explicit load_machine(int width = 1) {
        REQUIRE(working.reserve(4));
        const cpuset cpus = cpuset::range(0, static_cast<unsigned>(width));
        const pool_spec spec{.cpus = cpuset::range(0, 4), .pod = cpus, .managed = true, .width = width};
        const load::watching_cpus watching = l.watching(spec, cpuset::range(0, 4));
        const scoped_lock g(pool.ledger.lock);
        l.configure_locked(spec, watching);
        for (worker* w : {&a, &b}) {
            pool.ledger.become_busy_locked(*w);
            working.add(*w);
        }
    }
    ~load_machine() {
        const scoped_lock g(pool.ledger.lock);
        for (worker* w : {&a, &b}) {
            pool.ledger.leave_busy_locked(*w);
            working.remove(*w);
        }
    }
    load_machine(const load_machine&) = delete;
    load_machine& operator=(const load_machine&) = delete;

    /// An item is pending, and no worker takes it.
    void make_pending() { REQUIRE(pool.push(pending_, queue_.pwq)); }
    /// A run of worker `a` ends. Returns what it has counted, and the earlier ones.
    const cmwq::queue_counters& move_counts() {
        a.move_counts_to(queue_.pwq);
        return queue_.pwq.counts;
    }
    /// One more worker is idle.
    worker& add_spare() {
        worker& w = pool.add_worker();
        const scoped_lock g(pool.ledger.lock);
        spares.add_locked(w, spare_workers::place::inside);
        return w;
    }
    [[nodiscard]] int width_of_machine() const { return env_.get().cpus.width_of(cpuset::range(0, 4)); }

    busy_workers<worker> working;
    spare_workers spares{env_.get()};
    bare_pool pool{env_};
    load l{pool.ledger, spares, working, nullptr};
    worker &a = pool.add_worker(), &b = pool.add_worker();

private:
    bare_queue_in<cmwq::bound> queue_{env_, pool, 1};
    item pending_;
};

} // namespace

TEST_CASE("load: each worker counts once, and whoever finds it blocked counts it down once") {
    load_machine m;
    m.l.count(m.a);
    m.l.count(m.a);
    CHECK(m.l.nr_running() == 1);
    CHECK_FALSE(m.l.wants_more_running());
    CHECK(m.l.uncount(m.a));
    CHECK_FALSE(m.l.uncount(m.a));
    CHECK(m.l.nr_running() == 0);
    CHECK(m.l.wants_more_running());
    m.l.count(m.b);
    CHECK(m.l.nr_running() == 1);
}

TEST_CASE("load: no item waits for rescuers and guests, so they do not count") {
    load_machine m;
    for (const worker::record_of kind : {worker::record_of::rescuer, worker::record_of::guest}) {
        worker w(m.pool, 9, kind);
        m.l.count(w);
        CHECK(m.l.nr_running() == 0);
    }
}

TEST_CASE("load: a pool is as wide as its pod, and those who watch it are near if they are in the pod") {
    load_machine m(2);
    CHECK(m.l.width() == 2);
    CHECK(m.l.limit() == 2);
    cpuset seen;
    m.l.for_each_sentinel([&](unsigned index) { seen.insert(index); });
    CHECK(seen == cpuset::range(0, 4));
    const pool_spec pod{.cpus = {0, 1, 2}, .pod = {1, 2}};
    CHECK(m.l.watching(pod, {0, 1, 2}).near == cpuset{1, 2});
    CHECK(m.l.watching(pod, {0, 1, 2}).far == cpuset{0});
    const pool_spec none{.cpus = {0}, .pod = {3}};
    CHECK(m.l.watching(none, {0}).near == cpuset{0}); // somebody has to
}

TEST_CASE("load: a producer asks for a worker only while fewer run than the pool is wide") {
    load_machine m;
    m.l.wake_a_worker();
    CHECK(m.spares.take_request()); // nobody is idle
    worker& spare = m.add_spare();
    m.l.wake_a_worker();
    CHECK_FALSE(m.spares.take_request());
    spare.sleep.park(); // returns at once: it has been reminded
    m.l.count(m.a);
    m.l.wake_a_worker();
    CHECK_FALSE(m.spares.take_request());
}

TEST_CASE("load: a request that comes while an attempt to create a worker fails waits for the next one") {
    load_machine m;
    m.l.wake_a_worker();
    m.spares.retry_at(steady_now() + 3'600 * cmwq_test::second);
    CHECK_FALSE(m.spares.take_request());
    m.l.wake_a_worker();
    CHECK_FALSE(m.spares.take_request());
    m.spares.retry_at(0);
    CHECK_FALSE(m.spares.take_request()); // the monitor requests it at a tick
    m.l.wake_a_worker();
    CHECK(m.spares.take_request());
}

TEST_CASE("load: without its CPU every item gets a worker") {
    load_machine m;
    m.l.count(m.a);
    m.l.associate(false);
    CHECK(m.l.wants_more_running());
    m.l.wake_a_worker();
    CHECK(m.spares.take_request());
    m.l.associate(true);
    CHECK_FALSE(m.l.wants_more_running());
}

TEST_CASE("load: a worker that announces that it blocks is replaced if an item is pending") {
    load_machine m;
    m.l.count(m.a);
    m.l.block_begins(m.a);
    CHECK(m.l.nr_running() == 0);
    CHECK(m.l.numbers().by_guard == 0); // nothing is pending
    m.l.block_ends(m.a);
    CHECK(m.l.nr_running() == 1);
    m.make_pending();
    worker& spare = m.add_spare();
    m.l.block_begins(m.a);
    CHECK(m.l.numbers().by_guard == 1);
    CHECK(m.l.numbers().spare_wakeups == 1);
    spare.sleep.park();    // returns at once
    m.l.block_begins(m.a); // it is not counted any more
    CHECK(m.l.numbers().by_guard == 1);
    const cmwq::queue_counters& s = m.move_counts();
    CHECK(s.blocks_by_guard == 1);
    CHECK(s.spare_wakeups == 1);
}

TEST_CASE("load: a worker in a wait of the library is no reason to expect that it will be back soon") {
    load_machine m;
    m.l.count(m.a);
    CHECK(m.l.nr_active() == 2);
    m.l.wait_begins(m.a);
    CHECK(m.l.nr_active() == 1);
    CHECK(m.l.nr_running() == 0);
    m.l.wait_ends(m.a);
    CHECK(m.l.nr_active() == 2);
    CHECK(m.l.nr_running() == 1);
    CHECK(m.a.excluded_time.load(relaxed) >= 0);
}

TEST_CASE("load: what a detector finds") {
    load_machine m;
    CHECK(m.l.check_for_blocked({.who = detector::monitor}) == finding::nothing_pending);
    m.make_pending();
    std::binary_semaphore go{0};
    std::atomic<bool> ready{false};
    std::thread sleeper{[&] { // as the thread of worker `a`, whose item blocks unannounced
        m.a.probe.open_own(state_files::kept);
        ready = true;
        go.acquire();
        m.a.probe.close_own();
    }};
    REQUIRE(eventually([&] { return ready && m.a.probe.blocked(); }));
    m.l.count(m.a);
    m.a.finishing.store(true, relaxed);
    CHECK(m.l.check_for_blocked({.who = detector::monitor}) == finding::running); // it waits for the pool's lock
    m.a.finishing.store(false, relaxed);
    CHECK(m.l.check_for_blocked({.who = detector::monitor}) == finding::no_spare);
    CHECK(m.spares.take_request());
    CHECK(m.l.nr_running() == 0);
    CHECK(m.l.numbers().by_monitor == 1);
    m.add_spare();
    CHECK(m.l.check_for_blocked({.who = detector::sentinel}) == finding::replaced);
    CHECK(m.l.numbers().by_sentinel == 0); // it was not counted any more
    CHECK(m.l.numbers().spare_wakeups == 1);
    const cmwq::queue_counters& s = m.move_counts();
    CHECK(s.blocks_by_monitor == 1);
    CHECK(s.spare_wakeups == 0); // it was found blocked before there was a spare
    m.l.count(m.a);
    CHECK(m.l.check_for_blocked({.who = detector::sentinel}) == finding::replaced);
    m.move_counts();
    CHECK(s.blocks_by_sentinel == 1);
    CHECK(s.spare_wakeups == 1);
    go.release();
    sleeper.join();
}

TEST_CASE("load: an idle CPU outside the pod is lent while fewer workers run than the threads may use CPUs") {
    load_machine m;
    m.add_spare();
    CHECK(m.l.lend_cpu());
    CHECK(m.l.numbers().spare_wakeups == 1);
    CHECK(m.l.limit() == 3); // one more than are active
    const int most = m.width_of_machine();
    std::deque<worker*> running;
    while (m.l.nr_running() < most) m.l.count(*running.emplace_back(&m.pool.add_worker()));
    CHECK_FALSE(m.l.lend_cpu());
}

TEST_CASE("load: items that are overdue start beside those that run, until one of these has ended") {
    load_machine m;
    {
        const scoped_lock g(m.pool.ledger.lock);
        m.l.let_overdue_start_locked(2);
        CHECK(m.l.is_overdue_locked());
        CHECK(m.l.snapshot_locked(m.pool.ledger, false).overdue);
        m.l.end_run_locked(m.a);
        CHECK_FALSE(m.l.is_overdue_locked());
        CHECK(m.l.nr_running() == 1); // the worker counts again after its run
    }
}
