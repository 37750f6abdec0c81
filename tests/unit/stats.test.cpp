// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cmwq/stats.hpp>

#include <cstdint>
#include <set>
#include <string>

TEST_CASE("stats: each counter of a queue is named once, and summed") {
    std::set<std::string> names;
    cmwq::queue_stats a{.running = 1, .pending = 2, .active = 3, .inactive = 4}, b = a;
    std::uint64_t n = 0;
    cmwq::detail::for_each_counter_of_queue([&](const char* name, std::uint64_t cmwq::queue_stats::* member) {
        CHECK(names.insert(name).second);
        CHECK(a.*member == 0); // no other name has this member
        a.*member = ++n;
        b.*member = 10;
    });
    CHECK(sizeof a == (n + 4) * sizeof n); // no member is missing
    cmwq::detail::add(a, b);
    cmwq::detail::for_each_counter_of_queue(
        [&, i = 10](const char*, std::uint64_t cmwq::queue_stats::* member) mutable {
            CHECK(a.*member == static_cast<std::uint64_t>(++i));
        });
    CHECK(a.running == 2);
    CHECK(a.pending == 4);
    CHECK(a.active == 6);
    CHECK(a.inactive == 8);
}
