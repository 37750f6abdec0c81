// SPDX-License-Identifier: BSL-1.0
//
// The time from the claim of an item to its run: one producer on one CPU, one consumer on another, many distinct items.
// The result is the total time divided by the number of items.
#include "structures.hpp"

#include "support/cpus.hpp"

#include <benchmark/benchmark.h>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cmwq/cmwq.hpp>
#if CMWQ_BENCH_TBB
#include <tbb/task_arena.h>
#endif

#include <chrono>
#include <cstdlib>
#include <memory>
#include <semaphore>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

unsigned producer_cpu() { return bench::usable_cpus().front(); }
unsigned consumer_cpu() { return bench::usable_cpus().back(); }

/// Counts the items that have run; the last one wakes the producer.
class finish_line {
public:
    void expect(std::uint64_t items) noexcept {
        passed_.store(0, std::memory_order_relaxed);
        expected_ = items;
    }
    void pass() noexcept {
        if (passed_.fetch_add(1, std::memory_order_acq_rel) + 1 == expected_) all_.release();
    }
    void wait() { all_.acquire(); }

private:
    alignas(128) std::atomic<std::uint64_t> passed_{0};
    std::uint64_t expected_ = 0;
    std::binary_semaphore all_{0};
};

finish_line finish; // global: items need no pointer to it and are smaller; only one measurement runs at a time

// --- The structures, with a consumer that polls ----------------------------------------------------------------------

template <class Structure>
class polling_consumer {
protected:
    Structure structure_;

private:
    std::jthread thread_{[this](const std::stop_token& stop) {
        const bench::pinned here{consumer_cpu()};
        while (!stop.stop_requested()) structure_.run_all();
    }};
};

template <class Structure>
class through_structure : polling_consumer<Structure> {
public:
    explicit through_structure(std::size_t items) : items_(items), nodes_(std::make_unique<structures::node[]>(items)) {
        for (std::size_t i = 0; i < items; ++i) nodes_[i].run = [](structures::node&) { finish.pass(); };
    }
    void submit_all() {
        for (std::size_t i = 0; i < items_; ++i) {
            if (nodes_[i].claim()) this->structure_.push(&nodes_[i]);
        }
    }

private:
    std::size_t items_;
    std::unique_ptr<structures::node[]> nodes_;
};

class closures_through_inbox : polling_consumer<structures::intrusive_inbox> {
public:
    explicit closures_through_inbox(std::size_t items) : items_(items) {}
    void submit_all() {
        for (std::size_t i = 0; i < items_; ++i) {
            auto* c = new closure;
            c->claim();
            structure_.push(c);
        }
    }

private:
    struct closure : structures::node {
        closure() {
            run = [](structures::node& n) {
                delete static_cast<closure*>(&n);
                finish.pass();
            };
        }
        std::uint64_t captured[3] = {};
    };
    std::size_t items_;
};

// --- Whole libraries -------------------------------------------------------------------------------------------------

template <unsigned MaxActive>
class cmwq_intrusive {
public:
    explicit cmwq_intrusive(std::size_t items) : items_(items), counted_(std::make_unique<counted[]>(items)) {}
    void submit_all() {
        const unsigned cpu = consumer_cpu_;
        for (std::size_t i = 0; i < items_; ++i) queue_.queue_on(cpu, counted_[i].work);
    }

private:
    struct counted {
        void run() { finish.pass(); }
        cmwq::work_member<&counted::run> work{*this};
    };

    cmwq::runtime runtime_;
    std::size_t items_;
    unsigned consumer_cpu_ = consumer_cpu();
    std::unique_ptr<counted[]> counted_;
    cmwq::workqueue<> queue_{runtime_, {.name = "submission", .max_active = MaxActive}};
};

