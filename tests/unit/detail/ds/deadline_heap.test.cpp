// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/ds/deadline_heap.hpp>

#include <cmwq/detail/ds/deadline_heap.hpp> // a second time: tests the include guard

#include "catch.hpp"
#include "seed.hpp"

#include <cstdint>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace {

struct timer : cmwq::detail::deadline_node {
    std::uint64_t armed = 0; // for the oracle: the number of the arming; 0: not armed
};
using heap = cmwq::detail::deadline_heap<timer>;

} // namespace

TEST_CASE("deadline_heap: the earliest deadline comes first and equal ones come in the order of their sequence") {
    heap h;
    CHECK(h.empty());
    timer t[5];
    const std::int64_t deadlines[5] = {30, 10, 20, 10, 10};
    for (int i = 0; i < 5; ++i) {
        t[i].deadline = deadlines[i];
        t[i].sequence = static_cast<std::uint64_t>(i);
        h.push(t[i]);
    }
    for (const int expected : {1, 3, 4, 2, 0}) {
        REQUIRE_FALSE(h.empty());
        CHECK(&h.front() == &t[expected]);
        h.remove(h.front());
    }
    CHECK(h.empty());
}

TEST_CASE("deadline_heap: the only element and the first and the last one can be removed") {
    heap h;
    timer a, b;
    a.deadline = 1;
    b.deadline = 2;
    h.push(a);
    h.remove(a);
    CHECK(h.empty());
    h.push(a);
    h.push(b);
    h.remove(b);
    CHECK(&h.front() == &a);
    h.push(b);
    h.remove(a);
    CHECK(&h.front() == &b);
    h.remove(b);
    CHECK(h.empty());
}

TEST_CASE("deadline_heap: random arming and disarming agrees with a sorted set") {
    std::mt19937_64 random(cmwq_test::seed());
    std::vector<timer> timers(200);
    heap h;
    std::uint64_t nr_armed = 0;
    std::set<std::pair<std::pair<std::int64_t, std::uint64_t>, timer*>> oracle; // (deadline, arming), timer
    const auto disarm = [&](timer& t) {
        h.remove(t);
        oracle.erase({{t.deadline, t.armed}, &t});
        t.armed = 0;
    };
    for (int step = 0; step < 50'000; ++step) {
        // The heap grows in some phases, and shrinks to nothing in others.
        const bool growing = step / 1000 % 2 == 0;
        timer& t = timers[random() % timers.size()];
        if (t.armed != 0) {
            if (!growing || random() % 4 == 0) disarm(t);
        } else if (growing || random() % 4 == 0) {
            t.deadline = static_cast<std::int64_t>(random() % 50) - 5; // often equal
            t.armed = t.sequence = ++nr_armed;
            h.push(t);
            oracle.insert({{t.deadline, t.armed}, &t});
        }
        if (!oracle.empty() && random() % 3 == 0) disarm(*oracle.begin()->second);
        REQUIRE(h.empty() == oracle.empty());
        if (!oracle.empty()) REQUIRE(&h.front() == oracle.begin()->second);
    }
    while (!oracle.empty()) {
        REQUIRE(&h.front() == oracle.begin()->second);
        disarm(h.front());
    }
    CHECK(h.empty());
}

// The work of push() and remove() is along such paths, so the ranks bound it.
// proves: progress-18
TEST_CASE("deadline_heap: no path to the right is longer than the logarithm of the number of elements") {
    std::mt19937_64 random(cmwq_test::seed());
    enum class order { rising, falling, equal, any };
    for (const order o : {order::rising, order::falling, order::equal, order::any}) {
        heap h;
        std::vector<timer> timers(20'000);
        std::size_t size = 0;
        const auto check = [&] {
            std::vector<const cmwq::detail::deadline_node*> all;
            if (!h.empty()) all.push_back(&h.front());
            for (std::size_t i = 0; i < all.size(); ++i) {
                const auto& n = *all[i];
                const unsigned left = n.left != nullptr ? n.left->rank : 0,
                               right = n.right != nullptr ? n.right->rank : 0;
                REQUIRE(right <= left);
                REQUIRE(n.rank == right + 1);
                for (const auto* k : {n.left, n.right}) {
                    if (k != nullptr) all.push_back(k);
                }
            }
            REQUIRE(all.size() == size);
            if (size != 0) REQUIRE(std::size_t{1} << h.front().rank <= size + 1);
        };
        for (std::size_t i = 0; i < timers.size(); ++i) {
            const auto n = static_cast<std::int64_t>(i);
            timers[i].deadline = o == order::rising    ? n
                                 : o == order::falling ? -n
                                 : o == order::equal   ? 0
                                                       : static_cast<std::int64_t>(random() >> 1);
            timers[i].sequence = i;
            h.push(timers[i]);
            ++size;
            if (i % 5'000 == 77) check();
        }
        check();
        for (std::size_t i = 0; i < timers.size(); i += 3) { // from everywhere
            h.remove(timers[i]);
            --size;
            if (i % 5'000 < 3) check();
        }
        while (!h.empty()) {
            h.remove(h.front());
            if (--size % 5'000 == 0) check();
        }
        CHECK(size == 0);
    }
}

TEST_CASE("deadline_heap: a hundred thousand elements in the worst order need no deep stack") {
    heap h;
    std::vector<timer> timers(100'000);
    for (std::size_t i = 0; i < timers.size(); ++i) {
        timers[i].deadline = static_cast<std::int64_t>(i);
        h.push(timers[i]);
    }
    for (timer& t : timers) {
        REQUIRE(&h.front() == &t);
        h.remove(t);
    }
    CHECK(h.empty());
}
