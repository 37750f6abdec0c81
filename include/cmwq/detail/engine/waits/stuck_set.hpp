// SPDX-License-Identifier: BSL-1.0
//
// stuck_set: which of many waits will never end, because they keep each other from it. It knows nothing of items: a
// graph, and its greatest set of nodes that all depend on nodes of that set.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace cmwq::inline CMWQ_NS::detail {

/// Nodes are stuck until something says that they will end. Its time grows with the number of nodes and edges, whatever
/// their order: each edge is followed once, from the node that ends back to the one that depends on it.
class stuck_set {
public:
    using node = std::uint32_t;

    /// All of these throw std::bad_alloc, and nothing but the destructor is of use then.
    /// It ends as soon as all that it depends on will end; at once, if that is nothing.
    node add_any() { return add(false); }
    /// It ends as soon as one of those that it depends on will end; at once, if there is none.
    node add_all() { return add(true); }
    void add_edge(node who, node depends_on) { edges_.emplace_back(who, depends_on); }
    /// It ends, whatever it depends on.
    void let_end(node n) { ending_.push_back(n); }

    /// Once, when all has been added.
    void solve() {
        sort_edges(forward_, [](const edge& e) { return e; });
        sort_edges(backward_, [](const edge& e) { return edge{e.second, e.first}; });
        std::vector<std::uint32_t> holds(size()); // how many more may end before it does
        for (node n = 0; n < size(); ++n) {
            const std::size_t degree = forward_.of(n).size();
            holds[n] = degree != 0 && needs_all_[n] ? 1 : static_cast<std::uint32_t>(degree);
            if (degree == 0) ending_.push_back(n);
        }
        while (!ending_.empty()) {
            const node n = ending_.back();
            ending_.pop_back();
            if (!stuck_[n]) continue;
            stuck_[n] = false;
            for (const node m : backward_.of(n)) {
                if (stuck_[m] && --holds[m] == 0) ending_.push_back(m);
            }
        }
    }

    [[nodiscard]] std::size_t size() const noexcept { return stuck_.size(); }
    [[nodiscard]] bool is_stuck(node n) const noexcept { return stuck_[n]; }
    /// Calls f(node) for each that `n` depends on. After solve().
    template <class F>
    void for_each_awaited(node n, F&& f) const {
        for (const node m : forward_.of(n)) f(m);
    }

    // --- knots: after solve() -------------------------------------------------------------------------------------------

    /// A node that is stuck leads to some that are stuck because of each other: a knot. Returns which, counted from 0.
    /// Over all nodes together this follows each edge twice at most.
    std::size_t knot_of(node n) {
        knot_.resize(size(), none);
        std::vector<node> path;
        while (knot_[n] == none) { // along any edge, until it comes back to where it has been
            knot_[n] = on_path;
            path.push_back(n);
            n = stuck_successor(n);
        }
        if (knot_[n] == on_path) tie(n);
        const std::size_t found = knot_[n];
        for (const node p : path) knot_[p] = found;
        return found;
    }
    /// The nodes of a knot; no node is in two of them.
    [[nodiscard]] const std::vector<node>& members(std::size_t knot) const noexcept { return knots_[knot]; }

private:
    using edge = std::pair<node, node>;
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max(), on_path = none - 1;

    struct adjacency {
        std::vector<std::size_t> first; // of each node, and the end
        std::vector<node> to;

        struct range {
            const node* b;
            const node* e;
            [[nodiscard]] const node* begin() const noexcept { return b; }
            [[nodiscard]] const node* end() const noexcept { return e; }
            [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(e - b); }
        };
        [[nodiscard]] range of(node n) const noexcept { return {to.data() + first[n], to.data() + first[n + 1]}; }
    };

    node add(bool needs_all) {
        needs_all_.push_back(needs_all);
        stuck_.push_back(true);
        return static_cast<node>(stuck_.size() - 1);
    }

    template <class Direction>
    void sort_edges(adjacency& a, const Direction& direction) const {
        a.first.assign(size() + 1, 0);
        a.to.resize(edges_.size());
        for (const edge& e : edges_) ++a.first[direction(e).first + std::size_t{1}];
        for (std::size_t n = 0; n < size(); ++n) a.first[n + 1] += a.first[n];
        std::vector<std::size_t> next = a.first;
        for (const edge& e : edges_) {
            const auto [from, to] = direction(e);
            a.to[next[from]++] = to;
        }
    }

    [[nodiscard]] node stuck_successor(node n) const noexcept {
        for (const node m : forward_.of(n)) {
            if (stuck_[m]) return m;
        }
        return n; // not reached: who is stuck depends on one that is
    }

    // Whatever is stuck and can be reached from `n`, which is on a cycle, belongs to it, unless it was told already.
    void tie(node n) {
        std::vector<node> members{n};
        const std::size_t id = knots_.size();
        knot_[n] = id;
        for (std::size_t i = 0; i < members.size(); ++i) {
            for (const node m : forward_.of(members[i])) {
                if (!stuck_[m] || (knot_[m] != none && knot_[m] != on_path)) continue;
                knot_[m] = id;
                members.push_back(m);
            }
        }
        knots_.push_back(std::move(members));
    }

    std::vector<edge> edges_;
    std::vector<bool> needs_all_, stuck_;
    std::vector<node> ending_; // will end, and those that depend on it do not know yet
    adjacency forward_, backward_;
    std::vector<std::size_t> knot_; // of each node, as far as it is known
    std::vector<std::vector<node>> knots_;
};

} // namespace cmwq::inline CMWQ_NS::detail
