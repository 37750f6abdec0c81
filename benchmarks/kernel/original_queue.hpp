// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "support/cpus.hpp"
#include "support/pools/mutex_pool.hpp"

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace bench {

/// A workqueue as it was before concurrency management: threads of its own, each with a list that it works through in
/// order, one item after the other, also while an item blocks. A multi-threaded queue has a thread on each CPU, a
/// single-threaded one has one thread. The destructor waits for all items.
class original_queue {
public:
    enum class kind : unsigned char { multi_threaded, single_threaded };

    explicit original_queue(kind k) {
        if (k == kind::single_threaded) {
            threads_.push_back(std::make_unique<thread_with_list>());
        } else {
            for (const unsigned cpu : usable_cpus()) {
                const pinned here{cpu}; // the new thread inherits it
                threads_.push_back(std::make_unique<thread_with_list>());
            }
        }
    }

    /// Queues to the thread with this number among those of the CPUs.
    void queue_on(unsigned index, std::function<void()> item) {
        threads_[index % threads_.size()]->post(std::move(item));
    }

private:
    using thread_with_list = mutex_pool<1>;

    std::vector<std::unique_ptr<thread_with_list>> threads_;
};

} // namespace bench
