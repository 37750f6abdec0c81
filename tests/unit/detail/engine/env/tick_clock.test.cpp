// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cmwq/detail/engine/env/tick_clock.hpp>

#include <cstdint>

using namespace cmwq::detail;

namespace {

constexpr std::int64_t unit = 1'024, ms = 1'000 * unit, minute = 60'000 * ms;

} // namespace

TEST_CASE("tick clock: what was queued at a later tick is younger, also when the stamps begin again") {
    for (const std::int64_t start : {std::int64_t{0}, minute, (std::int64_t{1} << 42) - 2 * ms, 12'345 * minute}) {
        INFO(start);
        tick_clock c;
        c.begin(start);
        wait_stamp last = c.now();
        for (std::int64_t t = start + ms; t < start + 10 * ms; t += ms) {
            c.tick(t);
            const ages a = c.compare();
            CHECK(a.of(last) < a.of(c.now()));
            CHECK(a.of(exact_stamp(t)) + 1 >= a.of(c.now()));
            CHECK(a.is_older(a.of(last), 900));
            CHECK_FALSE(a.is_older(a.of(last), 1'100));
            CHECK(a.of(a.stamp_at(a.of(last))) == a.of(last));
            CHECK_FALSE(is_exact(c.now()));
            last = c.now();
        }
    }
}

TEST_CASE(
    "tick clock: after any sleep a stamp from before is as old as the sleep has ended, not more, nor in the future") {
    for (std::int64_t sleep = ms; sleep < 200 * minute; sleep = sleep * 5 / 4) {
        INFO(sleep);
        tick_clock c;
        c.begin(minute);
        c.tick(minute + ms);
        const wait_stamp before = c.now(), exact = exact_stamp(minute + 2 * ms);
        const std::int64_t woke = minute + 2 * ms + sleep;
        c.begin(woke);
        const wait_stamp first = c.now();
        for (int i = 1; i < 20; ++i) {
            c.tick(woke + i * ms);
            const ages a = c.compare();
            // In some of these sleeps, a stamp comes round: within a second of the same one.
            const bool comes_round = sleep % (std::int64_t{1} << 42) > (std::int64_t{1} << 42) - 2'000 * ms;
            if (!comes_round) CHECK(a.of(before) == 0);
            if (!comes_round) CHECK(a.of(exact) == 0);
            CHECK(a.of(first) == 0);
            CHECK(a.is_older(0, static_cast<wait_stamp>(i) * 900));
            CHECK_FALSE(a.is_older(0, static_cast<wait_stamp>(i) * 1'100));
        }
    }
}

TEST_CASE("tick clock: while the service thread is awake for hours the oldest items stay the oldest") {
    tick_clock c;
    c.begin(0);
    const wait_stamp first = c.now();
    for (std::int64_t t = ms; t < 35 * minute; t += minute / 7) {
        c.tick(t);
        CHECK(c.compare().of(first) == 0);
    }
    for (std::int64_t t = 35 * minute; t < 300 * minute; t += minute / 7) {
        const wait_stamp last = c.now();
        c.tick(t);
        const ages a = c.compare();
        CHECK(a.of(last) < a.of(c.now()));
        CHECK(a.is_older(0, 1u << 30)); // the scale is never shorter than a quarter of an hour
    }
    CHECK_FALSE(c.compare().is_older(ages::none, 0));
}
