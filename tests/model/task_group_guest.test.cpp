// SPDX-License-Identifier: BSL-1.0
//
// A thread that runs no item waits for a task group, and runs tasks of it as one of the workers.
#include "catch.hpp"
#include "model/threads.hpp"

#include <memory>
#include <optional>

using cmwq::task_group;
using namespace cmwq_test;

// No other item starts beside the one that computes, until that one sees its end.
TEST_CASE("task_group: a thread outside runs its tasks while an item keeps the CPU") {
    CHECK(model::explore(search_on(1, "busy", 2), [] {
        elastic_machine m;
        cmwq::workqueue<cmwq::elastic> others{m.rt, elastic_machine::queue_options("others", {}, 0)};
        two_tasks tasks;
        std::atomic<bool> stop{false};
        model::semaphore entered{0};
        others.post([&] {
            entered.release();
            while (!stop) cmwq::detail::yield_this_thread();
        });
        entered.acquire();
        task_group g{m.q};
        tasks.add_to(g);
        model::require(g.wait() && tasks.ran_once_each(), "each has run once");
        stop = true;
        others.flush();
    }));
}

TEST_CASE("task_group: two threads outside wait for the same tasks") {
    for (const unsigned limit : {1u, 0u}) { // 0: the default
        CHECK(model::explore(search_on(2, "two-guests", 2), [&] {
            elastic_machine m({.max_active = limit});
            two_tasks tasks;
            auto g = std::make_unique<task_group>(m.q);
            tasks.add_to(*g);
            auto t = model::spawn([&] { static_cast<void>(g->wait()); });
            static_cast<void>(g->wait());
            model::require(tasks.ran_once_each(), "each has run once");
            t.join();
            g.reset();
            model::require(m.waited() == 0, "no thread waited for the monitor");
        }));
    }
}

// Both slots are in use, so of the two waiters only the item can run the new task.
TEST_CASE("task_group: a thread outside and an item wait when a task is added that the limit keeps back") {
    CHECK(model::explore(search_on(2, "right-waiter", 2), [] {
        elastic_machine m({.max_active = 2});
        model::semaphore ready{0}, item_waits{0}, done{0};
        counted_runs x, y;
        task_group g{m.q};
        g.run([&] {
            ready.acquire();
            x();
        });
        m.q.post([&] {
            item_waits.release();
            static_cast<void>(g.wait());
            done.release();
        });
        item_waits.acquire();
        auto t = model::spawn([&] { static_cast<void>(g.wait()); });
        {
            const model::unsearched quiet;
            model::sleep(1000 * ms); // all of them wait
        }
        g.run([&] {
            y();
            ready.release();
        });
        done.acquire();
        t.join();
        model::require(x.runs() == 1 && y.runs() == 1, "each has run once");
        m.q.flush();
    }));
}

// The thread outside keeps no worker from starting.
TEST_CASE("task_group: an item is queued while a thread outside runs a task") {
    CHECK(model::explore(search_on(1, "leaves", 3), [] {
        elastic_machine m;
        model::semaphore done{0};
        cmwq::work w{[&] { done.release(); }};
        task_group g{m.q};
        counted_runs task;
        g.run([&] { task(); });
        auto t = model::spawn([&] { m.q.queue(w); });
        static_cast<void>(g.wait());
        done.acquire();
        t.join();
        model::require(task.runs() == 1, "it has run once");
        model::require(m.waited() == 0, "no thread waited for the monitor");
        m.q.flush();
    }));
}

TEST_CASE("task_group: a task in a thread outside blocks until another one has run") {
    CHECK(model::explore(search_on(1, "blocks", 3), [] {
        elastic_machine m;
        model::semaphore ready{0};
        counted_runs x, y;
        task_group g{m.q};
        g.run([&] {
            wait_at(ready, cmwq::block_kind::will_block);
            x();
        });
        g.run([&] {
            y();
            ready.release();
        });
        model::require(g.wait() && x.runs() == 1 && y.runs() == 1, "each has run once");
        model::require(m.waited() == 0, "no thread waited for the monitor");
    }));
}

TEST_CASE("task_group: a task in a thread outside adds tasks, which workers take") {
    const auto search = [](const char* name, auto body) {
        CHECK(model::explore(search_on(2, name, 3), [&] {
            elastic_machine m({.max_active = 2});
            two_tasks tasks;
            auto g = std::make_unique<task_group>(m.q);
            body(m, *g, tasks);
            model::require(g->wait() && tasks.ran_once_each(), "each has run once");
            g.reset();
            model::require(m.waited() == 0, "no thread waited for the monitor");
        }));
    };
    search("adds", [](elastic_machine&, task_group& g, two_tasks& tasks) { g.run([&] { tasks.add_to(g); }); });
    search("nests", [](elastic_machine& m, task_group& g, two_tasks& tasks) {
        g.run([&] {
            task_group inner{m.q};
            tasks.add_to(inner);
            model::require(inner.wait() && tasks.ran_once_each(), "each has run once");
        });
    });
}

// The pool of the queue is replaced, and freed after the last item: the thread outside may be in it.
TEST_CASE("task_group: the attributes change while a thread outside runs tasks") {
    CHECK(model::explore(search_on(2, "apply", 3), [] {
        elastic_machine m({.end_searched = true});
        two_tasks tasks;
        {
            task_group g{m.q};
            tasks.add_to(g);
            auto t = model::spawn([&] { m.q.apply(cmwq::attrs{}.nice(1)); });
            model::require(g.wait() && tasks.ran_once_each(), "each has run once");
            t.join();
        }
        m.end_queue();
    }));
}

TEST_CASE("task_group: shutdown() and cancel() come while a thread outside takes tasks") {
    CHECK(model::explore(search_on(2, "shutdown", 2), [] {
        elastic_machine m({.max_active = 1});
        two_tasks tasks;
        task_group g{m.q};
        tasks.add_to(g);
        auto t = model::spawn([&] { m.q.shutdown(cmwq::cancel_pending); });
        static_cast<void>(g.wait());
        t.join();
        model::require(tasks.of_x.runs() <= 1 && tasks.of_y.runs() <= 1, "each has run once at most");
    }));
    CHECK(model::explore(search_on(2, "cancel", 2), [] {
        elastic_machine m;
        two_tasks tasks;
        task_group g{m.q};
        tasks.add_to(g);
        auto t = model::spawn([&] { g.cancel(); });
        static_cast<void>(g.wait());
        t.join();
        model::require(tasks.of_x.runs() <= 1 && tasks.of_y.runs() <= 1, "each has run once at most");
        m.q.flush();
    }));
}
