// SPDX-License-Identifier: BSL-1.0
//
// item_sampling: which items of a pwq are measured.
#pragma once

#include <cmwq/detail/base/statistic.hpp>
#include <cmwq/detail/base/thread_slots.hpp>
#include <cmwq/detail/sync/clock.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Which items are measured: those at which the sum of the steps of all items of a thread passes the next mark. The
/// marks are `mean_distance` apart, in the mean, and at random, so that no pattern of items is missed. Each queue has a
/// step: an item of a small step is rarely measured, and then stands for many. A thread that queues items has marks of
/// its own, for their waits.
using sampling_step = std::int32_t;
inline constexpr sampling_step mean_distance = 1 << 20;         // a mark is up to twice as far away
inline constexpr sampling_step measure_all = 2 * mean_distance; // as far as a mark can be away
inline constexpr sampling_step measure_first = measure_all + 1; // the same: no item of the queue has been measured yet
inline constexpr sampling_step measure_few = mean_distance / 1024; // nor could it, because too many queues are new
inline constexpr sampling_step observe_all = 2 * measure_all;      // measure all, and tell the observers of them

/// The step for a queue whose last measured item took `ns`. A measurement takes about a microsecond, because the kernel
/// reads the clock of the CPU time. And it is an opportunity for the kernel to let another thread have the CPU, which
/// costs the batch of short items that would have followed. So of these, one in a millisecond is measured.
constexpr sampling_step step_for_items_of(std::int64_t ns) noexcept {
    constexpr std::int64_t long_enough = 50'000; // nanoseconds: each of these items is measured
    constexpr std::int64_t pause = 1'000'000;    // between two measurements of others; rounded down by up to a half
    constexpr std::int64_t of_pool = 100;        // what the pool takes for an item of no length
    if (ns >= long_enough) return measure_all;
    const std::int64_t interval = pause / (std::max(ns, std::int64_t{0}) + of_pool);
    // A power of two, so that it does not change with each item.
    return mean_distance >> (std::bit_width(static_cast<std::uint64_t>(interval)) - 1);
}

/// Whether the thread may measure one more first item. A program may make very many queues of few items.
inline bool take_one(first_items& f) noexcept {
    constexpr unsigned most = 64;
    constexpr std::int64_t pause = 3'200'000; // between two fillings: as long as 64 of the longest short items take
    if (f.left == 0) {
        const std::int64_t now = steady_now();
        if (now - f.filled_at < pause) return false;
        f = {most, now};
    }
    --f.left;
    return true;
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

/// The steps of a pwq. Any thread may call every member. No step is changed that has changed since the thread has read
/// it: the runtime may have got an observer.
class item_sampling {
public:
    [[nodiscard]] sampling_step of_runs() const noexcept { return runs_.get(); }
    [[nodiscard]] sampling_step of_waits() const noexcept { return waits_.get(); }
    [[nodiscard]] bool is_observed() const noexcept { return runs_.get() == observe_all; }

    /// A run was measured: it has taken `ns`.
    void note_run(std::int64_t ns) noexcept {
        const sampling_step next = step_for_items_of(ns);
        for (statistic<sampling_step>* const s : {&runs_, &waits_}) {
            const sampling_step now = s->get();
            if (now != next && now != observe_all) s->replace(now, next);
        }
    }
    /// A thread may not measure one more first item, with the step `measure_first`.
    void measure_few_runs() noexcept { runs_.replace(measure_first, measure_few); }
    void measure_few_waits() noexcept { waits_.replace(measure_first, measure_few); }
    /// Very many items may come before one has ended: each time that about 64 waits have been measured at the step
    /// `seen`, one of eight will do from then on, until the next run has been measured.
    void measure_fewer_waits(sampling_step seen) noexcept { waits_.replace(seen, std::max(seen / 8, 1)); }
    void set_observed(bool observed) noexcept {
        runs_.set(observed ? observe_all : measure_all);
        waits_.set(observed ? observe_all : measure_all);
    }

private:
    statistic<sampling_step> runs_{measure_first}, waits_{measure_first};
};

}}} // namespace cmwq::CMWQ_NS::detail
