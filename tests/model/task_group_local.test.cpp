// SPDX-License-Identifier: BSL-1.0
//
// Task groups: tasks that are added and ended without the lock of the group. Every waiter learns of the last end, and
// finds every task that has not started, wherever its item is.
//
// When these defects were put into the engine, these searches found them: a count of the owner with relaxed orders, or
// one that a waiter leaves out; an owner that does not wake the other waiters, or a destructor that overlooks its
// tasks; credit that a worker keeps at the end of its run, before a closure, before a task of another group or in its
// own wait, or that it gives back without a wake-up; a waiter that does not search, searches only for tasks of the
// owner or only for those of other workers, passes over an empty list without its lock, or watches without an end; a
// task that is listed and stays unlisted; a task that leaves the local list by a theft, a recall or a refusal, or comes
// to the group, unnoticed by a wait or by its start; a worker that announces its local items after it has listed them;
// a cancelled task that runs, or is not counted; an owner alone that does not look whether another thread waits, or
// that thread without its note or its barrier; a count of the owner that stays when another thread has ended its tasks.
// Those of task_group.test.cpp found two more: a push that reads the flag without the lock of the list, and an owner
// that searches only its own list. They do not find that ends take no lock while a waiter watches.
#include "catch.hpp"
#include "model/threads.hpp"

#include <cmwq/detail/engine/threads/worker.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <cstdint>
#include <memory>
#include <optional>

using cmwq::cancel_pending;
using cmwq::task_group;
using namespace cmwq_test;

namespace {

/// The tasks of a group, which count their runs.
struct three_tasks {
    [[nodiscard]] bool ran_once_each() const { return x.runs() == 1 && y.runs() == 1 && z.runs() == 1; }

    counted_runs x, y, z;
};

} // namespace

// --- the end ---------------------------------------------------------------------------------------------------------

TEST_CASE("task_group: a thread outside waits while tasks add tasks") {
    const auto grow = [](task_group& g, three_tasks& tasks) {
        g.run([&] {
            g.run([&] { tasks.y(); });
            g.run([&] { tasks.z(); });
            tasks.x();
        });
    };
    CHECK(model::explore(search_on(2, "grows", 3), [&] {
        elastic_machine m;
        three_tasks tasks;
        auto g = std::make_unique<task_group>(m.q);
        grow(*g, tasks);
        model::require(g->wait() && tasks.ran_once_each(), "each has run once");
        g.reset(); // the workers do not use it any more
        model::require(m.waited() == 0, "no thread waited for the monitor");
    }));
    CHECK(model::explore(search_on(2, "grows-again", 2), [&] {
        elastic_machine m;
        three_tasks first, second;
        task_group g{m.q};
        grow(g, first);
        model::require(g.wait() && first.ran_once_each(), "each has run once");
        grow(g, second);
        model::require(g.wait() && second.ran_once_each(), "each has run once");
    }));
    CHECK(model::explore(search_on(2, "two-groups", 2), [&] {
        elastic_machine m;
        three_tasks first, second;
        task_group g{m.q}, h{m.q};
        grow(g, first);
        grow(h, second);
        model::require(g.wait() && first.ran_once_each(), "each has run once");
        model::require(h.wait() && second.ran_once_each(), "each has run once");
        model::require(m.waited() == 0, "no thread waited for the monitor");
    }));
}

// The closure follows in the run of the task, or of a task that this one has added.
TEST_CASE("task_group: the group has ended before its worker runs anything else") {
    CHECK(model::explore(search_on(2, "closure-follows", 3), [] {
        elastic_machine m;
        counted_runs x, y;
        model::semaphore gate{0}, done{0};
        task_group g{m.q};
        g.run([&] {
            m.q.post([&] {
                gate.acquire();
                done.release();
            });
            g.run([&] { y(); });
            x();
        });
        model::require(g.wait() && x.runs() == 1 && y.runs() == 1, "each has run once");
        gate.release();
        done.acquire();
    }));
    CHECK(model::explore(search_on(2, "task-of-another-group-follows", 3), [] {
        elastic_machine m;
        counted_runs x, y;
        model::semaphore gate{0};
        task_group g{m.q}, other{m.q};
        g.run([&] {
            other.run([&] { gate.acquire(); });
            g.run([&] { y(); });
            x();
        });
        model::require(g.wait() && x.runs() == 1 && y.runs() == 1, "each has run once");
        gate.release();
        model::require(other.wait(), "it has run");
    }));
}

