// SPDX-License-Identifier: BSL-1.0
//
// The fault backend itself: it injects the configured faults, and the same ones for the same seed.
#include <fault/fault.hpp>

#include <fault/fault.hpp> // a second time: tests the include guard

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/futex.hpp>
#include <cmwq/detail/sync/mutex.hpp>
#include <cmwq/detail/sync/parker.hpp>
#include <cmwq/detail/sync/thread.hpp>

#include "catch.hpp"
#include "eventually.hpp"
#include "seed.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace fault = cmwq::detail::fault;
using cmwq::detail::steady_now;

TEST_CASE("fault backend: the test knows the name of its backend") {
    CHECK(cmwq_test::backend() == std::string{"fault"});
}

TEST_CASE("fault backend: a thread draws the same random numbers for the same seed and others for another seed") {
    const auto throws_of = [](std::uint64_t seed) {
        fault::configure({.seed = seed});
        std::vector<std::uint64_t> seen;
        for (int i = 0; i < 100; ++i) seen.push_back(fault::below(1000));
        return seen;
    };
    const auto first = throws_of(cmwq_test::seed());
    CHECK(throws_of(cmwq_test::seed()) == first);
    CHECK(throws_of(cmwq_test::seed() + 1) != first);
    std::vector<std::uint64_t> elsewhere;
    fault::configure({.seed = cmwq_test::seed()});
    fault::below(1); // this thread draws the first number
    std::thread([&] {
        for (int i = 0; i < 100; ++i) elsewhere.push_back(fault::below(1000));
    }).join();
    CHECK(elsewhere != first);
}

TEST_CASE("fault backend: without faults it behaves as the std backend") {
    fault::configure({});
    const fault::counts before = fault::injected();
    cmwq::detail::parker p;
    p.unpark();
    p.park();
    CHECK_FALSE(p.park_until(steady_now() + 1000));
    cmwq::detail::mutex m;
    if (m.try_lock()) m.unlock();
    else FAIL("the mutex is free");
    cmwq::detail::atomic<int> a{1};
    int seen = 1;
    while (!a.compare_exchange_weak(seen, 2, cmwq::detail::relaxed, cmwq::detail::relaxed)) {}
    const fault::counts after = fault::injected();
    CHECK(after.early_returns == before.early_returns);
    CHECK(after.yields + after.naps == before.yields + before.naps);
    CHECK(after.weak_failures == before.weak_failures);
    CHECK(after.clock_jumps == before.clock_jumps);
}

TEST_CASE("fault backend: each fault happens if its probability is one") {
    const fault::counts before = fault::injected();
    cmwq::detail::atomic<std::uint32_t> word{0};

    fault::configure({.early_return = 1});
    cmwq::detail::futex::wait(word, 0); // would sleep forever without the fault
    CHECK(cmwq::detail::futex::wait_until(word, 0, steady_now() + 3'600'000'000'000));
    CHECK(fault::injected().early_returns == before.early_returns + 2);

    fault::configure({.double_wake = 1});
    cmwq::detail::futex::wake_one(word);
    CHECK(fault::injected().double_wakes == before.double_wakes + 1);

    fault::configure({.yield = 1, .nap = 1});
    word.store(1, cmwq::detail::release);
    CHECK(fault::injected().yields == before.yields + 2); // before the store and after it
    CHECK(fault::injected().naps == before.naps + 2);

    fault::configure({.weak_failure = 1});
    std::uint32_t seen = 1;
    CHECK_FALSE(word.compare_exchange_weak(seen, 2, cmwq::detail::relaxed, cmwq::detail::relaxed));
    CHECK(seen == 1);
    CHECK(word.compare_exchange_strong(seen, 2, cmwq::detail::relaxed, cmwq::detail::relaxed));
    CHECK(fault::injected().weak_failures == before.weak_failures + 1);

    fault::configure({.no_thread = 1});
    std::atomic<bool> ran{false};
    const auto run = [](void* r) { static_cast<std::atomic<bool>*>(r)->store(true); };
    cmwq::detail::thread t;
    CHECK(t.start(run, &ran) == EAGAIN);
    CHECK_FALSE(t.joinable());
    fault::fail_threads(0);
    CHECK(t.start(run, &ran) == 0);
    t.join();
    CHECK(ran);
    CHECK(fault::injected().refused_threads == before.refused_threads + 1);

    fault::configure({.clock_jump = 1, .longest_jump = 1'000'000'000});
    std::int64_t begin = steady_now(), last = begin;
    for (int i = 0; i < 1000; ++i) {
        const std::int64_t now = steady_now();
        CHECK(now >= last); // the clock jumps ahead, never back
        CHECK(now - last < 2'000'000'000);
        last = now;
    }
    CHECK(last - begin > 100'000'000'000);
    fault::configure({});
}

TEST_CASE("fault backend: a thread that sleeps until a time wakes up when the clock jumps past that time") {
    fault::configure({});
    constexpr std::int64_t hour = 3'600'000'000'000;
    fault::jump_clock_by(1); // so that sleeping threads check the clock
    cmwq::detail::parker p;
    std::atomic<bool> late{true};
    const std::int64_t deadline = steady_now() + hour;
    cmwq::detail::thread_probe probe;
    std::thread sleeper([&] {
        probe.open_own(cmwq::detail::state_files::reopened);
        late = p.park_until(deadline);
    });
    CHECK(cmwq_test::eventually([&] { return probe.blocked(); }));
    fault::jump_clock_by(hour);
    sleeper.join();
    CHECK_FALSE(late);
    CHECK(steady_now() >= deadline);
}
