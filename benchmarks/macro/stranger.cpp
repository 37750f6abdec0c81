// SPDX-License-Identifier: BSL-1.0
//
// The time from queue() to the start of an item of a queue that shares its pools with another, busy one. The samples
// are items of that queue, one after the other. The other queue has a backlog, or it forks and joins, or thirty of its
// items wait inside the library.
#include "support/burn.hpp"
#include "support/start_delays.hpp"
#include "support/statistics.hpp"

#include <CLI/CLI.hpp>
#include <cmwq/cmwq.hpp>
#include <cmwq/task_group.hpp>

#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <semaphore>
#include <vector>

namespace {

struct settings {
    unsigned items = 20'000, samples = 200;
    double rounds_per_us = 0;
};

/// A queue that is busy, and a stranger: a queue with the same attributes.
template <class Policy>
struct pair {
    explicit pair(unsigned limit) : busy(rt, options(limit)) {}
    static cmwq::options<Policy> options(unsigned limit) {
        cmwq::options<Policy> o;
        o.name = "busy";
        if constexpr (requires { o.max_active; }) o.max_active = limit;
        return o;
    }

    cmwq::runtime rt;
    cmwq::workqueue<Policy> busy, stranger{rt, "stranger"};
    const unsigned cpu = rt.cpus().next(0);
};

/// Queues samples as long as `goes_on()`, and prints a row.
template <class Policy, class F>
void sample(const char* beside, pair<Policy>& p, const settings& s, const F& goes_on) {
    bench::start_delays delays;
    const std::vector<double>& us = delays.us();
    while (us.size() < s.samples && goes_on()) {
        delays.sample([&](auto item) { p.stranger.post_on(p.cpu, item); });
    }
    std::printf("%-28s %-8s %8zu %12.1f %12.1f %12.1f\n", beside, std::string(Policy::name).c_str(), us.size(),
                bench::median(us), bench::quantile(us, 0.99), bench::quantile(us, 1));
    std::fflush(stdout);
}

template <class Policy>
void beside_backlog(const settings& s, unsigned limit, unsigned items, double item_us) {
    pair<Policy> p(limit);
    const auto rounds = static_cast<std::uint64_t>(item_us * s.rounds_per_us);
    std::atomic<unsigned> left{items};
    for (unsigned i = 0; i < items; ++i) {
        p.busy.post_on(p.cpu, [&] {
            bench::spin(rounds);
            left.fetch_sub(1, std::memory_order_relaxed);
        });
    }
    char name[64];
    std::snprintf(name, sizeof name, "%u x %g us, %u active", items, item_us, limit);
    sample(name, p, s, [&] { return left.load(std::memory_order_relaxed) > items / 10; });
    p.busy.shutdown(cmwq::cancel_pending);
}

template <class Policy>
int fib(cmwq::workqueue<Policy>& q, int n) {
    if (n < 2) return n;
    int a = 0;
    cmwq::task_group g{q};
    g.run([&] { a = fib(q, n - 1); });
    const int b = fib(q, n - 2);
    g.wait();
    return a + b;
}

template <class Policy>
void beside_fork_join(const settings& s) {
    pair<Policy> p(256);
    std::atomic<bool> stop{false};
    p.busy.post_on(p.cpu, [&] {
        while (!stop) fib(p.busy, 18);
    });
    sample("fork and join", p, s, [] { return true; });
    stop = true;
    p.busy.flush();
}

template <class Policy>
void beside_waiters(const settings& s) {
    constexpr unsigned nr_waiters = 30;
    pair<Policy> p(256);
    std::binary_semaphore leave{0};
    std::atomic<unsigned> nr_waiting{0};
    cmwq::work last{[&] { leave.acquire(); }};
    p.busy.queue_on(p.cpu, last);
    for (unsigned i = 0; i < nr_waiters; ++i) {
        p.busy.post_on(p.cpu, [&] {
            ++nr_waiting;
            last.flush();
        });
    }
    while (nr_waiting != nr_waiters) p.stranger.flush();
    sample("30 waiters", p, s, [] { return true; });
    leave.release();
    p.busy.flush();
}

} // namespace

int main(int argc, char** argv) {
    settings s;
    CLI::App app{"Start delay of an item beside the items of another queue.", "stranger"};
    app.add_option("--items", s.items, "number of items of the backlog")->capture_default_str();
    app.add_option("--samples", s.samples, "maximum number of samples for each line")->capture_default_str();
    CLI11_PARSE(app, argc, argv);

    s.rounds_per_us = bench::spin_rounds_per_us();
    std::printf("%-28s %-8s %8s %12s %12s %12s\n", "beside", "policy", "samples", "median us", "p99 us", "most us");
    const auto backlog = [&]<class Policy>() {
        beside_backlog<Policy>(s, 1, s.items, 5);
        beside_backlog<Policy>(s, 256, s.items, 5);
        beside_backlog<Policy>(s, 1, s.items / 50, 1000);
    };
    const auto all = [&]<class Policy>() {
        backlog.template operator()<Policy>();
        beside_fork_join<Policy>(s);
        beside_waiters<Policy>(s);
    };
    all.operator()<cmwq::bound>();
    all.operator()<cmwq::elastic>();
    all.operator()<cmwq::unbound>();
    backlog.operator()<cmwq::ordered>(); // its items run alone, so they cannot wait for each other
    return 0;
}
