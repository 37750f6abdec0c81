// SPDX-License-Identifier: BSL-1.0
//
// deadlock_check alone: it holds the lock of the graph of waits, so it must not wait for a thread that may be stopped.
#include "bare_pool.hpp"
#include "catch.hpp"

#include <cmwq/detail/engine/stuck/deadlock_check.hpp>
#include <cmwq/detail/engine/waits/group_sleeper.hpp>
#include <cmwq/detail/engine/waits/wait_graph.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <thread>

using namespace cmwq::detail;
using cmwq_test::bare_env;
using cmwq_test::bare_item;
using cmwq_test::bare_pool;
using cmwq_test::bare_queue;
using cmwq_test::bare_queue_in;

namespace {

/// An item of another queue runs in the pool, on this thread.
class waiting_item {
public:
    waiting_item(const bare_env& e, bare_pool& p) : pool_(p), queue_(e, p, 1), by_(p.add_worker()) {
        REQUIRE(pool_.push(item_, queue_.pwq));
        REQUIRE(pool_.start(by_) == &item_);
        this_thread_slots().current_run = &by_;
    }
    ~waiting_item() {
        this_thread_slots().current_run = nullptr;
        pool_.end(by_);
    }
    waiting_item(const waiting_item&) = delete;
    waiting_item& operator=(const waiting_item&) = delete;

private:
    bare_pool& pool_;
    bare_queue_in<cmwq::unbound> queue_;
    worker& by_;
    bare_item item_;
};

constexpr wait_call call{.name = "a wait", .may_throw = true, .of_pending = true};

/// As the diagnosis thread of a runtime, while the calling thread holds `lock`.
template <class Lock>
void check_beside(const bare_env& env, Lock& lock) CMWQ_NO_TSA {
    lock.lock();
    std::thread([&] {
        env.get().diagnosis.set_waits_due(1);
        CHECK(deadlock_check::check_if_due(env.get()) > 1);
    }).join();
    lock.unlock();
}

} // namespace

TEST_CASE("deadlock check: it waits for no thread that adds a task to a group") {
    const bare_env env;
    bare_pool pool{env};
    bare_queue<cmwq::unbound> q(env);
    waiting_item waiter(env, pool);
    group_core group(q.core);
    group_sleeper sleeper(group_sleeper::kind::waits, 0);
    sleeper.asleep = true;
    const registered_wait wait(call, q.face, group, sleeper);
    check_beside(env, group.lock);
}

TEST_CASE("deadlock check: it waits for no thread that changes a queue") {
    const bare_env env;
    bare_pool pool{env};
    bare_queue_in<cmwq::unbound> q(env, pool, 1);
    worker& by = pool.add_worker();
    bare_item active, behind;
    REQUIRE(pool.push(active, q.pwq));
    REQUIRE(pool.push(behind, q.pwq));
    REQUIRE(pool.start(by) == &active);
    {
        const waiting_item item(env, pool);
        waiter who;
        color_waiter node{.who = &who, .pwq = &q.pwq, .pool = &pool};
        REQUIRE(pool.ledger.close_color(q.pwq, node));
        const registered_wait wait(call, q.queue.face, &node, 1);
        check_beside(env, q.queue.core.pwqs.lock);
        pool.ledger.stop_waiting(node);
    }
    pool.end(by);
    REQUIRE(pool.start(by) == &behind);
    pool.end(by);
}
