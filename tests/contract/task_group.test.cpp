// SPDX-License-Identifier: BSL-1.0
//
// task_group: every task runs once, wait() waits for all of them and passes on exceptions, and groups nest to any depth
// within the limit of the queue.
#include "catch.hpp"
#include "error_of.hpp"
#include "eventually.hpp"
#include "fork.hpp"
#include "policy_list.hpp"
#include "stress.hpp"
#include "uninterrupted.hpp"

#include <cmwq/cmwq.hpp>
#include <cmwq/task_group.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <vector>

using cmwq::queue_status;
using cmwq::task_group;
using cmwq_test::error_of;
using cmwq_test::eventually;
using namespace std::chrono_literals;

namespace {

template <class P>
int fib(cmwq::workqueue<P>& q, int n) {
    if (n < 2) return n;
    int a = 0;
    task_group g{q};
    g.run([&] { a = fib(q, n - 1); });
    const int b = fib(q, n - 2);
    g.wait();
    return a + b;
}

/// A chain of tasks; each waits for the next one.
template <class P>
void chain(cmwq::workqueue<P>& q, int n, int& nr_run) {
    ++nr_run;
    if (n == 0) return;
    task_group g{q};
    g.run([&, n] { chain(q, n - 1, nr_run); });
    g.wait();
}

/// Calls f() in an item of the queue, and waits for its end.
template <class P, class F>
void in_item(cmwq::workqueue<P>& q, F f) {
    std::binary_semaphore done{0};
    q.post([&] {
        f();
        done.release();
    });
    done.acquire();
}

} // namespace

TEMPLATE_TEST_CASE("task_group: every task runs once before wait() returns", "", cmwq::bound, cmwq::unbound,
                   cmwq::elastic, cmwq::ordered) {
    cmwq::workqueue<TestType> q{"q"};
    std::atomic<int> nr_run{0};
    task_group g{q};
    for (int round = 0; round < 10; ++round) {
        for (int i = 0; i < 100; ++i) CHECK(g.run([&] { ++nr_run; }) == queue_status::queued);
        CHECK(g.wait());
        CHECK(nr_run == 100 * (round + 1));
    }
}

TEMPLATE_TEST_CASE("task_group: groups nest in items of the same queue", "", cmwq::bound, cmwq::unbound,
                   cmwq::elastic) {
    const unsigned limit = GENERATE(1u, 2u, 256u);
    cmwq::workqueue<TestType> q{{.name = "q", .max_active = limit}};
    int result = 0;
    in_item(q, [&] { result = fib(q, 15); });
    CHECK(result == 610);
    CHECK(fib(q, 12) == 144); // the outermost wait() is in no item
}

// proves: progress-11
TEST_CASE("task_group: a hundred thousand waiting parents need neither a thread each nor a higher limit") {
    const unsigned limit = GENERATE(1u, 3u, 256u);
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::elastic> q{rt, {.name = "q", .max_active = limit}};
#if defined(__SANITIZE_THREAD__)
    constexpr int n = 5'000; // with the others it takes half a minute
#else
    constexpr int n = 100'000;
#endif
    int nr_run = 0;
    task_group g{q};
    g.run([&] { chain(q, n, nr_run); });
    CHECK(g.wait());
    CHECK(nr_run == n + 1);
}

