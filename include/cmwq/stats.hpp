// SPDX-License-Identifier: BSL-1.0
//
// Counters, as plain values.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS {

/// Durations, in classes: two for each doubling, from 128 ns to 137 s, one below and one above. A plain value.
class duration_histogram {
public:
    static constexpr std::size_t nr_classes = 62; ///< the number of classes

    /// The class of a duration.
    [[nodiscard]] static constexpr std::size_t class_of(std::chrono::nanoseconds d) noexcept {
        if (d.count() < first_bound) return 0;
        const auto ns = static_cast<std::uint64_t>(d.count());
        const auto octave = static_cast<std::size_t>(std::bit_width(ns)) - 1; // 7 is the first one
        const std::size_t half = (ns >> (octave - 1)) & 1;
        return std::min(1 + 2 * (octave - first_octave) + half, nr_classes - 1);
    }
    /// The durations of a class are shorter than this; those of the last one have no bound, which is
    /// nanoseconds::max().
    [[nodiscard]] static constexpr std::chrono::nanoseconds bound_of(std::size_t i) noexcept {
        if (i >= nr_classes - 1) return std::chrono::nanoseconds::max();
        const std::int64_t octave = first_bound << (i / 2);
        return std::chrono::nanoseconds{i % 2 == 0 ? octave : octave + octave / 2};
    }

    /// Adds `n` durations of that length.
    void add(std::chrono::nanoseconds d, std::uint64_t n = 1) noexcept {
        counts[class_of(d)] += n;
        sum += d * static_cast<std::int64_t>(n);
    }
    /// Adds all durations of another histogram.
    void add(const duration_histogram& more) noexcept {
        for (std::size_t i = 0; i < nr_classes; ++i) counts[i] += more.counts[i];
        sum += more.sum;
    }
    /// The number of durations.
    [[nodiscard]] std::uint64_t total() const noexcept {
        std::uint64_t n = 0;
        for (const std::uint64_t c : counts) n += c;
        return n;
    }
    /// Zero if there are none.
    [[nodiscard]] std::chrono::nanoseconds mean() const noexcept {
        const std::uint64_t n = total();
        return n == 0 ? std::chrono::nanoseconds{0} : sum / static_cast<std::int64_t>(n);
    }
    /// A bound for that share of the durations: quantile(0.99) is not shorter than 99 % of them. At most half as much
    /// again as the exact value; nanoseconds::max() if that is in the last class. Zero if there are none. `share`: 0
    /// to 1.
    [[nodiscard]] std::chrono::nanoseconds quantile(double share) const noexcept {
        const auto all = static_cast<double>(total());
        double below = 0;
        for (std::size_t i = 0; i < nr_classes; ++i) {
            below += static_cast<double>(counts[i]);
            if (counts[i] != 0 && below >= share * all) return bound_of(i);
        }
        return std::chrono::nanoseconds{0};
    }

    std::array<std::uint64_t, nr_classes> counts{}; ///< how many durations each class has
    std::chrono::nanoseconds sum{0};                ///< of all durations

private:
    static constexpr std::size_t first_octave = 7;
    static constexpr std::int64_t first_bound = 1 << first_octave;
};

/// What has happened in one queue since it was made. All but the times are exact, also for the items that run: whenever
/// none starts or ends, each that has ended is among `completed`, even if its thread goes on with others.
struct queue_counters {
    std::uint64_t started = 0;   ///< items whose function was entered
    std::uint64_t completed = 0; ///< items whose function has returned, or has thrown
    std::uint64_t cancelled = 0; ///< items that were taken back before they started, also by shutdown()
    /// CPU time of the items that have ended, in nanoseconds, without that of the items which they ran while they
    /// waited. An estimate: items of 50 µs and more are measured, of shorter ones about one in each millisecond.
    std::uint64_t cpu_ns = 0;
    /// How long items have waited for a slot of the limit, or for a thaw, in nanoseconds: the time for which there were
    /// any, which is added up over the pools of the queue. Exact to some milliseconds for each of these times.
    std::uint64_t saturated_ns = 0;
    // A block is counted for the item that the worker ran; if that one waited, and the worker ran others meanwhile, for
    // the first one.
    std::uint64_t blocks_by_guard = 0;    ///< times a blocking_region in an item left a CPU idle with work pending
    std::uint64_t blocks_by_sentinel = 0; ///< times an idle-class sentinel found an item blocked
    std::uint64_t blocks_by_monitor = 0;  ///< times the monitor found an item blocked
    std::uint64_t spare_wakeups = 0; ///< times a spare worker was started in place of one that was blocked in an item
    std::uint64_t repatriated = 0;   ///< workers that came back to their pod before they ran an item
    std::uint64_t cpu_hogs = 0;      ///< items that stopped counting because they kept their CPU for too long
    std::uint64_t maydays = 0;       ///< calls of the rescuer, one for each pool and lack of threads
    std::uint64_t rescued = 0;       ///< items that the rescuer has run
};

