// SPDX-License-Identifier: BSL-1.0
//
// queue_times: how long the items of a queue have taken.
#pragma once

#include <cmwq/detail/base/statistic.hpp>
#include <cmwq/stats.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// A duration_histogram to which any thread may add at any time.
class shared_histogram {
public:
    void add(std::int64_t ns, std::uint64_t n) noexcept {
        counts_[duration_histogram::class_of(std::chrono::nanoseconds{ns})].add(n);
        sum_.add(ns * static_cast<std::int64_t>(n));
    }
    [[nodiscard]] duration_histogram get() const noexcept {
        duration_histogram h;
        for (std::size_t i = 0; i < duration_histogram::nr_classes; ++i) h.counts[i] = counts_[i].get();
        h.sum = std::chrono::nanoseconds{sum_.get()};
        return h;
    }

private:
    statistic<std::uint64_t> counts_[duration_histogram::nr_classes];
    statistic<std::int64_t> sum_;
};

/// Any thread may call every member, and add to the histograms.
struct queue_times {
    shared_histogram runs, waits;
};

}}} // namespace cmwq::CMWQ_NS::detail
