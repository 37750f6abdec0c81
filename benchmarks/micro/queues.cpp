// SPDX-License-Identifier: BSL-1.0
//
// The cost of making and destroying a queue, compared with a pool that has two threads of its own.
#include <cmwq/cmwq.hpp>

#include <benchmark/benchmark.h>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <string>

namespace {

cmwq::runtime& shared_runtime() {
    static auto& rt = *new cmwq::runtime; // its threads outlive the benchmarks
    return rt;
}

unsigned threads_made(const cmwq::runtime& rt, unsigned before) { return rt.stats().peak_threads - before; }

/// Another queue has the same attributes, so the pool exists already.
template <class Policy>
void make_and_destroy(benchmark::State& state) {
    cmwq::runtime& rt = shared_runtime();
    const cmwq::workqueue<Policy> other{rt, "other"};
    const unsigned before = rt.stats().peak_threads;
    for (auto _ : state) {
        const cmwq::workqueue<Policy> q{rt, "q"};
        benchmark::DoNotOptimize(&q);
    }
    state.counters["threads"] = threads_made(rt, before);
}

/// No other queue has the same attributes: the registry makes a pool and ends it.
void make_and_destroy_alone(benchmark::State& state) {
    cmwq::runtime& rt = shared_runtime();
    const unsigned before = rt.stats().peak_threads;
    for (auto _ : state) {
        const cmwq::workqueue<cmwq::unbound> q{rt, {.name = "q", .attrs = cmwq::attrs{}.nice(7)}};
        benchmark::DoNotOptimize(&q);
    }
    state.counters["threads"] = threads_made(rt, before);
}

/// Like make_and_destroy(), but the queue also runs one item.
template <class Policy>
void make_use_and_destroy(benchmark::State& state) {
    cmwq::runtime& rt = shared_runtime();
    cmwq::workqueue<Policy> other{rt, "other"};
    other.post([] {});
    other.flush();
    for (auto _ : state) {
        cmwq::workqueue<Policy> q{rt, "q"};
        q.post([] {});
        q.drain();
    }
}

void asio_pool_of_two(benchmark::State& state) {
    for (auto _ : state) {
        boost::asio::thread_pool pool(2);
        pool.join();
    }
    state.counters["threads"] = 2;
}

void asio_pool_of_two_used(benchmark::State& state) {
    for (auto _ : state) {
        boost::asio::thread_pool pool(2);
        boost::asio::post(pool, [] {});
        pool.join();
    }
}

BENCHMARK(make_and_destroy<cmwq::bound>)->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK(make_and_destroy<cmwq::unbound>)->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK(make_and_destroy<cmwq::elastic>)->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK(make_and_destroy<cmwq::ordered>)->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK(make_and_destroy_alone)->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK(asio_pool_of_two)->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK(make_use_and_destroy<cmwq::bound>)->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK(make_use_and_destroy<cmwq::unbound>)->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK(make_use_and_destroy<cmwq::elastic>)->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK(make_use_and_destroy<cmwq::ordered>)->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK(asio_pool_of_two_used)->Unit(benchmark::kMicrosecond)->UseRealTime();

} // namespace

BENCHMARK_MAIN();
