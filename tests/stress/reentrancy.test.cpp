// SPDX-License-Identifier: BSL-1.0
//
// Threads queue one item on all CPUs and on two queues at once: it never runs twice at a time, and every accepted
// queueing leads to a run.
#include "catch.hpp"
#include "stress.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <chrono>
#include <vector>

using cmwq::queue_status;
using namespace std::chrono_literals;

namespace {

void check_exclusive(unsigned burn_rounds, unsigned block_one_in) {
    stress::complaints complaints;
    cmwq::runtime rt;
    const std::vector<unsigned> cpus{rt.cpus().begin(), rt.cpus().end()};
    const auto nr_cpus = static_cast<unsigned>(cpus.size());
    cmwq::workqueue<> first{rt, "first"}, second{rt, {.name = "second", .max_active = 1}};
    stress::exclusive exclusive(complaints);
    stress::random dice(1);
    std::atomic<std::uint64_t> queued{0}, pending_already{0};
    cmwq::work item{[&] {
        exclusive.run([&] {
            stress::burn(burn_rounds);
            if (dice.one_in(block_one_in)) stress::block_for(50us);
        });
    }};
    const stress::box box;
    stress::on_threads(3, [&](unsigned t) {
        stress::random r(10 + t);
        while (box.open()) {
            for (int i = 0; i < 64; ++i) {
                const unsigned cpu = cpus[r.below(nr_cpus)];
                const queue_status s = (r.one_in(2) ? first : second).queue_on(cpu, item);
                if (s == queue_status::queued) ++queued;
                else ++pending_already;
                complaints.expect(s == queue_status::queued || s == queue_status::already_pending, "refused");
                if (r.one_in(8)) stress::burn(r.below(3000)); // so that the next call queues a running item
            }
        }
    });
    first.drain();
    second.drain();
    CHECK(complaints.text() == "");
    CHECK(exclusive.finished() == queued);
    CHECK(exclusive.counted_plainly() == queued);
    CHECK(queued > 0);
    CHECK(pending_already > 0);
}

} // namespace

TEST_CASE("stress: an item with short runs is queued on all CPUs while it runs") { check_exclusive(100, 1000); }

TEST_CASE("stress: an item with long runs that block is queued on all CPUs while it runs") { check_exclusive(5000, 4); }

TEST_CASE("stress: an item that queues itself on another CPU moves there only after its run") {
    stress::complaints complaints;
    cmwq::runtime rt;
    const std::vector<unsigned> cpus{rt.cpus().begin(), rt.cpus().end()};
    cmwq::workqueue<> q{rt, "q"};
    stress::exclusive exclusive(complaints);
    stress::random dice(2);
    std::atomic<std::uint64_t> queued{0};
    const stress::box box;
    cmwq::work_base* self = nullptr;
    cmwq::work item{[&] {
        exclusive.run([&] {
            if (!box.open()) return;
            const unsigned cpu = cpus[dice.below(static_cast<unsigned>(cpus.size()))];
            if (q.queue_on(cpu, *self) == queue_status::queued) ++queued;
            stress::burn(dice.below(2000));
        });
    }};
    self = &item;
    if (q.queue(item) == queue_status::queued) ++queued;
    // The item is pending most of the time, so the claims of these two threads mostly fail. When a claim succeeds, two
    // instances race.
    stress::on_threads(2, [&](unsigned t) {
        stress::random r(20 + t);
        while (box.open()) {
            if (q.queue_on(cpus[r.below(static_cast<unsigned>(cpus.size()))], item) == queue_status::queued) ++queued;
            stress::burn(r.below(500));
        }
    });
    q.drain();
    CHECK(complaints.text() == "");
    CHECK(exclusive.finished() == queued);
    CHECK(exclusive.counted_plainly() == queued);
    CHECK(queued > 0);
}
