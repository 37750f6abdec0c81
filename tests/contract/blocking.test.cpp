// SPDX-License-Identifier: BSL-1.0
//
// Items that block: the next item starts if the guard, the sentinel or the monitor detects this.
#include "catch.hpp"
#include "core_of.hpp"
#include "event_log.hpp"
#include "eventually.hpp"
#include "fake_threads.hpp"
#include "faults.hpp"
#include "text.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <semaphore>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using cmwq::block_kind;
using cmwq_test::event_log;
using cmwq_test::eventually;
using cmwq_test::fake_threads;
using kind = cmwq::event::kind;

namespace {

// Queues `depth` items on one CPU. Each item waits for the item behind it.
int chain_of_waiters(cmwq::runtime& rt, int depth, bool annotated, block_kind kind = cmwq::will_block,
                     cmwq::priority priority = cmwq::priority::normal) {
    cmwq::workqueue<> q{rt, {.name = "chain", .priority = priority}};
    const unsigned cpu = *rt.cpus().begin();
    std::atomic<int> done{0};
    for (int i = 0; i < depth; ++i) {
        q.post_on(cpu, [&, cpu] {
            std::binary_semaphore child{0};
            q.post_on(cpu, [&] { child.release(); });
            if (annotated) {
                const cmwq::blocking_region region{kind};
                child.acquire();
            } else {
                child.acquire();
            }
            ++done;
        });
    }
    q.drain();
    return done;
}

} // namespace

// proves: progress-2
TEST_CASE("blocking: the sentinel finds unannotated blocking items; without a sentinel the monitor finds them") {
    const bool sentinel = GENERATE(true, false);
    cmwq::runtime rt{{.sentinel = sentinel}};
    CHECK(chain_of_waiters(rt, 30, false) == 30);
    const cmwq::runtime_stats s = rt.stats();
    CHECK(s.blocks_by_guard == 0);
    if (sentinel) CHECK(s.blocks_by_sentinel + s.blocks_by_monitor > 0);
    else CHECK((s.blocks_by_sentinel == 0 && s.blocks_by_monitor > 0));
}

TEST_CASE("blocking: an annotated blocking item lets the next item start at once without a sentinel") {
    cmwq::runtime rt{{.sentinel = false}};
    CHECK(chain_of_waiters(rt, 30, true) == 30);
    CHECK(rt.stats().blocks_by_guard > 0);
}

// proves: progress-2
TEST_CASE("blocking: the next item starts while one blocks in the pools of high priority and of SCHED_FIFO") {
    const auto priority = GENERATE(cmwq::priority::high, cmwq::priority::fifo);
    const bool sentinel = GENERATE(true, false);
    const bool annotated = GENERATE(true, false);
    // Nothing but a noticed block starts the next item.
    cmwq::runtime rt{{.overdue_after = 0ns, .sentinel = sentinel}};
    CHECK(chain_of_waiters(rt, 30, annotated, cmwq::will_block, priority) == 30);
    CHECK(rt.stats().overdue == 0);
}

TEST_CASE("blocking: nested guards count as one; an inner will_block upgrades an outer may_block") {
    struct seen {
        int begins = 0, upgrades = 0, ends = 0;
        block_kind kind{};
    };
    class observer final : public cmwq::detail::blocking_observer {
    public:
        seen s;
        void begin_blocking(block_kind k) noexcept override { ++s.begins, s.kind = k; }
        void upgrade_blocking() noexcept override { ++s.upgrades; }
        void end_blocking() noexcept override { ++s.ends; }
    };
    const auto run = [](auto body) {
        observer o;
        cmwq::detail::this_thread_slots().observer = &o;
        body();
        cmwq::detail::this_thread_slots().observer = nullptr;
        CHECK(o.depth == 0);
        return o.s;
    };
    const auto outer = GENERATE(block_kind::may_block, block_kind::will_block);
    const auto inner = GENERATE(block_kind::may_block, block_kind::will_block);
    const seen plain = run([&] { const cmwq::blocking_region r{outer}; });
    CHECK((plain.begins == 1 && plain.ends == 1 && plain.upgrades == 0 && plain.kind == outer));
    const seen nested = run([&] {
        const cmwq::blocking_region a{outer};
        const cmwq::blocking_region b{inner};
        const cmwq::blocking_region c{inner};
    });
    const bool upgrade = outer == cmwq::may_block && inner == cmwq::will_block;
    CHECK((nested.begins == 1 && nested.ends == 1 && nested.kind == outer));
    CHECK(nested.upgrades == (upgrade ? 1 : 0));
    // Outside of a worker a region has no effect.
    const cmwq::blocking_region nobody{outer};
    CHECK(cmwq::blocking([] { return 7; }) == 7);
    int x = 0;
    CHECK(&cmwq::blocking(cmwq::may_block, [&]() -> int& { return x; }) == &x);
}

