// SPDX-License-Identifier: BSL-1.0
//
// Throughput of a pool whose items block: compute, sleep, compute, and again. All contenders take turns in one run, so
// that a change on the machine during the run affects all of them.
#include "contender.hpp"

#include "support/cpus.hpp"
#include "support/hogs.hpp"
#include "support/json.hpp"
#include "support/statistics.hpp"
#include "support/usage.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <thread>

namespace blockmix { namespace {

struct settings {
    unsigned repetitions = 5;
    double seconds = 1;
    double warmup = 0.25;
    double burn_us = 50;
    double sleep_us = 1000;
    unsigned outstanding = 200;
    std::vector<unsigned> blocked{100};
    bool external = false;
    unsigned hogs = 0;
    std::vector<std::string> only;
    std::string json;
};

struct samples {
    std::vector<double> items_per_second;
    std::vector<double> cpu_utilisation;
    std::vector<double> cpu_us_per_item;
    std::vector<double> switches_per_item;
    std::vector<double> preemptions_per_item;
    std::vector<double> peak_threads;
};

/// Returns whether every item that was passed to the pool has run once.
bool measure(const contender& c, const load& l, const settings& s, std::size_t cpus, samples& into) {
    progress p;
    const std::unique_ptr<running> pool = c.start(l, p);
    std::this_thread::sleep_for(std::chrono::duration<double>(s.warmup));
    const std::uint64_t done_before = p.done.load(std::memory_order_relaxed);
    const bench::usage before = bench::usage::now();
    std::this_thread::sleep_for(std::chrono::duration<double>(s.seconds));
    const std::uint64_t done_after = p.done.load(std::memory_order_relaxed);
    const bench::usage after = bench::usage::now();
    p.stop.store(true, std::memory_order_relaxed);
    pool->finish();

    const double wall = bench::seconds_between(before, after);
    const double cpu = after.cpu_seconds - before.cpu_seconds;
    const double items = static_cast<double>(std::max<std::uint64_t>(done_after - done_before, 1));
    into.items_per_second.push_back(items / wall);
    into.cpu_utilisation.push_back(100 * cpu / (wall * static_cast<double>(cpus)));
    into.cpu_us_per_item.push_back(1e6 * cpu / items);
    into.switches_per_item.push_back(static_cast<double>(after.voluntary_switches - before.voluntary_switches) / items);
    into.preemptions_per_item.push_back(static_cast<double>(after.involuntary_switches - before.involuntary_switches) /
                                        items);
    into.peak_threads.push_back(pool->peak_threads());
    return p.started.load(std::memory_order_relaxed) == p.done.load(std::memory_order_relaxed);
}

void print_table(const std::vector<contender>& contenders, const std::vector<samples>& results) {
    double reference = 0; // the best of the fixed sizes
    for (std::size_t i = 0; i < contenders.size(); ++i) {
        if (contenders[i].name.starts_with("asio"))
            reference = std::max(reference, bench::median(results[i].items_per_second));
    }
    std::printf("%-15s %9s %19s %9s %7s %8s %8s %10s %10s\n", "", "items/s", "min - max", "best asio", "CPU %",
                "CPU us", "threads", "voluntary", "preempted");
    std::printf("%-15s %9s %19s %9s %7s %8s %8s %10s %10s\n", "", "median", "", "", "", "/item", "peak", "/item",
                "/item");
    for (std::size_t i = 0; i < contenders.size(); ++i) {
        const samples& r = results[i];
        char range[32];
        std::snprintf(range, sizeof range, "%.0f - %.0f", bench::quantile(r.items_per_second, 0),
                      bench::quantile(r.items_per_second, 1));
        char ratio[16] = "-";
        if (reference > 0) {
            std::snprintf(ratio, sizeof ratio, "%.1f %%", 100 * bench::median(r.items_per_second) / reference);
        }
        std::printf("%-15s %9.0f %19s %10s %7.1f %8.1f %8.0f %10.2f %10.2f\n", contenders[i].name.c_str(),
                    bench::median(r.items_per_second), range, ratio, bench::median(r.cpu_utilisation),
                    bench::median(r.cpu_us_per_item), bench::quantile(r.peak_threads, 1),
                    bench::median(r.switches_per_item), bench::median(r.preemptions_per_item));
    }
}

void write_values(std::FILE* to, const char* name, const std::vector<double>& values, const char* end) {
    std::fputs("     ", to);
    bench::print_json_values(to, name, values);
    std::fprintf(to, "%s\n", end);
}

bool write_json(const std::string& path, const settings& s, const std::vector<contender>& contenders,
                const std::vector<samples>& results) {
    std::FILE* to = std::fopen(path.c_str(), "we");
    if (to == nullptr) return false;
    std::fprintf(to,
                 "{\"seconds\": %g, \"burn_us\": %g, \"sleep_us\": %g, \"outstanding\": %u, \"blocked\": %u,\n"
                 " \"contenders\": [\n",
                 s.seconds, s.burn_us, s.sleep_us, s.outstanding, s.blocked.front());
    for (std::size_t i = 0; i < contenders.size(); ++i) {
        std::fprintf(to, "    {\"name\": \"%s\",\n", contenders[i].name.c_str());
        write_values(to, "items_per_second", results[i].items_per_second, ",");
        write_values(to, "cpu_utilisation", results[i].cpu_utilisation, ",");
        write_values(to, "cpu_us_per_item", results[i].cpu_us_per_item, ",");
        write_values(to, "voluntary_switches_per_item", results[i].switches_per_item, ",");
        write_values(to, "involuntary_switches_per_item", results[i].preemptions_per_item, ",");
        write_values(to, "peak_threads", results[i].peak_threads, i + 1 < contenders.size() ? "}," : "}");
    }
    std::fputs(" ]}\n", to);
    return bench::close_written(to);
}

int run(const settings& s, unsigned blocked, const std::vector<contender>& contenders) {
    using microseconds = std::chrono::duration<double, std::micro>;
    const auto ns = [](double us) { return std::chrono::duration_cast<std::chrono::nanoseconds>(microseconds{us}); };
    const load l{.burn = ns(s.burn_us),
                 .sleep = ns(s.sleep_us),
                 .outstanding = s.outstanding,
                 .blocked_percent = blocked,
                 .external = s.external,
                 .burner = {}};
    const std::size_t cpus = bench::usable_cpus().size();

    std::vector<samples> results(contenders.size());
    for (unsigned r = 0; r < s.repetitions; ++r) {
        for (std::size_t i = 0; i < contenders.size(); ++i) {
            // Each repetition begins with another contender.
            const std::size_t turn = (i + r) % contenders.size();
            if (!measure(contenders[turn], l, s, cpus, results[turn])) {
                std::fprintf(stderr, "blockmix: wrong result: %s: items were lost, or have run twice\n",
                             contenders[turn].name.c_str());
                return 1;
            }
        }
    }
    std::printf("\n%g us CPU, %g us sleep in %u %% of the items, %g us CPU; %u outstanding on %zu CPUs, queued by %s; "
                "%u interleaved repetitions of %g s after %g s",
                s.burn_us, s.sleep_us, blocked, s.burn_us, s.outstanding, cpus,
                s.external ? "one other thread" : "the items", s.repetitions, s.seconds, s.warmup);
    if (s.hogs != 0) std::printf("; beside %u other processes that compute", s.hogs);
    std::printf("\n\n");
    print_table(contenders, results);
    if (!s.json.empty() && !write_json(s.json, s, contenders, results)) {
        std::perror(s.json.c_str());
        return 1;
    }
    return 0;
}

}} // namespace blockmix

