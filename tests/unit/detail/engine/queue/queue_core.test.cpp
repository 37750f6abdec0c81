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
    bare_queue<cmwq::unbound> q(env);
    const auto with_lock = [&](auto&& f) {
        const cmwq::detail::scoped_lock g(q.core.pwqs.lock);
        f();
    };
    auto* const pwq = new cmwq::detail::pool_workqueue(q.face, pool, nullptr);
    with_lock([&]() CMWQ_NO_TSA { q.core.pwqs.add_locked(*pwq); });
    pool.ledger.lock.lock();
    check_in_vain(q.core);
    pool.ledger.lock.unlock();
    with_lock([&]() CMWQ_NO_TSA { q.core.pwqs.remove_locked(*pwq); });
    delete pwq;
}
