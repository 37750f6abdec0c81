// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/ds/intrusive_ring.hpp>

#include <cmwq/detail/ds/intrusive_ring.hpp> // a second time: tests the include guard

#include "catch.hpp"
#include "seed.hpp"

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

namespace {

struct tag;
struct ring_element : cmwq::detail::list_node<tag> {};
using ring = cmwq::detail::intrusive_ring<ring_element, tag>;

std::vector<ring_element*> contents(ring& r) {
    std::vector<ring_element*> all;
    while (ring_element* e = r.front()) {
        all.push_back(e);
        r.remove(*e);
    }
    return all;
}

} // namespace

static_assert(sizeof(ring) == sizeof(void*));

TEST_CASE("intrusive_ring: elements keep the order in which they came") {
    ring r;
    CHECK(r.empty());
    CHECK(r.front() == nullptr);
    ring_element e[3];
    for (ring_element& one : e) r.push_back(one);
    CHECK_FALSE(r.empty());
    CHECK(contents(r) == std::vector<ring_element*>{&e[0], &e[1], &e[2]});
    CHECK(r.empty());
}

TEST_CASE("intrusive_ring: the only ring_element and the first and the last and a middle one can be removed") {
    ring r;
    ring_element e[4];
    r.push_back(e[0]);
    r.remove(e[0]);
    CHECK(r.empty());
    for (ring_element& one : e) r.push_back(one);
    r.remove(e[0]);
    r.remove(e[2]);
    r.push_back(e[0]); // a removed ring_element may come back
    r.remove(e[3]);
    CHECK(contents(r) == std::vector<ring_element*>{&e[1], &e[0]});
}

TEST_CASE("intrusive_ring: random operations agree with a deque") {
    std::mt19937_64 random(cmwq_test::seed());
    ring r;
    std::vector<ring_element> elements(20);
    std::deque<ring_element*> oracle;
    for (int step = 0; step < 10'000; ++step) {
        ring_element& e = elements[random() % elements.size()];
        const auto at = std::find(oracle.begin(), oracle.end(), &e);
        if (at != oracle.end()) {
            r.remove(e);
            oracle.erase(at);
        } else {
            r.push_back(e);
            oracle.push_back(&e);
        }
        REQUIRE(r.empty() == oracle.empty());
        REQUIRE(r.front() == (oracle.empty() ? nullptr : oracle.front()));
    }
    CHECK(contents(r) == std::vector<ring_element*>(oracle.begin(), oracle.end()));
}
