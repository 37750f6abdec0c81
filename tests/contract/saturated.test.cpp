// SPDX-License-Identifier: BSL-1.0
//
// Reports of a queue whose items wait: for a slot of the limit, behind another item of an ordered queue, or for thaw().
#include "any_queue.hpp"
#include "catch.hpp"
#include "core_of.hpp"
#include "event_log.hpp"
#include "eventually.hpp"
#include "gate.hpp"
#include "nanoseconds.hpp"
#include "policy_list.hpp"
#include "policy_test_case.hpp"
#include "simulated.hpp"

#include <cmwq/cmwq.hpp>
#include <cmwq/detail/sync/clock.hpp>

#include <atomic>
#include <chrono>
#include <semaphore>
#include <utility>
#include <vector>

using namespace cmwq_test;
using namespace std::chrono_literals;

namespace {

using kind = cmwq::event::kind;
using cmwq::detail::backlog_state;

/// What a check of the only queue of a runtime without a watchdog finds, if anything has asked for it.
backlog_state look_at_queue(const cmwq::runtime& rt) {
    backlog_state found = backlog_state::none;
    std::vector<cmwq::detail::seen_run> runs;
    core_of(rt).queues().for_each(
        [&](cmwq::detail::queue_core& q) { found = q.sample_backlog(runs, cmwq::detail::steady_now() + 60 * second); });
    return found;
}

} // namespace

// proves: progress-28, kernel-15
TEST_CASE("saturated: a queue whose items are all blocked at its limit is named once") {
    event_log heard;
    cmwq::runtime rt{{.watchdog = 60ms, .on_event = heard.listener()}};
    std::counting_semaphore<> leave{0};
    std::atomic<int> done{0};
    cmwq::workqueue<cmwq::unbound> q{rt, {.name = "crowded", .max_active = 2, .min_active = 1}};
    for (int i = 0; i < 5; ++i) {
        q.post([&] {
            leave.acquire();
            ++done;
        });
    }
    REQUIRE(eventually([&] { return heard.count(kind::saturated) != 0; }));
    CHECK_THAT(heard.first(kind::saturated).message,
               Catch::Matches(".*\"crowded\" is at its limit, max_active 2: for [0-9.]+ s all of its items .*") &&
                   Catch::Contains("3 wait behind them, one of them is ") && Catch::Contains("; set_max_active()") &&
                   !Catch::Contains("NUMA"));
    leave.release(5);
    q.flush();
    CHECK(done == 5);
    CHECK(heard.count(kind::saturated) == 1);
}

TEST_CASE("saturated: the report of a queue whose limit is divided among nodes says so") {
    event_log heard;
    cmwq::runtime_options o = two_nodes();
    o.watchdog = 60ms;
    o.on_event = heard.listener();
    cmwq::runtime rt{std::move(o)};
    std::counting_semaphore<> leave{0};
    cmwq::workqueue<cmwq::elastic> q{rt, {.name = "divided", .max_active = 20}};
    for (int i = 0; i < 20; ++i) q.post_on(*rt.cpus().begin(), [&] { leave.acquire(); });
    REQUIRE(eventually([&] { return heard.count(kind::saturated) != 0; }));
    CHECK_THAT(heard.first(kind::saturated).message,
               Catch::Contains("max_active 20, of which each NUMA node has a share") &&
                   Catch::Contains("set_min_active()"));
    leave.release(20);
    q.flush();
}

TEST_CASE("saturated: an item behind a long one of its ordered queue makes the queue saturated but no pool stalled",
          "[timing]") {
    event_log heard;
    cmwq::runtime rt{{.watchdog = 30ms, .on_event = heard.listener()}};
    cmwq::workqueue<cmwq::ordered> q{rt, "one by one"};
    gate waits;
    waits.hold(q);
    cmwq::work behind{[] {}};
    q.queue(behind);
    REQUIRE(eventually([&] { return heard.count(kind::saturated) != 0; }));
    CHECK_THAT(heard.first(kind::saturated).message,
               Catch::Contains("\"one by one\", which runs one item at a time") && !Catch::Contains("set_max_active"));
    CHECK(heard.count(kind::stalled) == 0);
    waits.open();
    behind.flush();
}

TEST_CASE("saturated: stall_report() has no item that only waits for its ordered queue, but the queue") {
    cmwq::runtime rt{{.watchdog = 30ms, .on_event = [](const cmwq::event&) {}}};
    cmwq::workqueue<cmwq::ordered> q{rt, "one by one"};
    std::binary_semaphore entered{0}, leave{0};
    q.post([&] {
        entered.release();
        leave.acquire();
    });
    entered.acquire();
    q.post([] {}); // it may stay in the inbox until the first one has ended
    CHECK(eventually([&] { return !rt.stall_report(10ms).empty(); }));
    CHECK_THAT(rt.stall_report(0s),
               Catch::StartsWith("cmwq: queue \"one by one\"") && !Catch::Contains("nothing has been started"));
    leave.release();
    q.flush();
    CHECK(rt.stall_report(0s).empty());
}

POLICY_TEST_CASE("saturated: stall_report() says that a freeze keeps items back, and for how long", "",
                 threaded_policies) {
    cmwq::runtime rt;
    any_queue q{policy, rt, {.name = "icy", .freezable = true}}, other{policy, rt, "other"};
    {
        const cmwq::freeze_guard frozen(rt);
        CHECK(rt.stall_report(0s).empty());
        q.post([] {});
        q.post([] {});
        REQUIRE(eventually([&] { return !rt.stall_report(30ms).empty(); }));
        CHECK_THAT(rt.stall_report(30ms),
                   Catch::Matches("cmwq: queue \"icy\" is frozen: 2 items wait for thaw\\(\\), up to [0-9.]+ s\n"));
        other.post([] {});
        other.flush();
        CHECK_THAT(rt.stall_report(0s), Catch::StartsWith("cmwq: queue \"icy\""));
        CHECK(rt.stall_report(10h).empty());
    }
    q.flush();
    CHECK(rt.stall_report(0s).empty());
}

// proves: kernel-15
POLICY_TEST_CASE("saturated: a queue that stands still is found after a freeze that hid it", "", threaded_policies) {
    cmwq::runtime rt{{.watchdog = 0s}};
    any_options o = at_most(policy, 1, "icy");
    o.freezable = true;
    any_queue q{policy, rt, std::move(o)};
    cmwq::work behind{[] {}};
    gate held;
    held.hold(q);
    q.queue_on(first_cpu(), behind);
    CHECK(eventually([&] { return look_at_queue(rt) == backlog_state::may_stand_still; })); // when it is accepted
    rt.freeze();
    CHECK(look_at_queue(rt) == backlog_state::progresses);
    rt.thaw();
    CHECK(look_at_queue(rt) == backlog_state::may_stand_still);
    held.open();
    behind.flush();
    CHECK(look_at_queue(rt) == backlog_state::none);
}

POLICY_TEST_CASE("saturated: a queue stands still with an item of the pool that it had before apply()", "",
                 keyed_policies) {
    cmwq::runtime rt{{.watchdog = 0s}};
    any_queue q{policy, rt, at_most(policy, 1, "moved")};
    cmwq::work behind{[] {}};
    gate held;
    held.hold(q);
    q.apply(cmwq::attrs{}.nice(3));
    q.queue(behind);
    CHECK(eventually([&] { return look_at_queue(rt) == backlog_state::may_stand_still; }));
    held.open();
    behind.flush();
    CHECK(look_at_queue(rt) == backlog_state::none);
}
