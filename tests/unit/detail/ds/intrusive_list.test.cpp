// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/ds/intrusive_list.hpp>

#include <cmwq/detail/ds/intrusive_list.hpp> // a second time: tests the include guard

#include "catch.hpp"
#include "seed.hpp"

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

namespace {

struct first_tag;
struct second_tag;
struct listed : cmwq::detail::list_node<first_tag>, cmwq::detail::list_node<second_tag> {
    int number = 0;
};
using first_list = cmwq::detail::intrusive_list<listed, first_tag>;
using second_list = cmwq::detail::intrusive_list<listed, second_tag>;

template <class List>
std::vector<int> numbers(List& l) {
    std::vector<int> out;
    for (listed* e = l.front(); e != nullptr; e = l.next(*e)) out.push_back(e->number);
    return out;
}

using ints = std::vector<int>;

} // namespace

TEST_CASE("intrusive_list: an empty list has no elements") {
    first_list l;
    CHECK(l.empty());
    CHECK(l.size() == 0);
    CHECK(l.front() == nullptr);
    CHECK(l.back() == nullptr);
    CHECK(l.pop_front() == nullptr);
}

TEST_CASE("intrusive_list: elements are inserted and removed at both ends and in the middle") {
    first_list l;
    listed e[4];
    for (int i = 0; i < 4; ++i) e[i].number = i;
    l.push_back(e[1]);
    l.push_back(e[2]);
    l.push_front(e[0]);
    l.push_back(e[3]);
    CHECK(numbers(l) == ints{0, 1, 2, 3});
    CHECK(l.front() == &e[0]);
    CHECK(l.back() == &e[3]);
    l.remove(e[2]);
    CHECK(numbers(l) == ints{0, 1, 3});
    l.remove(e[3]);
    CHECK(l.back() == &e[1]);
    CHECK(l.pop_front() == &e[0]);
    CHECK(l.size() == 1);
    CHECK(l.pop_front() == &e[1]);
    CHECK(l.empty());
    l.push_back(e[2]); // a removed element can be inserted again
    CHECK(numbers(l) == ints{2});
    l.remove(e[2]);
}

TEST_CASE("intrusive_list: an element may be on two lists at once") {
    first_list a;
    second_list b;
    listed e[3];
    for (int i = 0; i < 3; ++i) {
        e[i].number = i;
        a.push_back(e[i]);
        b.push_front(e[i]);
    }
    CHECK(numbers(a) == ints{0, 1, 2});
    CHECK(numbers(b) == ints{2, 1, 0});
    a.remove(e[1]);
    CHECK(numbers(a) == ints{0, 2});
    CHECK(numbers(b) == ints{2, 1, 0});
    while (a.pop_front() != nullptr) {}
    while (b.pop_front() != nullptr) {}
}

TEST_CASE("intrusive_list: random operations agree with std::deque") {
    std::mt19937_64 random(cmwq_test::seed());
    constexpr int n = 16;
    listed e[n];
    for (int i = 0; i < n; ++i) e[i].number = i;
    first_list l;
    std::deque<int> oracle;
    for (int step = 0; step < 5000; ++step) {
        const int i = static_cast<int>(random() % n);
        const auto at = std::find(oracle.begin(), oracle.end(), i);
        if (at != oracle.end()) {
            l.remove(e[i]);
            oracle.erase(at);
        } else if (random() % 2 == 0) {
            l.push_back(e[i]);
            oracle.push_back(i);
        } else {
            l.push_front(e[i]);
            oracle.push_front(i);
        }
        REQUIRE(l.size() == oracle.size());
        REQUIRE(numbers(l) == ints(oracle.begin(), oracle.end()));
        REQUIRE(l.back() == (oracle.empty() ? nullptr : &e[oracle.back()]));
    }
}

TEST_CASE("intrusive_list: an element goes behind another one, or to the front") {
    std::deque<listed> e(3);
    first_list l;
    for (int i = 0; i < 3; ++i) e[static_cast<std::size_t>(i)].number = i;
    l.insert_behind(nullptr, e[2]);
    l.insert_behind(nullptr, e[0]);
    l.insert_behind(&e[0], e[1]);
    CHECK(numbers(l) == ints{0, 1, 2});
}

TEST_CASE("intrusive_list: two sorted lists are merged; of equal elements those of the first one come first") {
    std::mt19937 random(static_cast<unsigned>(cmwq_test::seed()));
    for (int round = 0; round < 200; ++round) {
        std::deque<listed> elements;
        first_list to, from;
        std::vector<int> keys_to, keys_from;
        for (int i = 0, n = static_cast<int>(random() % 12); i < n; ++i)
            keys_to.push_back(static_cast<int>(random() % 8));
        for (int i = 0, n = static_cast<int>(random() % 12); i < n; ++i)
            keys_from.push_back(static_cast<int>(random() % 8));
        std::sort(keys_to.begin(), keys_to.end());
        std::sort(keys_from.begin(), keys_from.end());
        for (const int k : keys_to) to.push_back(elements.emplace_back()), to.back()->number = 10 * k;
        for (const int k : keys_from) from.push_back(elements.emplace_back()), from.back()->number = 10 * k + 1;
        to.merge(from, [](const listed& a, const listed& b) { return a.number / 10 < b.number / 10; });
        CHECK(from.empty());
        const ints got = numbers(to);
        CHECK(got.size() == keys_to.size() + keys_from.size());
        CHECK(std::is_sorted(got.begin(), got.end())); // also by the last digit: from which list
    }
}
