// SPDX-License-Identifier: BSL-1.0
//
// Items that wait for items queued behind them: each of K items queues a child on the same queue and blocks on a plain
// semaphore until the child has run. A pool with a fixed number of at most K threads stalls for ever. On a bound queue
// all of them are on one CPU.
#include "asio_side.hpp"

#include "support/json.hpp"
#include "support/statistics.hpp"

#include <cmwq/cmwq.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <semaphore>
#include <string>
#include <string_view>
#include <vector>

namespace starve { namespace {

using clock = std::chrono::steady_clock;

struct settings {
    unsigned few = 8;
    unsigned repetitions = 20;
    std::vector<unsigned> many{64, 200};
    std::vector<std::string> pools{"asio", "bound", "elastic", "unbound"};
    unsigned stuck = 1000;
    unsigned raised_to = 2048;
    double still_seconds = 1;
    double patience_seconds = 30;
    unsigned asio_threads = 2;
    double asio_seconds = 5;
    std::string json;

    [[nodiscard]] bool wants(std::string_view pool) const { return std::ranges::find(pools, pool) != pools.end(); }
};

/// One pool with one number of items.
struct row {
    std::string pool;
    unsigned items;
    unsigned completed;
    std::vector<double> ms; // empty: not all items completed
    unsigned peak_threads;
};

/// K parents and their children on one CPU of a queue. If the queue is not bound, the CPU is only a hint.
class crowd {
public:
    crowd(cmwq::workqueue_base& queue, unsigned cpu, unsigned items) : queue_(queue), cpu_(cpu), items_(items) {
        for (unsigned i = 0; i < items; ++i) pairs_.emplace_back(*this);
    }

    void queue_all() {
        for (pair& p : pairs_) queue_.queue_on(cpu_, p.parent);
    }
    [[nodiscard]] unsigned completed() const noexcept { return completed_.load(); }
    [[nodiscard]] bool wait_for_all(double seconds) {
        return all_.try_acquire_for(std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9)));
    }

private:
    struct pair {
        explicit pair(crowd& c) : owner(c) {}

        void run_parent() {
            owner.queue_.queue_on(owner.cpu_, child);
            child_ran.acquire();
            if (owner.completed_.fetch_add(1) + 1 == owner.items_) owner.all_.release();
        }
        void run_child() { child_ran.release(); }

        crowd& owner;
        std::binary_semaphore child_ran{0};
        cmwq::work_member<&pair::run_child> child{*this};
        cmwq::work_member<&pair::run_parent> parent{*this};
    };

    cmwq::workqueue_base& queue_;
    unsigned cpu_;
    unsigned items_;
    std::atomic<unsigned> completed_{0};
    std::binary_semaphore all_{0};
    std::deque<pair> pairs_;
};

double ms_since(clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(clock::now() - begin).count();
}

void print(const row& r, const char* note) {
    char times[64] = "-";
    if (!r.ms.empty()) {
        std::snprintf(times, sizeof times, "%.2f (%.2f - %.2f)", bench::median(r.ms), bench::quantile(r.ms, 0),
                      bench::quantile(r.ms, 1));
    }
    std::printf("%-8s %6u %10u %26s %8u  %s\n", r.pool.c_str(), r.items, r.completed, times, r.peak_threads, note);
    std::fflush(stdout);
}

bool write_json(const std::string& path, const std::vector<row>& rows) {
    std::FILE* to = std::fopen(path.c_str(), "we");
    if (to == nullptr) return false;
    std::fputs("{\"rows\": [", to);
    for (const row& r : rows) {
        std::fprintf(to, "%s\n  {\"pool\": \"%s\", \"items\": %u, \"completed\": %u, \"peak_threads\": %u, ",
                     &r == rows.data() ? "" : ",", r.pool.c_str(), r.items, r.completed, r.peak_threads);
        bench::print_json_values(to, "ms", r.ms);
        std::fputs("}", to);
    }
    std::fputs("]}\n", to);
    return bench::close_written(to);
}

/// Uses a new runtime for each repetition, so that the time includes the creation of the threads.
template <class Policy>
row run_to_the_end(const settings& s, unsigned items, unsigned repetitions,
                   unsigned max_active = Policy::default_max_active) {
    row r{std::string{Policy::name}, items, items, {}, 0};
    for (unsigned i = 0; i < repetitions; ++i) {
        cmwq::runtime runtime;
        cmwq::workqueue<Policy> queue{runtime, {.name = "starve", .max_active = max_active}};
        crowd c{queue, *runtime.cpus().begin(), items};
        const auto begin = clock::now();
        c.queue_all();
        if (!c.wait_for_all(s.patience_seconds)) {
            print({r.pool, items, c.completed(), {}, runtime.stats().peak_threads}, "STUCK");
            // No return: the destructors would wait for these items for ever.
            std::fflush(stdout);
            std::_Exit(1);
        }
        r.ms.push_back(ms_since(begin));
        r.peak_threads = std::max(r.peak_threads, runtime.stats().peak_threads);
        queue.drain();
    }
    char note[32];
    std::snprintf(note, sizeof note, "done, %u times", repetitions);
    print(r, note);
    return r;
}

