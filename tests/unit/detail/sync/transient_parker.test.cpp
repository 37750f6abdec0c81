// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/sync/transient_parker.hpp>

#include <cmwq/detail/sync/transient_parker.hpp> // a second time: tests the include guard

#include <cmwq/detail/sync/clock.hpp>

#include "catch.hpp"

#include <optional>
#include <thread>

using cmwq::detail::steady_now;
using cmwq::detail::transient_parker;

TEST_CASE("transient_parker: a permit given before the wait is not lost and two permits count as one") {
    transient_parker p;
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

TEST_CASE("transient_parker: the owner may destroy it as soon as it has its permit") {
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
