// SPDX-License-Identifier: BSL-1.0
//
// More threads flush at once than there are colors, while other threads continue to queue items.
#include "catch.hpp"
#include "stress.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

using cmwq::queue_status;
using namespace std::chrono_literals;

TEST_CASE("stress: each of many flushes covers the items that its thread has queued before") {
    constexpr unsigned nr_flushers = 40, nr_producers = 2, own = 3;
    stress::complaints complaints;
    cmwq::runtime rt;
    cmwq::workqueue<> q{rt, {.name = "q", .max_active = 4}};
    const std::vector<unsigned> cpus{rt.cpus().begin(), rt.cpus().end()};
    const auto nr_cpus = static_cast<unsigned>(cpus.size());
    std::atomic<std::uint64_t> queued{0}, ran{0};
    std::atomic<unsigned> inside{0}, most{0};
    const stress::box box;
    stress::on_threads(nr_flushers + nr_producers, [&](unsigned t) {
        stress::random r(t);
        if (t >= nr_flushers) {
            std::atomic<unsigned> outstanding{0};
            while (box.open()) {
                if (outstanding > 50) { // without this limit only the producers would make progress
                    q.flush();
                    continue;
                }
                ++outstanding;
                ++queued;
                q.post_on(cpus[r.below(nr_cpus)], [&] {
                    stress::burn(200);
                    ++ran;
                    --outstanding;
                });
            }
            q.flush(); // the items that refer to `outstanding` have run
            return;
        }
        // Not atomic: flush() orders the runs before the reads of these variables.
        std::uint64_t runs[own] = {}, wanted[own] = {};
        const auto run = [&](unsigned i) {
            if (i == 0) stress::block_for(std::chrono::microseconds{50}); // keeps its color in use for a while
            ++runs[i];
            ++ran;
        };
        cmwq::work a{[&] { run(0); }};
        cmwq::work b{[&] { run(1); }};
        cmwq::work c{[&] { run(2); }};
        cmwq::work_base* const items[own] = {&a, &b, &c};
        while (box.open()) {
            const unsigned n = 1 + r.below(own);
            for (unsigned i = 0; i < n; ++i) {
                complaints.expect(q.queue_on(cpus[r.below(nr_cpus)], *items[i]) == queue_status::queued,
                                  "still pending after a flush");
                ++wanted[i];
                ++queued;
            }
            const unsigned now = ++inside;
            unsigned seen = most;
            while (seen < now && !most.compare_exchange_weak(seen, now)) {}
            q.flush();
            --inside;
            for (unsigned i = 0; i < own; ++i) {
                complaints.expect(runs[i] == wanted[i], "flush() returned before earlier items had run");
            }
        }
    });
    q.drain();
    CHECK(complaints.text() == "");
    CHECK(ran == queued);
    CHECK(most > 16); // at some time all colors were in use
}

TEST_CASE("stress: many threads flush one item while it is queued again and again") {
    stress::complaints complaints;
    cmwq::runtime rt;
    cmwq::workqueue<> q{rt, "q"};
    stress::exclusive exclusive(complaints);
    std::atomic<std::uint64_t> queued{0}, stamp{0}, seen{0};
    cmwq::work item{[&] {
        exclusive.run([&] {
            seen.store(stamp.load(std::memory_order_relaxed), std::memory_order_relaxed);
            stress::burn(300);
        });
    }};
    const stress::box box;
    stress::on_threads(20, [&](unsigned) {
        while (box.open()) {
            const std::uint64_t mine = stamp.fetch_add(1, std::memory_order_relaxed) + 1;
            if (q.queue(item) == queue_status::queued) ++queued;
            item.flush();
            complaints.expect(seen.load(std::memory_order_relaxed) >= mine, "flush() returned before the run");
        }
    });
    q.drain();
    CHECK(complaints.text() == "");
    CHECK(exclusive.finished() == queued);
    CHECK(exclusive.counted_plainly() == queued);
}
