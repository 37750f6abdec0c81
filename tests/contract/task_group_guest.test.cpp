// SPDX-License-Identifier: BSL-1.0
//
// A thread that runs no item waits for a task group: on unbound and elastic queues of default attributes it runs tasks
// as one of the workers, within the limit of the queue. Elsewhere it runs none.
#include "catch.hpp"
#include "error_of.hpp"
#include "eventually.hpp"
#include "fork.hpp"
#include "policy_list.hpp"
#include "simulated.hpp"
#include "stress.hpp"

#include <cmwq/cmwq.hpp>
#include <cmwq/task_group.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <memory>
#include <pthread.h>
#include <sched.h>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <ucontext.h>
#include <vector>

using cmwq::task_group;
using namespace cmwq_test;
using namespace std::chrono_literals;

namespace {

/// A pool of one CPU that an item of another queue keeps busy. No other item starts beside it.
class busy_cpu {
public:
    explicit busy_cpu(const cmwq::runtime_options& o = options()) : rt(o) {
        ++nr_computing;
        others.post([this] {
            running = true;
            const auto deadline = std::chrono::steady_clock::now() + 120s; // then a wait has hung
            while (!stop && std::chrono::steady_clock::now() < deadline) stress::burn(1'000);
            running = false;
        });
        CHECK(eventually([this] { return running.load(); }));
    }
    ~busy_cpu() {
        stop = true;
        others.flush();
        --nr_computing;
    }
    [[nodiscard]] bool is_busy() const { return running; }
    static cmwq::runtime_options options() {
        auto o = simulated("numa:1 core:1 pu:1");
        o.cpu_hog_threshold = 0ns;
        o.overdue_after = 0ns;
        return o;
    }

    cmwq::runtime rt;
    cmwq::workqueue<cmwq::elastic> others{rt, "others"}, q{rt, "q"};

private:
    std::atomic<bool> running{false}, stop{false};
};

/// Lets the pool of the queue make its first worker: there are no guests before.
template <class P>
void warm(cmwq::workqueue<P>& q) {
    q.post([] {});
    q.flush();
}

/// How many of the tasks run in the thread that waits for them, which does not run an item.
template <class P>
int nr_run_here(cmwq::workqueue<P>& q) {
    std::atomic<int> here{0};
    const auto self = std::this_thread::get_id();
    task_group g{q};
    for (int i = 0; i < 50; ++i) {
        g.run([&] {
            if (std::this_thread::get_id() == self) ++here;
            stress::burn(10'000);
        });
    }
    g.wait();
    return here;
}

} // namespace

// proves: progress-12
TEST_CASE("task_group: a thread outside runs tasks while items of others keep the CPUs busy") {
    busy_cpu cpu;
    std::atomic<int> runs{0};
    task_group g{cpu.q};
    for (int i = 0; i < 100; ++i) g.run([&] { ++runs; });
    g.wait();
    CHECK(cpu.is_busy());
    CHECK(runs == 100);
    // Also tasks that a task adds, to the same group and to another one.
    g.run([&] {
        for (int i = 0; i < 100; ++i) g.run([&] { ++runs; });
        task_group inner{cpu.q};
        for (int i = 0; i < 100; ++i) inner.run([&] { ++runs; });
        inner.wait();
    });
    g.wait();
    CHECK(cpu.is_busy());
    CHECK(runs == 300);
    cpu.q.flush(); // a wait ends before the last run is counted
    CHECK(cpu.q.stats().completed == 301);
}

// A worker keeps the CPU, so items of others are overdue after a while, whatever the thread outside runs meanwhile.
// proves: progress-12
TEST_CASE("task_group: items of other queues start in time while a thread outside runs tasks") {
    auto options = busy_cpu::options();
    options.overdue_after = 20ms;
    busy_cpu cpu(options);
    std::atomic<bool> ran{false}, posted_ran{false};
    std::atomic<int> length{0};
    cmwq::work stranger{[&] { ran = true; }};
    task_group g{cpu.q};
    const auto deadline = std::chrono::steady_clock::now() + 120s;
    std::function<void()> link = [&] {
        if (++length == 1) {
            cpu.others.queue(stranger);
            cpu.q.post([&] { posted_ran = true; }); // local to the thread outside
        }
        if (!(ran && posted_ran) && std::chrono::steady_clock::now() < deadline) g.run(link);
    };
    for (int i = 0; i < 20; ++i) g.run(link);
    g.wait();
    CHECK(ran);
    CHECK(posted_ran);
}

// If they went to the pool, its workers would take each of them from there, and would let none follow in a run.
TEST_CASE("task_group: a thread outside goes on with the newest task that its tasks have added") {
    busy_cpu cpu;
    std::vector<int> order; // of those that run here; a worker takes the oldest ones
    const auto self = std::this_thread::get_id();
    task_group g{cpu.q};
    g.run([&] {
        for (int i = 0; i < 20; ++i) {
            g.run([&, i] {
                if (std::this_thread::get_id() == self) order.push_back(i);
            });
        }
    });
    g.wait();
    CHECK(order.size() > 0);
    CHECK(std::is_sorted(order.rbegin(), order.rend()));
}

TEST_CASE("task_group: an item that a blocked thread outside has queued starts beside an endless chain of items") {
    cmwq::runtime rt(busy_cpu::options());
    cmwq::workqueue<cmwq::elastic> q{rt, "q"};
    const auto deadline = std::chrono::steady_clock::now() + 120s;
    std::binary_semaphore blocked_on{0};
    std::atomic<bool> computes{false}, in_task{false}, ran{false};
    std::function<void()> link = [&] {
        computes = true;
        while (!in_task && std::chrono::steady_clock::now() < deadline) stress::burn(1'000);
        if (!ran && std::chrono::steady_clock::now() < deadline) q.post(link);
    };
    q.post(link);
    CHECK(eventually([&] { return computes.load(); }));
    task_group g{q};
    g.run([&] {
        q.post([&] {
            ran = true;
            blocked_on.release();
        });
        in_task = true;
        static_cast<void>(blocked_on.try_acquire_until(deadline));
    });
    g.wait();
    CHECK(ran);
    CHECK(std::chrono::steady_clock::now() < deadline);
    q.flush();
}

// proves: life-16
TEST_CASE("task_group: a child that a task forks in the thread of on_event has the signals of the program") {
    std::atomic<int> status{-1};
    std::atomic<bool> here{false};
    busy_cpu* at = nullptr;
    auto options = busy_cpu::options();
    options.on_event = [&](const cmwq::event& e) {
        if (e.what != cmwq::event::kind::flush_dependency) return;
        task_group g{at->q};
        g.run([&, thread = std::this_thread::get_id()] {
            here = std::this_thread::get_id() == thread;
            status = status_of_child([] { return blocks(SIGTERM) ? 2 : 0; });
        });
        g.wait();
    };
    busy_cpu cpu(options);
    at = &cpu;
    cmwq::workqueue<> rescued{cpu.rt, {.name = "rescued", .rescuer = true}}, other{cpu.rt, "other"};
    rescued.post([&] {
        other.post([&] { static_cast<void>(eventually([&] { return status != -1; })); });
        other.flush(); // an event
    });
    CHECK(eventually([&] { return status != -1; }));
    CHECK(here);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("task_group: a runtime that a thread outside makes in a task has the CPUs of the thread") {
    busy_cpu cpu;
    cmwq::cpuset outside, in_task;
    std::thread bound([&] {
        cpu_set_t all, one;
        CPU_ZERO(&one);
        REQUIRE(::sched_getaffinity(0, sizeof all, &all) == 0);
        int last = CPU_SETSIZE - 1; // not that of the other runtime, if there are several
        while (!CPU_ISSET(last, &all)) --last;
        CPU_SET(last, &one);
        REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
        {
            const cmwq::runtime rt;
            outside = rt.cpus();
        }
        task_group g{cpu.q};
        g.run([&] {
            const cmwq::runtime rt;
            in_task = rt.cpus();
        });
        g.wait();
    });
    bound.join();
    CHECK_FALSE(outside.empty());
    CHECK(in_task == outside);
}

TEST_CASE("task_group: a thread that is cancelled while it waits ends after the tasks") {
    busy_cpu cpu;
    std::atomic<bool> in_task{false}, go_on{false}, waited{false};
    std::atomic<int> runs{0};
    std::thread t([&] {
        task_group g{cpu.q};
        for (int i = 0; i < 10; ++i) {
            g.run([&] {
                in_task = true;
                while (!go_on) std::this_thread::yield();
                ::pthread_testcancel();
                ++runs;
            });
        }
        g.wait();
        waited = true;
        ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr); // std::thread would end the program
    });
    CHECK(eventually([&] { return in_task.load(); }));
    ::pthread_cancel(t.native_handle());
    go_on = true;
    t.join();
    CHECK(waited);
    CHECK(runs == 10);
}

// proves: progress-12
TEMPLATE_LIST_TEST_CASE("task_group: a thread outside runs no task beyond the limit", "", parallel_policies) {
    cmwq::runtime rt;
    cmwq::options<TestType> o{.name = "q"};
    o.max_active = 1;
    cmwq::workqueue<TestType> q{rt, std::move(o)};
    std::binary_semaphore entered{0}, leave{0};
    std::atomic<bool> held{false};
    std::atomic<int> inside{0}, most{0}, runs{0};
    q.post([&] {
        held = true;
        entered.release();
        leave.acquire();
        held = false;
    });
    entered.acquire();
    task_group g{q};
    std::atomic<bool> too_early{false};
    for (int i = 0; i < 100; ++i) {
        g.run([&] {
            if (held) too_early = true;
            if (++inside > most) most = inside.load();
            ++runs;
            --inside;
        });
    }
    std::thread opens([&] {
        for (int i = 0; i < 1000; ++i) std::this_thread::yield();
        leave.release();
    });
    g.wait();
    opens.join();
    CHECK_FALSE(too_early);
    CHECK(most == 1);
    CHECK(runs == 100);
}

// proves: progress-12
TEST_CASE("task_group: a thread outside runs no task that needs a thread of a pool") {
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::bound> bound{rt, "bound"};
    cmwq::workqueue<cmwq::ordered> ordered{rt, "ordered"};
    cmwq::workqueue<cmwq::elastic> strict{rt, {.name = "strict", .attrs = cmwq::attrs{}.strict(true)}};
    cmwq::workqueue<cmwq::unbound> batch{rt,
                                         {.name = "batch", .attrs = cmwq::attrs{}.scheduling(cmwq::scheduling::batch)}};
    cmwq::workqueue<cmwq::elastic> q{rt, "q"};
    warm(bound), warm(ordered), warm(strict), warm(batch), warm(q);
    CHECK(nr_run_here(bound) == 0);
    CHECK(nr_run_here(ordered) == 0);
    CHECK(nr_run_here(strict) == 0);
    CHECK(nr_run_here(batch) == 0);
    {
        const cmwq::bh_disable_guard guard;
        CHECK(nr_run_here(q) == 0);
    }
    q.apply(cmwq::attrs{}.strict(true));
    warm(q);
    CHECK(nr_run_here(q) == 0);
}

TEST_CASE("task_group: a thread outside runs no task that was queued under other attributes") {
    cmwq::runtime rt{{.max_threads = 1}};
    cmwq::options<cmwq::unbound> o{.name = "q"};
    o.attrs.nice(7);
    cmwq::workqueue<cmwq::unbound> q{rt, std::move(o)};
    std::atomic<int> here{0}, runs{0};
    std::binary_semaphore entered{0}, leave{0};
    task_group g{q};
    g.run([&] { // on the only worker
        entered.release();
        leave.acquire();
    });
    entered.acquire();
    const auto me = std::this_thread::get_id();
    for (int i = 0; i < 40; ++i) {
        g.run([&] {
            if (std::this_thread::get_id() == me) ++here;
            ++runs;
        });
    }
    q.apply(cmwq::attrs{});
    std::thread opens{[&, waiter = cmwq::detail::os::this_thread_id()] {
        const std::string stat = "/proc/self/task/" + std::to_string(waiter) + "/stat";
        int asleep = 0;
        static_cast<void>(eventually([&] { // the waiter sleeps, or does what it should not
            std::string text;
            std::getline(std::ifstream(stat), text);
            asleep = text.find(") S") != std::string::npos ? asleep + 1 : 0;
            return asleep == 10 || runs != 0;
        }));
        leave.release();
    }};
    g.wait();
    opens.join();
    CHECK(runs == 40);
    CHECK(here == 0);
}

TEST_CASE("task_group: a thread outside of low priority runs no task") {
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::elastic> elastic{rt, "elastic"};
    cmwq::workqueue<cmwq::unbound> unbound{rt, "unbound"};
    warm(elastic), warm(unbound);
    int nice = -1, idle = -1;
    std::thread low([&] {
        if (::setpriority(PRIO_PROCESS, 0, ::getpriority(PRIO_PROCESS, 0) + 1) == 0) nice = nr_run_here(elastic);
        const sched_param none{};
        if (::sched_setscheduler(0, SCHED_IDLE, &none) == 0) idle = nr_run_here(unbound);
    });
    low.join();
    CHECK(nice <= 0); // it may not be allowed
    CHECK(idle <= 0);
}

// A fiber is on memory that may be anywhere.
TEST_CASE("task_group: a thread outside on a stack of its own runs no task") {
    cmwq::runtime rt;
    static cmwq::workqueue<cmwq::elastic>* queue = nullptr;
    cmwq::workqueue<cmwq::elastic> q{rt, "q"};
    queue = &q;
    warm(q);
    static int here = -1;
    std::vector<char> memory(512 * 1024);
    std::thread t([&] { // its stack is below or above that memory
        static ucontext_t caller, fiber;
        REQUIRE(::getcontext(&fiber) == 0);
        fiber.uc_stack.ss_sp = memory.data();
        fiber.uc_stack.ss_size = memory.size();
        fiber.uc_link = &caller;
        ::makecontext(&fiber, [] { here = nr_run_here(*queue); }, 0);
        ::swapcontext(&caller, &fiber);
    });
    t.join();
    CHECK(here == 0);
}

TEST_CASE("task_group: a thread outside with a small stack runs no task") {
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::elastic> q{rt, "q"};
    warm(q);
    struct arguments {
        cmwq::workqueue<cmwq::elastic>& q;
        int here;
    } a{q, -1};
    pthread_attr_t small;
    REQUIRE(::pthread_attr_init(&small) == 0);
    REQUIRE(::pthread_attr_setstacksize(&small, 200 * 1024) == 0);
    pthread_t t{};
    const auto body = [](void* p) -> void* {
        auto& its = *static_cast<arguments*>(p);
        its.here = nr_run_here(its.q);
        return nullptr;
    };
    REQUIRE(::pthread_create(&t, &small, body, &a) == 0);
    ::pthread_join(t, nullptr);
    ::pthread_attr_destroy(&small);
    CHECK(a.here == 0);
}

TEST_CASE("task_group: a task in a thread outside is an item of the queue, and leaves the thread as it was") {
    busy_cpu cpu;
    cpu_set_t before, after;
    CHECK(::sched_getaffinity(0, sizeof before, &before) == 0);
    std::error_code of_flush, of_wait, of_drain;
    std::unique_ptr<task_group> g = std::make_unique<task_group>(cpu.q);
    g->run([&] {
        cmwq::this_work::describe("a guest");
        of_flush = error_of([&] { cpu.q.flush(); });
        of_drain = error_of([&] { cpu.q.drain(); });
        of_wait = error_of([&] { g->wait(); });
        const cmwq::blocking_region region(cmwq::block_kind::will_block);
        std::this_thread::yield();
    });
    g->run([] { throw std::runtime_error("thrown"); });
    CHECK_THROWS_AS(g->wait(), std::runtime_error);
    g.reset();
    CHECK(of_flush == std::errc::resource_deadlock_would_occur);
    CHECK(of_drain == std::errc::resource_deadlock_would_occur);
    CHECK(of_wait == std::errc::resource_deadlock_would_occur);
    CHECK(::sched_getaffinity(0, sizeof after, &after) == 0);
    CHECK(CPU_EQUAL(&before, &after));
    cmwq::work w{[] {}};
    CHECK_FALSE(w.flush()); // not refused: the thread runs no item any more
    CHECK(nr_run_here(cpu.q) > 0);
}

// proves: progress-12
TEST_CASE("task_group: any number of threads outside wait for groups of their own and for a common one") {
    constexpr int nr_threads = 16, rounds = 100;
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::elastic> q{rt, {.name = "q", .max_active = 4}};
    task_group common{q};
    std::atomic<int> nr_common{0}, inside{0}, most{0};
    std::atomic<bool> good{true};
    std::vector<std::thread> threads;
    for (int t = 0; t < nr_threads; ++t) {
        threads.emplace_back([&] {
            for (int r = 0; r < rounds; ++r) {
                int runs[5] = {};
                task_group own{q};
                for (int& one : runs) {
                    own.run([&] {
                        const int now = ++inside;
                        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {}
                        ++one;
                        if (&one == &runs[0]) common.run([&] { ++nr_common; });
                        --inside;
                    });
                }
                own.wait();
                for (const int one : runs) good = good && one == 1;
                if (r % 10 == 0) common.wait();
            }
        });
    }
    for (auto& t : threads) t.join();
    common.wait();
    CHECK(good);
    CHECK(nr_common == nr_threads * rounds);
    CHECK(most <= 4);
    q.flush(); // a wait ends before the last run is counted
    CHECK(q.stats().completed == static_cast<unsigned>(6 * nr_threads * rounds));
}

#if !defined(__SANITIZE_THREAD__) // it cannot follow threads that are started after a fork() of a program with threads
TEST_CASE("task_group: a thread outside that forks in a task has the same CPUs in the child") {
    busy_cpu cpu;
    cpu_set_t before, one;
    CHECK(::sched_getaffinity(0, sizeof before, &before) == 0);
    CPU_ZERO(&one);
    for (int c = 0; CPU_COUNT(&one) == 0; ++c) {
        if (CPU_ISSET(c, &before)) CPU_SET(c, &one);
    }
    CHECK(::sched_setaffinity(0, sizeof one, &one) == 0);
    int status = -1;
    task_group g{cpu.q};
    g.run([&] {
        status = status_of_child([&] {
            cpu_set_t its;
            return ::sched_getaffinity(0, sizeof its, &its) == 0 && CPU_EQUAL(&its, &one) ? 0 : 1;
        });
    });
    g.wait();
    CHECK(::sched_setaffinity(0, sizeof before, &before) == 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}
#endif
