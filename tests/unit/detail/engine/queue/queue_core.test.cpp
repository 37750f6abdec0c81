// SPDX-License-Identifier: BSL-1.0
//
// queue_core alone: what the diagnosis thread does with it.
#include "bare_pool.hpp"
#include "catch.hpp"

#include <thread>
#include <vector>

using cmwq_test::bare_env;
using cmwq_test::bare_queue;

TEST_CASE("queue: the check of its backlog waits for no thread that holds the lock of its pwqs") {
    const bare_env env;
    bare_queue<cmwq::unbound> q(env);
    q.core.note_backlog();
    std::vector<cmwq::detail::seen_run> runs;
    bool again = false;
    q.core.pwqs.lock.lock();
    std::thread([&] { again = q.core.sample_backlog(runs); }).join();
    q.core.pwqs.lock.unlock();
    CHECK(again);
    CHECK(runs.empty());
    CHECK(q.core.take_backlog()); // the next check looks again
}
