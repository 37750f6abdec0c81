// SPDX-License-Identifier: BSL-1.0
//
// Waits for task groups that could never end: one of the waits of a cycle is refused, and the others end; the thread
// that is refused may have been woken for a task just before, which another waiter then takes.
//
// When these defects were put into the engine, these searches found them: a refused waiter that stays on the list of
// the group, does not leave a task to another waiter, or does not wait for the thread that wakes it; the tasks of a run
// that are not listed.
#include "catch.hpp"
#include "model/threads.hpp"
#include "model/too_deep.hpp"

#include <functional>
#include <optional>
#include <system_error>

using cmwq::task_group;
using namespace cmwq_test;

namespace {

using item = cmwq::work<std::function<void()>>;

/// Calls `f()`. Returns whether it is refused.
template <class F>
bool refused(F&& f) {
    try {
        f();
    } catch (const std::system_error&) {
        return true;
    }
    return false;
}

/// Two waiters sleep, and one of them is refused while a task comes. The task keeps it from ending.
void refused_while_woken(bool deep) {
    elastic_machine m({.max_active = 3});
    counted_runs of_x;
    model::checked<bool> was_refused{false};
    model::semaphore begin{0}, flushes{0}, begun{0}, x_ran{0}, done{0};
    std::optional<task_group> g{std::in_place, m.q};
    item a{[&] {
        begin.acquire();
        was_refused = refused([&] { static_cast<void>(g->wait()); });
        x_ran.acquire();
    }};
    m.q.queue(a);
    g->run([&] {
        flushes.release();
        a.flush();
    });
    {
        const model::unsearched quiet;
        flushes.acquire(); // the second waiter does not run this task
    }
    m.q.post([&] {
        std::optional<too_deep> here;
        if (deep) here.emplace();
        begun.release();
        static_cast<void>(g->wait());
        here.reset();
        done.release();
    });
    {
        const model::unsearched quiet;
        begun.acquire();
        model::sleep(1); // the first task and the second waiter wait
    }
    begin.release();
    g->run([&] {
        of_x();
        x_ran.release();
    });
    done.acquire();
    model::require(was_refused, "the item and the first task would wait for each other");
    model::require(of_x.runs() == 1, "it has run");
    g.reset();
    m.q.flush();
}

} // namespace

TEST_CASE("task_group: of an item that waits for a group and a task that waits for the item one is refused") {
    CHECK(model::explore(search_on(2, "cycle", 3), [] {
        elastic_machine m;
        model::checked<int> nr_refused_waits{0}, nr_refused_flushes{0};
        model::semaphore begun{0}, done{0};
        std::optional<task_group> g{std::in_place, m.q};
        item a{[&] {
            begun.acquire();
            if (refused([&] { static_cast<void>(g->wait()); })) nr_refused_waits = nr_refused_waits + 1;
            done.release();
        }};
        m.q.queue(a);
        g->run([&] {
            begun.release();
            if (refused([&] { a.flush(); })) nr_refused_flushes = nr_refused_flushes + 1;
        });
        done.acquire();
        static_cast<void>(g->wait());
        model::require(nr_refused_waits + nr_refused_flushes == 1, "one is refused");
        g.reset();
        m.q.flush();
    }));
}

TEST_CASE("task_group: tasks of two groups wait for each other's group and one is refused") {
    CHECK(model::explore(search_on(2, "two-groups", 3), [] {
        elastic_machine m;
        model::checked<int> nr_first{0}, nr_second{0};
        model::semaphore first{0}, second{0};
        std::optional<task_group> one{std::in_place, m.q}, two{std::in_place, m.q};
        one->run([&] {
            second.release();
            first.acquire();
            if (refused([&] { static_cast<void>(two->wait()); })) nr_first = nr_first + 1;
        });
        two->run([&] {
            first.release();
            second.acquire();
            if (refused([&] { static_cast<void>(one->wait()); })) nr_second = nr_second + 1;
        });
        static_cast<void>(one->wait());
        static_cast<void>(two->wait());
        model::require(nr_first + nr_second == 1, "one is refused");
        one.reset();
        two.reset();
        m.q.flush();
    }));
}

// proves: progress-29
TEST_CASE("task_group: a waiter is refused when it is woken for a task") {
    CHECK(model::explore(search_on(2, "refused-and-helper", 3), [] { refused_while_woken(false); }));
    CHECK(model::explore(search_on(2, "refused-and-deep", 3), [] { refused_while_woken(true); }));
}