template <class Policy>
void run_all(const settings& s, std::vector<row>& rows) {
    if (!s.wants(Policy::name)) return;
    rows.push_back(run_to_the_end<Policy>(s, s.few, s.repetitions));
    for (const unsigned items : s.many) rows.push_back(run_to_the_end<Policy>(s, items, 1));
    rows.push_back(run_to_the_end<Policy>(s, s.stuck, 1, s.raised_to));
}

/// Queues more items than may be active: none completes until the limit is raised.
bool run_past_the_limit(const settings& s) {
    if (!s.wants(cmwq::bound::name)) return true;
    cmwq::runtime runtime;
    cmwq::workqueue<> queue{runtime, {.name = "starve"}};
    crowd c{queue, *runtime.cpus().begin(), s.stuck};
    c.queue_all();
    const bool all_done = c.wait_for_all(s.still_seconds);
    const bool moved = all_done || c.completed() != 0;
    char note[80];
    std::snprintf(note, sizeof note, "%s after %g s: max_active is %u", moved ? "MOVED" : "stalls as expected",
                  s.still_seconds, queue.max_active());
    print({"bound", s.stuck, c.completed(), {}, runtime.stats().peak_threads}, note);

    if (all_done) return false; // no item is blocked any more

    const auto begin = clock::now();
    queue.set_max_active(s.raised_to);
    const bool freed = c.wait_for_all(s.patience_seconds);
    const double ms = ms_since(begin);
    std::snprintf(note, sizeof note, "%s set_max_active(%u)", freed ? "freed by" : "STUCK in spite of", s.raised_to);
    print({"bound", s.stuck, c.completed(), {ms}, runtime.stats().peak_threads}, note);
    if (!freed) {
        std::fflush(stdout);
        std::_Exit(1);
    }
    queue.drain();
    return !moved;
}

int run(const settings& s) {
    std::printf("K items, each waiting for a child queued behind it; max_active is %u, for %u items %u\n\n",
                cmwq::bound::default_max_active, s.stuck, s.raised_to);
    std::printf("%-8s %6s %10s %26s %8s\n", "pool", "K", "completed", "ms: median (min - max)", "threads");
    std::fflush(stdout); // before the fork, so that nothing is printed twice

    std::vector<row> rows;
    if (s.wants("asio")) {
        const asio_outcome asio = run_asio(s.few, s.asio_threads, std::chrono::duration<double>(s.asio_seconds));
        rows.push_back({"asio", s.few, asio.completed, {}, s.asio_threads});
        if (asio.milliseconds) rows.back().ms.push_back(*asio.milliseconds);
        char note[32];
        std::snprintf(note, sizeof note, "stopped after %g s", s.asio_seconds);
        print(rows.back(), asio.milliseconds ? "done" : note);
    }
    run_all<cmwq::bound>(s, rows);
    const bool good = run_past_the_limit(s);
    run_all<cmwq::elastic>(s, rows);
    run_all<cmwq::unbound>(s, rows);
    if (!s.json.empty() && !write_json(s.json, rows)) {
        std::perror(s.json.c_str());
        return 1;
    }
    return good ? 0 : 1;
}

}} // namespace starve

int main(int argc, char** argv) {
    starve::settings s;
    CLI::App app{"Items that wait for items queued behind them. Ends with 0 if all of them completed.", "starve"};
    app.add_option("--few", s.few, "number of items of the repeated run")->capture_default_str();
    app.add_option("--repetitions", s.repetitions, "repetitions of the run with few items")->capture_default_str();
    app.add_option("--many", s.many, "number of items of each run that is made once")->capture_default_str();
    app.add_option("--policy", s.pools, "policies of the queues; asio is the pool of Boost.Asio")
        ->check(CLI::IsMember({"asio", "bound", "elastic", "unbound"}))
        ->capture_default_str();
    app.add_option("--stuck", s.stuck, "number of items of the run beyond max_active")->capture_default_str();
    app.add_option("--raised-to", s.raised_to, "max_active after it has been raised")->capture_default_str();
    app.add_option("--still-seconds", s.still_seconds, "seconds in which no item may complete")->capture_default_str();
    app.add_option("--patience", s.patience_seconds, "seconds until a run counts as stuck")->capture_default_str();
    app.add_option("--asio-threads", s.asio_threads, "threads of Boost.Asio's pool")->capture_default_str();
    app.add_option("--asio-seconds", s.asio_seconds, "seconds until Boost.Asio is stopped")->capture_default_str();
    app.add_option("--json", s.json, "write the times of all runs to the end to this file");
    CLI11_PARSE(app, argc, argv);
    return starve::run(s);
}
