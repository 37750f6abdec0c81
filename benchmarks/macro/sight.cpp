// SPDX-License-Identifier: BSL-1.0
//
// What it costs to be seen: three workloads in a program without the headers for that, with them, and while something
// uses them. tools/sight.py compiles it in several ways, also against the headers of an older commit, and makes a
// table.
#include "support/cli.hpp"
#include "support/json.hpp"
#include "support/latencies.hpp"
#include "support/stopwatch.hpp"

#include <cmwq/cmwq.hpp>
#ifdef SIGHT_LEAVES
#include <cmwq/control.hpp>
#include <cmwq/trace.hpp>
#endif

#include <atomic>
#include <filesystem>
#include <functional>
#include <iterator>
#include <latch>
#include <optional>
#include <string>
#include <vector>

namespace {

struct settings {
    std::string workload = "empty", with = "nothing", file = "/dev/null", folder;
    unsigned items = 200'000;
    double seconds = 1;
};

/// Of this process.
long nr_entries(const char* folder) { return std::distance(std::filesystem::directory_iterator(folder), {}); }

#ifdef SIGHT_LEAVES
/// What sees the runtime meanwhile.
class sight {
public:
    sight(cmwq::runtime& rt, const settings& s) {
        if (s.with == "trace") tracer_.emplace(rt, s.file);
        if (s.with == "recorder") recorder_.emplace(rt);
        if (s.with == "control") control_.emplace(rt, cmwq::control_options{.folder = s.folder});
    }

private:
    std::optional<cmwq::tracer> tracer_;
    std::optional<cmwq::flight_recorder> recorder_;
    std::optional<cmwq::control_socket> control_;
};
#else
struct sight {
    sight(cmwq::runtime& /*rt*/, const settings& /*s*/) {}
};
#endif

/// Items of a thread outside that only count.
void empty(cmwq::runtime& rt, unsigned items) {
    std::atomic<unsigned> n{0};
    cmwq::workqueue<cmwq::elastic> q{rt, "empty"};
    for (unsigned i = 0; i < items; ++i) q.post([&n] { n.fetch_add(1, std::memory_order_relaxed); });
    q.drain();
}

/// An item makes an item for one half of its leaves, and goes on with the other.
struct fan {
    cmwq::workqueue<cmwq::elastic>& queue;
    std::latch& ended;
    unsigned leaves;
    void operator()() {
        while (leaves > 1) {
            queue.post(fan{queue, ended, leaves / 2});
            leaves -= leaves / 2;
        }
        ended.count_down();
    }
};
void fanout(cmwq::runtime& rt, unsigned items) {
    cmwq::workqueue<cmwq::elastic> q{rt, "fanout"};
    std::latch ended(items);
    q.post(fan{q, ended, items});
    ended.wait(); // drain() would take the items away from the workers that have made them
}

/// A thread outside queues an item and waits for it, again and again.
void queue_latency(cmwq::runtime& rt, unsigned items) {
    cmwq::workqueue<cmwq::elastic> q{rt, "queue_latency"};
    cmwq::work<std::function<void()>> item{[] {}};
    for (unsigned i = 0; i < items; ++i) {
        q.queue(item);
        item.flush();
    }
}

void measure(const settings& s) {
    auto* const run = s.workload == "empty" ? &empty : s.workload == "fanout" ? &fanout : &queue_latency;
    cmwq::runtime rt;
    // Before the first item: workers, and what the detectors keep open of them, come and go.
    const auto descriptors = nr_entries("/proc/self/fd"), threads = nr_entries("/proc/self/task");
    const sight seen(rt, s);
    const auto descriptors_then = nr_entries("/proc/self/fd"), threads_then = nr_entries("/proc/self/task");
    run(rt, s.items); // makes the workers
    std::vector<double> ns;
    const bench::stopwatch all;
    do {
        const bench::stopwatch watch;
        run(rt, s.items);
        ns.push_back(watch.us() * 1e3 / s.items);
    } while (all.ms() < s.seconds * 1e3);
    bench::json_line()
        .add("workload", s.workload)
        .add("with", s.with)
        .add("ns", bench::median(ns))
        .add("descriptors", descriptors_then - descriptors)
        .add("threads", threads_then - threads)
        .print();
}

} // namespace

int main(int argc, char** argv) {
    settings s;
    CLI::App app{"What it costs to be seen. Prints a line of JSON: ns per item, median, and the descriptors and "
                 "threads that are added.",
                 "sight"};
    app.add_option("--workload", s.workload, "empty, fanout or queue_latency")
        ->check(CLI::IsMember({"empty", "fanout", "queue_latency"}))
        ->capture_default_str();
    app.add_option("--with", s.with, "nothing; if compiled with the leaves also trace, recorder or control")
#ifdef SIGHT_LEAVES
        ->check(CLI::IsMember({"nothing", "trace", "recorder", "control"}))
#else
        ->check(CLI::IsMember({"nothing"}))
#endif
        ->capture_default_str();
    app.add_option("--file", s.file, "the trace")->capture_default_str();
    app.add_option("--folder", s.folder, "of the control socket; by default the user's");
    app.add_option("--items", s.items, "of one pass")->check(bench::between(1, 1e8))->capture_default_str();
    app.add_option("--seconds", s.seconds, "passes follow each other for so long")
        ->check(bench::duration())
        ->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    return bench::run_and_report("sight", [&] { measure(s); });
}
