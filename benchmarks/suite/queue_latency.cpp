// SPDX-License-Identifier: BSL-1.0
//
// Producers, each bound to a CPU, queue one item and wait for it, again and again: the time of the call that queues,
// for each affinity scope. The kernel's lib/test_workqueue.c measures the same.
#include "add_pools.hpp"

#include "support/cpus.hpp"
#include "support/producers.hpp"
#include "support/statistics.hpp"

#include <cmwq/affinity_scope.hpp>
#include <cmwq/attrs.hpp>
#include <cmwq/work.hpp>

#include <memory>

namespace suite {

namespace {

/// `make_queue(item)` returns a function that queues the item.
template <class MakeQueue>
void measure_producers(const run& r, std::size_t producers, MakeQueue make_queue) {
    const bench::producers_result all = bench::run_producers(producers, r.pick(50u, 2'000u, 10'000u), make_queue);
    r.report(std::to_string(producers) + (producers == 1 ? " producer" : " producers"),
             {{"items_per_second", all.items_per_second},
              {"call_p50_ns", bench::median(all.call_ns)},
              {"call_p90_ns", bench::quantile(all.call_ns, 0.9)},
              {"call_p95_ns", bench::quantile(all.call_ns, 0.95)}});
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
    bench::answering_item item;
    pool.post([&item] { item.run(); });
    item.done.acquire();
}

template <class Policy>
void measure_queue(const run& r, cmwq::workqueue<Policy>& queue) {
    measure(r, [&queue](bench::answering_item& item) {
        // The producer waits for the end of the function, not for the end of the run: queueing is possible by then.
        return [&queue, work = std::make_unique<cmwq::work_member<&bench::answering_item::run>>(item)] {
            queue.queue(*work);
        };
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
                                    measure(r, [&pool](bench::answering_item& item) {
                                        return [&pool, &item] { pool.post([&item] { item.run(); }); };
                                    });
                                }});
    });
    return w;
}

} // namespace suite
