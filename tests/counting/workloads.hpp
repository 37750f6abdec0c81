// SPDX-License-Identifier: BSL-1.0
//
// The workloads whose accesses are counted on the simulated machine.
#pragma once

#include <cmwq/topology.hpp>
#include <counting/counts.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace scale {

using cmwq::detail::counting::counts;

enum class policy : unsigned char { bound, elastic, unbound, ordered, bh };
inline constexpr std::array<std::string_view, 5> policies = {"bound", "elastic", "unbound", "ordered", "bh"};

enum class workload : unsigned char {
    independent, ///< on each CPU a producer with a queue of its own queues its item, and waits for the run
    bursts,      ///< likewise, but it queues eight items before it waits for all of them
    shared,      ///< as independent, but all producers share one queue
    outside,     ///< a single producer queues one item for each CPU, and waits for all of them
    inside,      ///< for each CPU a chain of items: each queues the next one from inside its run
    tree,        ///< for each CPU a tree of closures: each posts two more from inside its run
};
inline constexpr std::array<std::string_view, 6> workloads = {"independent", "bursts", "shared",
                                                              "outside",     "inside", "tree"};

/// The result of one case: the sum of its runs. `failure` is empty if all have run to their end.
struct measurement {
    std::uint64_t items = 0;
    std::int64_t elapsed = 0; ///< virtual nanoseconds, of the rounds that are measured
    counts queueing, running, rest;
    char failure[240] = "";

    [[nodiscard]] counts all() const noexcept {
        counts sum = queueing;
        sum.add(running);
        sum.add(rest);
        return sum;
    }
    [[nodiscard]] double per_item(std::uint64_t n) const noexcept {
        return items == 0 ? 0 : static_cast<double>(n) / static_cast<double>(items);
    }
};

/// A case to be measured.
struct setting {
    policy p = policy::bound;
    workload w = workload::independent;
    unsigned cpus = 1;
    unsigned items_of_cpu = 48;      ///< for each CPU, after half as many that are not measured
    std::int64_t time_of_item = 500; ///< virtual nanoseconds
    bool sentinels = true;           ///< runtime_options::sentinel
    cmwq::affinity_scope scope = cmwq::affinity_scope::cache_shard; ///< of the queues; all CPUs share one cache
    unsigned shard_size = cmwq::topology::default_cache_shard_size; ///< CPUs of a cache_shard
    unsigned runs = 3;        ///< with slightly different times of wake-ups, because one run is a matter of luck
    std::size_t nr_sites = 0; ///< how many places of the code to list
};

/// Measures one case, and returns the sum of its runs. Each run is in a child process, so that all start with the same
/// memory. Writes the list of places of the first run to `sites`.
[[nodiscard]] measurement measure(const setting& s, std::string* sites = nullptr);

} // namespace scale
