// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/control/cpu_share.hpp>

#include <cmwq/detail/control/cpu_share.hpp> // a second time: tests the include guard

#include "catch.hpp"
#include "nanoseconds.hpp"

#include <cstdint>

using cmwq::detail::cpu_share;
using cmwq_test::ms;
using cmwq_test::us;

namespace {

} // namespace

TEST_CASE("cpu_share: a rest is nine times as long as the work, and a second at most") {
    cpu_share s;
    CHECK(s.rest_after(1 * ms) == 9 * ms);
    CHECK(s.rest_after(1 * ms) == 0);
    CHECK(s.rest_after(21 * ms) == 180 * ms);
    CHECK(s.rest_after(1021 * ms) == 1000 * ms);
    CHECK(s.rest_after(1022 * ms) == 9 * ms); // what the rest was too short for is forgotten
}

TEST_CASE("cpu_share: short works are paid together") {
    cpu_share s;
    std::int64_t cpu = 0, rested = 0;
    for (int i = 0; i < 1000; ++i) {
        const std::int64_t rest = s.rest_after(cpu += 7 * us);
        CHECK((rest == 0 || rest >= cpu_share::shortest_rest));
        rested += rest;
        CHECK(9 * cpu - rested < cpu_share::shortest_rest);
    }
    CHECK(rested > 0);
}
