// SPDX-License-Identifier: BSL-1.0
//
// The costs of single operations for the thread that calls them.
#include "support/cpus.hpp"

#include <benchmark/benchmark.h>
#include <cmwq/cmwq.hpp>

#include <chrono>
#include <semaphore>

namespace {

using namespace std::chrono_literals;

unsigned other_cpu() { return bench::usable_cpus().back(); }

/// Calls `measure(state)` inside a work item and waits for it.
template <class Measure>
void on_worker(benchmark::State& state, Measure measure) {
    cmwq::runtime runtime;
    cmwq::workqueue<> queue{runtime, {.name = "operations"}};
    cmwq::work item{[&] { measure(state); }};
    queue.queue(item);
    item.flush();
}

/// A queue whose only active item blocks: all other items of the queue stay pending.
class held_queue {
public:
    held_queue() {
        queue_.queue_on(cpu_, holder_);
        holds_.acquire();
    }
    ~held_queue() { let_go_.release(); }
    cmwq::queue_status queue(cmwq::work_base& w) noexcept { return queue_.queue_on(cpu_, w); }
    bool modify(cmwq::delayed_work_base& w) noexcept { return queue_.modify(1h, w) != cmwq::queue_status::rejected; }
    cmwq::queue_status queue_after(cmwq::delayed_work_base& w) noexcept { return queue_.queue_after(1h, w); }

private:
    void hold() {
        holds_.release();
        const cmwq::blocking_region region;
        let_go_.acquire();
    }

    unsigned cpu_ = other_cpu();
    std::binary_semaphore holds_{0};
    std::binary_semaphore let_go_{0};
    cmwq::runtime runtime_;
    cmwq::workqueue<> queue_{runtime_, {.name = "held", .max_active = 1}};
    cmwq::work_member<&held_queue::hold> holder_{*this};
};

// --- Queueing --------------------------------------------------------------------------------------------------------

void requeue_pending(benchmark::State& state) {
    held_queue queue;
    cmwq::work item{[] {}};
    queue.queue(item);
    for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(queue.queue(item));
    item.cancel_sync();
}

void queue_and_cancel(benchmark::State& state) {
    held_queue queue;
    cmwq::work item{[] {}};
    for ([[maybe_unused]] auto _ : state) {
        queue.queue(item);
        benchmark::DoNotOptimize(item.cancel());
    }
}

void cancel_idle(benchmark::State& state) {
    held_queue queue;
    cmwq::work item{[] {}};
    queue.queue(item);
    item.cancel();
    for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(item.cancel());
}

void disable_and_enable(benchmark::State& state) {
    held_queue queue;
    cmwq::work item{[] {}};
    queue.queue(item);
    for ([[maybe_unused]] auto _ : state) {
        benchmark::DoNotOptimize(item.disable());
        benchmark::DoNotOptimize(item.enable());
    }
}

/// To a sleeping worker on another CPU and back.
void wake_up_and_answer(benchmark::State& state) {
    cmwq::runtime runtime;
    cmwq::workqueue<> queue{runtime, {.name = "operations"}};
    std::binary_semaphore answer{0};
    cmwq::work item{[&] { answer.release(); }};
    const unsigned cpu = other_cpu();
    const bench::pinned here{bench::usable_cpus().front()};
    for ([[maybe_unused]] auto _ : state) {
        // The previous execution of the item may not have ended yet; the item is queued again all the same.
        queue.queue_on(cpu, item);
        answer.acquire();
    }
}

// --- Waiting ---------------------------------------------------------------------------------------------------------

void flush_empty_queue(benchmark::State& state) {
    cmwq::runtime runtime;
    cmwq::workqueue<> queue{runtime, {.name = "operations"}};
    for ([[maybe_unused]] auto _ : state) queue.flush();
}

void flush_idle_item(benchmark::State& state) {
    cmwq::runtime runtime;
    cmwq::workqueue<> queue{runtime, {.name = "operations"}};
    cmwq::work item{[] {}};
    queue.queue(item);
    queue.flush();
    for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(item.flush());
}

void queue_and_flush_item(benchmark::State& state) {
    cmwq::runtime runtime;
    cmwq::workqueue<> queue{runtime, {.name = "operations"}};
    cmwq::work item{[] {}};
    const unsigned cpu = other_cpu();
    const bench::pinned here{bench::usable_cpus().front()};
    for ([[maybe_unused]] auto _ : state) {
        queue.queue_on(cpu, item);
        item.flush();
    }
}

void queue_and_flush_queue(benchmark::State& state) {
    cmwq::runtime runtime;
    cmwq::workqueue<> queue{runtime, {.name = "operations"}};
    cmwq::work item{[] {}};
    const unsigned cpu = other_cpu();
    const bench::pinned here{bench::usable_cpus().front()};
    for ([[maybe_unused]] auto _ : state) {
        queue.queue_on(cpu, item);
        queue.flush();
    }
}

// --- Timers ----------------------------------------------------------------------------------------------------------

void arm_and_cancel(benchmark::State& state) {
    held_queue queue;
    cmwq::delayed_work item{[] {}};
    for ([[maybe_unused]] auto _ : state) {
        queue.queue_after(item);
        benchmark::DoNotOptimize(item.cancel());
    }
}

void modify_armed(benchmark::State& state) {
    held_queue queue;
    cmwq::delayed_work item{[] {}};
    queue.queue_after(item);
    for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(queue.modify(item));
    item.cancel_sync();
}

// --- Announcing a block ----------------------------------------------------------------------------------------------

void regions(benchmark::State& state, cmwq::block_kind kind) {
    for ([[maybe_unused]] auto _ : state) {
        const cmwq::blocking_region region{kind};
        benchmark::ClobberMemory();
    }
}

void region_outside_a_worker(benchmark::State& state) { regions(state, cmwq::will_block); }

void region_on_a_worker(benchmark::State& state) {
    on_worker(state, [](benchmark::State& s) { regions(s, cmwq::will_block); });
}

void region_on_a_worker_may_block(benchmark::State& state) {
    on_worker(state, [](benchmark::State& s) { regions(s, cmwq::may_block); });
}

void region_nested(benchmark::State& state) {
    on_worker(state, [](benchmark::State& s) {
        const cmwq::blocking_region outer;
        regions(s, cmwq::will_block);
    });
}

} // namespace

BENCHMARK(requeue_pending);
BENCHMARK(queue_and_cancel);
BENCHMARK(cancel_idle);
BENCHMARK(disable_and_enable);
BENCHMARK(wake_up_and_answer)->UseRealTime();
BENCHMARK(flush_empty_queue)->UseRealTime();
BENCHMARK(flush_idle_item)->UseRealTime();
BENCHMARK(queue_and_flush_item)->UseRealTime();
BENCHMARK(queue_and_flush_queue)->UseRealTime();
BENCHMARK(arm_and_cancel);
BENCHMARK(modify_armed);
BENCHMARK(region_outside_a_worker);
// These loops run on a worker. The benchmark library measures the CPU time of another thread, so take the real time.
BENCHMARK(region_on_a_worker)->UseRealTime();
BENCHMARK(region_on_a_worker_may_block)->UseRealTime();
BENCHMARK(region_nested)->UseRealTime();

BENCHMARK_MAIN();
