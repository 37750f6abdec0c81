// SPDX-License-Identifier: BSL-1.0
//
// The start delay of a queue's items beside another queue that floods the pools of both, for each policy, and with each
// means that a user has against it.
#include "support/burn.hpp"
#include "support/cli.hpp"
#include "support/latencies.hpp"
#include "support/start_delays.hpp"
#include "support/stopwatch.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <chrono>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

using namespace std::chrono_literals;

struct settings {
    std::string policy = "bound", means = "none";
    unsigned flood = 10'000, limit = 16;
    double seconds = 5, item_us = 10;
};

template <class Policy>
cmwq::options<Policy> options(std::string_view name, const settings& s, bool floods) {
    cmwq::options<Policy> o;
    o.name = name;
    if (floods) {
        if (s.means == "limit") {
            if constexpr (requires { o.max_active; }) o.max_active = s.limit;
        }
    } else if (s.means == "own-pool") {
        if constexpr (requires { o.priority; }) o.priority = cmwq::priority::high;
        else o.attrs.nice(-1); // other attributes, so another pool
    }
    return o;
}

template <class Policy>
void measure(const settings& s) {
    std::atomic<bool> refused{false};
    cmwq::runtime rt{{.on_event = [&](const cmwq::event& e) {
        if (e.what == cmwq::event::kind::priority_refused) refused = true;
    }}};
    cmwq::workqueue<Policy> busy{rt, options<Policy>("busy", s, true)},
        neighbour{rt, options<Policy>("neighbour", s, false)};
    const unsigned cpu = rt.cpus().next(0);
    const auto rounds = static_cast<std::uint64_t>(s.item_us * bench::spin_rounds_per_us());
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> ran{0};
    std::counting_semaphore<> room{s.flood};
    std::thread flooding([&] {
        while (!stop) {
            room.acquire();
            busy.post_on(cpu, [&] {
                bench::spin(rounds);
                ran.fetch_add(1, std::memory_order_relaxed);
                room.release();
            });
        }
    });
    while (ran < s.flood) std::this_thread::sleep_for(1ms);

    bench::start_delays delays;
    const bench::stopwatch all;
    const std::uint64_t before = ran;
    while (all.ms() < s.seconds * 1e3) {
        std::this_thread::sleep_for(1ms);
        delays.sample([&](auto item) { neighbour.post_on(cpu, item); });
    }
    const double rate = static_cast<double>(ran - before) / (all.ms() * 1e-3);
    stop = true;
    flooding.join();
    busy.shutdown(cmwq::cancel_pending);

    bench::json_line line;
    line.add("policy", s.policy).add("means", s.means).add("flood_items_per_second", rate);
    line.add("threads", rt.stats().peak_threads).add("refused", refused ? 1 : 0);
    with_latencies(line, delays.us()).print();
}

} // namespace

int main(int argc, char** argv) {
    settings s;
    CLI::App app{"The start delay of a queue's items beside another queue that floods their pool. Prints one line of "
                 "JSON.",
                 "neighbours"};
    app.add_option("--policy", s.policy, "bound, elastic, unbound or ordered")
        ->check(CLI::IsMember({"bound", "elastic", "unbound", "ordered"}))
        ->capture_default_str();
    app.add_option(
           "--means", s.means,
           "what is done for the neighbour: none; limit: the flooding queue has a small max_active (not for ordered); "
           "own-pool: the "
           "neighbour has high priority or other attributes")
        ->check(CLI::IsMember({"none", "limit", "own-pool"}))
        ->capture_default_str();
    app.add_option("--limit", s.limit, "max_active of the flooding queue with --means limit")
        ->check(bench::between(1, 2048))
        ->capture_default_str();
    app.add_option("--flood", s.flood, "items of the flooding queue, always outstanding")
        ->check(bench::between(1, 1'000'000))
        ->capture_default_str();
    app.add_option("--item-us", s.item_us, "µs of CPU time of each of them")
        ->check(bench::between(0, 1e6))
        ->capture_default_str();
    app.add_option("--seconds", s.seconds, "duration, seconds")->check(bench::duration())->capture_default_str();
    CLI11_PARSE(app, argc, argv);

    return bench::run_and_report("neighbours", [&] {
        if (s.policy == "ordered" && s.means == "limit")
            throw std::invalid_argument("an ordered queue has no limit to set");
        if (s.policy == "bound") measure<cmwq::bound>(s);
        else if (s.policy == "elastic") measure<cmwq::elastic>(s);
        else if (s.policy == "unbound") measure<cmwq::unbound>(s);
        else measure<cmwq::ordered>(s);
    });
}