TEST_CASE("task_group: the item that has made the group and another thread wait") {
    CHECK(model::explore(search_on(2, "owner-and-outside", 4), [] {
        elastic_machine m;
        three_tasks tasks;
        task_group* shared = nullptr;
        model::semaphore added{0}, left{0}, done{0};
        m.q.post([&] {
            task_group g{m.q};
            g.run([&] { tasks.x(); });
            g.run([&] { tasks.y(); });
            g.run([&] { tasks.z(); });
            shared = &g;
            added.release();
            static_cast<void>(g.wait());
            model::require(tasks.ran_once_each(), "each has run once");
            left.acquire();
            done.release();
        });
        added.acquire();
        static_cast<void>(shared->wait());
        model::require(tasks.ran_once_each(), "each has run once");
        left.release();
        done.acquire();
        model::require(m.waited() == 0, "no thread waited for the monitor");
        m.q.flush();
    }));
    // The limit keeps all tasks for the owner, which takes the lock of the group only if it sees that somebody waits.
    CHECK(model::explore(search_on(2, "owner-alone", 4, 3), [] {
        elastic_machine m({.max_active = 1});
        counted_runs x;
        task_group* shared = nullptr;
        model::semaphore added{0}, left{0}, done{0};
        m.q.post([&] {
            task_group g{m.q};
            g.run([&] { x(); });
            shared = &g;
            added.release();
            static_cast<void>(g.wait());
            model::require(x.runs() == 1, "it has run once");
            left.acquire();
            done.release();
        });
        added.acquire();
        static_cast<void>(shared->wait());
        model::require(x.runs() == 1, "it has run once");
        left.release();
        done.acquire();
        model::require(m.waited() == 0, "no thread waited for the monitor");
        m.q.flush();
    }));
    // The other item can only run tasks that it finds on the list of the first one, which blocks.
    CHECK(model::explore(search_on(2, "owner-blocks", 4), [] {
        elastic_machine m({.max_active = 2});
        counted_runs x, y;
        task_group* shared = nullptr;
        model::semaphore added{0}, ran{0}, left{0}, done{0};
        m.q.post([&] {
            added.acquire();
            static_cast<void>(shared->wait()); // it need not see the second task
            model::require(x.runs() == 1, "it has run once");
            left.release();
        });
        m.q.post([&] {
            task_group g{m.q};
            shared = &g;
            g.run([&] { x(), ran.release(); });
            added.release();
            g.run([&] { y(), ran.release(); });
            ran.acquire();
            ran.acquire();
            left.acquire();
            done.release();
        });
        done.acquire();
        m.q.flush();
    }));
}

// --- tasks that a waiter must find -----------------------------------------------------------------------------------

// The first task blocks until the others have run. It holds the second slot of the limit, so only the item that waits
// can run them. That item has not made the group.
TEST_CASE("task_group: a waiter finds tasks on the list of a worker that blocks") {
    CHECK(model::explore(search_on(2, "adds-one-and-blocks", 12, 1), [] {
        elastic_machine m({.max_active = 2});
        counted_runs x, y;
        model::semaphore ran{0}, done{0};
        task_group g{m.q};
        g.run([&] {
            g.run([&] { y(), ran.release(); });
            ran.acquire();
            x();
        });
        m.q.post([&] {
            model::require(g.wait() && x.runs() == 1 && y.runs() == 1, "each has run once");
            done.release();
        });
        done.acquire();
        m.q.flush();
    }));
    CHECK(model::explore(search_on(2, "adds-and-blocks", 4), [] {
        elastic_machine m({.max_active = 2});
        three_tasks tasks;
        model::semaphore ran{0}, done{0};
        task_group g{m.q};
        g.run([&] {
            g.run([&] { tasks.y(), ran.release(); });
            g.run([&] { tasks.z(), ran.release(); });
            ran.acquire();
            ran.acquire();
            tasks.x();
        });
        m.q.post([&] {
            model::require(g.wait() && tasks.ran_once_each(), "each has run once");
            done.release();
        });
        done.acquire();
        m.q.flush();
    }));
}

// Another worker may take the older two of the three tasks. If it does, the first one blocks until the second one has
// run.
TEST_CASE("task_group: a waiter finds a task that another worker has moved to its own list") {
    CHECK(model::explore(search_on(2, "moved", 4), [] {
        elastic_machine m({.max_active = 2});
        three_tasks tasks;
        model::semaphore added{0}, go{0}, second{0}, done{0};
        const cmwq::detail::run_record* owner = nullptr;
        m.q.post([&] {
            owner = cmwq::detail::this_thread_slots().current_run;
            task_group g{m.q};
            g.run([&] {
                if (cmwq::detail::this_thread_slots().current_run != owner) second.acquire();
                tasks.x();
            });
            g.run([&] { tasks.y(), second.release(); });
            g.run([&] { tasks.z(); });
            added.release();
            go.acquire();
            model::require(g.wait() && tasks.ran_once_each(), "each has run once");
            done.release();
        });
        added.acquire();
        go.release();
        done.acquire();
        m.q.flush();
    }));
}

