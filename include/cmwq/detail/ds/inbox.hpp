// SPDX-License-Identifier: BSL-1.0
//
// inbox: an intrusive lock-free list. Any thread pushes elements; one consumer at a time takes all of them.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/ds/intrusive_list.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Producers set the head by a compare-exchange. The consumer exchanges the head for null and reverses the list, so the
/// elements have the order in which their pushes took effect. There is no ABA problem, because no thread pops a single
/// element.
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
            // [INB-1] release, pairs [INB-2]: publishes the element's fields. Pushes are read-modify-writes, so a later
            // push continues the release sequence of an earlier one, and one acquire operation acquires all of them.
            // seq_cst for [IDLE-1]: a push must not be reordered with the following read of the consumer's state.
        } while (!head_.compare_exchange_weak(head, &n, seq_cst, relaxed));
        return head == nullptr;
    }

    /// Any thread. [IDLE-2] seq_cst: pairs with the push of a producer that did not see that this consumer is idle.
    [[nodiscard]] bool empty() const noexcept { return head_.load(seq_cst) == nullptr; }

    /// One thread at a time. Takes all elements, and returns the oldest one, or null. The others are linked behind it:
    /// walk them with `unlink_next()`.
    [[nodiscard]] T* take_all() noexcept {
        if (empty()) return nullptr;                // the common case; a load is cheaper than an exchange
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

    /// Calls f(const T&) for the elements, the newest first, while it returns true. No thread takes elements meanwhile.
    template <class F>
    void for_each(F&& f) const {
        for (const node* n = head_.load(acquire); n != nullptr; n = n->next) { // [INB-2]
            if (!f(static_cast<const T&>(*n))) return;
        }
    }

    /// Unlinks `t`, which may then be put on a list. Returns the element behind it, or null.
    static T* unlink_next(T& t) noexcept {
        node& n = t;
        node* next = n.next;
        n.next = nullptr;
        return static_cast<T*>(next);
    }

private:
    atomic<node*> head_{nullptr};
};

}}} // namespace cmwq::CMWQ_NS::detail