// proves: progress-11
TEST_CASE("task_group: no more tasks than the limit run at once") {
    const unsigned limit = GENERATE(1u, 2u);
    cmwq::workqueue<cmwq::elastic> q{{.name = "q", .max_active = limit}};
    std::atomic<unsigned> inside{0}, most{0};
    const auto leaf = [&] {
        const unsigned now = ++inside;
        for (unsigned seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {}
        stress::burn(1000);
        --inside;
    };
    task_group outer{q};
    for (int i = 0; i < 20; ++i) {
        outer.run([&] {
            task_group inner{q};
            for (int n = 0; n < 20; ++n) inner.run(leaf);
            inner.wait();
        });
    }
    outer.wait();
    CHECK(most <= limit);
}

TEMPLATE_TEST_CASE("task_group: wait() throws the first exception after all tasks have ended", "", cmwq::elastic,
                   cmwq::bound) {
    cmwq::workqueue<TestType> q{"q"};
    std::atomic<int> nr_ended{0};
    const auto run_group = [&] {
        task_group g{q};
        for (int i = 0; i < 50; ++i) {
            g.run([&, i] {
                ++nr_ended;
                if (i % 10 == 3) throw std::runtime_error("task");
            });
        }
        CHECK_THROWS_AS(g.wait(), std::runtime_error);
        CHECK(nr_ended == 50);
        g.run([&] { ++nr_ended; });
        CHECK(g.wait()); // the group can be used again
        CHECK(nr_ended == 51);
        g.run([] { throw std::runtime_error("ignored by the destructor"); });
    };
    SECTION("outside of items") { run_group(); }
    SECTION("in an item") { in_item(q, run_group); }
}

TEST_CASE("task_group: after cancel() tasks that have not started do not run") {
    cmwq::workqueue<cmwq::elastic> q{{.name = "q", .max_active = 1}};
    std::binary_semaphore started{0}, leave{0};
    std::atomic<int> nr_run{0};
    const auto counted = std::make_shared<int>();
    task_group g{q};
    g.run([&] {
        started.release();
        leave.acquire();
        ++nr_run;
    });
    started.acquire();
    for (int i = 0; i < 10; ++i) g.run([&, counted] { ++nr_run; });
    g.cancel();
    leave.release();
    CHECK_FALSE(g.wait());
    CHECK(nr_run == 1);
    CHECK(counted.use_count() == 1); // the callables have been destroyed
    g.run([&] { ++nr_run; });
    CHECK(g.wait());
    CHECK(nr_run == 2);
}

TEST_CASE("task_group: a cancel() that finds no task ends with the next wait()") {
    cmwq::workqueue<cmwq::elastic> q{{.name = "q", .max_active = 1}};
    const auto run_group = [&] {
        std::atomic<int> nr_run{0};
        task_group g{q};
        g.run([&] { ++nr_run; });
        CHECK(g.wait());
        g.cancel();
        static_cast<void>(g.wait());
        g.run([&] {
            ++nr_run;
            g.cancel();
        });
        static_cast<void>(g.wait());
        g.run([&] { ++nr_run; });
        CHECK(g.wait());
        CHECK(nr_run == 3);
    };
    SECTION("outside of items") { run_group(); }
    SECTION("in an item") { in_item(q, run_group); }
}

TEST_CASE("task_group: tasks that a shutdown drops end the wait") {
    cmwq::workqueue<cmwq::elastic> q{{.name = "q", .max_active = 1}};
    std::binary_semaphore started{0}, leave{0};
    std::atomic<int> nr_run{0};
    task_group g{q};
    g.run([&] {
        started.release();
        leave.acquire();
        ++nr_run;
    });
    started.acquire();
    const auto counts_tasks = std::make_shared<int>();
    for (int i = 0; i < 10; ++i) g.run([&, counts_tasks] { ++nr_run; });
    std::thread opens([&] {
        static_cast<void>(eventually([&] { return counts_tasks.use_count() == 1; })); // all have been dropped
        leave.release();
    });
    const std::size_t dropped = q.shutdown(cmwq::cancel_pending);
    opens.join();
    CHECK_FALSE(g.wait());
    CHECK(nr_run == 1);
    CHECK(dropped == 10u);
}

TEST_CASE("task_group: a task may add tasks to its group while another thread waits") {
    cmwq::workqueue<cmwq::elastic> q{"q"};
    std::atomic<int> nr_run{0};
    const auto run_group = [&] {
        task_group g{q};
        struct adder {
            task_group& g;
            std::atomic<int>& nr_run;
            int depth;
            void operator()() const {
                ++nr_run;
                if (depth == 0) return;
                g.run(adder{g, nr_run, depth - 1});
                g.run(adder{g, nr_run, depth - 1});
            }
        };
        g.run(adder{g, nr_run, 9});
        CHECK(g.wait());
        CHECK(nr_run == 1023);
    };
    SECTION("outside of items") { run_group(); }
    SECTION("in an item") { in_item(q, run_group); }
}

TEMPLATE_TEST_CASE("task_group: tasks may grow a tree in one group", "", cmwq::bound, cmwq::unbound, cmwq::elastic) {
    const unsigned limit = GENERATE(1u, 2u, 256u);
    cmwq::workqueue<TestType> q{{.name = "q", .max_active = limit}};
    static constexpr int depth = 10, rounds = 20;
    struct tree {
        task_group& g;
        std::atomic<int>& leaves;
        void grow(int levels) const {
            for (; levels > 0; --levels) g.run([t = *this, levels] { t.grow(levels - 1); });
            ++leaves;
        }
    };
    const auto run_rounds = [&](bool root_is_a_task) {
        for (int round = 0; round < rounds; ++round) {
            std::atomic<int> leaves{0};
            {
                task_group g{q};
                const tree t{g, leaves};
                if (root_is_a_task) g.run([t] { t.grow(depth); });
                else t.grow(depth);
                CHECK(g.wait());
                CHECK(leaves == 1 << depth);
                t.grow(2); // the destructor waits for these
            }
            CHECK(leaves == (1 << depth) + 4);
        }
    };
    SECTION("outside of items") { run_rounds(true); }
    SECTION("in an item") {
        in_item(q, [&] { run_rounds(true); });
    }
    SECTION("in an item that adds tasks itself") {
        in_item(q, [&] { run_rounds(false); });
    }
    SECTION("while other threads flush the queue and change its limit") {
        std::atomic<bool> stop{false};
        std::thread t([&] {
            while (!stop) {
                q.flush();
                q.set_max_active(limit + 1);
                q.set_max_active(limit);
            }
        });
        in_item(q, [&] { run_rounds(false); });
        run_rounds(true);
        stop = true;
        t.join();
    }
}

TEST_CASE("task_group: wait() throws an exception of a task that a task has added") {
    cmwq::workqueue<cmwq::elastic> q{"q"};
    std::atomic<int> nr_ended{0};
    const auto run_group = [&] {
        for (int round = 0; round < 20; ++round) {
            nr_ended = 0;
            task_group g{q};
            g.run([&] {
                for (int i = 0; i < 50; ++i) {
                    g.run([&, i] {
                        ++nr_ended;
                        if (i % 10 == 3) throw std::runtime_error("task");
                    });
                }
            });
            CHECK_THROWS_AS(g.wait(), std::runtime_error);
            CHECK(nr_ended == 50);
            CHECK(g.wait()); // only one call gets an exception
        }
    };
    SECTION("outside of items") { run_group(); }
    SECTION("in an item") { in_item(q, run_group); }
}

TEST_CASE("task_group: a group that an item has made may be used elsewhere after that item") {
    cmwq::workqueue<cmwq::elastic> q{"q"};
    std::atomic<int> nr_run{0};
    for (int round = 0; round < 50; ++round) {
        nr_run = 0;
        std::unique_ptr<task_group> g;
        in_item(q, [&] {
            g = std::make_unique<task_group>(q);
            for (int i = 0; i < 10; ++i) g->run([&] { ++nr_run; });
        });
        for (int i = 0; i < 10; ++i) g->run([&] { ++nr_run; });
        SECTION("a thread waits") { CHECK(g->wait()); }
        SECTION("an item waits") {
            in_item(q, [&] { CHECK(g->wait()); });
        }
        SECTION("the destructor waits") {}
        g.reset();
        CHECK(nr_run == 20);
    }
}

TEST_CASE("task_group: any number of threads may wait for a group") {
    cmwq::workqueue<cmwq::elastic> q{"q"};
    std::binary_semaphore leave{0};
    std::atomic<int> nr_returned{0};
    task_group g{q};
    g.run([&] { leave.acquire(); });
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] {
            g.wait();
            ++nr_returned;
        });
    }
    q.post([&] {
        g.wait();
        ++nr_returned;
    });
    leave.release();
    for (std::thread& t : threads) t.join();
    q.flush();
    CHECK(nr_returned == 4);
}

