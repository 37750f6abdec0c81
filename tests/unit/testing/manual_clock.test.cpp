// SPDX-License-Identifier: BSL-1.0
#include <cmwq/testing/manual_clock.hpp>

#include <cmwq/testing/manual_clock.hpp> // a second time: tests the include guard

#include <cmwq/runtime.hpp>

#include "catch.hpp"
#include "eventually.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using cmwq::testing::manual_clock;
using cmwq_test::eventually;

namespace {

struct recorder : cmwq::clock_listener {
    explicit recorder(const manual_clock& c) : clock(c) {}
    void time_passed() noexcept override { seen.push_back(clock.now()); }
    const manual_clock& clock;
    std::vector<std::int64_t> seen;
};

} // namespace

TEST_CASE("manual_clock: the time stands still until advance() and is never zero") {
    manual_clock clock;
    const std::int64_t begin = clock.now();
    CHECK(begin != 0); // zero means "never" in the engine
    CHECK(clock.now() == begin);
    clock.advance(5ms);
    clock.advance(1ns);
    CHECK(clock.now() == begin + 5'000'001);
}

TEST_CASE("manual_clock: the time ends, and the last timers fire before that") {
    manual_clock clock;
    cmwq::runtime rt{{.clock = &clock}};
    cmwq::workqueue<> q{rt, "q"};
    std::atomic<int> runs{0};
    cmwq::delayed_work item{[&] { ++runs; }};
    q.queue_after(1h, item);
    for (int i = 0; i < 2; ++i) {
        clock.advance(std::chrono::nanoseconds::max());
        CHECK(clock.now() == INT64_MAX);
    }
    q.flush();
    CHECK(runs == 1);
}

TEST_CASE("manual_clock: listeners are called at every change with the new time until they are detached") {
    manual_clock clock;
    const std::int64_t begin = clock.now();
    recorder a(clock), b(clock);
    clock.attach(a);
    clock.advance(1ms);
    clock.attach(b);
    clock.advance(1ms);
    clock.detach(a);
    clock.advance(0ns);
    clock.detach(b);
    clock.advance(1h);
    CHECK(a.seen == std::vector<std::int64_t>{begin + 1'000'000, begin + 2'000'000});
    CHECK(b.seen == std::vector<std::int64_t>{begin + 2'000'000, begin + 2'000'000});
}

TEST_CASE("manual_clock: a timer fires when the clock reaches its deadline and not before") {
    manual_clock clock;
    cmwq::runtime rt{{.clock = &clock}};
    cmwq::workqueue<> q{rt, "q"};
    std::atomic<int> runs{0};
    cmwq::delayed_work item{[&] { ++runs; }};
    REQUIRE(q.queue_after(10ms, item) == cmwq::queue_status::queued);
    clock.advance(9'999'999ns);
    q.flush(); // if it had been queued, it would have run
    CHECK(item.pending());
    CHECK(runs == 0);
    clock.advance(1ns);
    q.flush();
    CHECK(runs == 1);
    CHECK_FALSE(item.pending());
}

TEST_CASE("manual_clock: one step fires all due timers in the order of deadline and then of arming") {
    manual_clock clock;
    cmwq::runtime rt{{.clock = &clock}};
    const unsigned cpu = *rt.cpus().begin();
    cmwq::workqueue<> q{rt, {.name = "q", .max_active = 1}};
    std::vector<int> order; // items run one at a time, and flush() orders the test after them
    cmwq::delayed_work a{[&] { order.push_back(1); }};
    cmwq::delayed_work b{[&] { order.push_back(2); }};
    cmwq::delayed_work c{[&] { order.push_back(3); }};
    cmwq::delayed_work late{[&] { order.push_back(4); }};
    q.queue_after_on(cpu, 20ms, c);
    q.queue_after_on(cpu, 10ms, a);
    q.queue_after_on(cpu, 10ms, b);
    q.queue_after_on(cpu, 1h, late);
    clock.advance(30min);
    q.flush();
    CHECK(order == std::vector<int>{1, 2, 3});
    CHECK(late.cancel());
}

TEST_CASE("manual_clock: idle workers beyond the baseline end in a step of the clock") {
    manual_clock clock;
    cmwq::runtime rt{{.idle_timeout = 10s, .clock = &clock}};
    const unsigned cpu = *rt.cpus().begin();
    std::atomic<int> inside{0};
    std::atomic<bool> go{false};
    cmwq::workqueue<> q{rt, "q"};
    for (int i = 0; i < 8; ++i) {
        q.post_on(cpu, [&] {
            const cmwq::blocking_region region;
            ++inside;
            go.wait(false);
        });
    }
    REQUIRE(eventually([&] { return inside == 8; }));
    CHECK(rt.stats().threads >= 8);
    go = true;
    go.notify_all();
    q.flush();
    const unsigned most = rt.stats().peak_threads;
    clock.advance(9s); // no worker has been idle for 10 s
    CHECK(rt.stats().threads == most);
    CHECK(eventually([&] {
        clock.advance(10s);
        return rt.stats().threads <= 3;
    }));
    CHECK(rt.stats().threads >= 2);
    CHECK(rt.stats().peak_threads == most);
}