TEST_CASE("task_group: a waiter finds tasks that another thread has recalled") {
    const auto recalled = [](auto recall) {
        elastic_machine m({.max_active = 1, .freezable = true});
        three_tasks tasks;
        model::semaphore added{0}, done{0};
        m.q.post([&] {
            task_group g{m.q};
            g.run([&] { tasks.x(); });
            g.run([&] {
                g.run([&] { tasks.z(); });
                tasks.y();
            });
            added.release();
            model::require(g.wait() && tasks.ran_once_each(), "each has run once");
            done.release();
        });
        added.acquire();
        recall(m);
        done.acquire();
        model::require(m.waited() == 0, "no thread waited for the monitor");
        m.q.flush();
    };
    CHECK(model::explore(search_on(2, "flush", 2), [&] { recalled([](elastic_machine& m) { m.q.flush(); }); }));
    CHECK(model::explore(search_on(2, "drain", 2), [&] { recalled([](elastic_machine& m) { m.q.drain(); }); }));
    CHECK(model::explore(search_on(2, "apply", 2),
                         [&] { recalled([](elastic_machine& m) { m.q.apply(cmwq::attrs{}.nice(1)); }); }));
    CHECK(model::explore(search_on(2, "freeze", 2), [&] {
        recalled([](elastic_machine& m) {
            m.rt.freeze();
            model::require(m.rt.wait_frozen(), "no thread thaws it");
            m.rt.thaw();
        });
    }));
}

// The item that waits runs the first task, which adds two and blocks. Another worker takes them, and the limit keeps
// them back.
TEST_CASE("task_group: a waiter finds tasks that the limit keeps back") {
    CHECK(model::explore(search_on(2, "kept-back", 4), [] {
        elastic_machine m({.max_active = 1});
        three_tasks tasks;
        model::semaphore began{0}, gate{0}, done{0};
        task_group g{m.q};
        m.q.post([&] {
            g.run([&] {
                g.run([&] { tasks.y(); });
                g.run([&] { tasks.z(); });
                began.release();
                wait_at(gate, cmwq::will_block);
                tasks.x();
            });
            model::require(g.wait() && tasks.ran_once_each(), "each has run once");
            done.release();
        });
        began.acquire();
        gate.release();
        done.acquire();
        m.q.flush();
    }));
}

TEST_CASE("task_group: tasks that wait for groups of their own add tasks") {
    CHECK(model::explore(search_on(2, "nested", 3), [] {
        elastic_machine m({.max_active = 2});
        three_tasks tasks;
        task_group g{m.q};
        g.run([&] {
            task_group inner{m.q};
            inner.run([&] {
                inner.run([&] { tasks.x(); });
                g.run([&] { tasks.y(); });
            });
            g.run([&] { tasks.z(); });
            model::require(inner.wait() && tasks.x.runs() == 1, "it has run once");
        });
        model::require(g.wait() && tasks.ran_once_each(), "each has run once");
        model::require(m.waited() == 0, "no thread waited for the monitor");
    }));
}

// --- tasks that do not run -------------------------------------------------------------------------------------------

TEST_CASE("task_group: cancel() holds for tasks that a task has added") {
    CHECK(model::explore(search_on(2, "cancel-added", 3), [] {
        elastic_machine m;
        three_tasks tasks;
        task_group g{m.q};
        g.run([&] {
            tasks.x();
            g.run([&] { tasks.y(); });
            g.cancel();
            g.run([&] { tasks.z(); });
        });
        const bool complete = g.wait();
        model::require(!complete && tasks.x.runs() == 1 && tasks.z.runs() == 0, "tasks do not start after cancel()");
    }));
    CHECK(model::explore(search_on(2, "cancel-own", 3), [] {
        elastic_machine m;
        three_tasks tasks;
        model::semaphore done{0};
        m.q.post([&] {
            task_group g{m.q};
            g.run([&] { tasks.x(); });
            g.cancel();
            g.run([&] { tasks.y(); });
            const bool complete = g.wait();
            model::require(!complete && tasks.y.runs() == 0, "tasks do not start after cancel()");
            g.run([&] { tasks.z(); });
            model::require(g.wait() && tasks.z.runs() == 1, "tasks run again after the wait");
            done.release();
        });
        done.acquire();
        m.q.flush();
    }));
}

TEST_CASE("task_group: shutdown() drops tasks that a task has added") {
    CHECK(model::explore(search_on(2, "shutdown-added", 3), [] {
        elastic_machine m({.max_active = 1});
        three_tasks tasks;
        task_group g{m.q};
        g.run([&] {
            g.run([&] { tasks.y(); });
            g.run([&] { tasks.z(); });
            tasks.x();
        });
        m.q.shutdown(cancel_pending);
        const bool complete = g.wait();
        const int runs = tasks.x.runs() + tasks.y.runs() + tasks.z.runs();
        model::require(complete == (runs == 3), "the result says whether all have run");
        m.end_queue();
    }));
}
