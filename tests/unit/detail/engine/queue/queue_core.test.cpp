// SPDX-License-Identifier: BSL-1.0
//
// queue_core alone: what the diagnosis thread does with it.
#include "bare_pool.hpp"
#include "catch.hpp"

#include <cmwq/detail/sync/clock.hpp>

#include <thread>
#include <vector>

using cmwq::detail::backlog_state;
using cmwq::detail::steady_now;
using cmwq_test::bare_env;
using cmwq_test::bare_item;
using cmwq_test::bare_pool;
using cmwq_test::bare_queue;

namespace {

/// A check that finds the lock of another thread at its deadline.
void check_in_vain(cmwq::detail::queue_core& q) {
    q.note_backlog();
    std::vector<cmwq::detail::seen_run> runs;
    auto state = backlog_state::none;
    std::thread([&] { state = q.sample_backlog(runs, steady_now()); }).join();
    CHECK(state == backlog_state::unknown);
    CHECK(runs.empty());
    CHECK(q.take_backlog()); // the next check looks again
}

/// A queue whose list of pwqs has one, in that pool.
struct listed_queue {
    listed_queue(const bare_env& env, bare_pool& pool) CMWQ_NO_TSA
        : queue(env),
          pwq(*new cmwq::detail::pool_workqueue(queue.face, pool, nullptr)) {
        const cmwq::detail::scoped_lock g(queue.core.pwqs.lock);
        queue.core.pwqs.add_locked(pwq);
    }
    ~listed_queue() CMWQ_NO_TSA {
        {
            const cmwq::detail::scoped_lock g(queue.core.pwqs.lock);
            queue.core.pwqs.remove_locked(pwq);
        }
        delete &pwq;
    }

    bare_queue<cmwq::unbound> queue;
    cmwq::detail::pool_workqueue& pwq;
};

/// A queue at its limit: one item runs, and another one is in the inbox until that one has ended.
struct queue_at_limit {
    explicit queue_at_limit(const bare_env& env) : pool(env), q(env, pool) {
        q.pwq.max_active = 1;
        REQUIRE(pool.push(first, q.pwq));
        REQUIRE(pool.start(by) == &first);
        REQUIRE(pool.push(behind, q.pwq));
        q.queue.core.note_backlog();
    }

    backlog_state look() { return q.queue.core.sample_backlog(runs, steady_now()); }
    void end_first_and_start_other() {
        pool.end(by);
        CHECK(pool.start(by) == &behind);
    }

    bare_pool pool;
    listed_queue q;
    bare_item first, behind;
    cmwq::detail::worker& by = pool.add_worker();
    std::vector<cmwq::detail::seen_run> runs;
};

} // namespace

TEST_CASE("queue: checks under the lock of the list of queues wait for no thread that holds the lock of its pwqs") {
    const bare_env env;
    bare_queue<cmwq::unbound> q(env);
    bool finished = true;
    q.core.pwqs.lock.lock();
    check_in_vain(q.core);
    std::thread([&] { finished = q.core.changes.finish(); }).join();
    q.core.pwqs.lock.unlock();
    CHECK_FALSE(finished);
    CHECK(q.core.changes.finish());
}

TEST_CASE("queue: the check of its backlog waits for no thread that holds the lock of a pool") {
    const bare_env env;
    bare_pool pool(env);
    listed_queue q(env, pool);
    pool.ledger.lock.lock();
    check_in_vain(q.queue.core);
    pool.ledger.lock.unlock();
}

TEST_CASE("queue: the check of its backlog sees an item that is in the inbox until another one has ended") {
    const bare_env env;
    queue_at_limit m(env);
    CHECK(m.look() == backlog_state::may_stand_still);
    CHECK(m.runs.size() == 1);
    CHECK(m.pool.nr_notified > 0); // for a moment others could not see the item
    m.end_first_and_start_other();
    m.pool.end(m.by);
}

TEST_CASE("queue: the checks of its backlog go on while something else than the limit keeps the items back") {
    const bare_env env;
    queue_at_limit m(env);
    m.pool.ledger.set_frozen(m.q.pwq, true);
    CHECK(m.look() == backlog_state::progresses);
    m.pool.ledger.set_frozen(m.q.pwq, false);
    CHECK(m.look() == backlog_state::may_stand_still);
    m.pool.ledger.hold_back(m.q.pwq);
    CHECK(m.look() == backlog_state::progresses);
    m.pool.ledger.let_go(m.q.pwq);
    CHECK(m.look() == backlog_state::may_stand_still);
    m.end_first_and_start_other();
    CHECK(m.look() == backlog_state::none);
    m.pool.end(m.by);
}
