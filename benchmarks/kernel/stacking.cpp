// SPDX-License-Identifier: BSL-1.0
//
// Round trips between a client thread and the workers: an unbound item, then a bound one, each waited for. In 2020 the
// kernel's scheduler moved such a client to another CPU at each trip, because the worker that woke it still ran on its
// CPU; since then both may share that CPU for a moment.
//
// Migrations are those of the scheduler's accounts (/proc/thread-self/sched); "changes" are CPUs that differ from the
// one of the trip before, which any kernel can tell.
#include "support/cli.hpp"
#include "support/cpus.hpp"
#include "support/hogs.hpp"
#include "support/latencies.hpp"
#include "support/stopwatch.hpp"

#include <cmwq/async.hpp>
#include <cmwq/cmwq.hpp>

#include <algorithm>
#include <fstream>
#include <functional>
#include <latch>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include <sched.h>

namespace {

struct settings {
    std::string wait = "flush", items = "both";
    unsigned clients = 1, trips = 20'000, hogs_per_cpu = 0;
};

/// The migrations of the calling thread so far; -1 if this kernel does not tell.
double migrations() {
    std::ifstream file("/proc/thread-self/sched");
    for (std::string word; file >> word;) {
        double n = 0;
        if (word == "se.nr_migrations" && file >> word >> n) return n;
    }
    return -1;
}

/// One item and the wait for it: by `flush()`, by a future, or by a semaphore of the client's own.
template <class Policy>
class trip {
public:
    trip(cmwq::workqueue<Policy>& q, const std::string& wait) : queue_(q) {
        if (wait == "flush") go_ = [this] { queue_.queue(empty_), empty_.flush(); };
        else if (wait == "future") go_ = [this] { queue_.async([] {}).get(); };
        else go_ = [this] { queue_.queue(releasing_), done_.acquire(); };
    }
    void operator()() { go_(); }

private:
    cmwq::workqueue<Policy>& queue_;
    std::binary_semaphore done_{0};
    std::function<void()> go_;
    cmwq::work<std::function<void()>> empty_{[] {}}, releasing_{[this] { done_.release(); }};
};

struct result {
    std::vector<double> us;
    double migrations = 0, changes = 0;
};

void measure(const settings& s) {
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::unbound> unbound{rt, "unbound"};
    cmwq::workqueue<> bound{rt, "bound"};
    std::vector<result> results(s.clients);
    std::latch ready{s.clients + 1};
    std::vector<std::thread> clients;
    for (result& r : results) {
        clients.emplace_back([&] {
            trip<cmwq::unbound> first(unbound, s.wait);
            trip<cmwq::bound> second(bound, s.wait);
            const auto go = [&] {
                if (s.items != "bound") first();
                if (s.items != "unbound") second();
            };
            for (unsigned i = 0; i < s.trips / 10; ++i) go();
            ready.arrive_and_wait();
            const double before = migrations();
            int cpu = ::sched_getcpu();
            for (unsigned i = 0; i < s.trips; ++i) {
                const bench::stopwatch watch;
                go();
                r.us.push_back(watch.us());
                if (const int now = ::sched_getcpu(); now != cpu) {
                    r.changes += 1;
                    cpu = now;
                }
            }
            r.migrations = before < 0 ? -1 : migrations() - before;
        });
    }
    ready.arrive_and_wait();
    const bench::stopwatch watch;
    for (std::thread& t : clients) t.join();
    const double seconds = watch.ms() * 1e-3;

    std::vector<double> all;
    double migrated = 0, changed = 0;
    for (const result& r : results) {
        all.insert(all.end(), r.us.begin(), r.us.end());
        migrated += r.migrations;
        changed += r.changes;
    }
    const double trips = static_cast<double>(all.size());
    bench::json_line line;
    line.add("wait", s.wait).add("items", s.items).add("clients", s.clients).add("hogs_per_cpu", s.hogs_per_cpu);
    line.add("trips_per_second", trips / seconds).add("changes_per_trip", changed / trips);
    if (migrated >= 0) line.add("migrations_per_trip", migrated / trips);
    with_latencies(line, all).print();
}

} // namespace

int main(int argc, char** argv) {
    settings s;
    CLI::App app{"Round trips between client threads and workers: time, and migrations of the clients. Prints one line "
                 "of JSON.",
                 "stacking"};
    app.add_option("--wait", s.wait, "how a client waits: flush, future (async().get()) or semaphore")
        ->check(CLI::IsMember({"flush", "future", "semaphore"}))
        ->capture_default_str();
    app.add_option("--items", s.items, "the items of a trip: unbound, bound, or both in turn")
        ->check(CLI::IsMember({"unbound", "bound", "both"}))
        ->capture_default_str();
    app.add_option("--clients", s.clients, "client threads")->check(bench::between(1, 1000))->capture_default_str();
    app.add_option("--trips", s.trips, "trips of each client")->check(bench::between(1, 1e7))->capture_default_str();
    app.add_option("--hogs-per-cpu", s.hogs_per_cpu, "processes that compute, for each CPU")
        ->check(bench::between(0, 16))
        ->capture_default_str();
    CLI11_PARSE(app, argc, argv);

    const bench::hogs busy{s.hogs_per_cpu * static_cast<unsigned>(bench::usable_cpus().size())};
    return bench::run_and_report("stacking", [&] { measure(s); });
}
