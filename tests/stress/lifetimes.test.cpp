// SPDX-License-Identifier: BSL-1.0
//
// Queues, items and runtimes that come and go under load.
#include "catch.hpp"
#include "eventually.hpp"
#include "stress.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

using cmwq::queue_status;
using cmwq_test::eventually;
using namespace std::chrono_literals;

TEST_CASE("stress: short-lived runtimes leave no thread and no item behind") {
    const std::ptrdiff_t before = cmwq_test::nr_tasks();
    std::atomic<std::uint64_t> queued{0}, ran{0}, runtimes{0};
    const stress::box box;
    stress::on_threads(2, [&](unsigned t) {
        stress::random r(t);
        while (box.open()) {
            cmwq::runtime rt{{.idle_timeout = std::chrono::microseconds{r.below(2000)}, .sentinel = !r.one_in(4)}};
            ++runtimes;
            if (r.one_in(8)) continue; // never used
            cmwq::delayed_work timed{[&] { ++ran; }};
            cmwq::workqueue<> q{rt,
                                {.name = "q", .priority = r.one_in(8) ? cmwq::priority::high : cmwq::priority::normal}};
            if (q.queue_after(std::chrono::microseconds{r.below(3000)}, timed) == queue_status::queued) ++queued;
            const unsigned n = r.below(50);
            for (unsigned i = 0; i < n; ++i) {
                const bool blocks = r.one_in(8);
                const queue_status s = q.post([&ran, blocks] {
                    if (blocks) stress::block_for(100us);
                    ++ran;
                });
                if (s == queue_status::queued) ++queued;
            }
            if (r.one_in(2)) q.flush();
        } // destroys the queue, then the item, then the runtime
    });
    CHECK(ran == queued);
    CHECK(runtimes > 0);
    // A joined thread may stay in the list for a moment.
    CHECK(eventually([&] { return cmwq_test::nr_tasks() == before; }));
}

TEST_CASE("stress: queues come and go on a busy runtime") {
    const std::ptrdiff_t before = cmwq_test::nr_tasks();
    std::atomic<std::uint64_t> queued{0}, ran{0};
    {
        cmwq::runtime rt;
        const std::vector<unsigned> cpus{rt.cpus().begin(), rt.cpus().end()};
        const stress::box box;
        stress::on_threads(4, [&](unsigned t) {
            stress::random r(10 + t);
            while (box.open()) {
                const auto q = std::make_unique<cmwq::workqueue<>>(
                    rt, cmwq::options<>{.name = "q", .max_active = 1 + r.below(4), .cpu_intensive = r.one_in(2)});
                const unsigned n = r.below(40);
                for (unsigned i = 0; i < n; ++i) {
                    const unsigned rounds = r.below(2000);
                    if (q->post_on(cpus[r.below(static_cast<unsigned>(cpus.size()))], [&ran, rounds] {
                            stress::burn(rounds);
                            ++ran;
                        }) == queue_status::queued) {
                        ++queued;
                    }
                }
            }
        });
    }
    CHECK(ran == queued);
    CHECK(queued > 0);
    CHECK(eventually([&] { return cmwq_test::nr_tasks() == before; }));
}

TEST_CASE("stress: items are destroyed at any moment") {
    stress::complaints complaints;
    cmwq::runtime rt;
    cmwq::workqueue<> q{rt, {.name = "q", .max_active = 2}};
    const std::vector<unsigned> cpus{rt.cpus().begin(), rt.cpus().end()};
    std::atomic<std::uint64_t> queued{0}, entered{0}, left{0}, destroyed_pending{0};
    const stress::box box;
    stress::on_threads(3, [&](unsigned t) {
        stress::random r(20 + t);
        while (box.open()) {
            bool alive = true; // not atomic: the destructor waits for the run that reads it
            {
                const unsigned rounds = r.below(3000);
                cmwq::delayed_work item{[&] {
                    ++entered;
                    complaints.expect(alive, "an item runs after its destructor");
                    stress::burn(rounds);
                    complaints.expect(alive, "an item is destroyed while it runs");
                    ++left;
                }};
                const unsigned cpu = cpus[r.below(static_cast<unsigned>(cpus.size()))];
                const queue_status s = r.one_in(3) ? q.queue_after_on(cpu, std::chrono::microseconds{r.below(50)}, item)
                                                   : q.queue_on(cpu, item);
                if (s == queue_status::queued) ++queued;
                stress::burn(r.below(4000));
                if (r.one_in(4) && item.cancel()) ++destroyed_pending;
                if (r.one_in(4)) item.flush();
            }
            alive = false;
        }
    });
    q.drain();
    CHECK(complaints.text() == "");
    CHECK(entered == left);
    CHECK(entered + destroyed_pending <= queued); // the destructor does not report a cancelled run
    CHECK(q.stats().started == entered);
    CHECK(q.stats().completed == left);
}
