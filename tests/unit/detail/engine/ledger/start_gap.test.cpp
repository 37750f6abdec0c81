// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/engine/ledger/start_gap.hpp>

#include <cmwq/detail/engine/ledger/start_gap.hpp> // a second time: tests the include guard

#include "catch.hpp"

using cmwq::detail::start_gap;

TEST_CASE("start_gap: it has lasted when items were pending for the limit without a start, and again after the limit") {
    start_gap gap;
    CHECK_FALSE(gap.has_lasted(true, 7, 10, 30)); // items have started since it was made
    CHECK(gap.lasted() == 0);
    CHECK_FALSE(gap.has_lasted(true, 7, 10, 30));
    CHECK_FALSE(gap.has_lasted(true, 7, 10, 30));
    CHECK(gap.has_lasted(true, 7, 10, 30));
    CHECK(gap.lasted() == 30);
    CHECK_FALSE(gap.has_lasted(true, 7, 29, 30));
    CHECK(gap.has_lasted(true, 7, 1, 30));
    CHECK(gap.lasted() == 60);
}

TEST_CASE("start_gap: a start, and a moment without pending items, begin it again") {
    start_gap gap;
    CHECK_FALSE(gap.has_lasted(true, 0, 20, 30));
    CHECK_FALSE(gap.has_lasted(true, 1, 20, 30));
    CHECK(gap.lasted() == 0);
    CHECK_FALSE(gap.has_lasted(true, 1, 20, 30));
    CHECK_FALSE(gap.has_lasted(false, 1, 20, 30));
    CHECK(gap.lasted() == 0);
    CHECK_FALSE(gap.has_lasted(true, 1, 29, 30));
    CHECK(gap.has_lasted(true, 1, 1, 30));
}

TEST_CASE("start_gap: a limit of 0 is never reached, but the time is counted") {
    start_gap gap;
    CHECK_FALSE(gap.has_lasted(true, 0, 100, 0));
    CHECK(gap.lasted() == 100);
}
