// SPDX-License-Identifier: BSL-1.0
//
// An intrusive pairing heap of timers: push() never allocates, and any timer can be removed.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The base of a timer. Guarded by the lock of the heap, or of the timing wheel, that contains it.
struct deadline_node {
    std::int64_t deadline = 0;  ///< nanoseconds of the runtime's clock
    std::uint64_t sequence = 0; ///< equal deadlines come in this order
    deadline_node* child = nullptr;
    deadline_node* sibling = nullptr; ///< in a slot of a timing wheel: the next timer
    deadline_node* back = nullptr;    ///< the left sibling, or the parent of a first child; in a slot: the timer before
    unsigned slot = 0;                ///< belongs to the timing wheel
};

/// Not thread safe. T derives from deadline_node. push() is O(1), remove() is amortized O(log n).
template <class T>
class deadline_heap {
public:
    [[nodiscard]] bool empty() const noexcept { return root_ == nullptr; }
    [[nodiscard]] T& front() const noexcept { return *static_cast<T*>(root_); }

    /// The deadline and the sequence of `t` must not change until it is removed.
    void push(T& t) noexcept {
        deadline_node& n = t;
        n.child = n.sibling = n.back = nullptr;
        root_ = root_ == nullptr ? &n : meld(root_, &n);
    }

    void remove(T& t) noexcept {
        deadline_node* n = &t;
        deadline_node* rest = meld_children(n->child);
        if (n == root_) {
            root_ = rest;
        } else {
            if (n->back->child == n) n->back->child = n->sibling;
            else n->back->sibling = n->sibling;
            if (n->sibling != nullptr) n->sibling->back = n->back;
            if (rest != nullptr) root_ = meld(root_, rest);
        }
        n->child = n->sibling = n->back = nullptr;
    }

private:
    static bool before(const deadline_node& a, const deadline_node& b) noexcept {
        return a.deadline != b.deadline ? a.deadline < b.deadline : a.sequence < b.sequence;
    }

    static deadline_node* meld(deadline_node* a, deadline_node* b) noexcept {
        if (before(*b, *a)) {
            deadline_node* t = a;
            a = b;
            b = t;
        }
        b->sibling = a->child;
        if (a->child != nullptr) a->child->back = b;
        b->back = a;
        a->child = b;
        a->sibling = a->back = nullptr;
        return a;
    }

    // The two passes of a pairing heap, without recursion: meld pairs from left to right, then the results from right
    // to left.
    static deadline_node* meld_children(deadline_node* first) noexcept {
        deadline_node* pairs = nullptr; // linked by `sibling`, the rightmost pair first
        while (first != nullptr) {
            deadline_node* a = first;
            deadline_node* b = a->sibling;
            first = b == nullptr ? nullptr : b->sibling;
            a->sibling = a->back = nullptr;
            if (b != nullptr) {
                b->sibling = b->back = nullptr;
                a = meld(a, b);
            }
            a->sibling = pairs;
            pairs = a;
        }
        deadline_node* root = nullptr;
        while (pairs != nullptr) {
            deadline_node* next = pairs->sibling;
            pairs->sibling = pairs->back = nullptr;
            root = root == nullptr ? pairs : meld(root, pairs);
            pairs = next;
        }
        return root;
    }

    deadline_node* root_ = nullptr;
};

}}} // namespace cmwq::CMWQ_NS::detail
