// SPDX-License-Identifier: BSL-1.0
//
// Producers, each bound to a CPU, queue one item and wait for it, again and again: the time of the call that queues,
// for each affinity scope. The kernel's lib/test_workqueue.c measures the same.
#include "add_pools.hpp"

#include "support/cpus.hpp"
#include "support/statistics.hpp"
#include "support/stopwatch.hpp"

#include <cmwq/affinity_scope.hpp>
#include <cmwq/attrs.hpp>
#include <cmwq/work.hpp>

#include <latch>
#include <memory>
#include <semaphore>
#include <thread>

namespace suite {

namespace {

/// What a producer queues.
struct answering_item {
    void run() { done.release(); }
    std::binary_semaphore done{0};
};

/// `make_queue(item)` returns a function that queues the item.
template <class MakeQueue>
void measure_producers(const run& r, std::size_t producers, MakeQueue make_queue) {
    const unsigned rounds = r.pick(50u, 2'000u, 10'000u);
    const std::vector<unsigned> cpus = bench::usable_cpus();
    std::latch ready{static_cast<std::ptrdiff_t>(producers) + 1};
    std::vector<std::vector<double>> call_ns(producers);
    std::vector<std::thread> threads;
    for (std::size_t p = 0; p < producers; ++p) {
        threads.emplace_back([&, p] {
            const bench::pinned here{cpus[p]};
            answering_item item;
            auto queue = make_queue(item);
            const auto round = [&] {
                const bench::stopwatch watch;
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
    const bench::stopwatch watch;
    for (std::thread& t : threads) t.join();
    const double seconds = watch.ns() * 1e-9;

    std::vector<double> all;
    for (const auto& one : call_ns) all.insert(all.end(), one.begin(), one.end());
    r.verify(all.size() == producers * rounds, "items are missing");
    r.report(std::to_string(producers) + (producers == 1 ? " producer" : " producers"),
             {{"items_per_second", static_cast<double>(all.size()) / seconds},
              {"call_p50_ns", bench::median(all)},
              {"call_p90_ns", bench::quantile(all, 0.9)},
              {"call_p95_ns", bench::quantile(all, 0.95)}});
}

template <class MakeQueue>
void measure(const run& r, MakeQueue make_queue) {
    const std::size_t cpus = bench::usable_cpus().size();
    measure_producers(r, 1, make_queue);
    if (cpus > 1) measure_producers(r, cpus, make_queue);
}

/// Some pools make their threads when the first item arrives. Here they do not inherit the CPU of a producer.
template <class Pool>
void start_threads(Pool& pool) {
    answering_item item;
    pool.post([&item] { item.run(); });
    item.done.acquire();
}

template <class Policy>
void measure_queue(const run& r, cmwq::workqueue<Policy>& queue) {
    measure(r, [&queue](answering_item& item) {
        // The producer waits for the end of the function, not for the end of the run: queueing is possible by then.
        return [&queue, work = std::make_unique<cmwq::work_member<&answering_item::run>>(item)] { queue.queue(*work); };
    });
}

template <class Policy>
void add_scopes(workload& w) {
    for (const cmwq::affinity_scope scope : cmwq::affinity_scopes) {
        w.contenders.push_back(
            {bench::cmwq_pool<Policy>::name() + ", " + std::string(to_string(scope)), [scope](const run& r) {
                 cmwq::runtime runtime;
                 cmwq::workqueue<Policy> queue{runtime, {.name = "suite", .attrs = cmwq::attrs{}.affinity(scope)}};
                 measure_queue(r, queue);
             }});
    }
}

} // namespace

workload queue_latency() {
    workload w{"queue_latency", {}};
    w.contenders.push_back({bench::cmwq_pool<cmwq::bound>::name(), [](const run& r) {
                                cmwq::runtime runtime;
                                cmwq::workqueue<> queue{runtime, "suite"};
                                measure_queue(r, queue);
                            }});
    add_scopes<cmwq::elastic>(w);
    add_scopes<cmwq::unbound>(w);
    bench::for_each_peer([&]<class Pool>(std::type_identity<Pool>) {
        w.contenders.push_back({Pool::name(), [](const run& r) {
                                    Pool pool;
                                    start_threads(pool);
                                    measure(r, [&pool](answering_item& item) {
                                        return [&pool, &item] { pool.post([&item] { item.run(); }); };
                                    });
                                }});
    });
    return w;
}

} // namespace suite