TEST_CASE("task_group: a wait that could never end is refused") {
    SECTION("a task waits for its own group") {
        cmwq::workqueue<cmwq::elastic> q{"q"};
        std::error_code seen;
        task_group g{q};
        g.run([&] { seen = error_of([&] { g.wait(); }); });
        g.wait();
        CHECK(seen == std::errc::resource_deadlock_would_occur);
    }
    SECTION("a task of a task waits for the outer group") {
        cmwq::workqueue<cmwq::elastic> q{{.name = "q", .max_active = 1}};
        std::error_code seen;
        task_group outer{q};
        outer.run([&] {
            task_group inner{q};
            inner.run([&] { seen = error_of([&] { outer.wait(); }); });
            inner.wait();
        });
        outer.wait();
        CHECK(seen == std::errc::resource_deadlock_would_occur);
    }
    SECTION("the wait of the item that has made the group runs the task") {
        cmwq::workqueue<cmwq::elastic> q{{.name = "q", .max_active = 1}};
        std::error_code direct, inside;
        int nr_run = 0, nr_run_before = -1;
        in_item(q, [&] {
            task_group outer{q};
            outer.run([&] { ++nr_run; });
            outer.run([&] {
                direct = error_of([&] { outer.wait(); });
                task_group inner{q};
                inner.run([&] { inside = error_of([&] { outer.wait(); }); });
                inner.wait();
                nr_run_before = nr_run;
            });
            CHECK(outer.wait());
            CHECK(outer.wait()); // no task of it runs here any more
        });
        CHECK(direct == std::errc::resource_deadlock_would_occur);
        CHECK(inside == std::errc::resource_deadlock_would_occur);
        CHECK(nr_run_before == 0); // the refused waits have run no task
    }
    SECTION("the worker that ran the item which has made the group runs the task later") {
        cmwq::workqueue<cmwq::elastic> q{{.name = "q", .max_active = 1}};
        REQUIRE(eventually([&] { // usually one worker runs all three
            std::error_code seen;
            std::unique_ptr<task_group> g;
            std::thread::id maker, runner, waiter;
            std::binary_semaphore done{0};
            q.post([&] {
                maker = std::this_thread::get_id();
                g = std::make_unique<task_group>(q);
                g->run([&] {
                    runner = std::this_thread::get_id();
                    seen = error_of([&] { g->wait(); });
                    q.post([&] {
                        waiter = std::this_thread::get_id();
                        CHECK(g->wait());
                        done.release();
                    });
                });
            });
            done.acquire();
            CHECK(g->wait());
            CHECK(seen == std::errc::resource_deadlock_would_occur);
            return maker == runner && maker == waiter;
        }));
    }
    SECTION("an item of an ordered queue waits for tasks of that queue") {
        cmwq::workqueue<cmwq::ordered> q{"q"};
        std::error_code seen;
        std::atomic<int> nr_run{0};
        task_group g{q};
        in_item(q, [&] {
            g.run([&] { ++nr_run; });
            seen = error_of([&] { g.wait(); });
        });
        CHECK(seen == std::errc::resource_deadlock_would_occur);
        g.wait();
        CHECK(nr_run == 1);
    }
    SECTION("a bottom half waits") {
        cmwq::workqueue<cmwq::bh> bottom_halves{"bh"};
        cmwq::workqueue<cmwq::elastic> q{"q"};
        std::error_code seen;
        task_group g{q};
        bottom_halves.post([&] { seen = error_of([&] { g.wait(); }); });
        bottom_halves.flush();
        CHECK(seen == std::errc::operation_not_permitted);
    }
}

