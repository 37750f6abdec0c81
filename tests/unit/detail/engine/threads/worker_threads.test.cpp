// SPDX-License-Identifier: BSL-1.0
//
// worker_threads alone: creating workers, their idleness and their end. The test is the manager thread; a worker sleeps
// until it has to end.
#include "bare_pool.hpp"
#include "catch.hpp"
#include "fake_threads.hpp"

#include <cmwq/detail/engine/threads/worker_threads.hpp>
#include <cmwq/testing/manual_clock.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace cmwq::detail;
using namespace std::chrono_literals;
using cmwq_test::bare_env;
using cmwq_test::bare_item;
using cmwq_test::bare_pool;
using cmwq_test::bare_queue_in;
using cmwq_test::fake_threads;

namespace {

class parked final : public worker_loop {
public:
    explicit parked(pool_ledger& ledger) : ledger_(ledger) {}
    void serve(worker& self) override {
        for (;;) {
            {
                const scoped_lock g(ledger_.lock);
                if (self.retiring) return;
            }
            self.sleep.park();
        }
    }
    void run_rescued_locked(worker& /*record*/, cmwq::work_base& /*w*/, deferred& /*d*/) override {}
    guest_result run_as_guest(group_task& /*task*/, std::uintptr_t /*stack_end*/) override {
        return guest_result::kept_back;
    }

private:
    pool_ledger& ledger_;
};

class threads_machine {
    fake_threads source_;
    cmwq::testing::manual_clock clock_;
    bare_env env_;
    busy_workers<worker> working_;

public:
    explicit threads_machine(unsigned max_threads = 0) : env_("numa:1 core:1 pu:1", options(max_threads)) {}
    ~threads_machine() {
        static_cast<void>(ledger.steal(item_));
        std::vector<worker*> busy;
        {
            const scoped_lock g(ledger.lock);
            ledger.for_each_busy_locked([&](worker& w) {
                busy.push_back(&w);
                return true;
            });
        }
        for (worker* w : busy) end_work(*w);
        threads.end();
        threads.let_end();
        threads.join();
    }
    threads_machine(const threads_machine&) = delete;
    threads_machine& operator=(const threads_machine&) = delete;

    [[nodiscard]] bool create() {
        const scoped_lock g(ledger.lock);
        return threads.create_locked(ledger, &cmwq::pool_growth::first);
    }
    [[nodiscard]] std::size_t nr_idle() {
        const scoped_lock g(ledger.lock);
        return spares.size_locked();
    }
    [[nodiscard]] worker* next_to_wake() {
        const scoped_lock g(ledger.lock);
        return spares.front_locked();
    }
    /// The worker takes an item and runs it from here on.
    void begin_work(worker& w) {
        const scoped_lock g(ledger.lock);
        threads.leave_idle_locked(w);
        ledger.become_busy_locked(w);
    }
    void end_work(worker& w) {
        const scoped_lock g(ledger.lock);
        ledger.leave_busy_locked(w);
        threads.enter_idle_locked(w);
    }
    void make_pending() { REQUIRE(pool.push(item_, queue_.pwq)); }
    /// As the manager thread: the thread of that worker has ended.
    void joined(worker& w) {
        w.os_thread.join();
        REQUIRE(threads.thread_is_gone(w));
    }

    fake_threads& source = source_;
    cmwq::testing::manual_clock& clock = clock_;
    bare_pool pool{env_};
    pool_ledger& ledger = pool.ledger;
    spare_workers spares{env_.get()};
    parked loop{ledger};
    worker_threads threads{pool, loop, ledger, spares, working_, nullptr};

private:
    cmwq::runtime_options options(unsigned max_threads) {
        cmwq::runtime_options o;
        o.max_threads = max_threads;
        o.idle_timeout = 10s;
        o.threads = &source_;
        o.clock = &clock_;
        return o;
    }

    bare_queue_in<cmwq::unbound> queue_{env_, pool, 8};
    bare_item item_;
};

} // namespace

TEST_CASE("worker threads: a new worker is idle, and the last one to be woken") {
    threads_machine m;
    CHECK(m.create());
    worker* const first = m.next_to_wake();
    CHECK(m.create());
    CHECK(m.nr_idle() == 2);
    CHECK(m.next_to_wake() == first);
    m.begin_work(*first);
    CHECK(m.next_to_wake()->id == 1);
    m.end_work(*first); // its caches are warm
    CHECK(m.next_to_wake() == first);
}

