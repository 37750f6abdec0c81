// SPDX-License-Identifier: BSL-1.0
//
// The gain and the cost of the idle-class sentinel. Gain: the time from a block that was not announced to the start of
// the next item on that CPU. Cost: the slow-down of items that never block while the sentinel watches.
#include "support/burn.hpp"
#include "support/cpus.hpp"
#include "support/statistics.hpp"

#include <cmwq/cmwq.hpp>

#include <CLI/CLI.hpp>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <deque>
#include <random>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

struct settings {
    std::string part = "both";
    unsigned samples = 300;
    double block_ms = 2;
    double gap_ms = 20;
    unsigned seed = 1;
    unsigned repetitions = 21;
    double seconds = 0.5;
    double item_us = 20;
    unsigned pending = 8;
    int cpu = -1;
};

unsigned chosen_cpu(const settings& s) {
    return s.cpu >= 0 ? static_cast<unsigned>(s.cpu) : bench::usable_cpus().back();
}

// --- The latency: from the block to the start of the next item -------------------------------------------------------

enum class noticed_by { sentinel, guard, monitor };

struct latency_case {
    const char* name;
    noticed_by who;
    std::chrono::microseconds before_blocking; // CPU time between queueing the next item and blocking
};

class blocker {
public:
    blocker(cmwq::workqueue<>& queue, unsigned cpu, const settings& s, const latency_case& c,
            const bench::cpu_burner& burner)
        : queue_(queue), cpu_(cpu), settings_(s), case_(c), burner_(burner) {}

    /// Microseconds from the blocking call to the start of the item behind it.
    double sample() {
        queue_.queue_on(cpu_, first_);
        for (int i = 0; i < 2; ++i) ended_.acquire();
        return std::chrono::duration<double, std::micro>(started_ - blocked_).count();
    }

private:
    void run_first() {
        queue_.queue_on(cpu_, next_);
        if (case_.before_blocking.count() != 0) burner_(case_.before_blocking);
        // The monitor needs milliseconds to notice a block: an item that blocks for a shorter time ends before that.
        const std::chrono::duration<double, std::milli> time{settings_.block_ms *
                                                             (case_.who == noticed_by::monitor ? 10 : 1)};
        if (case_.who == noticed_by::guard) {
            blocked_ = clock_type::now();
            const cmwq::blocking_region region;
            std::this_thread::sleep_for(time);
        } else {
            blocked_ = clock_type::now();
            std::this_thread::sleep_for(time);
        }
        ended_.release();
    }
    void run_next() {
        started_ = clock_type::now();
        ended_.release();
    }

    cmwq::workqueue<>& queue_;
    unsigned cpu_;
    const settings& settings_;
    const latency_case& case_;
    const bench::cpu_burner& burner_;
    clock_type::time_point blocked_;
    clock_type::time_point started_;
    std::counting_semaphore<2> ended_{0};
    cmwq::work_member<&blocker::run_next> next_{*this};
    cmwq::work_member<&blocker::run_first> first_{*this};
};

void print_histogram(const std::vector<double>& us) {
    static constexpr double bounds[] = {0, 2, 5, 10, 15, 20, 30, 50, 100, 200, 500, 1000, 2000, 1e9};
    for (std::size_t i = 0; i + 1 < std::size(bounds); ++i) {
        const auto n = std::ranges::count_if(us, [&](double v) { return v >= bounds[i] && v < bounds[i + 1]; });
        if (n == 0) continue;
        const auto width =
            static_cast<std::size_t>(std::lround(50 * static_cast<double>(n) / static_cast<double>(us.size())));
        if (i + 2 < std::size(bounds)) {
            std::printf("    %5.0f - %5.0f us %6td %s\n", bounds[i], bounds[i + 1], n, std::string(width, '#').c_str());
        } else {
            std::printf("    %5.0f us or more %6td %s\n", bounds[i], n, std::string(width, '#').c_str());
        }
    }
}

void measure_latency(const settings& s) {
    static constexpr latency_case cases[] = {
        {"sentinel, blocks at once", noticed_by::sentinel, std::chrono::microseconds{0}},
        {"sentinel, blocks after 200 us", noticed_by::sentinel, std::chrono::microseconds{200}},
        {"sentinel, blocks after 3 ms", noticed_by::sentinel, std::chrono::microseconds{3000}},
        {"guard (blocking_region)", noticed_by::guard, std::chrono::microseconds{0}},
        {"no sentinel: monitor", noticed_by::monitor, std::chrono::microseconds{0}},
    };
    const bench::cpu_burner burner;
    std::printf("from the blocking call to the next item running on that CPU, us, %u samples each\n\n", s.samples);
    std::printf("%-32s %8s %8s %8s %8s   %s\n", "", "median", "p90", "p99", "max", "noticed by guard/sentinel/monitor");
    std::vector<double> histogram;
    for (const latency_case& c : cases) {
        cmwq::runtime_options options;
        options.sentinel = c.who != noticed_by::monitor;
        cmwq::runtime runtime{std::move(options)};
        cmwq::workqueue<> queue{runtime, {.name = "latency"}};
        blocker b{queue, chosen_cpu(s), s, c, burner};
        std::mt19937 random{s.seed};
        std::uniform_real_distribution<double> gap{s.gap_ms / 2, s.gap_ms * 3 / 2};
        std::vector<double> us;
        unsigned before = 0;
        for (unsigned i = 0; i < s.samples; ++i) {
            // Long enough that the second worker no longer counts as needed. Random, so that samples do not synchronize
            // with a tick.
            std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(gap(random)));
            const double v = b.sample();
            if (v < 0) ++before;
            else us.push_back(v);
        }
        const cmwq::runtime_stats stats = runtime.stats();
        std::printf("%-32s %8.1f %8.1f %8.1f %8.1f   %llu/%llu/%llu", c.name, bench::median(us),
                    bench::quantile(us, 0.9), bench::quantile(us, 0.99), bench::quantile(us, 1),
                    static_cast<unsigned long long>(stats.blocks_by_guard),
                    static_cast<unsigned long long>(stats.blocks_by_sentinel),
                    static_cast<unsigned long long>(stats.blocks_by_monitor));
        if (before != 0) std::printf("  (%u ran before it blocked)", before);
        std::printf("\n");
        std::fflush(stdout);
        if (&c == &cases[0]) histogram = us;
    }
    std::printf("\n%s\n", cases[0].name);
    print_histogram(histogram);
}

