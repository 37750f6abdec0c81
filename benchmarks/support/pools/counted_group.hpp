// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <cstdint>
#include <semaphore>
#include <utility>

namespace bench {

/// Fork and join for pools that offer none: a counter. Items may call run(). Only a thread outside the pool may call
/// wait(), once.
template <class Pool>
class counted_group {
public:
    explicit counted_group(Pool& pool) : pool_(pool) {}
    counted_group(const counted_group&) = delete;
    counted_group& operator=(const counted_group&) = delete;

    template <class F>
    void run(F&& f) {
        unfinished_.fetch_add(1, std::memory_order_relaxed);
        pool_.post([this, f = std::forward<F>(f)]() mutable {
            f();
            end_one();
        });
    }

    void wait() {
        end_one();
        all_ended_.acquire();
    }

private:
    void end_one() {
        if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) all_ended_.release();
    }

    Pool& pool_;
    std::atomic<std::uint64_t> unfinished_{1}; // the first one is that of wait()
    std::binary_semaphore all_ended_{0};
};

} // namespace bench