TEST_CASE("task_group: an item of another queue may wait") {
    cmwq::workqueue<cmwq::elastic> q{{.name = "q", .max_active = 1}};
    cmwq::workqueue<cmwq::ordered> other{"other"};
    std::atomic<int> nr_run{0};
    in_item(other, [&] {
        task_group g{q};
        for (int i = 0; i < 10; ++i) g.run([&] { ++nr_run; });
        g.wait();
    });
    CHECK(nr_run == 10);
}

TEST_CASE("task_group: an item runs tasks that went to another pool") {
    cmwq::workqueue<cmwq::elastic> q{{.name = "q", .max_active = 1}};
    std::atomic<int> nr_run{0};
    in_item(q, [&] {
        cmwq::attrs a;
        a.nice(1);
        q.apply(a); // from here on another pool gets the items; both share the limit
        task_group g{q};
        for (int i = 0; i < 10; ++i) g.run([&] { ++nr_run; });
        CHECK(g.wait());
    });
    CHECK(nr_run == 10);
    q.drain();
}

TEST_CASE("task_group: any number of waiters run and move the tasks of one group") {
    cmwq::workqueue<cmwq::elastic> q{{.name = "q", .max_active = 3}};
    std::atomic<int> nr_run{0};
    for (int round = 0; round < 200; ++round) {
        task_group g{q};
        std::atomic<int> nr_waited{0};
        for (int i = 0; i < 3; ++i) {
            q.post([&] {
                for (int n = 0; n < 20; ++n) g.run([&] { ++nr_run; });
                g.wait();
                ++nr_waited;
            });
        }
        CHECK(eventually([&] { return nr_waited == 3; }));
        g.wait();
    }
    CHECK(nr_run == 200 * 3 * 20);
}

