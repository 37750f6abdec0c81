// SPDX-License-Identifier: BSL-1.0
//
// A circular, doubly linked list of objects that contain their links, in a single pointer: for lists of which there are
// many, and most are empty.
#pragma once

#include <cmwq/detail/ds/intrusive_list.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// As intrusive_list, without a size. The ring itself is written only when its first element changes.
template <class T, class Tag>
class intrusive_ring {
    using node = list_node<Tag>;

public:
    intrusive_ring() noexcept = default;
    intrusive_ring(const intrusive_ring&) = delete;
    intrusive_ring& operator=(const intrusive_ring&) = delete;

    [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
    [[nodiscard]] T* front() const noexcept { return static_cast<T*>(first_); }

    void push_back(T& t) noexcept {
        node& n = t;
        CMWQ_ASSERT(n.prev == nullptr);
        if (first_ == nullptr) {
            first_ = n.next = n.prev = &n;
            return;
        }
        n.next = first_;
        n.prev = first_->prev;
        n.prev->next = n.next->prev = &n;
    }

    void remove(T& t) noexcept {
        node& n = t;
        CMWQ_ASSERT(n.next != nullptr && n.prev != nullptr);
        if (first_ == &n) first_ = n.next == &n ? nullptr : n.next;
        n.prev->next = n.next;
        n.next->prev = n.prev;
        n.next = n.prev = nullptr;
    }

private:
    node* first_ = nullptr;
};

}}} // namespace cmwq::CMWQ_NS::detail