TEST_CASE("blocking: a may_block region counts as blocked after the threshold or at once if the threshold is zero") {
    const auto threshold = GENERATE(std::chrono::nanoseconds{0}, std::chrono::nanoseconds{2ms});
    cmwq::runtime rt{{.may_block_threshold = threshold, .sentinel = false}};
    CHECK(chain_of_waiters(rt, 10, true, cmwq::may_block) == 10);
    // With a threshold another thread counts the block, and not the beginning of the region.
    if (threshold == 0ns) CHECK(rt.stats().blocks_by_guard > 0);
}

TEST_CASE("blocking: one worker is runnable at a time while no item blocks and two threads suffice", "[timing]") {
    const cmwq_test::without_naps here; // a nap counts as a block
    const auto priority = GENERATE(cmwq::priority::normal, cmwq::priority::high, cmwq::priority::fifo);
    cmwq::runtime rt{{.overdue_after = 0ns}};
    cmwq::workqueue<> q{rt, {.name = "q", .priority = priority}};
    const unsigned cpu = *rt.cpus().begin();
    std::atomic<int> inside{0}, most{0};

    for (int i = 0; i < 2000; ++i) {
        q.post_on(cpu, [&] {
            const int n = ++inside;
            if (n > most) most = n;
            --inside;
        });
    }
    q.flush();
    // Sometimes a detector may consider a worker blocked that only waits for a lock. This leads to one additional spare
    // worker for one item, but not to many.
    CHECK(most <= 2);
    CHECK(rt.stats().threads <= 4);
}

TEST_CASE("blocking: a pool whose items stop blocking returns to one active worker", "[timing]") {
    const cmwq_test::without_naps they_are_blocks;
    const cmwq_test::without_clock_jumps they_look_like_blocks;
    cmwq::runtime rt;
    cmwq::workqueue<> q{rt, "q"};
    const unsigned cpu = *rt.cpus().begin();
    const auto& pool = cmwq_test::core_of(rt).pools().pool_at(0, cmwq::priority::normal);
    CHECK(chain_of_waiters(rt, 30, false) == 30);
    CHECK(pool.concurrency->limit() > 1);
    std::atomic<bool> stop{false};
    std::vector<std::unique_ptr<cmwq::work<std::function<void()>>>> stream; // never blocks and never ends
    for (int i = 0; i < 4; ++i) {
        stream.push_back(std::make_unique<cmwq::work<std::function<void()>>>([&, i] {
            const auto end = std::chrono::steady_clock::now() + 20us;
            while (std::chrono::steady_clock::now() < end) {}
            if (!stop) q.queue_on(cpu, *stream[static_cast<std::size_t>(i)]);
        }));
    }
    for (const auto& w : stream) q.queue_on(cpu, *w);
    CHECK(eventually([&] { return pool.concurrency->limit() == 1; }));
    stop = true;
    q.drain();
}

TEST_CASE("blocking: an item queued during a blocking_region starts even if the region ends before it is taken") {
    // An item in a blocking_region causes another worker to be woken for the next item. The item leaves the region
    // before that worker looks for work, so it counts as running again, and the other worker sleeps again. Then the
    // item blocks unannotated.
    cmwq::runtime rt;
    cmwq::workqueue<> q{rt, "q"};
    const unsigned cpu = *rt.cpus().begin();
    for (int round = 0; round < 200; ++round) {
        std::binary_semaphore inside{0}, child{0};
        std::atomic<bool> leave{false};
        q.post_on(cpu, [&] {
            {
                const cmwq::blocking_region region;
                inside.release();
                while (!leave) { // keeps the CPU from the other worker
                }
            }
            child.acquire();
        });
        inside.acquire();
        q.post_on(cpu, [&] { child.release(); });
        leave = true;
        q.flush(); // hangs if the child is lost
    }
}

