// SPDX-License-Identifier: BSL-1.0
#include <cmwq/cpuset.hpp>

#include <cmwq/cpuset.hpp> // a second time: tests the include guard

#include "catch.hpp"
#include "seed.hpp"

#include <iterator>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

using cmwq::cpuset;

namespace {

std::vector<unsigned> listed(const cpuset& s) { return {s.begin(), s.end()}; }
using cpus = std::vector<unsigned>;

} // namespace

TEST_CASE("cpuset: an empty set has no members") {
    const cpuset s;
    CHECK(s.empty());
    CHECK(s.size() == 0);
    CHECK(s.begin() == s.end());
    CHECK(s.to_string().empty());
    CHECK(s.next(0) == cpuset::capacity);
    CHECK_FALSE(s.contains(0));
    CHECK_FALSE(s.contains(cpuset::capacity));
    CHECK(s == cpuset{});
}

TEST_CASE("cpuset: insert and erase work in every word and members are in ascending order") {
    cpuset s{130, 3, 64, 63, 3};
    CHECK(listed(s) == cpus{3, 63, 64, 130});
    CHECK(s.size() == 4);
    CHECK(s.contains(63));
    CHECK_FALSE(s.contains(65));
    CHECK_FALSE(s.contains(100'000));
    CHECK(s.next(4) == 63);
    CHECK(s.next(63) == 63);
    CHECK(s.next(131) == cpuset::capacity);
    s.erase(64).erase(64).erase(9999);
    CHECK(listed(s) == cpus{3, 63, 130});
    s.insert(cpuset::capacity - 1);
    CHECK(s.contains(cpuset::capacity - 1));
    CHECK(s.to_string() == "3,63,130,65535");
    auto it = s.begin();
    CHECK(*it++ == 3);
    CHECK(*it == 63);
    static_assert(std::forward_iterator<cpuset::iterator>);
}

TEST_CASE("cpuset: a number beyond the capacity is refused and nothing changes") {
    cpuset s{1};
    CHECK_THROWS_AS(s.insert(cpuset::capacity), std::invalid_argument);
    CHECK_THROWS_AS(s.insert(~0u), std::invalid_argument);
    CHECK(listed(s) == cpus{1});
    CHECK_THROWS_AS((cpuset{0, cpuset::capacity}), std::invalid_argument);
    CHECK_THROWS_AS(cpuset::range(cpuset::capacity - 1, cpuset::capacity + 1), std::invalid_argument);
}

TEST_CASE("cpuset: range() excludes its end") {
    CHECK(listed(cpuset::range(2, 5)) == cpus{2, 3, 4});
    CHECK(cpuset::range(2, 2).empty());
    CHECK(cpuset::range(5, 2).empty());
    CHECK(cpuset::range(0, 200).size() == 200);
}

TEST_CASE("cpuset: to_string() writes the list format of the kernel") {
    CHECK(cpuset{7}.to_string() == "7");
    CHECK(cpuset{0, 1}.to_string() == "0-1");
    CHECK((cpuset{0, 2} | cpuset::range(4, 8)).to_string() == "0,2,4-7");
    CHECK(cpuset::range(60, 70).to_string() == "60-69");
    CHECK(cpuset::range(cpuset::capacity - 2, cpuset::capacity).to_string() == "65534-65535");
}

TEST_CASE("cpuset: parse() reads the list format of the kernel") {
    CHECK(cpuset::parse("").empty());
    CHECK(cpuset::parse(" \n").empty());
    CHECK(cpuset::parse("7") == cpuset{7});
    CHECK(cpuset::parse("0-3,8") == cpuset{0, 1, 2, 3, 8});
    CHECK(cpuset::parse("0-3,8\n") == cpuset{0, 1, 2, 3, 8});
    CHECK(cpuset::parse("8,0-3 \t\r\n\n") == cpuset{0, 1, 2, 3, 8}); // in any order
    CHECK(cpuset::parse("5-5,5,4-6") == cpuset{4, 5, 6});
    CHECK(cpuset::parse("007") == cpuset{7});
    CHECK(cpuset::parse("65535") == cpuset{65535});
    CHECK(cpuset::parse("0-65535").size() == cpuset::capacity);
}

TEST_CASE("cpuset: parse() refuses a text that is not a list and quotes it") {
    for (const char* text : {",",
                             "1,",
                             ",1",
                             "1,,2",
                             "-",
                             "1-",
                             "-1",
                             "3-1",
                             "1-2-3",
                             "1;2",
                             "a",
                             "0x1",
                             "1 2",
                             " 1",
                             "1, 2",
                             "65536",
                             "0-65536",
                             "4294967296",
                             "99999999999999999999",
                             "+1",
                             "all",
                             "0-3:1/2"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(cpuset::parse(text), std::invalid_argument);
        CHECK_THROWS_WITH(cpuset::parse(text), Catch::Matchers::Contains('\'' + std::string(text) + '\''));
    }
}

TEST_CASE("cpuset: to_mask_string() writes the mask format of the kernel") {
    CHECK(cpuset{}.to_mask_string() == "00000000");
    CHECK(cpuset{0}.to_mask_string() == "00000001");
    CHECK(cpuset::range(0, 32).to_mask_string() == "ffffffff");
    CHECK(cpuset{31}.to_mask_string() == "80000000");
    CHECK(cpuset{32}.to_mask_string() == "00000001,00000000");
    CHECK(cpuset{1, 4, 63, 64, 71}.to_mask_string() == "00000081,80000000,00000012");
    cpuset s{0, 500};
    CHECK(s.erase(500).to_mask_string() == "00000001");
}

TEST_CASE("cpuset: sets with equal members are equal even if one of them has allocated more words") {
    cpuset a{1, 500};
    a.erase(500);
    CHECK(a == cpuset{1});
    CHECK(cpuset{1} == a);
    CHECK_FALSE(a == cpuset{2});
    CHECK_FALSE(a == cpuset{1, 2});
    CHECK_FALSE(cpuset{} == cpuset{0});
}

TEST_CASE("cpuset: random operations agree with std::set") {
    std::mt19937_64 random(cmwq_test::seed());
    for (int round = 0; round < 200; ++round) {
        cpuset a, b;
        std::set<unsigned> in_a, in_b;
        const unsigned width = 1 + static_cast<unsigned>(random() % 200);
        for (int i = 0; i < 30; ++i) {
            const auto x = static_cast<unsigned>(random() % width), y = static_cast<unsigned>(random() % width);
            a.insert(x);
            in_a.insert(x);
            b.insert(y);
            in_b.insert(y);
            if (random() % 4 == 0) {
                a.erase(y);
                in_a.erase(y);
            }
        }
        cpus both, either, only_a;
        for (unsigned c = 0; c < width; ++c) {
            const bool x = in_a.contains(c), y = in_b.contains(c);
            if (x && y) both.push_back(c);
            if (x || y) either.push_back(c);
            if (x && !y) only_a.push_back(c);
        }
        REQUIRE(listed(a) == cpus(in_a.begin(), in_a.end()));
        REQUIRE(listed(a & b) == both);
        REQUIRE(listed(a | b) == either);
        REQUIRE(listed(a - b) == only_a);
        REQUIRE(a.size() == in_a.size());
        REQUIRE(cpuset::parse(a.to_string()) == a);
        REQUIRE(((a & b) | (a - b)) == a);
    }
}
