// SPDX-License-Identifier: BSL-1.0
//
// idle_poll: polling begins after several short idle times in a row, and ends with the first long one.
#include "catch.hpp"

#include <cmwq/detail/engine/threads/idle_poll.hpp>

using cmwq::detail::idle_poll;

namespace {
constexpr std::int64_t limit = 10'000;

idle_poll polling() {
    idle_poll p;
    for (int i = 0; i < 100; ++i) p.note(limit, limit);
    return p;
}
} // namespace

TEST_CASE("idle_poll: a new worker does not poll") { CHECK_FALSE(idle_poll{}.is_worthwhile()); }

TEST_CASE("idle_poll: several short idle times in a row make a worker poll") {
    idle_poll p;
    for (int i = 0; i < 4; ++i) p.note(limit, limit);
    CHECK_FALSE(p.is_worthwhile());
    for (int i = 0; i < 4; ++i) p.note(limit, limit);
    CHECK(p.is_worthwhile());
}

TEST_CASE("idle_poll: before a worker polls, its idle times include the time to wake up") {
    idle_poll p;
    for (int i = 0; i < 8; ++i) p.note(3 * limit, limit);
    CHECK(p.is_worthwhile());
}

TEST_CASE("idle_poll: one long idle time ends the polling") {
    idle_poll p = polling();
    CHECK(p.is_worthwhile());
    p.note(2 * limit, limit);
    CHECK_FALSE(p.is_worthwhile());
}
