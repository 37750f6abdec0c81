// SPDX-License-Identifier: BSL-1.0
//
// Task groups: every wait() returns after the last task, in an item and elsewhere, whoever runs the tasks; each task
// runs once or not at all; and the group and the tasks exist as long as any thread uses them.
//
// When these defects were put into the engine, these searches found them: a task that is queued before the lock of its
// group is taken, or stays on the list when it starts; waiters that are woken after the unlock, only one of them, or
// not for a new task; a task taken off a local list without the lock; a waiter that takes a task which has started,
// does not recall local items, keeps the color of its task, or takes no task from another pool; a task that is freed
// under one of two waiters; a waiter that is too deep and starts no task, starts none in a freeze, or is not woken when
// one ends; a destructor that does not wait; a cancelled task that runs, does not count, or cancels the next ones.
#include "catch.hpp"
#include "model/threads.hpp"
#include "model/too_deep.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

using cmwq::cancel_pending;
using cmwq::task_group;
using namespace cmwq_test;

namespace {

/// An item waits for its two tasks.
void waits_in_an_item(setup s) {
    elastic_machine m(s);
    two_tasks tasks;
    model::semaphore done{0};
    m.q.post([&] {
        task_group g{m.q};
        tasks.add_to(g);
        model::require(g.wait(), "all tasks have run");
        model::require(tasks.ran_once_each(), "each has run once");
        done.release();
    });
    done.acquire();
    model::require(m.waited() == 0, "no thread waited for the monitor");
    m.q.flush();
}

/// An item that may not run tasks itself waits for them.
void waits_too_deep(setup s, std::int64_t patience) {
    elastic_machine m(s);
    two_tasks tasks;
    model::semaphore done{0};
    m.q.post([&] {
        const too_deep here;
        task_group g{m.q};
        tasks.add_to(g);
        model::require(g.wait(), "all tasks have run");
        model::require(tasks.ran_once_each(), "each has run once");
        done.release();
    });
    done.acquire();
    model::require(m.waited() <= patience, "no thread waited for the monitor");
    m.q.flush();
}

} // namespace

// --- who runs the tasks ----------------------------------------------------------------------------------------------

TEST_CASE("task_group: an item waits for tasks that another worker may take") {
    CHECK(model::explore(search_on(2, "thief", 4), [] { waits_in_an_item({}); }));
    CHECK(model::explore(search_on(1, "no-thief", 2), [] { waits_in_an_item({}); }));
    CHECK(model::explore(search_on(2, "limit", 3), [] { waits_in_an_item({.max_active = 1}); }));
}

TEST_CASE("task_group: an item waits for tasks that wait for tasks") {
    CHECK(model::explore(search_on(2, "nested", 3), [] {
        elastic_machine m({.max_active = 1});
        two_tasks tasks;
        model::semaphore done{0};
        m.q.post([&] {
            task_group outer{m.q};
            outer.run([&] {
                task_group inner{m.q};
                tasks.add_to(inner);
                model::require(inner.wait() && tasks.ran_once_each(), "each has run once");
            });
            model::require(outer.wait(), "it has run");
            done.release();
        });
        done.acquire();
        model::require(m.waited() == 0, "no thread waited for the monitor");
        m.q.flush();
    }));
}

TEST_CASE("task_group: a thread that is no worker waits for tasks") {
    CHECK(model::explore(search_on(2, "outside", 3), [] {
        elastic_machine m;
        two_tasks tasks;
        task_group g{m.q};
        tasks.add_to(g);
        model::require(g.wait() && tasks.ran_once_each(), "each has run once");
        model::require(m.waited() == 0, "no thread waited for the monitor");
    }));
    CHECK(model::explore(search_on(2, "outside-again", 2), [] {
        elastic_machine m;
        two_tasks tasks;
        task_group g{m.q};
        g.run([&] { tasks.of_x(); });
        model::require(g.wait(), "it has run");
        g.run([&] { tasks.of_y(); });
        model::require(g.wait() && tasks.ran_once_each(), "each has run once");
    }));
    CHECK(model::explore(search_on(2, "unbound", 3), [] {
        unbound_machine m;
        two_tasks tasks;
        model::semaphore done{0};
        m.q.post([&] {
            task_group g{m.q};
            tasks.add_to(g);
            model::require(g.wait() && tasks.ran_once_each(), "each has run once");
            done.release();
        });
        done.acquire();
        m.q.flush();
    }));
}

