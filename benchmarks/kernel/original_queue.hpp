// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "support/cpus.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

/// A workqueue as it was before concurrency management: threads of its own, each with a list that it works through in
/// order, one item after the other, also while an item blocks. A multi-threaded queue has a thread on each CPU, a
/// single-threaded one has one thread.
class original_queue {
public:
    enum class kind : unsigned char { multi_threaded, single_threaded };

    explicit original_queue(kind k) {
        if (k == kind::single_threaded) {
            threads_.push_back(std::make_unique<served_list>());
        } else {
            for (const unsigned cpu : usable_cpus()) {
                const pinned here{cpu}; // the new thread inherits it
                threads_.push_back(std::make_unique<served_list>());
            }
        }
    }

    /// Queues to the thread with this number among those of the CPUs.
    void queue_on(unsigned index, std::function<void()> item) {
        threads_[index % threads_.size()]->add(std::move(item));
    }

private:
    class served_list {
    public:
        served_list() : thread_([this] { serve(); }) {}
        /// The items that have not started are dropped.
        ~served_list() {
            {
                const std::lock_guard g(lock_);
                ending_ = true;
            }
            more_.notify_one();
            thread_.join();
        }
        served_list(const served_list&) = delete;
        served_list& operator=(const served_list&) = delete;

        void add(std::function<void()> item) {
            {
                const std::lock_guard g(lock_);
                items_.push_back(std::move(item));
            }
            more_.notify_one();
        }

    private:
        void serve() {
            std::unique_lock g(lock_);
            for (;;) {
                more_.wait(g, [this] { return ending_ || !items_.empty(); });
                if (ending_) return;
                const std::function<void()> item = std::move(items_.front());
                items_.pop_front();
                g.unlock();
                item();
                g.lock();
            }
        }

        std::mutex lock_;
        std::condition_variable more_;
        std::deque<std::function<void()>> items_;
        bool ending_ = false;
        std::thread thread_;
    };

    std::vector<std::unique_ptr<served_list>> threads_;
};

} // namespace bench