// --- The cost for items that never block -----------------------------------------------------------------------------

/// Items that only compute and queue themselves again: one runs, the others wait behind it.
class stream {
public:
    stream(bool sentinel, unsigned cpu, unsigned pending, std::uint64_t rounds)
        : runtime_(make_options(sentinel)), cpu_(cpu), rounds_(rounds) {
        for (unsigned i = 0; i < pending; ++i) queue_.queue_on(cpu_, items_.emplace_back(*this).work);
    }
    ~stream() { stop_.store(true, std::memory_order_relaxed); } // then the destructor of the queue drains it

    double items_per_second(double seconds) {
        const std::uint64_t before = done_.load(std::memory_order_relaxed);
        const auto begin = clock_type::now();
        std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
        const std::uint64_t after = done_.load(std::memory_order_relaxed);
        return static_cast<double>(after - before) / std::chrono::duration<double>(clock_type::now() - begin).count();
    }

private:
    struct item {
        explicit item(stream& s) : owner(s) {}
        void run() {
            bench::spin(owner.rounds_);
            owner.done_.fetch_add(1, std::memory_order_relaxed);
            if (!owner.stop_.load(std::memory_order_relaxed)) owner.queue_.queue_on(owner.cpu_, work);
        }
        stream& owner;
        cmwq::work_member<&item::run> work{*this};
    };

    static cmwq::runtime_options make_options(bool sentinel) {
        cmwq::runtime_options options;
        options.sentinel = sentinel;
        return options;
    }

    std::atomic<std::uint64_t> done_{0};
    std::atomic<bool> stop_{false};
    cmwq::runtime runtime_;
    unsigned cpu_;
    std::uint64_t rounds_;
    std::deque<item> items_;
    cmwq::workqueue<> queue_{runtime_, {.name = "stream"}};
};

void measure_cost(const settings& s) {
    const auto rounds = static_cast<std::uint64_t>(bench::spin_rounds_per_us() * s.item_us);
    const unsigned cpu = chosen_cpu(s);
    const auto run = [&](bool sentinel) {
        stream st{sentinel, cpu, s.pending, rounds};
        st.items_per_second(s.seconds / 10); // warm-up
        return st.items_per_second(s.seconds);
    };
    std::vector<double> armed;
    std::vector<double> without;
    std::vector<double> slower; // for each pair, so that slow changes of the machine's speed cancel
    for (unsigned r = 0; r < s.repetitions; ++r) {
        const bool armed_first = r % 2 == 0;
        const double a = run(armed_first);
        const double b = run(!armed_first);
        armed.push_back(armed_first ? a : b);
        without.push_back(armed_first ? b : a);
        slower.push_back(100 * (1 - armed.back() / without.back()));
    }
    std::printf("items that compute %g us and never block, %u pending on one CPU, %u interleaved pairs of %g s\n\n",
                s.item_us, s.pending, s.repetitions, s.seconds);
    std::printf("%-24s %12s %24s\n", "", "items/s", "min - max");
    std::printf("%-24s %12.0f %12.0f - %.0f\n", "sentinel armed", bench::median(armed), bench::quantile(armed, 0),
                bench::quantile(armed, 1));
    std::printf("%-24s %12.0f %12.0f - %.0f\n", "no sentinel", bench::median(without), bench::quantile(without, 0),
                bench::quantile(without, 1));
    std::printf("slow-down: median of the pairs %.2f %% (quartiles %.2f, %.2f); of the medians %.2f %%\n",
                bench::median(slower), bench::quantile(slower, 0.25), bench::quantile(slower, 0.75),
                100 * (1 - bench::median(armed) / bench::median(without)));
}

} // namespace

int main(int argc, char** argv) {
    settings s;
    CLI::App app{"The gain and the cost of the sentinel.", "sentinel"};
    app.add_option("--part", s.part, "part to run: latency, cost or both")
        ->capture_default_str()
        ->check(CLI::IsMember({"latency", "cost", "both"}));
    app.add_option("--samples", s.samples, "samples of the latency")->capture_default_str()->check(CLI::PositiveNumber);
    app.add_option("--block-ms", s.block_ms, "how long the worker blocks")->capture_default_str();
    app.add_option("--gap-ms", s.gap_ms, "time between two samples, on average")->capture_default_str();
    app.add_option("--seed", s.seed, "seed of the random gaps")->capture_default_str();
    app.add_option("--reps", s.repetitions, "pairs of runs for the cost")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    app.add_option("--seconds", s.seconds, "measured time of each")->capture_default_str()->check(CLI::PositiveNumber);
    app.add_option("--item-us", s.item_us, "CPU time of an item for the cost")->capture_default_str();
    app.add_option("--pending", s.pending, "items pending for the cost")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    app.add_option("--cpu", s.cpu, "CPU to measure on (default: the last one)");
    CLI11_PARSE(app, argc, argv);

    if (s.part != "cost") measure_latency(s);
    if (s.part == "both") std::printf("\n");
    if (s.part != "latency") measure_cost(s);
    return 0;
}