TEST_CASE("task_group: an item and another thread wait for the same tasks") {
    CHECK(model::explore(search_on(2, "two-waiters", 4), [] {
        elastic_machine m;
        two_tasks tasks;
        model::semaphore done{0};
        task_group g{m.q};
        tasks.add_to(g);
        m.q.post([&] {
            static_cast<void>(g.wait());
            model::require(tasks.ran_once_each(), "each has run once");
            done.release();
        });
        static_cast<void>(g.wait());
        model::require(tasks.ran_once_each(), "each has run once");
        done.acquire();
        model::require(m.waited() == 0, "no thread waited for the monitor");
        m.q.flush();
    }));
}

// The only slot of the queue belongs to the item that waits, and its task waits for that slot in another pool.
TEST_CASE("task_group: an item waits for a task in another pool of its queue") {
    CHECK(model::explore(search_on(2, "another-pool", 3), [] {
        elastic_machine m({.attributes = pool_for_each_cpu(), .max_active = 1});
        model::checked<int> runs{0};
        model::semaphore added{0}, done{0};
        task_group g{m.q};
        m.q.post_on(0, [&] {
            added.acquire();
            model::require(g.wait() && runs == 1, "it has run");
            done.release();
        });
        model::set_current_cpu(1);
        g.run([&] { runs = runs + 1; });
        added.release();
        done.acquire();
        m.q.flush();
    }));
    CHECK(model::explore(search_on(2, "another-pool-too-deep", 3), [] {
        elastic_machine m({.attributes = pool_for_each_cpu(), .max_active = 1});
        model::checked<int> runs{0};
        model::semaphore added{0}, done{0};
        task_group g{m.q};
        m.q.post_on(0, [&] {
            added.acquire();
            const too_deep here;
            model::require(g.wait() && runs == 1, "it has run");
            done.release();
        });
        model::set_current_cpu(1);
        g.run([&] { runs = runs + 1; });
        added.release();
        done.acquire();
        m.q.flush();
    }));
}

// --- tasks that come while the waiter sleeps -------------------------------------------------------------------------

TEST_CASE("task_group: a task adds a task while the waiter sleeps") {
    const auto adds = [](task_group& g, two_tasks& tasks) {
        g.run([&] {
            g.run([&] { tasks.of_y(); });
            tasks.of_x();
        });
        model::require(g.wait() && tasks.ran_once_each(), "each has run once");
    };
    CHECK(model::explore(search_on(2, "adds", 3), [&] {
        elastic_machine m;
        two_tasks tasks;
        model::semaphore done{0};
        m.q.post([&] {
            task_group g{m.q};
            adds(g, tasks);
            done.release();
        });
        done.acquire();
        model::require(m.waited() == 0, "no thread waited for the monitor");
        m.q.flush();
    }));
    CHECK(model::explore(search_on(2, "adds-outside", 2), [&] {
        elastic_machine m;
        two_tasks tasks;
        task_group g{m.q};
        adds(g, tasks);
        model::require(m.waited() == 0, "no thread waited for the monitor");
    }));
    // The first task blocks until the second one has run. While it holds the second slot of the limit, only the item
    // that waits can run that one.
    CHECK(model::explore(search_on(2, "adds-and-blocks", 3), [&] {
        elastic_machine m({.max_active = 2});
        two_tasks tasks;
        model::semaphore gate{0}, done{0};
        m.q.post([&] {
            task_group g{m.q};
            g.run([&] {
                g.run([&] {
                    tasks.of_y();
                    gate.release();
                });
                gate.acquire();
                tasks.of_x();
            });
            model::require(g.wait() && tasks.ran_once_each(), "each has run once");
            done.release();
        });
        done.acquire();
        m.q.flush();
    }));
}

// --- waiters that cannot run tasks themselves ------------------------------------------------------------------------

