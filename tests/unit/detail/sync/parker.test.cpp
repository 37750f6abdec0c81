// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/sync/parker.hpp>

#include <cmwq/detail/sync/parker.hpp> // a second time: tests the include guard

#include <cmwq/detail/sync/clock.hpp>

#include "catch.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

using cmwq::detail::parker;
using cmwq::detail::steady_now;
using cmwq::detail::transient_parker;

TEMPLATE_TEST_CASE("parker: a permit given before the wait is not lost and two permits count as one", "", parker,
                   transient_parker) {
    TestType p;
    p.unpark();
    p.unpark();
    p.park();
    const std::int64_t begin = steady_now();
    CHECK_FALSE(p.park_until(begin + 2'000'000));
    CHECK(steady_now() - begin >= 2'000'000);
    p.unpark(); // a wait that timed out has no effect on the next permit
    CHECK(p.park_until(begin));
    CHECK_FALSE(p.park_until(begin));
}

TEST_CASE("parker: a sleeping thread is woken and sees data written before") {
    constexpr int rounds = 5000;
    parker ping, pong;
    int shared = 0; // plain: the permits order every access
    std::thread other([&] {
        for (int i = 0; i < rounds; ++i) {
            ping.park();
            ++shared;
            pong.unpark();
        }
    });
    for (int i = 0; i < rounds; ++i) {
        ++shared;
        ping.unpark();
        pong.park();
    }
    other.join();
    CHECK(shared == 2 * rounds);
}

TEST_CASE("parker: a permit ends a wait with a deadline") {
    parker p;
    std::thread other([&] { p.unpark(); });
    CHECK(p.park_until(steady_now() + 20'000'000'000));
    other.join();
}

TEST_CASE("parker: each permit is taken once while waits also time out") {
    parker p, taken;
    std::atomic<bool> done{false};
    unsigned given = 0, got = 0;
    std::thread owner([&] {
        while (!done) {
            if (p.park_until(steady_now() + 1000)) {
                ++got;
                taken.unpark();
            }
        }
    });
    for (; given < 2000; ++given) {
        p.unpark();
        taken.park();
    }
    done = true;
    owner.join();
    CHECK(got == given);
}

TEST_CASE("parker: the owner may destroy a transient parker as soon as it has its permit") {
    constexpr int rounds = 500;
    int shared = 0; // plain: the permits order every access
    std::optional<transient_parker> back;
    for (int i = 0; i < rounds; ++i) {
        back.emplace();
        std::thread other([&] {
            ++shared;
            back->unpark();
        });
        back->park();
        back.reset();
        ++shared;
        other.join();
    }
    CHECK(shared == 2 * rounds);
}
