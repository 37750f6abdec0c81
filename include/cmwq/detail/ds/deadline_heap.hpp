// SPDX-License-Identifier: BSL-1.0
//
// An intrusive heap of timers: no operation allocates, any timer can be removed, and no single operation takes longer
// than the logarithm of their number.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstdint>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The base of a timer. Guarded by the lock of the heap, or of the timing wheel, that contains it.
struct deadline_node {
    std::int64_t deadline = 0;  ///< nanoseconds of the runtime's clock
    std::uint64_t sequence = 0; ///< equal deadlines come in this order
    deadline_node* left = nullptr;
    deadline_node* right = nullptr; ///< in a slot of a timing wheel: the next timer
    deadline_node* up = nullptr;    ///< the parent; in a slot: the timer before
    unsigned rank = 0;              ///< the length of the path that goes right from here
    unsigned slot = 0;              ///< belongs to the timing wheel
};

/// Not thread safe. T derives from deadline_node.
///
/// A leftist heap: no node has a rank above that of its left sibling. So the path that goes right from the root has at
/// most log2(n + 1) nodes. push() walks along it; remove() walks along those of two subtrees, and then up while ranks
/// change, which is no further. A pairing heap is faster on average, but after n pushes one remove() may take n steps.
template <class T>
class deadline_heap {
public:
    [[nodiscard]] bool empty() const noexcept { return root_ == nullptr; }
    [[nodiscard]] T& front() const noexcept { return *static_cast<T*>(root_); }

    /// The deadline and the sequence of `t` must not change until it is removed.
    void push(T& t) noexcept {
        deadline_node& n = t;
        n.left = n.right = n.up = nullptr;
        n.rank = 1;
        root_ = meld(root_, &n);
    }

    void remove(T& t) noexcept {
        deadline_node& n = t;
        if (n.left != nullptr) n.left->up = nullptr;
        if (n.right != nullptr) n.right->up = nullptr;
        deadline_node* const rest = meld(n.left, n.right);
        deadline_node* const above = n.up;
        if (rest != nullptr) rest->up = above;
        (above == nullptr ? root_ : above->left == &n ? above->left : above->right) = rest;
        for (deadline_node* k = above; k != nullptr && balance(*k); k = k->up) {}
        n.left = n.right = n.up = nullptr;
    }

private:
    static bool before(const deadline_node& a, const deadline_node& b) noexcept {
        return a.deadline != b.deadline ? a.deadline < b.deadline : a.sequence < b.sequence;
    }
    static unsigned rank_of(const deadline_node* n) noexcept { return n == nullptr ? 0 : n->rank; }

    // Restores the order of the children. Returns whether the rank has changed.
    static bool balance(deadline_node& n) noexcept {
        if (rank_of(n.left) < rank_of(n.right)) std::swap(n.left, n.right);
        return std::exchange(n.rank, rank_of(n.right) + 1) != n.rank;
    }

    // Merges the right paths of two roots, and returns the common root.
    static deadline_node* meld(deadline_node* a, deadline_node* b) noexcept {
        if (a == nullptr) return b;
        if (b == nullptr) return a;
        if (before(*b, *a)) std::swap(a, b);
        deadline_node* const root = a;
        while (b != nullptr) { // it comes behind `a`
            if (a->right == nullptr || before(*b, *a->right)) {
                std::swap(a->right, b);
                a->right->up = a;
            }
            a = a->right;
        }
        for (; a != nullptr; a = a->up) balance(*a);
        return root;
    }

    deadline_node* root_ = nullptr;
};

}}} // namespace cmwq::CMWQ_NS::detail
