// SPDX-License-Identifier: BSL-1.0
//
// Structures through which items can get from a producer to a consumer, each with the same item and nothing else around
// it: the floor for what a queue can reach, and the reason for the one that the library has.
#pragma once

#include <atomic>
#include <boost/lockfree/queue.hpp>

#include <cstdint>
#include <deque>
#include <mutex>

namespace structures {

/// The claim of the library: an item is submitted by whoever sets PENDING, and runs after it was cleared.
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

/// The item's own link; the consumer takes everything at once and reverses it.
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
            reversed = n->next; // before the run: the item may be gone after it
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
        while (!queue_.push(n)) {} // full: the consumer is behind
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
