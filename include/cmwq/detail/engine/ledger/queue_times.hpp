// SPDX-License-Identifier: BSL-1.0
//
// queue_times: how long the items of a queue have taken.
#pragma once

#include <cmwq/detail/base/statistic.hpp>
#include <cmwq/stats.hpp>

#include <algorithm>
#include <bit>
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

/// Which items are measured: those at which the sum of the steps of all items of a thread passes the next mark. The
/// marks are `mean_distance` apart, in the mean, and at random, so that no pattern of items is missed. Each queue has a
/// step: an item of a small step is rarely measured, and then stands for many. A thread that queues items has marks of
/// its own, for their waits.
using sampling_step = std::int32_t;
inline constexpr sampling_step mean_distance = 1 << 20;         // a mark is up to twice as far away
inline constexpr sampling_step measure_all = 2 * mean_distance; // as far as a mark can be away

/// The step for a queue whose last measured item took `ns`. So the measurements cost at most 2 % of the time.
constexpr sampling_step step_for_items_of(std::int64_t ns) noexcept {
    constexpr std::int64_t enough = 50'000; // nanoseconds between two measurements, of which each takes one microsecond
    constexpr std::int64_t of_pool = 150;   // what the pool takes for an item of no length
    const std::int64_t interval = enough / (std::max(ns, std::int64_t{0}) + of_pool);
    if (interval <= 1) return measure_all;
    // A power of two, so that it does not change with each item.
    return mean_distance >> (std::bit_width(static_cast<std::uint64_t>(interval)) - 1);
}
/// For how many items one stands that was measured at that step.
constexpr std::uint64_t nr_items_for(sampling_step s) noexcept {
    return s >= mean_distance ? 1 : static_cast<std::uint64_t>(mean_distance / s);
}
/// The distance to the next mark. `random`: changed by each call.
constexpr sampling_step next_distance(std::uint32_t& random) noexcept {
    random = random * 747'796'405u + 2'891'336'453u;
    return static_cast<sampling_step>(random >> 11); // the high bits are the random ones
}

}}} // namespace cmwq::CMWQ_NS::detail