/// What has happened in one queue, and where its items are.
///
/// Each item that the queue has accepted and that has neither ended nor been cancelled is either pending or running. It
/// is also either active, that is, it has a slot of the limit (`max_active`), or it is inactive: it waits for one; or
/// it is an item of an elastic queue that another one has queued, and shall get a slot when its turn comes.
struct queue_stats : queue_counters {
    std::uint64_t running = 0;  ///< items whose function has been entered and has not ended: `started - completed`
    std::uint64_t pending = 0;  ///< items that have not started, without delayed ones whose time has not come
    std::uint64_t active = 0;   ///< items that have a slot of the limit: they run, or start as soon as a worker is free
    std::uint64_t inactive = 0; ///< items that wait for a slot

    /// How long the items have run, from the start of the function to its end, blocked or not. An estimate, as
    /// `cpu_ns`: of short items one stands for many.
    duration_histogram run_times;
    /// How long they have waited, from the moment when they were queued, or when their delay was over, until their
    /// function was called; cancelled ones are not among them. An estimate, to two microseconds, or to 3 % if the limit
    /// has kept the item back. Of a wait of more than 73 minutes, multiples of 73 minutes are missing.
    duration_histogram wait_times;
};

/// How many workers pools have made, by the reason for which each was needed.
struct pool_growth {
    std::uint64_t first = 0;     ///< no other worker of the pool had an item: it gets one, and one to spare
    std::uint64_t parallel = 0;  ///< items waited, and the pool has more CPUs than it had workers with an item
    std::uint64_t blocked = 0;   ///< of the workers with an item, fewer ran than the pool has CPUs
    std::uint64_t learned = 0;   ///< its items block so often that more workers keep its CPUs busy
    std::uint64_t overdue = 0;   ///< an item had waited for too long behind the running ones
    std::uint64_t unmanaged = 0; ///< the pool does not replace blocked workers: each active item gets one
};

/// Counters of a runtime since it was made.
struct runtime_stats {
    unsigned threads = 0;                 ///< worker threads, running, blocked and idle, without those that are to end
    unsigned peak_threads = 0;            ///< the highest value of `threads` so far
    std::uint64_t items_started = 0;      ///< items whose function was entered, over all queues and pools
    std::uint64_t items_completed = 0;    ///< items whose function has returned, or has thrown
    std::uint64_t blocks_by_guard = 0;    ///< times a blocking_region left a CPU idle with work pending
    std::uint64_t blocks_by_sentinel = 0; ///< workers that the idle-class sentinels found blocked
    std::uint64_t blocks_by_monitor = 0;  ///< workers that the monitor found blocked
    std::uint64_t spare_wakeups = 0;      ///< times a spare worker was started in place of blocked ones
    std::uint64_t repatriated = 0;        ///< workers that came back to their pod before they ran an item
    std::uint64_t cpu_hogs = 0;           ///< items that stopped counting because they kept their CPU for too long
    std::uint64_t overdue = 0;            ///< times a worker was started beside others for items that waited too long
    std::uint64_t events_lost = 0;        ///< events that were not delivered: earlier ones kept `on_event` too long
    std::uint64_t items_rescued = 0;      ///< items that rescuers have run, because no worker could be made
    /// Times a thread needed the local items of a worker that had its list for itself: it has interrupted the CPUs that
    /// run threads of the process.
    std::uint64_t bias_revocations = 0;
    pool_growth workers_made = {}; ///< over all pools, by reason; also of workers that have ended
};

namespace detail {

/// Calls `f(name, member)` for each counter of a queue.
template <class F>
constexpr void for_each_counter_of_queue(F&& f) {
    f("started", &queue_counters::started);
    f("completed", &queue_counters::completed);
    f("cancelled", &queue_counters::cancelled);
    f("cpu_ns", &queue_counters::cpu_ns);
    f("saturated_ns", &queue_counters::saturated_ns);
    f("blocks_by_guard", &queue_counters::blocks_by_guard);
    f("blocks_by_sentinel", &queue_counters::blocks_by_sentinel);
    f("blocks_by_monitor", &queue_counters::blocks_by_monitor);
    f("spare_wakeups", &queue_counters::spare_wakeups);
    f("repatriated", &queue_counters::repatriated);
    f("cpu_hogs", &queue_counters::cpu_hogs);
    f("maydays", &queue_counters::maydays);
    f("rescued", &queue_counters::rescued);
}
constexpr void add(queue_counters& to, const queue_counters& more) noexcept {
    for_each_counter_of_queue([&](const char*, std::uint64_t queue_counters::* member) { to.*member += more.*member; });
}

/// Calls `f(name, member)` for each reason.
template <class F>
constexpr void for_each_reason(F&& f) {
    f("first", &pool_growth::first);
    f("parallel", &pool_growth::parallel);
    f("blocked", &pool_growth::blocked);
    f("learned", &pool_growth::learned);
    f("overdue", &pool_growth::overdue);
    f("unmanaged", &pool_growth::unmanaged);
}
constexpr void add(pool_growth& to, const pool_growth& more) noexcept {
    for_each_reason([&](const char*, std::uint64_t pool_growth::* member) { to.*member += more.*member; });
}

} // namespace detail

}} // namespace cmwq::CMWQ_NS