TEST_CASE("worker threads: a refusal is remembered until a worker can be created") {
    threads_machine m;
    m.source.refuse();
    CHECK_FALSE(m.create());
    CHECK(m.threads.is_short());
    CHECK(m.threads.are_lacking());
    CHECK(m.nr_idle() == 0);
    m.source.allow();
    CHECK(m.create());
    CHECK_FALSE(m.threads.is_short());
    CHECK(m.next_to_wake()->id == 0); // the refused record was given back
}

TEST_CASE("worker threads: no more workers are created than max_threads") {
    threads_machine m(1);
    CHECK(m.create());
    CHECK_FALSE(m.create());
    CHECK(m.threads.is_short());
    CHECK(m.threads.give_up_worker(worker_threads::idle_worker::last_spare)); // so another pool can have it
    CHECK(m.create());
}

TEST_CASE("worker threads: the manager thread creates a worker only for pending items, or wakes an idle one") {
    threads_machine m;
    CHECK(m.threads.ensure_worker());
    CHECK(m.source.made() == 0);
    m.make_pending();
    CHECK(m.threads.ensure_worker());
    CHECK(m.source.made() == 1);
    CHECK(m.threads.ensure_worker());
    CHECK(m.source.made() == 1);
    m.begin_work(*m.next_to_wake());
    m.source.refuse();
    CHECK_FALSE(m.threads.ensure_worker());
}

TEST_CASE("worker threads: surplus workers end when they have been idle for long enough, two stay") {
    threads_machine m;
    CHECK(m.create());
    CHECK(m.create());
    CHECK(m.threads.cull_at() == 0);
    m.clock.advance(1s);
    CHECK(m.create());
    CHECK(m.create());
    const std::int64_t first_due = m.threads.cull_at();
    CHECK(first_due == m.clock.now() + std::chrono::nanoseconds{10s}.count());
    CHECK(m.threads.cull(first_due - std::chrono::nanoseconds{2s}.count()) != 0);
    CHECK(m.nr_idle() == 4);
    CHECK(m.threads.cull(first_due) == 0);
    CHECK(m.nr_idle() == 2);
}

TEST_CASE("worker threads: busy workers justify idle ones") {
    threads_machine m;
    for (int i = 0; i < 7; ++i) CHECK(m.create());
    for (int i = 0; i < 5; ++i) m.begin_work(*m.next_to_wake());
    m.clock.advance(1h);
    CHECK(m.threads.cull(m.clock.now()) == 0);
    CHECK(m.nr_idle() == 2);
    CHECK(m.create()); // one more than two, beside five busy ones
    m.clock.advance(1h);
    CHECK(m.threads.cull(m.clock.now()) == 0);
    CHECK(m.nr_idle() == 3);
}

TEST_CASE("worker threads: a pool gives up a worker only if it can do without it") {
    threads_machine m;
    CHECK_FALSE(m.threads.give_up_worker(worker_threads::idle_worker::last_spare)); // there is none
    CHECK(m.create());
    CHECK(m.create());
    worker& busy = *m.next_to_wake();
    m.begin_work(busy);
    CHECK_FALSE(m.threads.give_up_worker(
        worker_threads::idle_worker::surplus)); // the last idle one, which takes over if the other one blocks
    m.make_pending();
    CHECK_FALSE(m.threads.give_up_worker(worker_threads::idle_worker::last_spare)); // an item waits for it
    m.end_work(busy);
}

TEST_CASE("worker threads: the record of a worker that has ended serves the next one") {
    threads_machine m;
    CHECK(m.create());
    worker& w = *m.next_to_wake();
    CHECK(m.threads.give_up_worker(worker_threads::idle_worker::last_spare));
    m.joined(w);
    CHECK(m.create());
    CHECK(m.next_to_wake() == &w);
}

TEST_CASE("worker threads: a pool has ended when its threads are gone, and can begin again") {
    threads_machine m;
    CHECK(m.create());
    CHECK(m.create());
    worker& busy = *m.next_to_wake();
    m.begin_work(busy);
    worker& idle = *m.next_to_wake();
    m.threads.end();
    CHECK_FALSE(m.create());
    m.joined(idle);
    CHECK_FALSE(m.threads.have_ended());
    {
        const scoped_lock g(m.ledger.lock); // the worker ends its item, goes idle, and sees that it has to end
        m.ledger.leave_busy_locked(busy);
        m.threads.enter_idle_locked(busy);
        CHECK(m.threads.is_stopping_locked());
        m.threads.retire_locked(busy);
    }
    busy.sleep.unpark();
    m.joined(busy);
    CHECK(m.threads.have_ended());
    pool_spec spec;
    {
        const scoped_lock g(m.ledger.lock);
        m.threads.configure_locked(m.ledger, spec);
    }
    CHECK(m.create());
}
