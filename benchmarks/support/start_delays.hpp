// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "stopwatch.hpp"

#include <semaphore>
#include <vector>

namespace bench {

/// The times from queueing an item to its start, one item at a time.
class start_delays {
public:
    /// Calls `post(f)`, which queues `f`, and waits until that has started.
    template <class Post>
    void sample(Post post) {
        const stopwatch watch;
        post([&] {
            us_.push_back(watch.us());
            started_.release();
        });
        started_.acquire();
    }
    /// In microseconds.
    [[nodiscard]] const std::vector<double>& us() const noexcept { return us_; }

private:
    std::binary_semaphore started_{0};
    std::vector<double> us_;
};

} // namespace bench
