// SPDX-License-Identifier: BSL-1.0
//
// The time from queue() to the start of an item behind the backlog of another queue in the same pool. One queue has
// many items, of which `max_active` may be active. The samples are items of another queue, one after the other.
#include "support/burn.hpp"
#include "support/statistics.hpp"

#include <CLI/CLI.hpp>
#include <cmwq/cmwq.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <semaphore>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

struct load {
    unsigned limit;   ///< max_active of the queue with the backlog
    unsigned items;   ///< number of items of that queue
    double item_us;   ///< CPU time of each of them
    unsigned samples; ///< maximum number of samples
};

template <class Policy>
void measure(const char* name, const load& l, double rounds_per_us) {
    cmwq::runtime rt;
    cmwq::options<Policy> o;
    o.name = "backlog";
    if constexpr (requires { o.max_active; }) o.max_active = l.limit;
    cmwq::workqueue<Policy> backlog{rt, std::move(o)}, other{rt, "other"};
    const auto rounds = static_cast<std::uint64_t>(l.item_us * rounds_per_us);
    std::atomic<unsigned> left{l.items};
    const unsigned cpu = rt.cpus().next(0);
    for (unsigned i = 0; i < l.items; ++i) {
        backlog.post_on(cpu, [&] {
            bench::spin(rounds);
            left.fetch_sub(1, std::memory_order_relaxed);
        });
    }
    std::vector<double> us;
    std::binary_semaphore started{0};
    clock_type::time_point begin;
    while (us.size() < l.samples && left.load(std::memory_order_relaxed) > l.items / 10) {
        begin = clock_type::now();
        other.post_on(cpu, [&] {
            us.push_back(std::chrono::duration<double, std::micro>(clock_type::now() - begin).count());
            started.release();
        });
        started.acquire();
    }
    const double most = us.empty() ? 0 : *std::ranges::max_element(us);
    std::printf("%-8s %6u %8u %8.1f %8zu %12.1f %12.1f %12.1f\n", name, l.limit, l.items, l.item_us, us.size(),
                bench::median(us), bench::quantile(us, 0.99), most);
    std::fflush(stdout);
    backlog.shutdown(cmwq::cancel_pending);
}

} // namespace

int main(int argc, char** argv) {
    unsigned items = 20'000, samples = 200;
    CLI::App app{"Start delay of an item behind the backlog of another queue.", "backlog"};
    app.add_option("--items", items, "number of items of the backlog")->capture_default_str();
    app.add_option("--samples", samples, "maximum number of samples for each line")->capture_default_str();
    CLI11_PARSE(app, argc, argv);

    const double rounds_per_us = bench::spin_rounds_per_us();
    std::printf("%-8s %6s %8s %8s %8s %12s %12s %12s\n", "policy", "active", "items", "item us", "samples", "median us",
                "p99 us", "most us");
    for (const load& l :
         {load{1, items, 5, samples}, load{256, items, 5, samples}, load{1, items / 50, 1000, samples}}) {
        measure<cmwq::bound>("bound", l, rounds_per_us);
        measure<cmwq::elastic>("elastic", l, rounds_per_us);
        measure<cmwq::unbound>("unbound", l, rounds_per_us);
        measure<cmwq::ordered>("ordered", l, rounds_per_us);
    }
    return 0;
}
