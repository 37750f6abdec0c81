// SPDX-License-Identifier: BSL-1.0
//
// The time from queue() of a bottom half to its end, in the calling thread. Compared with a direct call and with
// dispatch() to a strand, Asio's means to run a handler at once in the calling thread, but one at a time. No other
// thread competes.
#include "support/cpus.hpp"

#include <benchmark/benchmark.h>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <cmwq/cmwq.hpp>

#include <cstdint>
#include <mutex>

namespace {

/// The body of every item. Not inlined, so that a direct call is a call.
class counter {
public:
    [[gnu::noinline]] void count() noexcept {
        ++n_;
        benchmark::ClobberMemory();
    }

private:
    std::uint64_t n_ = 0;
};

// --- A call ----------------------------------------------------------------------------------------------------------

void direct_call(benchmark::State& state) {
    const bench::pinned here{bench::usable_cpus().front()};
    counter c;
    for ([[maybe_unused]] auto _ : state) c.count();
}

/// The lowest cost of running one item at a time.
void under_a_mutex(benchmark::State& state) {
    const bench::pinned here{bench::usable_cpus().front()};
    counter c;
    std::mutex one_at_a_time;
    for ([[maybe_unused]] auto _ : state) {
        const std::lock_guard g(one_at_a_time);
        c.count();
    }
}

// --- cmwq ------------------------------------------------------------------------------------------------------------

void bottom_half(benchmark::State& state, cmwq::priority p) {
    cmwq::runtime runtime;
    cmwq::workqueue<cmwq::bh> queue{runtime, {.name = "bh", .priority = p}};
    const bench::pinned here{bench::usable_cpus().front()};
    counter c;
    cmwq::work item{[&] { c.count(); }};
    for ([[maybe_unused]] auto _ : state) queue.queue(item);
}

void bottom_half_normal(benchmark::State& state) { bottom_half(state, cmwq::priority::normal); }
void bottom_half_high(benchmark::State& state) { bottom_half(state, cmwq::priority::high); }

/// A guard holds back sixteen items, which run when it ends. The result is the time of one item.
void bottom_half_batch(benchmark::State& state) {
    constexpr int batch = 16;
    cmwq::runtime runtime;
    cmwq::workqueue<cmwq::bh> queue{runtime, "bh"};
    const bench::pinned here{bench::usable_cpus().front()};
    counter c;
    const auto body = [&] { c.count(); };
    using item = cmwq::work<decltype(body)>;
    item items[batch] = {item(body), item(body), item(body), item(body), item(body), item(body),
                         item(body), item(body), item(body), item(body), item(body), item(body),
                         item(body), item(body), item(body), item(body)};
    while (state.KeepRunningBatch(batch)) {
        const cmwq::bh_disable_guard hold;
        for (item& w : items) queue.queue(w);
    }
}

/// To the bottom-half thread of another CPU and back, for items that this thread must not run.
void bottom_half_on_its_thread(benchmark::State& state) {
    cmwq::runtime runtime;
    cmwq::workqueue<cmwq::bh> queue{runtime, "bh"};
    const unsigned there = bench::usable_cpus().back();
    const bench::pinned here{bench::usable_cpus().front()};
    counter c;
    cmwq::work item{[&] { c.count(); }};
    for ([[maybe_unused]] auto _ : state) {
        queue.queue_on(there, item);
        item.flush();
    }
}

// --- Asio ------------------------------------------------------------------------------------------------------------

namespace asio = boost::asio;

/// Calls `measure(strand)` on a thread that runs the strand's io_context.
template <class Measure>
void on_io_context(Measure measure) {
    const bench::pinned here{bench::usable_cpus().front()};
    asio::io_context io{2}; // two threads may run it: with a hint of 1 it would use no locks
    auto strand = asio::make_strand(io);
    asio::post(io, [&] { measure(strand); });
    io.run();
}

void asio_dispatch_from_outside(benchmark::State& state) {
    on_io_context([&](auto& strand) {
        counter c;
        for ([[maybe_unused]] auto _ : state) asio::dispatch(strand, [&c] { c.count(); });
    });
}

void asio_dispatch_from_inside(benchmark::State& state) {
    on_io_context([&](auto& strand) {
        asio::dispatch(strand, [&] {
            counter c;
            for ([[maybe_unused]] auto _ : state) asio::dispatch(strand, [&c] { c.count(); });
        });
    });
}

/// From a thread that does not run the io_context yet: it must call run() itself to have the handler called.
void asio_dispatch_and_run(benchmark::State& state) {
    const bench::pinned here{bench::usable_cpus().front()};
    asio::io_context io{2};
    auto strand = asio::make_strand(io);
    counter c;
    for ([[maybe_unused]] auto _ : state) {
        asio::dispatch(strand, [&c] { c.count(); });
        io.restart();
        io.run();
    }
}

} // namespace

BENCHMARK(direct_call);
BENCHMARK(under_a_mutex);
BENCHMARK(bottom_half_normal);
BENCHMARK(bottom_half_high);
BENCHMARK(bottom_half_batch);
BENCHMARK(bottom_half_on_its_thread)->UseRealTime();
BENCHMARK(asio_dispatch_from_outside);
BENCHMARK(asio_dispatch_from_inside);
BENCHMARK(asio_dispatch_and_run);

BENCHMARK_MAIN();