TEST_CASE("task_group: a waiter that is nested too deeply lets its tasks start beyond the limit") {
    CHECK(model::explore(search_on(2, "deep", 3), [] { waits_too_deep({.max_active = 1}, 0); }));
    CHECK(model::explore(search_on(1, "deep-on-one-cpu", 2), [] { waits_too_deep({.max_active = 1}, 0); }));
    CHECK(model::explore(search_on(2, "deep-within-the-limit", 2), [] { waits_too_deep({}, 0); }));
    CHECK(model::explore(search_on(2, "deep-and-adds", 3), [] {
        elastic_machine m({.max_active = 1});
        two_tasks tasks;
        model::semaphore done{0};
        m.q.post([&] {
            const too_deep here;
            task_group g{m.q};
            g.run([&] {
                g.run([&] { tasks.of_y(); });
                tasks.of_x();
            });
            model::require(g.wait() && tasks.ran_once_each(), "each has run once");
            done.release();
        });
        done.acquire();
        model::require(m.waited() == 0, "no thread waited for the monitor");
        m.q.flush();
    }));
}

TEST_CASE("task_group: a waiter that is nested too deeply and another one look at the same task") {
    CHECK(model::explore(search_on(2, "deep-and-helper", 4), [] {
        elastic_machine m({.max_active = 2});
        two_tasks tasks;
        model::semaphore added{0}, done{0};
        std::optional<task_group> g{std::in_place, m.q};
        m.q.post([&] {
            added.acquire();
            {
                const too_deep here;
                static_cast<void>(g->wait());
            }
            model::require(tasks.ran_once_each(), "each has run once");
            done.release();
        });
        m.q.post([&] {
            added.acquire();
            static_cast<void>(g->wait());
            model::require(tasks.ran_once_each(), "each has run once");
            done.release();
        });
        {
            const model::unsearched quiet;
            model::sleep(1); // both wait, and hold the slots
            tasks.add_to(*g);
        }
        added.release();
        added.release();
        done.acquire();
        done.acquire();
        g.reset();
        m.q.flush();
    }));
    // The tasks are on the list of the worker that runs tasks itself.
    CHECK(model::explore(search_on(2, "deep-and-owner", 4), [] {
        elastic_machine m({.max_active = 2});
        two_tasks tasks;
        model::semaphore added{0}, done{0};
        std::optional<task_group> g{std::in_place, m.q};
        m.q.post([&] {
            added.acquire();
            {
                const too_deep here;
                static_cast<void>(g->wait());
            }
            model::require(tasks.ran_once_each(), "each has run once");
            done.release();
        });
        m.q.post([&] {
            tasks.add_to(*g);
            added.release();
            static_cast<void>(g->wait());
            model::require(tasks.ran_once_each(), "each has run once");
            done.release();
        });
        done.acquire();
        done.acquire();
        g.reset();
        m.q.flush();
    }));
}

TEST_CASE("task_group: a waiter that is nested too deeply waits across a freeze") {
    CHECK(model::explore(search_on(2, "deep-and-frozen", 3), [] {
        elastic_machine m({.max_active = 1, .freezable = true});
        two_tasks tasks;
        model::semaphore done{0};
        m.q.post([&] {
            const too_deep here;
            task_group g{m.q};
            tasks.add_to(g);
            model::require(g.wait() && tasks.ran_once_each(), "each has run once");
            done.release();
        });
        auto t = model::spawn([&] {
            m.rt.freeze();
            model::require(m.rt.wait_frozen(), "no thread thaws it");
            m.rt.thaw();
        });
        done.acquire();
        t.join();
        model::require(m.waited() == 0, "no thread waited for the monitor");
        m.q.flush();
    }));
}

// --- limits ----------------------------------------------------------------------------------------------------------

// Tasks that an item runs while it waits belong to its run, as closures that follow in it do.
TEST_CASE("task_group: an item that has waited and then posts a chain gives way to an item behind it") {
    const auto gives_way = [](int nr_tasks) {
        elastic_machine m({.max_active = 1});
        bool stop = false; // the limit keeps the runs apart
        model::semaphore began{0}, go{0}, done{0};
        cmwq::work other{[&] { stop = true; }};
        std::function<void()> chain = [&] {
            if (!stop) m.q.post([&] { chain(); });
            else done.release();
        };
        m.q.post([&] {
            began.release();
            wait_at(go, cmwq::will_block);
            task_group g{m.q};
            for (int i = 0; i < nr_tasks; ++i) g.run([] {});
            static_cast<void>(g.wait());
            chain();
        });
        began.acquire();
        m.q.queue(other);
        model::sleep(1); // a spare has found that the limit keeps it back
        go.release();
        done.acquire();
        m.q.flush();
    };
    CHECK(model::explore(search_on(1, "chain", 1, 1), [&] { gives_way(0); }));
    CHECK(model::explore(search_on(1, "chain-after-tasks", 1, 1), [&] { gives_way(70); }));
}

