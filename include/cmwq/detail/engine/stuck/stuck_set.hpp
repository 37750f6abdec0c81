// SPDX-License-Identifier: BSL-1.0
//
// stuck_set: which of many waits never end, because they depend on each other. It does not know items: it finds the
// greatest set of nodes of a graph that all depend on nodes of that set.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Every node counts as stuck until solve() finds that it will end. The time is linear in the number of nodes and
/// edges, in any order: each edge is followed once, from a node that ends back to the node that depends on it. Used by
/// one thread at a time.
class stuck_set {
public:
    using node = std::uint32_t;

    /// All functions that change the set throw std::bad_alloc. After that only the destructor may be called.
    ///
    /// Adds a node that ends when all nodes that it depends on end; it ends if there are none.
    node add_ends_after_first() { return add(false); }
    /// Adds a node that ends when one of the nodes that it depends on ends; it ends if there are none.
    node add_ends_after_all() { return add(true); }
    void add_edge(node who, node depends_on) { edges_.emplace_back(who, depends_on); }
    /// The node ends, regardless of its dependencies.
    void let_end(node n) { ending_.push_back(n); }

    /// Called once, after all nodes and edges have been added.
    void solve() {
        sort_edges(forward_, [](const edge& e) { return e; });
        sort_edges(backward_, [](const edge& e) { return edge{e.second, e.first}; });
        std::vector<std::uint32_t> holds(size()); // how many more nodes must end before this one ends
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
    /// Calls f(node) for each node that `n` depends on. After solve().
    template <class F>
    void for_each_awaited(node n, F&& f) const {
        for (const node m : forward_.of(n)) f(m);
    }

    // --- knots: after solve() ----------------------------------------------------------------------------------------

    /// From every stuck node a path leads to a knot: stuck nodes that depend on each other. Returns the number of that
    /// knot, counted from 0. All calls together follow each edge at most twice. `n` is stuck.
    std::size_t knot_of(node n) {
        knot_.resize(size(), none);
        std::vector<node> path;
        while (knot_[n] == none) { // along any edge between stuck nodes, until a node with a known knot or on this path
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
        std::vector<std::size_t> first; // index in `to` of the first edge of each node, and the end
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
        return n; // not reached: a stuck node depends on a stuck node
    }

    // Makes a knot of all stuck nodes that can be reached from `n`, which is on a cycle, except those that are in a
    // knot already.
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
    std::vector<node> ending_; // nodes that end, but whose dependents have not been updated
    adjacency forward_, backward_;
    std::vector<std::size_t> knot_; // the knot of each node, as far as it is known
    std::vector<std::vector<node>> knots_;
};

}}} // namespace cmwq::CMWQ_NS::detail
