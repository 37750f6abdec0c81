// SPDX-License-Identifier: BSL-1.0
//
// Several threads wait for one task group, and not all of them can do the same for a new task: the one that is woken
// can do something for it.
#include "catch.hpp"
#include "model/threads.hpp"
#include "model/too_deep.hpp"

#include <optional>

using cmwq::task_group;
using namespace cmwq_test;

// An item of a bound queue runs only tasks of its own CPU.
// proves: progress-11
TEST_CASE("task_group: items of a bound queue wait on two CPUs when a task is added on one of them") {
    CHECK(model::explore(search_on(2, "two-cpus", 3), [] {
        machine m({.max_active = 2});
        model::semaphore keep{0}, done{0};
        counted_runs runs;
        std::optional<task_group> g{std::in_place, m.q};
        {
            const model::unsearched quiet;
            model::set_current_cpu(0);
            g->run([&] { keep.acquire(); }); // the group goes on
            for (const unsigned cpu : {1u, 1u, 0u}) {
                m.q.post_on(cpu, [&] {
                    static_cast<void>(g->wait());
                    done.release();
                });
                model::sleep(1000 * ms); // the one on CPU 0 is the last to fall asleep
            }
            model::set_current_cpu(1);
        }
        g->run([&] { runs(); }); // behind the limit of CPU 1, which the waiters there use up
        keep.release();
        for (int i = 0; i < 3; ++i) done.acquire();
        model::require(runs.runs() == 1, "it has run once");
        g.reset();
        m.q.flush();
    }));
}

// proves: progress-11
TEST_CASE("task_group: a waiter that is nested too deeply and another one sleep when two tasks are added") {
    CHECK(model::explore(search_on(2, "deep-sleeps-last", 3), [] {
        elastic_machine m({.max_active = 3});
        model::semaphore keep{0}, second_ran{0}, done{0};
        std::optional<task_group> g{std::in_place, m.q};
        {
            const model::unsearched quiet;
            g->run([&] { keep.acquire(); }); // the group goes on
            m.q.post([&] {
                static_cast<void>(g->wait());
                done.release();
            });
            model::sleep(1000 * ms);
            m.q.post([&] {
                {
                    const too_deep here;
                    static_cast<void>(g->wait());
                }
                done.release();
            });
            model::sleep(1000 * ms); // both wait, and the one that is nested too deeply fell asleep last
            g->run([&] { second_ran.acquire(); });
            model::sleep(1000 * ms); // the limit keeps it back: it starts in place of that waiter
        }
        g->run([&] { second_ran.release(); }); // the other one runs it
        keep.release();
        done.acquire();
        done.acquire();
        g.reset();
        m.q.flush();
    }));
}

// The limit admits the first task, which has not started yet when the waiter looks. It waits for the second one.
// proves: progress-11
TEST_CASE(
    "task_group: a waiter that is nested too deeply finds a task that can start and one that the limit keeps back") {
    CHECK(model::explore(search_on(2, "first-within-the-limit", 3), [] {
        elastic_machine m({.max_active = 2});
        model::semaphore second_ran{0}, done{0};
        std::optional<task_group> g{std::in_place, m.q};
        {
            const model::unsearched quiet;
            m.q.post([&] {
                {
                    const too_deep here;
                    static_cast<void>(g->wait());
                }
                done.release();
            });
        }
        g->run([&] { second_ran.acquire(); });
        g->run([&] { second_ran.release(); });
        done.acquire();
        g.reset();
        m.q.flush();
    }));
}

// The freeze waits for the item, and the item for a task that is, or comes, behind the limit of another CPU.
// proves: life-7
TEST_CASE("task_group: an item of a bound queue waits in a freeze for tasks of another CPU") {
    CHECK(model::explore(search_on(2, "freeze-other-cpu", 3), [] {
        machine m({.max_active = 1, .freezable = true});
        model::semaphore keep{0}, done{0};
        counted_runs first, second;
        std::optional<task_group> g{std::in_place, m.q};
        {
            const model::unsearched quiet;
            model::set_current_cpu(1);
            m.q.post_on(1, [&] { keep.acquire(); });
            model::sleep(1000 * ms);
            g->run([&] { first(); });
            m.q.post_on(0, [&] {
                static_cast<void>(g->wait());
                done.release();
            });
        }
        auto adds = model::spawn([&] {
            model::set_current_cpu(1);
            g->run([&] { second(); });
        });
        m.rt.freeze();
        keep.release();
        model::require(m.rt.wait_frozen(), "the freeze is complete");
        adds.join();
        m.rt.thaw();
        done.acquire();
        static_cast<void>(g->wait());
        model::require(first.runs() == 1 && second.runs() == 1, "each task has run once");
        g.reset();
        m.q.flush();
    }));
}
