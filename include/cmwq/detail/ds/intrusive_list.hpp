// SPDX-License-Identifier: BSL-1.0
//
// A circular, doubly linked list of objects that contain their links: it never allocates, and removes any element in
// O(1). An object may be on as many lists as it has `list_node` bases with different tags.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstddef>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The links of a list element. While an element is in an inbox, and not on a list, `next` is the link of the inbox.
template <class Tag>
struct list_node {
    list_node* next = nullptr;
    list_node* prev = nullptr;
};

/// Not thread safe: the owner's lock guards it. An element must not be destroyed while it is on the list.
template <class T, class Tag>
class intrusive_list {
    using node = list_node<Tag>;

public:
    constexpr intrusive_list() noexcept { head_.next = head_.prev = &head_; }
    intrusive_list(const intrusive_list&) = delete;
    intrusive_list& operator=(const intrusive_list&) = delete;

    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] T* front() noexcept { return empty() ? nullptr : item(head_.next); }
    /// As front(), of a list that is not empty.
    [[nodiscard]] T& first() noexcept {
        CMWQ_ASSERT(!empty());
        return *item(head_.next);
    }
    [[nodiscard]] T* back() noexcept { return empty() ? nullptr : item(head_.prev); }

    void push_front(T& t) noexcept { link(t, head_.next); }
    void push_back(T& t) noexcept { link(t, &head_); }
    /// `at`: null: as push_front().
    void insert_behind(T* at, T& t) noexcept { link(t, at != nullptr ? static_cast<node&>(*at).next : head_.next); }
    /// Moves all elements of `from` to this list. If both are sorted by `is_before(a, b)`, the result is, too; of equal
    /// elements those of this list come first. It passes only those of this list that come behind the first of `from`.
    template <class F>
    void merge(intrusive_list& from, F&& is_before) noexcept {
        T* at = back();
        while (T* const t = from.back()) {
            while (at != nullptr && is_before(*t, *at)) at = prev(*at);
            from.remove(*t);
            insert_behind(at, *t);
        }
    }

    void remove(T& t) noexcept {
        node& n = t;
        CMWQ_ASSERT(n.next != nullptr && n.prev != nullptr);
        n.prev->next = n.next;
        n.next->prev = n.prev;
        n.next = n.prev = nullptr;
        --size_;
    }

    T* pop_front() noexcept {
        T* t = front();
        if (t != nullptr) remove(*t);
        return t;
    }

    /// The element behind `t`, or null: `for (T* t = l.front(); t != nullptr; t = l.next(*t))`.
    [[nodiscard]] T* next(T& t) noexcept {
        node* n = static_cast<node&>(t).next;
        return n == &head_ ? nullptr : item(n);
    }

    /// The element before `t`, or null.
    [[nodiscard]] T* prev(T& t) noexcept {
        node* n = static_cast<node&>(t).prev;
        return n == &head_ ? nullptr : item(n);
    }

private:
    // By a reference: a cast of the pointer would look whether it is null, and g++ would warn of what follows then.
    static T* item(node* n) noexcept { return &static_cast<T&>(*n); }

    void link(T& t, node* before) noexcept {
        node& n = t;
        CMWQ_ASSERT(n.prev == nullptr);
        n.next = before;
        n.prev = before->prev;
        before->prev->next = &n;
        before->prev = &n;
        ++size_;
    }

    node head_;
    std::size_t size_ = 0;
};

}}} // namespace cmwq::CMWQ_NS::detail
