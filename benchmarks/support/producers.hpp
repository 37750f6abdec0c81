// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cpus.hpp"
#include "stopwatch.hpp"

#include <cstddef>
#include <latch>
#include <semaphore>
#include <thread>
#include <vector>

namespace bench {

/// What a producer queues.
struct answering_item {
    void run() { done.release(); }
    std::binary_semaphore done{0};
};

struct producers_result {
    double items_per_second = 0;
    std::vector<double> call_ns; ///< of each call that queued an item
};

/// Producers, each bound to a CPU, queue one item and wait for it, again and again. `make_queue(item)` returns a
/// function that queues the item. There are not more producers than usable CPUs.
template <class MakeQueue>
[[nodiscard]] producers_result run_producers(std::size_t producers, unsigned rounds, MakeQueue make_queue) {
    const std::vector<unsigned> cpus = usable_cpus();
    std::latch ready{static_cast<std::ptrdiff_t>(producers) + 1};
    std::vector<std::vector<double>> call_ns(producers);
    std::vector<std::thread> threads;
    for (std::size_t p = 0; p < producers; ++p) {
        threads.emplace_back([&, p] {
            const pinned here{cpus[p]};
            answering_item item;
            auto queue = make_queue(item);
            const auto round = [&] {
                const stopwatch watch;
                queue();
                call_ns[p].push_back(watch.ns());
                item.done.acquire();
            };
            for (unsigned i = 0; i < rounds / 10; ++i) round();
            call_ns[p].clear();
            ready.arrive_and_wait();
            for (unsigned i = 0; i < rounds; ++i) round();
        });
    }
    ready.arrive_and_wait();
    const stopwatch watch;
    for (std::thread& t : threads) t.join();
    const double seconds = watch.ns() * 1e-9;

    producers_result r;
    for (const auto& one : call_ns) r.call_ns.insert(r.call_ns.end(), one.begin(), one.end());
    r.items_per_second = static_cast<double>(r.call_ns.size()) / seconds;
    return r;
}

} // namespace bench
