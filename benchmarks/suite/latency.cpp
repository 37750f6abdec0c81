// SPDX-License-Identifier: BSL-1.0
//
// The time from the submission of one item to its start, and the cost of waiting for it.
#include "add_pools.hpp"

#include "support/statistics.hpp"
#include "support/stopwatch.hpp"
#include "support/usage.hpp"

#include <chrono>
#include <semaphore>
#include <thread>

namespace suite {

namespace {

/// The cost of the measurement itself.
struct direct_call {
    template <class F>
    static void post(F f) {
        f();
    }
};

/// Submits one item after the other and waits for each; sleeps for `pause` before each.
template <class Pool>
void measure(const run& r, const char* name_of_case, unsigned rounds, std::chrono::microseconds pause) {
    std::vector<double> start_us;
    std::vector<double> answer_us;
    std::binary_semaphore done{0};
    Pool pool;
    const auto round = [&] {
        if (pause.count() != 0) std::this_thread::sleep_for(pause);
        double started = -1;
        const bench::stopwatch watch;
        pool.post([&] {
            started = watch.us();
            done.release();
        });
        done.acquire();
        answer_us.push_back(watch.us());
        start_us.push_back(started);
        r.verify(started >= 0, "the item has not run");
    };
    for (unsigned i = 0; i < rounds / 10 + 1; ++i) round();
    start_us.clear();
    answer_us.clear();
    const bench::usage used = bench::usage::now();
    for (unsigned i = 0; i < rounds; ++i) round();
    const double cpu_us = 1e6 * (bench::usage::now().cpu_seconds - used.cpu_seconds) / rounds;
    r.report(name_of_case, {{"start_p50_us", bench::median(start_us)},
                            {"start_p99_us", bench::quantile(start_us, 0.99)},
                            {"answer_p50_us", bench::median(answer_us)},
                            {"cpu_us", cpu_us}});
}

} // namespace

workload latency() {
    const auto both = []<class Pool>(std::type_identity<Pool>, const run& r) {
        using namespace std::chrono_literals;
        measure<Pool>(r, "idle for 1 ms", r.pick(20u, 200u, 1'000u), 1ms);
        measure<Pool>(r, "back to back", r.pick(100u, 3'000u, 20'000u), 0us);
    };
    workload w{"latency", {}};
    add_pools(w, both);
    w.contenders.push_back({"direct call", [both](const run& r) { both(std::type_identity<direct_call>{}, r); }});
    return w;
}

} // namespace suite