int main(int argc, char** argv) {
    using namespace blockmix;
    std::vector<contender> all{cmwq_contender(false), cmwq_contender(true), elastic_contender(), asio_contender(2),
                               asio_contender(8),     asio_contender(24),   asio_contender(64)};
    std::vector<std::string> names;
    names.reserve(all.size());
    for (const contender& c : all) names.push_back(c.name);

    settings s;
    CLI::App app{"Throughput of pools whose items block.", "blockmix"};
    app.add_option("--reps", s.repetitions, "interleaved repetitions")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    app.add_option("--seconds", s.seconds, "measured time of each")->capture_default_str()->check(CLI::PositiveNumber);
    app.add_option("--warmup", s.warmup, "time before each measurement")->capture_default_str();
    app.add_option("--burn-us", s.burn_us, "CPU time before and after the sleep")->capture_default_str();
    app.add_option("--sleep-us", s.sleep_us, "sleep time")->capture_default_str()->check(CLI::Range(0.0, 999'999.0));
    app.add_option("--outstanding", s.outstanding, "items outstanding")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    app.add_option("--blocked", s.blocked, "percentage of the items that sleep; each value makes a table")
        ->capture_default_str()
        ->check(CLI::Range(0u, 100u));
    app.add_flag("--external", s.external, "one thread outside the pool queues every item");
    app.add_option("--hogs", s.hogs, "other processes that compute meanwhile")->capture_default_str();
    app.add_option("--only", s.only, "only this contender (may be repeated)")->check(CLI::IsMember(names));
    app.add_option("--json", s.json, "write all samples to this file");
    CLI11_PARSE(app, argc, argv);

    if (!s.only.empty()) {
        std::erase_if(all, [&](const contender& c) { return std::ranges::find(s.only, c.name) == s.only.end(); });
    }
    if (!s.json.empty() && s.blocked.size() != 1) {
        std::fprintf(stderr, "--json writes one table: give exactly one value to --blocked\n");
        return 2;
    }
    const bench::hogs others(s.hogs);
    for (const unsigned blocked : s.blocked) {
        if (const int error = run(s, blocked, all); error != 0) return error;
    }
    return 0;
}