TEST_CASE("task_group: in a forked child no call of a group hangs") {
    cmwq::workqueue<cmwq::elastic> q{"q"};
    std::binary_semaphore started{0}, leave{0};
    task_group g{q};
    g.run([&] {
        started.release();
        leave.acquire();
    });
    started.acquire();
    const pid_t child = cmwq_test::fork_a_child();
    if (child == 0) {
        const bool right = g.run([] {}) == queue_status::rejected && !g.wait();
        g.cancel();
        ::_exit(right ? 0 : 1);
    }
    int status = -1;
    CHECK(cmwq_test::uninterrupted([&] { return ::waitpid(child, &status, 0); }) == child);
    CHECK(status == 0);
    leave.release();
    g.wait();
}

TEST_CASE("task_group: callables of any size and alignment run and are destroyed") {
    cmwq::workqueue<cmwq::elastic> q{"q"};
    struct alignas(256) aligned {
        int value = 7;
    };
    const auto counted = std::make_shared<int>();
    std::atomic<int> sum{0};
    std::array<char, 1000> large{};
    large.back() = 5;
    const auto run_group = [&] {
        task_group g{q};
        const aligned a;
        g.run([&sum, a, counted] { sum += reinterpret_cast<std::uintptr_t>(&a) % 256 == 0 ? a.value : 0; });
        g.run([&sum, large, counted] { sum += large.back(); });
        g.wait();
    };
    SECTION("outside of items") { run_group(); }
    SECTION("in an item") { in_item(q, run_group); }
    CHECK(sum == 12);
    CHECK(counted.use_count() == 1);
}

TEST_CASE("task_group: a queue that is closed rejects a task and destroys its callable; the wait tells") {
    cmwq::workqueue<cmwq::elastic> q{"q"};
    const auto counted = std::make_shared<int>();
    q.shutdown(cmwq::cancel_pending);
    task_group g{q};
    CHECK(g.run([counted] {}) == queue_status::rejected);
    CHECK(counted.use_count() == 1);
    CHECK_FALSE(g.wait());
    CHECK(g.wait()); // nothing was lost since
}

