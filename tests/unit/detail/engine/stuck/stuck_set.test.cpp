// SPDX-License-Identifier: BSL-1.0
//
// Compares stuck_set on random graphs with an oracle, which visits all nodes again until nothing changes any more.
#include <cmwq/detail/engine/stuck/stuck_set.hpp>

#include <cmwq/detail/engine/stuck/stuck_set.hpp> // a second time: tests the include guard

#include "catch.hpp"
#include "seed.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <random>
#include <set>
#include <utility>
#include <vector>

using cmwq::detail::stuck_set;
using node = stuck_set::node;

namespace {

/// The same graph in a simple form.
struct oracle {
    struct one {
        bool needs_all = false, let_end = false;
        std::vector<node> awaits;
    };
    std::vector<one> nodes;

    [[nodiscard]] std::vector<bool> stuck() const {
        std::vector<bool> is(nodes.size(), true);
        for (bool changed = true; changed;) {
            changed = false;
            for (node n = 0; n < nodes.size(); ++n) {
                const auto& a = nodes[n].awaits;
                const auto holds = [&](node m) { return is[m]; };
                const bool held = nodes[n].needs_all ? std::ranges::all_of(a, holds) : std::ranges::any_of(a, holds);
                if (!is[n] || (held && !a.empty() && !nodes[n].let_end)) continue;
                is[n] = false;
                changed = true;
            }
        }
        return is;
    }
    [[nodiscard]] std::set<node> reached_from(node n, const std::vector<bool>& stuck) const {
        std::set<node> found;
        std::vector<node> todo{n};
        while (!todo.empty()) {
            const node at = todo.back();
            todo.pop_back();
            for (const node m : nodes[at].awaits) {
                if (stuck[m] && found.insert(m).second) todo.push_back(m);
            }
        }
        return found;
    }
};

} // namespace

// proves: progress-31
TEST_CASE("stuck_set: the stuck nodes and knots of random graphs agree with an oracle") {
    std::mt19937_64 random(cmwq_test::seed());
    const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    std::size_t nr_stuck = 0, nr_free = 0, nr_knots = 0;
    for (int round = 0; round < 2'000; ++round) {
        const std::size_t n = 1 + pick(12), nr_edges = pick(3 * n);
        const std::size_t one_in = 1 + pick(6);
        stuck_set s;
        oracle o;
        o.nodes.resize(n);
        for (auto& one : o.nodes) {
            one.needs_all = pick(3) == 0;
            static_cast<void>(one.needs_all ? s.add_ends_after_all() : s.add_ends_after_first());
        }
        for (std::size_t i = 0; i < nr_edges; ++i) { // some edges twice, and some from a node to itself
            const auto from = static_cast<node>(pick(n)), to = static_cast<node>(pick(n));
            s.add_edge(from, to);
            o.nodes[from].awaits.push_back(to);
        }
        for (node i = 0; i < n; ++i) {
            if (pick(4 * one_in) != 0) continue;
            s.let_end(i);
            o.nodes[i].let_end = true;
        }
        s.solve();
        const std::vector<bool> expected = o.stuck();
        std::vector<std::size_t> in_knots(n, 0);
        std::set<std::size_t> knots;
        for (node i = 0; i < n; ++i) {
            INFO("round " << round << ", node " << i);
            REQUIRE(s.is_stuck(i) == expected[i]);
            ++(expected[i] ? nr_stuck : nr_free);
            if (!expected[i]) continue;
            const std::size_t knot = s.knot_of(i);
            REQUIRE(s.knot_of(i) == knot);
            const auto& members = s.members(knot);
            const std::set<node> reached = o.reached_from(i, expected);
            REQUIRE(std::ranges::any_of(members, [&](node m) { return m == i || reached.contains(m); }));
            if (!knots.insert(knot).second) continue;
            // The first member is on a cycle. The stuck nodes that it reaches belong to this knot, or to a knot that
            // was found before.
            const std::set<node> around = o.reached_from(members.front(), expected);
            REQUIRE(around.contains(members.front()));
            for (const node m : members) {
                REQUIRE(around.contains(m));
                ++in_knots[m];
            }
            for (const node m : around)
                REQUIRE((std::ranges::count(members, m) == 1 || in_knots[m] == 1 || knots.size() > 1));
        }
        nr_knots += knots.size();
        REQUIRE(std::ranges::all_of(in_knots, [](std::size_t k) { return k <= 1; }));
    }
    CHECK(nr_stuck > 1'000);
    CHECK(nr_free > 1'000);
    CHECK(nr_knots > 100);
}

// An algorithm that visits all nodes for each node that ends would need 10^10 steps.
TEST_CASE("stuck_set: a chain of 100000 nodes in any order is stuck only if it is a cycle") {
    constexpr node n = 100'000;
    std::vector<node> order(n);
    std::iota(order.begin(), order.end(), node{0});
    std::mt19937_64 random(cmwq_test::seed());
    std::ranges::shuffle(order, random);
    for (const bool closed : {false, true}) {
        stuck_set s;
        for (node i = 0; i < n; ++i) static_cast<void>(i % 2 == 0 ? s.add_ends_after_first() : s.add_ends_after_all());
        for (node i = 0; i + 1 < n; ++i) s.add_edge(order[i], order[i + 1]);
        if (closed) s.add_edge(order[n - 1], order[0]);
        s.solve();
        node nr_stuck = 0;
        for (node i = 0; i < n; ++i) nr_stuck += s.is_stuck(i) ? 1 : 0;
        CHECK(nr_stuck == (closed ? n : 0));
        if (!closed) continue;
        CHECK(s.members(s.knot_of(order[0])).size() == n);
        CHECK(s.knot_of(order[n / 2]) == 0);
    }
}
