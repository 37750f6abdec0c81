// SPDX-License-Identifier: BSL-1.0
//
// Many items block, annotated or not: all of them finish, and the threads that they needed end.
#include "catch.hpp"
#include "eventually.hpp"
#include "policy_list.hpp"
#include "stress.hpp"

#include <cmwq/cmwq.hpp>
#include <cmwq/testing/manual_clock.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <optional>
#include <semaphore>
#include <vector>

using cmwq::block_kind;
using cmwq::queue_status;
using cmwq_test::eventually;
using namespace std::chrono_literals;

namespace {

/// Blocks once, inside up to three regions of random kinds, or none.
template <class F>
void block_somehow(stress::random& r, F&& f) {
    const auto kind = [&] { return r.one_in(2) ? block_kind::may_block : block_kind::will_block; };
    switch (r.below(5)) {
    case 0:
    case 1: f(); break; // not announced: the sentinel or the monitor must notice it
    case 2: cmwq::blocking(kind(), f); break;
    case 3: {
        const cmwq::blocking_region outer{kind()};
        if (r.one_in(2)) f();
        const cmwq::blocking_region inner{kind()};
        f();
        break;
    }
    case 4: cmwq::blocking(kind(), [&] { cmwq::blocking(kind(), [&] { cmwq::blocking(kind(), f); }); }); break;
    }
}

void storm(bool sentinel) {
    cmwq::testing::manual_clock clock;
    cmwq::runtime rt{{.idle_timeout = 10s, .may_block_threshold = 200us, .sentinel = sentinel, .clock = &clock}};
    const std::vector<unsigned> cpus{rt.cpus().begin(), rt.cpus().end()};
    const auto nr_cpus = static_cast<unsigned>(cpus.size());
    std::atomic<std::uint64_t> queued{0}, ran{0}, stream{100};
    cmwq::workqueue<> q{rt, "q"}, intensive{rt, {.name = "intensive", .cpu_intensive = true}};
    stress::box box(150);
    stress::random r(1);
    const auto count = [&](queue_status s) {
        if (s == queue_status::queued) ++queued;
    };
    while (box.open()) {
        // Pairs: one item waits for the other item, which is queued later on the same CPU, in the same queue.
        const unsigned pairs = 1 + r.below(20);
        std::vector<std::optional<std::binary_semaphore>> done(pairs);
        for (auto& d : done) d.emplace(0);
        cmwq::workqueue<>& both = r.one_in(4) ? intensive : q;
        const unsigned cpu = cpus[r.below(nr_cpus)];
        for (unsigned i = 0; i < pairs; ++i) {
            count(both.post_on(cpu, [&, i] {
                stress::random mine(++stream);
                block_somehow(mine, [&, first = true]() mutable {
                    if (first) done[i]->acquire();
                    first = false;
                });
                ++ran;
            }));
        }
        for (unsigned i = 0; i < pairs; ++i) {
            count(both.post_on(cpu, [&, i] {
                done[i]->release();
                ++ran;
            }));
        }
        // Other items, on all CPUs, sleep for a while.
        const unsigned sleepers = r.below(30);
        for (unsigned i = 0; i < sleepers; ++i) {
            count(q.post_on(cpus[r.below(nr_cpus)], [&] {
                stress::random mine(++stream);
                stress::burn(mine.below(2000));
                block_somehow(mine, [&] { stress::block_for(std::chrono::microseconds{mine.below(400)}); });
                stress::burn(mine.below(2000));
                ++ran;
            }));
        }
        both.flush();
        if (r.one_in(2)) q.flush();
    }
    q.drain();
    intensive.drain();
    CHECK(ran == queued);
    CHECK(queued > 0);

    const cmwq::runtime_stats busy = rt.stats();
    CHECK(busy.items_completed == queued);
    CHECK(busy.blocks_by_guard + busy.blocks_by_sentinel + busy.blocks_by_monitor > 0);
    if (!sentinel) CHECK(busy.blocks_by_sentinel == 0);
    // A worker that has just become idle ends after the next step of the clock.
    CHECK(eventually([&] {
        clock.advance(10s);
        return rt.stats().threads <= 3 * nr_cpus;
    }));
    CHECK(rt.stats().threads >= 2);
    // The pools still run items.
    count(q.post([&] { ++ran; }));
    q.flush();
    CHECK(ran == queued);
}

} // namespace

TEST_CASE("stress: the sentinel replaces items that block") { storm(true); }

TEST_CASE("stress: the monitor alone replaces items that block") { storm(false); }

// proves: kernel-32
TEST_CASE("stress: workers come and go with an idle timeout of zero") {
    const std::ptrdiff_t before = cmwq_test::nr_tasks();
    std::atomic<std::uint64_t> queued{0}, ran{0};
    {
        cmwq::runtime rt{{.idle_timeout = 0ns}};
        cmwq::workqueue<> q{rt, "q"};
        stress::box box(3000);
        stress::on_threads(2, [&](unsigned t) {
            stress::random r(200 + t);
            while (box.open()) {
                const unsigned n = 1 + r.below(12);
                for (unsigned i = 0; i < n; ++i) {
                    const bool announced = r.one_in(2);
                    if (q.post([&ran, announced] {
                            std::optional<cmwq::blocking_region> region;
                            if (announced) region.emplace();
                            stress::block_for(30us);
                            ++ran;
                        }) == queue_status::queued) {
                        ++queued;
                    }
                }
                if (r.one_in(2)) q.flush();
            }
        });
        q.drain();
        CHECK(ran == queued);
        CHECK(eventually([&] { return rt.stats().threads <= 3 * rt.cpus().size(); }));
    }
    CHECK(eventually([&] { return cmwq_test::nr_tasks() == before; }));
}

// The first item waits for the second, on every kind of pool. The second may be queued at any moment while a worker is
// on its way to the first. An error would make one round in many thousands hang, so all rounds share one long run.
// proves: progress-5
TEMPLATE_LIST_TEST_CASE("stress: an item waits for an item that is queued behind it a moment later", "",
                        cmwq_test::threaded_policies) {
    cmwq::runtime rt;
    cmwq::workqueue<TestType> q{rt, "q"}, other{rt, "other"};
    cmwq::workqueue<TestType>& second = TestType::fifo ? other : q; // two ordered queues share a pool
    std::counting_semaphore<> gate{0}, ended{0};
    stress::random r(1);
    std::uint64_t rounds = 0;
    bool stands_still = false;
    for (stress::box box(10'000); box.open() && !stands_still; ++rounds) {
        q.post([&] {
            gate.acquire();
            ended.release();
        });
        const auto pause = std::chrono::steady_clock::now() + std::chrono::nanoseconds{r.below(30'000)};
        while (std::chrono::steady_clock::now() < pause) {}
        second.post([&] { gate.release(); });
        stands_still = !ended.try_acquire_for(120s);
        if (!stands_still) continue;
        cmwq::work look{[] {}};
        second.queue(look);
        look.cancel(); // makes the pool look for an item that it has missed
        ended.acquire();
    }
    std::printf("%llu rounds\n", static_cast<unsigned long long>(rounds));
    CHECK_FALSE(stands_still);
    q.flush();
    other.flush();
}
