// SPDX-License-Identifier: BSL-1.0
//
// inbox: an intrusive, lock-free list into which any thread puts, and from which one consumer at a time takes all.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/ds/intrusive_list.hpp>

namespace cmwq::inline CMWQ_NS::detail {

/// Producers swing the head with a compare-exchange; the consumer exchanges it for null and reverses what it got, so
/// elements come out in the order in which their pushes took effect. No ABA: nobody pops a single element.
template <class T, class Tag>
class inbox {
    using node = list_node<Tag>;

public:
    /// Any thread. True: the inbox was empty.
    bool push(T& t) noexcept {
        node& n = t;
        node* head = head_.load(relaxed);
        do {
            n.next = head;
            // [INB-1] release, pairs [INB-2]: the element's fields. Pushes are read-modify-writes, so a later push
            // continues the release sequence of an earlier one, and one acquire receives them all.
            // seq_cst for [IDLE-1]: a push and the look at the consumer's state behind it must not change places.
        } while (!head_.compare_exchange_weak(head, &n, seq_cst, relaxed));
        return head == nullptr;
    }

    /// Any thread. [IDLE-2] seq_cst: pairs with the push of a producer that did not see this consumer go idle.
    [[nodiscard]] bool empty() const noexcept { return head_.load(seq_cst) == nullptr; }

    /// One thread at a time. The elements that were there, oldest first, linked; walk them with `unlink_next()`.
    [[nodiscard]] T* take_all() noexcept {
        if (empty()) return nullptr;                // most looks find nothing, and a load is cheaper than an exchange
        node* n = head_.exchange(nullptr, acquire); // [INB-2] pairs [INB-1]
        node* oldest = nullptr;
        while (n != nullptr) {
            node* next = n->next;
            n->next = oldest;
            oldest = n;
            n = next;
        }
        return static_cast<T*>(oldest);
    }

    /// The element behind `t`, which can go on a list after this.
    static T* unlink_next(T& t) noexcept {
        node& n = t;
        node* next = n.next;
        n.next = nullptr;
        return static_cast<T*>(next);
    }

private:
    atomic<node*> head_{nullptr};
};

} // namespace cmwq::inline CMWQ_NS::detail
