// SPDX-License-Identifier: BSL-1.0
//
// runtime::set_thresholds(): the new values are in effect for what runs and waits already.
#include "any_queue.hpp"
#include "catch.hpp"
#include "core_of.hpp"
#include "event_log.hpp"
#include "eventually.hpp"
#include "fake_threads.hpp"
#include "gate.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <chrono>
#include <semaphore>
#include <stdexcept>

using namespace cmwq_test;
using namespace std::chrono_literals;
using kind = cmwq::event::kind;

TEST_CASE("thresholds: at first they are those of the options, and then those that were set") {
    cmwq::runtime rt{{.may_block_threshold = 2ms,
                      .cpu_hog_threshold = 3ms,
                      .cpu_hog_warning_threshold = 4,
                      .overdue_after = 5ms,
                      .watchdog = 6s}};
    cmwq::runtime_thresholds t = rt.thresholds();
    CHECK(t.may_block_threshold == 2ms);
    CHECK(t.cpu_hog_threshold == 3ms);
    CHECK(t.cpu_hog_warning_threshold == 4);
    CHECK(t.overdue_after == 5ms);
    CHECK(t.watchdog == 6s);
    t = {.may_block_threshold = 1us,
         .cpu_hog_threshold = 2us,
         .cpu_hog_warning_threshold = 3,
         .overdue_after = 4us,
         .watchdog = 5us};
    rt.set_thresholds(t);
    CHECK(rt.thresholds().may_block_threshold == 1us);
    CHECK(rt.thresholds().cpu_hog_threshold == 2us);
    CHECK(rt.thresholds().cpu_hog_warning_threshold == 3);
    CHECK(rt.thresholds().overdue_after == 4us);
    CHECK(rt.thresholds().watchdog == 5us);
    for (const auto time :
         {&cmwq::runtime_thresholds::may_block_threshold, &cmwq::runtime_thresholds::cpu_hog_threshold,
          &cmwq::runtime_thresholds::overdue_after, &cmwq::runtime_thresholds::watchdog}) {
        cmwq::runtime_thresholds wrong{};
        wrong.*time = -1ns;
        CHECK_THROWS_AS(rt.set_thresholds(wrong), std::invalid_argument);
    }
    CHECK(rt.thresholds().watchdog == 5us);
    const cmwq::runtime_thresholds defaults{};
    CHECK(cmwq::runtime{}.thresholds().watchdog == defaults.watchdog);
    CHECK(cmwq::runtime{}.thresholds().may_block_threshold == defaults.may_block_threshold);
    CHECK(cmwq::runtime{}.thresholds().cpu_hog_threshold == defaults.cpu_hog_threshold);
    CHECK(cmwq::runtime{}.thresholds().cpu_hog_warning_threshold == defaults.cpu_hog_warning_threshold);
    CHECK(cmwq::runtime{}.thresholds().overdue_after == defaults.overdue_after);
}

TEST_CASE("thresholds: a watchdog that is set finds a pool that has stalled, and a queue that is full, before") {
    event_log heard;
    fake_threads threads;
    cmwq::runtime stalls{{.watchdog = 0s, .on_event = heard.listener(), .threads = &threads}};
    cmwq::workqueue<cmwq::unbound> forlorn{stalls, "forlorn"};
    threads.refuse();
    forlorn.post([] {});
    cmwq::runtime fills{{.watchdog = 0s, .on_event = heard.listener()}};
    cmwq::workqueue<cmwq::elastic> full{fills, {.name = "full", .max_active = 1}};
    gate held;
    held.hold(full);
    full.post([] {});
    REQUIRE(eventually([&] { return full.stats().inactive == 1; }));
    for (cmwq::runtime* const rt : {&stalls, &fills}) rt->set_thresholds({.watchdog = 30ms});
    CHECK(eventually([&] { return heard.count(kind::stalled) != 0 && heard.count(kind::saturated) == 1; }));
    threads.allow();
    held.open();
    forlorn.flush();
    full.flush();
}

TEST_CASE("thresholds: without a watchdog full queues are not checked, and are again when it is set") {
    cmwq::runtime rt{{.watchdog = 100h}};
    cmwq::workqueue<cmwq::elastic> full{rt, {.name = "full", .max_active = 1}};
    gate held;
    held.hold(full);
    full.post([] {});
    const auto due = [&] { return core_of(rt).env().diagnosis.backlogs_due(); };
    REQUIRE(eventually([&] { return full.stats().inactive == 1; }));
    const std::int64_t first = due();
    CHECK(first != 0);
    rt.set_thresholds({.watchdog = 0s});
    CHECK(due() == 0);
    rt.set_thresholds({.watchdog = 1h});
    CHECK(due() != 0);
    CHECK(due() < first);
    held.open();
    full.flush();
}

TEST_CASE("thresholds: an item that computes becomes a hog when the threshold is set, and is reported when that says") {
    event_log heard;
    cmwq::runtime rt{{.cpu_hog_threshold = 0s, .cpu_hog_warning_threshold = 0, .on_event = heard.listener()}};
    cmwq::workqueue<> q{rt, "q"};
    std::atomic<bool> stop{false};
    std::atomic<int> ran{0};
    const unsigned cpu = first_cpu();
    q.post_on(cpu, [&] {
        while (!stop) {}
    });
    rt.set_thresholds({.cpu_hog_threshold = 1ms, .cpu_hog_warning_threshold = 1, .overdue_after = 0s});
    q.post_on(cpu, [&] { ++ran; });
    CHECK(eventually([&] { return ran == 1; }));
    CHECK(eventually([&] { return heard.count(kind::cpu_hog) == 1; }));
    stop = true;
    q.flush();
}

TEST_CASE("thresholds: a region that may block counts as blocked when the threshold is lowered") {
    cmwq::runtime rt{{.may_block_threshold = 1h, .overdue_after = 0s, .sentinel = false}};
    cmwq::workqueue<> q{rt, "q"};
    std::atomic<bool> stop{false}, entered{false};
    std::atomic<int> ran{0};
    const unsigned cpu = first_cpu();
    q.post_on(cpu, [&] {
        const cmwq::blocking_region region{cmwq::may_block};
        entered = true;
        while (!stop) {} // no detector finds it blocked
    });
    REQUIRE(eventually([&] { return entered.load(); }));
    q.post_on(cpu, [&] { ++ran; });
    rt.set_thresholds({.may_block_threshold = 1ns, .cpu_hog_threshold = 0s, .overdue_after = 0s});
    CHECK(eventually([&] { return ran == 1; }));
    stop = true;
    q.flush();
}

TEST_CASE("thresholds: an overdue item starts when the threshold is set") {
    cmwq::runtime rt{{.cpu_hog_threshold = 0s, .overdue_after = 0s}};
    cmwq::workqueue<> q{rt, "q"};
    std::atomic<bool> stop{false};
    std::atomic<int> ran{0};
    const unsigned cpu = first_cpu();
    q.post_on(cpu, [&] {
        while (!stop) {}
    });
    q.post_on(cpu, [&] { ++ran; });
    rt.set_thresholds({.cpu_hog_threshold = 0s, .overdue_after = 1ms});
    CHECK(eventually([&] { return ran == 1; }));
    stop = true;
    q.flush();
}
