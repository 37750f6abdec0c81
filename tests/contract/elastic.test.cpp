// SPDX-License-Identifier: BSL-1.0
//
// The promises of elastic queues beyond those of unbound ones: as many runnable items as CPUs, also while items block.
#include "catch.hpp"
#include "core_of.hpp"
#include "eventually.hpp"
#include "faults.hpp"
#include "pinned.hpp"
#include "policy_list.hpp"
#include "simulated.hpp"
#include "stress.hpp"

#include <cmwq/cmwq.hpp>
#include <cmwq/task_group.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <sched.h>
#include <semaphore>
#include <thread>
#include <vector>

using cmwq::affinity_scope;
using cmwq::attrs;
using cmwq::cpuset;
using cmwq::queue_status;
using namespace cmwq_test;
using namespace std::chrono_literals;

namespace {

cmwq::options<cmwq::elastic> with(attrs a) {
    cmwq::options<cmwq::elastic> o;
    o.name = "elastic";
    o.max_active = 1000;
    o.attrs = std::move(a);
    return o;
}

/// Runs items that end only after all of them have started.
int mutual_waiters(cmwq::workqueue<cmwq::elastic>& q, unsigned cpu, int n, bool announced) {
    std::atomic<int> arrived{0}, done{0};
    std::counting_semaphore<> all_there{0};
    for (int i = 0; i < n; ++i) {
        q.post_on(cpu, [&, n] {
            if (++arrived == n) all_there.release(n);
            if (announced) {
                const cmwq::blocking_region region;
                all_there.acquire();
            } else {
                all_there.acquire();
            }
            ++done;
        });
    }
    q.flush();
    return done;
}

/// Returns the largest number of items that run at once, of `n` items that only compute.
int most_at_once(cmwq::workqueue<cmwq::elastic>& q, unsigned cpu, int n) {
    std::atomic<int> inside{0}, most{0};
    for (int i = 0; i < n; ++i) {
        q.post_on(cpu, [&] {
            const int now = ++inside;
            int seen = most;
            while (seen < now && !most.compare_exchange_weak(seen, now)) {}
            stress::burn(20'000);
            --inside;
        });
    }
    q.flush();
    return most;
}

} // namespace

// proves: progress-2
TEST_CASE("elastic: while unannotated items wait for each other more items start until all have started") {
    const int n = GENERATE(8, 200);
    const bool sentinel = GENERATE(true, false);
    cmwq::runtime rt{{.sentinel = sentinel}};
    for (const affinity_scope scope : {affinity_scope::system, affinity_scope::cpu}) {
        cmwq::workqueue<cmwq::elastic> q{rt, with(attrs{}.affinity(scope))};
        CHECK(mutual_waiters(q, *rt.cpus().begin(), n, false) == n);
    }
    const cmwq::runtime_stats s = rt.stats();
    CHECK(s.blocks_by_guard == 0);
    CHECK(s.blocks_by_sentinel + s.blocks_by_monitor > 0);
    if (!sentinel) CHECK(s.blocks_by_sentinel == 0);
}

TEST_CASE("elastic: an annotated blocking item lets the next item start at once") {
    const int n = GENERATE(8, 200);
    cmwq::runtime rt{{.sentinel = false}};
    cmwq::workqueue<cmwq::elastic> q{rt, with({})};
    CHECK(mutual_waiters(q, *rt.cpus().begin(), n, true) == n);
    CHECK(rt.stats().blocks_by_guard > 0);
}

TEST_CASE("elastic: blocked items let the next items start also on a simulated machine with wider pods") {
    cmwq::runtime rt{two_nodes()};
    for (const bool announced : {false, true}) {
        cmwq::workqueue<cmwq::elastic> q{rt, with(attrs{}.affinity(affinity_scope::cache))};
        for (const unsigned cpu : {0u, 15u}) CHECK(mutual_waiters(q, cpu, 40, announced) == 40);
    }
}

// On a busy machine a detector may consider an item blocked that only waits for a lock. The pool corrects that later.
// Therefore the test repeats the attempt until one run has no such error.
TEST_CASE("elastic: items that only compute get no more threads than CPUs and spares", "[timing]") {
    const without_naps here; // a nap counts as a block
    const bool one_cpu = GENERATE(false, true);
    CHECK(eventually([&] {
        cmwq::runtime rt{{.overdue_after = 0ns}};
        const int width = one_cpu ? 1 : cmwq_test::width_of(rt, rt.cpus());
        const attrs a =
            one_cpu ? attrs{}.affinity(affinity_scope::cpu).strict(true) : attrs{}.affinity(affinity_scope::system);
        cmwq::workqueue<cmwq::elastic> q{rt, with(a)};
        return most_at_once(q, *rt.cpus().begin(), 3000) <= width &&
               rt.stats().peak_threads <= static_cast<unsigned>(width) + 2;
    }));
}

TEST_CASE("elastic: a pool whose items stop blocking returns to one runnable item for each CPU", "[timing]") {
    const without_naps they_are_blocks;
    const without_clock_jumps they_look_like_blocks;
    cmwq::runtime rt{{.overdue_after = 0ns}};
    const unsigned cpu = *rt.cpus().begin();
    const int width = cmwq_test::width_of(rt, rt.cpus());
    cmwq::workqueue<cmwq::elastic> q{rt, with(attrs{}.affinity(affinity_scope::system))};
    std::counting_semaphore<> entered{0}, leave{0};
    constexpr int many = 50;
    for (int i = 0; i < many; ++i) {
        q.post_on(cpu, [&] {
            entered.release();
            leave.acquire();
        });
    }
    for (int i = 0; i < many; ++i) entered.acquire();
    CHECK(rt.stats().threads > many);
    std::atomic<int> inside{0}, most{0};
    std::atomic<bool> stop{false};
    std::vector<std::unique_ptr<cmwq::work<std::function<void()>>>> stream; // never blocks and never ends
    for (int i = 0; i < 4 * width + 20; ++i) {
        stream.push_back(std::make_unique<cmwq::work<std::function<void()>>>([&, i] {
            const int now = ++inside;
            int seen = most;
            while (seen < now && !most.compare_exchange_weak(seen, now)) {}
            stress::burn(20'000);
            --inside;
            if (!stop) q.queue_on(cpu, *stream[static_cast<std::size_t>(i)]);
        }));
    }
    for (const auto& w : stream) q.queue_on(cpu, *w);
    leave.release(many); // these items continue while others are always pending
    CHECK(eventually([&] { return cmwq_test::shared_pools_of(rt).at(0).concurrency->limit() == width; }));
    CHECK(eventually([&] {
        most = 0;
        const std::uint64_t before = q.stats().completed;
        return eventually([&] { return q.stats().completed > before + 1000; }) && most <= width;
    }));
    stop = true;
    q.drain();
}

namespace {

/// Items that behave like open connections: each item computes for a moment and pauses for a shorter moment, again and
/// again. No detector considers such an item blocked or computing for a long time.
class connections {
public:
    void add(cmwq::workqueue_base& q, unsigned cpu, int n) {
        nr_ += n;
        for (int i = 0; i < n; ++i) {
            q.post_on(cpu, [this] {
                ++served_;
                while (!close_) {
                    stress::burn(2'000'000);
                    std::binary_semaphore never{0};
                    static_cast<void>(never.try_acquire_for(20us));
                }
                ++closed_;
            });
        }
    }
    void close() { close_ = true; }
    [[nodiscard]] bool all_are_served() {
        return eventually([this] { return served_ == nr_; });
    }
    ~connections() {
        close();
        static_cast<void>(eventually([this] { return closed_ == nr_; }));
    }

private:
    int nr_ = 0;
    std::atomic<int> served_{0}, closed_{0};
    std::atomic<bool> close_{false};
};

} // namespace

// The test runs with and without the sentinel.
// proves: progress-4
TEMPLATE_TEST_CASE("elastic: long items that pause often do not keep other items from starting", "", cmwq::bound,
                   cmwq::elastic) {
    const bool sentinel = GENERATE(true, false);
    cmwq::runtime rt{{.sentinel = sentinel}};
    const unsigned cpu = *rt.cpus().begin();
    cmwq::workqueue<TestType> q{rt, "q"}, other{rt, "other"};
    connections many;
    many.add(q, cpu, 24);
    CHECK(many.all_are_served());
    CHECK(rt.stats().overdue > 0);
    std::atomic<bool> ran{false};
    cmwq::work late{[&] { ran = true; }};
    other.queue_on(cpu, late);
    CHECK(eventually([&] { return ran.load(); }));
    many.close();
    late.flush();
    q.flush();
}

// Nothing but their time shows that the items that run wait for others.
// proves: progress-4
TEMPLATE_TEST_CASE("elastic: items that spin until all of them run start in growing bursts", "", cmwq::bound,
                   cmwq::elastic) {
    cmwq::runtime rt{{.cpu_hog_threshold = 0ns}};
    constexpr int many = 64;
    cmwq::workqueue<TestType> q{rt, "q"};
    std::atomic<int> running{0};
    for (int i = 0; i < many; ++i) {
        q.post_on(*rt.cpus().begin(), [&] {
            ++running;
            while (running < many) stress::burn(1'000);
        });
    }
    CHECK(eventually([&] { return running == many; }));
    running = many; // ends the items after a failure, too
    q.flush();
    CHECK(rt.stats().overdue <= 8); // 1 + 2 + 4 + 8 + 4 * 16
}

// proves: progress-4
TEMPLATE_TEST_CASE("elastic: items that only compute let other items start beside them", "", cmwq::bound,
                   cmwq::elastic) {
    cmwq::runtime rt;
    const unsigned cpu = *rt.cpus().begin();
    cmwq::workqueue<TestType> q{rt, "q"};
    std::atomic<int> started{0};
    std::atomic<bool> stop{false};
    for (int i = 0; i < 16; ++i) {
        q.post_on(cpu, [&] {
            ++started;
            while (!stop) stress::burn(10'000);
        });
    }
    CHECK(eventually([&] { return started == 16; }));
    stop = true;
    q.flush();
}

namespace {

/// An item on each CPU calls `f(its queue)` again and again, until an item of another queue has run.
template <class P, class F>
void beside_a_stranger(F f) {
    cmwq::runtime rt;
    cmwq::workqueue<P> busy{rt, "busy"}, other{rt, "other"};
    std::atomic<unsigned> nr_begun{0};
    std::atomic<bool> ran{false}, stop{false};
    for (const unsigned cpu : rt.cpus()) {
        busy.post_on(cpu, [&] {
            ++nr_begun;
            while (!ran && !stop) f(busy);
        });
    }
    CHECK(eventually([&] { return nr_begun == rt.cpus().size(); }));
    other.post_on(*rt.cpus().begin(), [&] { ran = true; });
    CHECK(eventually([&] { return ran.load(); }));
    stop = true;
    busy.flush();
    other.flush();
}

} // namespace

// proves: progress-3
TEMPLATE_TEST_CASE("elastic: items that run tasks and wait for them let items of other queues start", "", cmwq::bound,
                   cmwq::elastic) {
    beside_a_stranger<TestType>([](auto& q) {
        cmwq::task_group g{q};
        for (int i = 0; i < 50; ++i) g.run([] { stress::burn(3'000); });
        g.wait();
    });
}

// proves: progress-3
TEST_CASE("elastic: items that run what they wait for let items of other queues start") {
    beside_a_stranger<cmwq::elastic>([](auto& q) {
        cmwq::work item{[] { stress::burn(3'000); }};
        q.queue(item);
        item.flush();
    });
}

// proves: progress-3
TEST_CASE("elastic: an item that computes for a long time is detected even if no item waits behind it") {
    cmwq::runtime rt;
    const unsigned first = *rt.cpus().begin();
    cmwq::workqueue<> q{rt, "q"};
    std::atomic<bool> stop{false};
    const auto computes = [&] {
        while (!stop) stress::burn(10'000);
    };
    q.post_on(first, [&] {
        q.post_on(first, computes); // waits until this item counts as a hog: the monitor is awake when it starts
        computes();
    });
    CHECK(eventually([&] { return rt.stats().cpu_hogs == 2; }));
    CHECK(q.stats().cpu_hogs == 2);
    stop = true;
    q.flush();
}

TEST_CASE("elastic: an item that computes is detected also if other threads keep the CPU from it for a while") {
    cmwq::runtime rt{{.cpu_hog_threshold = 100ms}};
    const unsigned first = *rt.cpus().begin();
    cmwq::workqueue<> q{rt, "q"};
    std::atomic<bool> stop{false};
    std::binary_semaphore computing{0};
    q.post_on(first, [&] {
        q.post_on(first, [] {}); // wakes the monitor
        while (!stop) stress::burn(10'000);
    });
    CHECK(eventually([&] { return rt.stats().cpu_hogs == 1; }));
    q.post_on(first, [&] {
        computing.release();
        while (!stop) stress::burn(10'000);
    });
    computing.acquire();
    std::thread([first] {
        const pinned here(first);
        const sched_param p{.sched_priority = ::sched_get_priority_min(SCHED_FIFO)};
        if (::sched_setscheduler(0, SCHED_FIFO, &p) != 0) std::puts("not checked: SCHED_FIFO is not permitted here");
        // Meanwhile the monitor looks a few times, and sees no progress.
        const auto until = std::chrono::steady_clock::now() + 500ms;
        while (std::chrono::steady_clock::now() < until) {}
    }).join();
    CHECK(eventually([&] { return rt.stats().cpu_hogs == 2; }));
    stop = true;
    q.flush();
}

// proves: kernel-7
TEST_CASE("elastic: an idle CPU of the queue helps another pod") {
    cmwq::runtime rt;
    if (rt.cpus().size() < 2 || cmwq_test::width_of(rt, rt.cpus()) < 2) return; // no other CPU can help
    const unsigned cpu = *rt.cpus().begin();
    const attrs by_cpu = attrs{}.affinity(affinity_scope::cpu);
    cmwq::workqueue<cmwq::elastic> q{rt, with(by_cpu)};
    // The first item computes until the second item has run. Only a thread on another CPU can run the second item.
    std::atomic<bool> second{false}, started{false};
    q.post_on(cpu, [&] {
        started = true;
        while (!second) stress::burn(100);
    });
    CHECK(eventually([&] { return started.load(); }));
    q.post_on(cpu, [&] { second = true; });
    CHECK(eventually([&] { return second.load(); }));
    second = true;
    q.flush();
}
