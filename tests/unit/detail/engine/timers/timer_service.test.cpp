// SPDX-License-Identifier: BSL-1.0
//
// timer_service alone: the test is the clock and the service thread.
#include "bare_pool.hpp"
#include "catch.hpp"
#include "nanoseconds.hpp"

#include <cmwq/detail/engine/timers/timer_service.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

using namespace cmwq::detail;
using cmwq::work_base;
using cmwq_test::bare_env;
using cmwq_test::bare_queue;
using cmwq_test::ms;
using timed_item = cmwq_test::bare_delayed_item;

namespace {

using order = std::vector<work_base*>;

/// Two CPUs, and a bound queue.
template <class Policy = cmwq::bound>
class service_machine {
    bare_env env_{"numa:1 core:2 pu:1"};

public:
    service_machine() {
        if (!queue.core.keyed()) queue.core.changes.make_pwqs(cmwq::priority::normal);
    }

    /// True: the service thread would have to be woken.
    bool arm(timed_item& w, std::int64_t deadline, int cpu = 0, std::int64_t now = 0) {
        REQUIRE(work_access::claim(w) == claim_result::claimed);
        return timers.arm(queue.core, w, cpu, now, deadline);
    }
    /// What has come to the pool of that CPU, in order; it has run then.
    order taken(unsigned cpu = 0) {
        pool_ledger& ledger = pool(cpu).ledger;
        order found;
        deferred d;
        const scoped_lock g(ledger.lock);
        auto* const by = new worker(pool(cpu), 9, worker::record_of::worker);
        ledger.add_record_locked(*by);
        ledger.drain_locked(d);
        while (work_base* const w = ledger.take_locked(*by)) {
            static_cast<void>(ledger.begin_run_locked(*by, *w));
            ledger.end_run_locked(*by, d);
            found.push_back(w);
        }
        return found;
    }
    static std::uint64_t shard_of(timed_item& w) { return work_access::timer(w).armed_in.load(relaxed); }

    bare_queue<Policy> queue{env_};
    timer_service& timers = env_.timers;

private:
    item_pool& pool(unsigned cpu) { return env_.get().pools.pool_at(cpu, cmwq::priority::normal); }
};

} // namespace

TEST_CASE("timers: items are queued when they are due, in the order of their deadlines, on their CPU") {
    service_machine m;
    std::array<timed_item, 4> w;
    m.arm(w[0], 30 * ms);
    m.arm(w[1], 10 * ms);
    m.arm(w[2], 20 * ms);
    m.arm(w[3], 10 * ms, 1);
    CHECK_FALSE(m.timers.expire(10 * ms - 1));
    CHECK(m.taken().empty());
    CHECK_FALSE(m.timers.expire(25 * ms));
    CHECK(m.taken(0) == order{&w[1], &w[2]});
    CHECK(m.taken(1) == order{&w[3]});
    m.timers.expire(30 * ms);
    CHECK(m.taken() == order{&w[0]});
}

TEMPLATE_TEST_CASE("timers: those of an ordered queue are in one shard, others in that of their CPU", "", cmwq::ordered,
                   cmwq::bound) {
    service_machine<TestType> m;
    timed_item a, b;
    m.arm(a, ms, 0);
    m.arm(b, ms, 1);
    CHECK((m.shard_of(a) == m.shard_of(b)) == TestType::fifo);
    for (timed_item* w : {&a, &b}) CHECK(m.timers.disarm(*w, m.shard_of(*w)));
}

TEST_CASE("timers: a far deadline is kept exactly") {
    service_machine m;
    timed_item w;
    const std::int64_t day = 86'400'000 * ms;
    m.arm(w, day);
    for (std::int64_t t = 0; t < day; t += day / 1000) m.timers.expire(t);
    m.timers.expire(day - 1);
    CHECK(m.taken().empty());
    m.timers.expire(day);
    CHECK(m.taken() == order{&w});
}

TEST_CASE("timers: a disarmed one does not fire, and one call disarms it") {
    service_machine m;
    timed_item w;
    m.arm(w, ms);
    const std::uint64_t shard = m.shard_of(w);
    CHECK(m.timers.disarm(w, shard));
    CHECK_FALSE(m.timers.disarm(w, shard));
    CHECK(work_access::pending(w)); // the caller owns it
    work_access::clear_pending(w);
    m.timers.expire(2 * ms);
    CHECK(m.taken().empty());
}

TEST_CASE("timers: a waiter queues an item at once, and once") {
    service_machine m;
    timed_item w;
    m.arm(w, 3600'000 * ms);
    const std::uint64_t shard = m.shard_of(w);
    CHECK(m.timers.expedite(w, shard));
    CHECK_FALSE(m.timers.expedite(w, shard));
    CHECK(m.taken() == order{&w});
}

TEST_CASE("timers: a drain queues those of its queue, on every CPU") {
    service_machine m;
    std::deque<timed_item> w(300); // more than it queues under one lock
    for (std::size_t i = 0; i < w.size(); ++i) m.arm(w[i], 3600'000 * ms, static_cast<int>(i % 2));
    m.timers.expedite_all(m.queue.core);
    CHECK(m.taken(0).size() == 150);
    CHECK(m.taken(1).size() == 150);
}

TEST_CASE("timers: a drop takes those of its queue, one by one") {
    service_machine m;
    timed_item a, b;
    m.arm(a, ms, 0);
    m.arm(b, ms, 1);
    unsigned shard = 0;
    CHECK(m.timers.take_one(m.queue.core, shard) == &a);
    CHECK(m.timers.take_one(m.queue.core, shard) == &b);
    CHECK(m.timers.take_one(m.queue.core, shard) == nullptr);
}

TEST_CASE("timers: a closed queue gets the item at once") {
    service_machine m;
    timed_item w;
    m.queue.core.gate.begin_drain();
    CHECK_FALSE(m.arm(w, 3600'000 * ms));
    CHECK(m.taken() == order{&w});
    m.queue.core.gate.end_drain();
}

TEST_CASE("timers: a crowd of due ones is queued in parts, in order") {
    service_machine m;
    constexpr std::size_t nr = 1000;
    std::deque<timed_item> w(nr);
    for (std::size_t i = nr; i-- > 0;) m.arm(w[i], static_cast<std::int64_t>(i) * 1000);
    timed_item other;
    m.arm(other, 2 * ms, 1);
    CHECK(m.timers.expire(10 * ms)); // there are more
    const order first = m.taken();
    CHECK((!first.empty() && first.size() < nr));
    CHECK(m.taken(1) == order{&other}); // it does not wait for the crowd
    order all = first;
    for (bool more = true; more;) {
        more = m.timers.expire(10 * ms);
        const order next = m.taken();
        all.insert(all.end(), next.begin(), next.end());
    }
    REQUIRE(all.size() == nr);
    for (std::size_t i = 0; i < nr; ++i) CHECK(all[i] == &w[i]);
}

TEST_CASE("timers: who arms an earlier one than those for which the service thread sleeps has to wake it") {
    service_machine m;
    std::array<timed_item, 4> w;
    CHECK(m.timers.plan_sleep() == timer_service::never);
    CHECK(m.arm(w[0], 50 * ms));
    m.timers.woke_up();
    CHECK_FALSE(m.arm(w[1], 40 * ms)); // it is awake
    CHECK(m.timers.plan_sleep() <= 40 * ms);
    CHECK(m.timers.plan_sleep() > 0);
    CHECK_FALSE(m.arm(w[2], 60 * ms));
    CHECK(m.arm(w[3], ms));
    m.timers.expire(100 * ms);
    CHECK(m.taken().size() == 4);
}
