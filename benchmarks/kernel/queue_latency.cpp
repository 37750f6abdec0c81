// SPDX-License-Identifier: BSL-1.0
//
// The kernel's microbenchmark for its cache shards (lib/test_workqueue.c, 2026): producers, each bound to a CPU, queue
// one item and wait for it, again and again. The time of the call that queues, and items per second.
#include "support/cli.hpp"
#include "support/cpus.hpp"
#include "support/json.hpp"
#include "support/producers.hpp"
#include "support/scopes.hpp"
#include "support/statistics.hpp"

#include <cmwq/cmwq.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace {

struct settings {
    std::string policy = "unbound", scope = "default";
    unsigned producers = 0, rounds = 50'000, shard_size = cmwq::topology::default_cache_shard_size;
};

template <class Policy>
void measure(const settings& s, cmwq::affinity_scope scope) {
    cmwq::runtime rt{{.cache_shard_size = s.shard_size}};
    cmwq::options<Policy> o;
    o.name = "measured";
    if constexpr (requires { o.attrs; }) o.attrs.affinity(scope);
    cmwq::workqueue<Policy> queue{rt, std::move(o)};
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
    if (s.policy != "bound") line.add("pods", rt.machine().pods(scope).size());
    line.print();
}

} // namespace

int main(int argc, char** argv) {
    settings s;
    const auto scopes = bench::scopes_by_name();
    CLI::App app{"Producers that queue one item each and wait for it, again and again. Prints one line of JSON.",
                 "queue_latency"};
    const auto cpus = static_cast<unsigned>(bench::usable_cpus().size());
    app.add_option("--policy", s.policy, "bound, elastic or unbound")
        ->check(CLI::IsMember({"bound", "elastic", "unbound"}))
        ->capture_default_str();
    app.add_option("--scope", s.scope, "affinity scope; not for bound")
        ->check(CLI::IsMember(scopes))
        ->capture_default_str();
    app.add_option("--shard-size", s.shard_size, "cores of a cache_shard")
        ->check(bench::between(1, 1024))
        ->capture_default_str();
    app.add_option("--producers", s.producers, "producers, each on a CPU of its own; 0: one for each CPU")
        ->check(bench::between(0, cpus))
        ->capture_default_str();
    app.add_option("--rounds", s.rounds, "items of each producer")
        ->check(bench::between(1, 1e7))
        ->capture_default_str();
    CLI11_PARSE(app, argc, argv);

    if (s.producers == 0) s.producers = cpus;
    return bench::run_and_report("queue_latency", [&] {
        if (s.policy == "bound") measure<cmwq::bound>(s, scopes.at(s.scope));
        else if (s.policy == "elastic") measure<cmwq::elastic>(s, scopes.at(s.scope));
        else measure<cmwq::unbound>(s, scopes.at(s.scope));
    });
}