TEST_CASE("task_group: a wait tells that a task of another thread was rejected while the queue drained") {
    cmwq::workqueue<cmwq::elastic> q{"q"};
    std::binary_semaphore hold{0};
    q.post([&] { hold.acquire(); });
    std::thread drains([&] { q.drain(); });
    int runs = 0;
    task_group g{q};
    cmwq::work probe{[] {}};
    CHECK(eventually([&] { return q.queue(probe) == queue_status::rejected; })); // from here on it drains
    CHECK(g.run([&] { ++runs; }) == queue_status::rejected);
    hold.release();
    CHECK_FALSE(g.wait());
    CHECK(runs == 0);
    drains.join();
    CHECK(g.run([&] { ++runs; }) == queue_status::queued);
    CHECK(g.wait());
    CHECK(runs == 1);
}

TEST_CASE("task_group: a flush of the queue waits for tasks that a waiter runs itself") {
    cmwq::workqueue<cmwq::elastic> q{{.name = "q", .max_active = 2}};
    std::binary_semaphore started{0}, leave{0};
    std::atomic<bool> ended{false};
    q.post([&] {
        task_group g{q};
        g.run([&] {
            started.release();
            leave.acquire();
            ended = true;
        });
        g.wait();
    });
    started.acquire();
    std::atomic<bool> too_early{false};
    std::thread t([&] {
        q.flush();
        too_early = !ended;
    });
    leave.release();
    t.join();
    CHECK_FALSE(too_early);
}

TEST_CASE("task_group: tasks count in the statistics of the queue") {
    cmwq::workqueue<cmwq::elastic> q{"q"};
    constexpr unsigned nr_rounds = 50; // so that other workers take some of the tasks
    for (unsigned i = 0; i < nr_rounds; ++i) in_item(q, [&] { fib(q, 10); });
    q.flush();
    CHECK(q.stats().started == q.stats().completed);
    CHECK(q.stats().started == nr_rounds * (1 + 88)); // fib(10) has 88 inner nodes with one task each
}

// The bottom halves that its tasks queue on the thread of the waiter would run at the end of the guard.
TEST_CASE("task_group: an item may wait while it holds bottom halves back for tasks that wait for bottom halves") {
    cmwq::workqueue<cmwq::elastic> q{{.name = "q", .max_active = 1}}; // within it only the waiter could run the tasks
    cmwq::workqueue<cmwq::bh> halves{"halves"};
    std::atomic<bool> complete{false};
    q.post([&] {
        const cmwq::bh_disable_guard held_back;
        cmwq::task_group g{q};
        for (int i = 0; i < 4; ++i) {
            g.run([&] {
                std::binary_semaphore ran{0};
                cmwq::work half{[&] { ran.release(); }};
                halves.queue(half);
                CHECK(ran.try_acquire_for(std::chrono::seconds{120}));
            });
        }
        complete = g.wait();
    });
    q.flush();
    CHECK(complete);
}

TEMPLATE_LIST_TEST_CASE("task_group: the exceptions that a wait does not throw are destroyed before it returns", "",
                        cmwq_test::threaded_policies) {
    struct slow {
        explicit slow(std::atomic<int>& n) : alive(&n) { ++*alive; }
        slow(const slow& other) : alive(other.alive) { ++*alive; }
        ~slow() {
            for (int i = 0; i < 10'000; ++i) std::this_thread::yield();
            --*alive;
        }
        std::atomic<int>* alive;
    };
    std::atomic<int> alive{0};
    cmwq::workqueue<TestType> q{"q"};
    const auto wait = [&] {
        task_group g{q};
        for (int i = 0; i < 3; ++i) g.run([&] { throw slow(alive); });
        try {
            g.wait();
        } catch (const slow&) {
            return alive.load(); // one is being handled
        }
        return -1;
    };
    CHECK(wait() == 1);
    CHECK(alive == 0);
    if constexpr (!cmwq_test::runs_one_at_a_time<TestType>) CHECK(q.async(wait).get() == 1);
}