TEST_CASE("blocking: items of a cpu_intensive queue do not hold up other items") {
    std::atomic<bool> stop{false};
    std::binary_semaphore started{0};
    cmwq::runtime rt{{.sentinel = false}};
    cmwq::workqueue<> hogs{rt, {.name = "hogs", .cpu_intensive = true}};
    cmwq::workqueue<> q{rt, "q"};
    const unsigned cpu = *rt.cpus().begin();
    hogs.post_on(cpu, [&] {
        started.release();
        while (!stop) std::this_thread::yield(); // computes, so no detector finds it blocked
    });
    started.acquire();
    cmwq::work w{[] {}};
    q.queue_on(cpu, w);
    w.flush();
    stop = true;
}

TEMPLATE_TEST_CASE("blocking: the time that an item waits for another one is not taken for blocking", "", cmwq::bound,
                   cmwq::elastic) {
    // From that time the pool would learn that it needs more workers than CPUs.
    cmwq::runtime rt;
    cmwq::workqueue<TestType> q{rt, "q"};
    cmwq::workqueue<cmwq::unbound> other{rt, "other"};
    std::atomic<std::int64_t> excluded{0}, slept{0};
    cmwq::work awaited{[&] {
        if (!eventually([&] { return cmwq_test::has(rt.dump(), "waits in flush()"); })) return;
        const auto began = std::chrono::steady_clock::now();
        const auto passed = [&] { return (std::chrono::steady_clock::now() - began) / 1ns; };
        if (eventually([&] { return passed() >= 5'000'000; })) slept = passed();
    }};
    cmwq::work waits{[&] {
        const auto time = [] { return cmwq::detail::own_run()->of_thread->excluded_time.load(cmwq::detail::relaxed); };
        other.queue(awaited);
        const std::int64_t before = time();
        awaited.flush();
        excluded = time() - before;
    }};
    q.queue(waits);
    waits.flush();
    CHECK(slept > 0);
    CHECK(excluded >= slept);
}

// proves: progress-16, kernel-33
TEST_CASE("blocking: a failure to make a thread is reported once and retried; the items run") {
    fake_threads threads;
    event_log events;
    cmwq::runtime rt{{.on_event = events.listener(), .threads = &threads}};
    cmwq::workqueue<> q{rt, "q"};
    const unsigned cpu = *rt.cpus().begin();
    std::atomic<int> runs{0};

    threads.refuse(); // also the first worker
    for (int i = 0; i < 5; ++i) q.post_on(cpu, [&] { ++runs; });
    CHECK(eventually([&] { return events.count(kind::no_thread) == 1; }));
    CHECK(events.last(kind::no_thread).error == EAGAIN);
    CHECK(events.count(kind::no_thread, "cannot make a thread") == 1);
    CHECK(runs == 0);
    threads.allow();
    CHECK(eventually([&] { return runs == 5; })); // the thread is made without another request

    // There are workers, but no new worker can be made: the last item waits behind blocked items until one can be made.
    threads.refuse();
    const int before = threads.refused();
    std::binary_semaphore go{0};
    for (int i = 0; i < 4; ++i) {
        q.post_on(cpu, [&] {
            go.acquire();
            ++runs;
            go.release();
        });
    }
    q.post_on(cpu, [&] { go.release(); });
    CHECK(eventually([&] { return threads.refused() > before; }));
    threads.allow();
    q.flush();
    CHECK(runs == 9);
    CHECK(cmwq_test::all_told(rt));
    CHECK(events.count(kind::no_thread) <= 1);
}

TEST_CASE("blocking: the constructor of a runtime throws if no service thread can be made") {
    fake_threads threads;
    threads.refuse();
    CHECK_THROWS_AS(cmwq::runtime({.threads = &threads}), std::system_error);
    threads.allow();
    cmwq::runtime rt{{.threads = &threads}};
    cmwq::workqueue<> q{rt, "q"};
    cmwq::work w{[] {}};
    q.queue(w);
    w.flush();
}
