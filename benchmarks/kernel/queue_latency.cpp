// SPDX-License-Identifier: BSL-1.0
//
// The kernel's microbenchmark for its cache shards (lib/test_workqueue.c, 2026): producers, each bound to a CPU, queue one
// item and wait for it, again and again. The time of the call that queues, and items per second.
#include "support/cpus.hpp"
#include "support/json.hpp"
#include "support/producers.hpp"
#include "support/scopes.hpp"
#include "support/statistics.hpp"

#include <CLI/CLI.hpp>
#include <cmwq/cmwq.hpp>

#include <algorithm>
#include <memory>
#include <string>

namespace {

struct settings {
    std::string policy = "unbound", scope = "default";
    unsigned producers = 0, rounds = 50'000, shard_size = cmwq::topology::default_cache_shard_size;
};

template <class Policy>
void measure(const settings& s, cmwq::affinity_scope scope) {
    cmwq::runtime rt{{.cache_shard_size = s.shard_size}};
    cmwq::workqueue<Policy> queue{rt, {.name = "measured", .attrs = cmwq::attrs{}.affinity(scope)}};
    const bench::producers_result r = bench::run_producers(s.producers, s.rounds, [&](bench::answering_item& item) {
        // The producer waits for the end of the function, not for the end of the run: queueing is possible by then.
        return [&queue, work = std::make_unique<cmwq::work_member<&bench::answering_item::run>>(item)] {
            queue.queue(*work);
        };
    });
    bench::json_line line;
    line.add("policy", s.policy).add("scope", s.scope).add("shard_size", s.shard_size).add("producers", s.producers);
    line.add("items_per_second", r.items_per_second).add("call_p50_ns", bench::median(r.call_ns));
    line.add("call_p90_ns", bench::quantile(r.call_ns, 0.9)).add("call_p95_ns", bench::quantile(r.call_ns, 0.95));
    line.add("threads", rt.stats().peak_threads);
    line.print();
}

} // namespace

int main(int argc, char** argv) {
    settings s;
    const auto scopes = bench::scopes_by_name();
    CLI::App app{"Producers that queue one item each and wait for it, again and again. Prints one line of JSON.",
                 "queue_latency"};
    const auto cpus = static_cast<unsigned>(bench::usable_cpus().size());
    app.add_option("--policy", s.policy, "unbound or elastic")
        ->check(CLI::IsMember({"unbound", "elastic"}))
        ->capture_default_str();
    app.add_option("--scope", s.scope, "affinity scope")->check(CLI::IsMember(scopes))->capture_default_str();
    app.add_option("--shard-size", s.shard_size, "cores of a cache_shard")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--producers", s.producers, "producers, each on a CPU of its own; 0: one for each CPU")
        ->check(CLI::Range(0u, cpus))
        ->capture_default_str();
    app.add_option("--rounds", s.rounds, "items of each producer")->capture_default_str();
    CLI11_PARSE(app, argc, argv);

    if (s.producers == 0) s.producers = cpus;
    if (s.policy == "elastic") measure<cmwq::elastic>(s, scopes.at(s.scope));
    else measure<cmwq::unbound>(s, scopes.at(s.scope));
    return 0;
}