class cmwq_post {
public:
    explicit cmwq_post(std::size_t items) : items_(items) {}
    void submit_all() {
        const unsigned cpu = consumer_cpu_;
        for (std::size_t i = 0; i < items_; ++i) queue_.post_on(cpu, [] { finish.pass(); });
    }

private:
    cmwq::runtime runtime_;
    std::size_t items_;
    unsigned consumer_cpu_ = consumer_cpu();
    cmwq::workqueue<> queue_{runtime_, {.name = "submission"}};
};

class asio_post {
public:
    explicit asio_post(std::size_t items) : items_(items) {}
    void submit_all() {
        for (std::size_t i = 0; i < items_; ++i) boost::asio::post(pool_, [] { finish.pass(); });
    }

private:
    std::size_t items_;
    boost::asio::thread_pool pool_{1};
};

#if CMWQ_BENCH_TBB
class tbb_enqueue {
public:
    explicit tbb_enqueue(std::size_t items) : items_(items) {
        // The arena's thread is made on first use, here, because it must not inherit the CPU binding of the producer.
        finish.expect(1);
        arena_.enqueue([] { finish.pass(); });
        finish.wait();
    }
    void submit_all() {
        for (std::size_t i = 0; i < items_; ++i) arena_.enqueue([] { finish.pass(); });
    }

private:
    std::size_t items_;
    tbb::task_arena arena_{1, 0}; // one worker, no slot for the producer
};
#endif

template <class Way>
void claim_to_run(benchmark::State& state) {
    const auto items = static_cast<std::size_t>(state.range(0));
    Way way{items};
    const bench::pinned here{producer_cpu()};
    double submitting = 0;
    double total = 0;
    double runs = 0;
    for ([[maybe_unused]] auto _ : state) {
        finish.expect(items);
        const auto begin = clock_type::now();
        way.submit_all();
        const auto submitted = clock_type::now();
        finish.wait();
        const double seconds = std::chrono::duration<double>(clock_type::now() - begin).count();
        state.SetIterationTime(seconds);
        submitting += std::chrono::duration<double>(submitted - begin).count();
        total += seconds;
        runs += static_cast<double>(items);
    }
    state.counters["ns_per_item"] = 1e9 * total / runs;
    state.counters["submit_ns"] = 1e9 * submitting / runs;
}

template <class Way>
void add(const char* name, std::int64_t items) {
    benchmark::RegisterBenchmark(name, claim_to_run<Way>)->Arg(items)->UseManualTime()->Unit(benchmark::kMillisecond);
}

/// Removes `--items N` from the arguments and returns N.
std::int64_t take_items(int& argc, char** argv) {
    std::int64_t items = 4'000'000;
    for (int i = 1; i + 1 < argc; ++i) {
        if (std::string_view{argv[i]} != "--items") continue;
        items = std::atoll(argv[i + 1]);
        for (int j = i; j + 2 <= argc; ++j) argv[j] = argv[j + 2];
        argc -= 2;
        break;
    }
    return items > 0 ? items : 1;
}

} // namespace

int main(int argc, char** argv) {
    const std::int64_t items = take_items(argc, argv);
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;

    add<cmwq_intrusive<cmwq::bound::default_max_active>>("cmwq/intrusive", items);
    add<cmwq_intrusive<cmwq::max_active_ceiling>>("cmwq/intrusive_max_active_2048", items);
    add<cmwq_post>("cmwq/post", items);
    add<asio_post>("boost_asio/post", items);
#if CMWQ_BENCH_TBB
    add<tbb_enqueue>("onetbb/enqueue", items);
#endif
    add<through_structure<structures::intrusive_inbox>>("structure/intrusive_inbox", items);
    add<through_structure<structures::mutex_and_deque>>("structure/mutex_and_deque", items);
    add<closures_through_inbox>("structure/closures_through_inbox", items);
    add<through_structure<structures::lockfree_fixed>>("structure/boost_lockfree_fixed", items);
    add<through_structure<structures::lockfree_growing>>("structure/boost_lockfree_growing", items);
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