// --- the end ---------------------------------------------------------------------------------------------------------

TEST_CASE("task_group: the group is destroyed as soon as its last task has ended") {
    CHECK(model::explore(search_on(2, "destroyed", 3), [] {
        elastic_machine m;
        two_tasks tasks;
        auto g = std::make_unique<task_group>(m.q);
        tasks.add_to(*g);
        model::require(g->wait(), "all tasks have run");
        g.reset();
        model::require(tasks.ran_once_each(), "each has run once");
    }));
    CHECK(model::explore(search_on(2, "destroyed-without-wait", 3), [] {
        elastic_machine m;
        two_tasks tasks;
        {
            task_group g{m.q};
            tasks.add_to(g);
        }
        model::require(tasks.ran_once_each(), "each has run once");
    }));
    CHECK(model::explore(search_on(2, "destroyed-in-an-item", 3), [] {
        elastic_machine m;
        two_tasks tasks;
        model::semaphore done{0};
        m.q.post([&] {
            {
                task_group g{m.q};
                tasks.add_to(g);
            }
            model::require(tasks.ran_once_each(), "each has run once");
            done.release();
        });
        done.acquire();
        m.q.flush();
    }));
}

TEST_CASE("task_group: cancel() comes while tasks start") {
    const auto cancelled = [](task_group& g, two_tasks& tasks) {
        const bool complete = g.wait();
        model::require(complete == (tasks.runs() == 2), "the result says whether all have run");
        const int before = tasks.runs();
        g.run([&] { tasks.of_x(); });
        model::require(g.wait() && tasks.runs() == before + 1, "tasks run again after the wait");
    };
    CHECK(model::explore(search_on(2, "cancel", 3), [&] {
        elastic_machine m;
        two_tasks tasks;
        task_group g{m.q};
        tasks.add_to(g);
        g.cancel();
        cancelled(g, tasks);
    }));
    CHECK(model::explore(search_on(2, "cancel-in-an-item", 3), [&] {
        elastic_machine m;
        two_tasks tasks;
        model::semaphore done{0};
        m.q.post([&] {
            task_group g{m.q};
            tasks.add_to(g);
            g.cancel();
            cancelled(g, tasks);
            done.release();
        });
        done.acquire();
        model::require(m.waited() == 0, "no thread waited for the monitor");
        m.q.flush();
    }));
    CHECK(model::explore(search_on(2, "cancelled-before", 2), [&] {
        elastic_machine m({.max_active = 1});
        two_tasks tasks;
        model::semaphore began{0}, gate{0};
        m.q.post([&] {
            began.release();
            gate.acquire();
        });
        began.acquire();
        task_group g{m.q};
        tasks.add_to(g); // the limit keeps them back
        g.cancel();
        gate.release();
        model::require(!g.wait() && tasks.runs() == 0, "none has run");
    }));
    CHECK(model::explore(search_on(2, "cancelled-by-a-task", 2), [&] {
        elastic_machine m;
        two_tasks tasks;
        task_group g{m.q};
        g.run([&] {
            tasks.of_x();
            g.cancel();
        });
        g.run([&] { tasks.of_y(); });
        const bool complete = g.wait();
        model::require(complete == (tasks.runs() == 2), "the result says whether all have run");
    }));
}

TEST_CASE("task_group: shutdown() drops tasks and their waiters return") {
    CHECK(model::explore(search_on(2, "shutdown", 3), [] {
        elastic_machine m({.max_active = 1});
        two_tasks tasks;
        auto t = model::spawn([&] { m.q.shutdown(cancel_pending); });
        {
            task_group g{m.q};
            tasks.add_to(g);
            const bool complete = g.wait();
            model::require(complete == (tasks.runs() == 2), "the result says whether all have run");
        }
        t.join();
    }));
    CHECK(model::explore(search_on(2, "shutdown-beside-an-item", 3), [] {
        elastic_machine m({.max_active = 1});
        two_tasks tasks;
        m.q.post([&] {
            task_group g{m.q};
            tasks.add_to(g);
            const bool complete = g.wait();
            model::require(complete == (tasks.runs() == 2), "the result says whether all have run");
        });
        m.q.shutdown(cancel_pending);
        m.end_queue();
    }));
}
