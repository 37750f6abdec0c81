// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cmwq/workqueue.hpp>

#include <cstddef>
#include <semaphore>

namespace suite {

/// Items that block for the lifetime of this object, each on a worker of its own.
class blocked_crowd {
public:
    blocked_crowd(cmwq::workqueue_base& queue, std::size_t n) : n_(n) {
        for (std::size_t i = 0; i < n_; ++i) {
            queue.post([this] {
                blocked_.release();
                {
                    const cmwq::blocking_region region;
                    leave_.acquire();
                }
                left_.release();
            });
        }
        for (std::size_t i = 0; i < n_; ++i) blocked_.acquire();
    }
    ~blocked_crowd() {
        leave_.release(static_cast<std::ptrdiff_t>(n_));
        for (std::size_t i = 0; i < n_; ++i) left_.acquire();
    }
    blocked_crowd(const blocked_crowd&) = delete;
    blocked_crowd& operator=(const blocked_crowd&) = delete;

private:
    std::size_t n_;
    std::counting_semaphore<> blocked_{0};
    std::counting_semaphore<> leave_{0};
    std::counting_semaphore<> left_{0};
};

} // namespace suite
