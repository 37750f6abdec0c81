// SPDX-License-Identifier: BSL-1.0
//
// Structures that pass items from a producer to a consumer, each with the same item and nothing else around it. They
// show the lowest cost that a queue can reach, and the reason why the library uses the intrusive one.
#pragma once

#include <atomic>
#include <boost/lockfree/queue.hpp>

#include <cstdint>
#include <deque>
#include <mutex>

namespace structures {

/// An item that is claimed as in the library: the thread that sets PENDING submits the item, and the item runs after
/// PENDING has been cleared.
struct node {
    std::atomic<std::uint64_t> state{0};
    node* next = nullptr;
    void (*run)(node&) = nullptr;

    bool claim() noexcept { return (state.fetch_or(1, std::memory_order_acq_rel) & 1) == 0; }
    void clear_and_run() {
        state.fetch_and(~std::uint64_t{1}, std::memory_order_acq_rel);
        run(*this);
    }
};

/// Links the items by a pointer in each item; the consumer takes all items at once and reverses their order.
class intrusive_inbox {
public:
    void push(node* n) noexcept {
        node* head = head_.load(std::memory_order_relaxed);
        do {
            n->next = head;
        } while (!head_.compare_exchange_weak(head, n, std::memory_order_release, std::memory_order_relaxed));
    }
    void run_all() {
        node* reversed = nullptr;
        for (node* n = head_.exchange(nullptr, std::memory_order_acquire); n != nullptr;) {
            node* next = n->next;
            n->next = reversed;
            reversed = n;
            n = next;
        }
        while (reversed != nullptr) {
            node* n = reversed;
            reversed = n->next; // read before the run, which may destroy the item
            n->clear_and_run();
        }
    }

private:
    alignas(128) std::atomic<node*> head_{nullptr};
};

class mutex_and_deque {
public:
    void push(node* n) {
        const std::lock_guard lock{mutex_};
        items_.push_back(n);
    }
    void run_all() {
        {
            const std::lock_guard lock{mutex_};
            taken_.swap(items_);
        }
        for (node* n : taken_) n->clear_and_run();
        taken_.clear();
    }

private:
    std::mutex mutex_;
    std::deque<node*> items_;
    alignas(128) std::deque<node*> taken_; // the consumer's
};

class lockfree_fixed {
public:
    void push(node* n) {
        while (!queue_.push(n)) {} // the queue is full: try again until the consumer has taken an item
    }
    void run_all() {
        queue_.consume_all([](node* n) { n->clear_and_run(); });
    }

private:
    boost::lockfree::queue<node*, boost::lockfree::capacity<4096>> queue_;
};

class lockfree_growing {
public:
    void push(node* n) { queue_.push(n); }
    void run_all() {
        queue_.consume_all([](node* n) { n->clear_and_run(); });
    }

private:
    boost::lockfree::queue<node*> queue_{4096};
};

} // namespace structures
