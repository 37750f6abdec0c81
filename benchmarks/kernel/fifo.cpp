// SPDX-License-Identifier: BSL-1.0
//
// The delay of items beside processes that compute, for the three priorities of a bound queue. The kernel's proposal
// WQ_SCHED_FIFO (2023) was measured in this way: by the start delay of the items, and by a reader who waits for a block
// that an item verifies.
//
// A thread of SCHED_FIFO, at a higher priority than the workers, stands for the interrupt that queues the items.
#include "support/burn.hpp"
#include "support/cpus.hpp"
#include "support/hogs.hpp"
#include "support/latencies.hpp"
#include "support/start_delays.hpp"
#include "support/stopwatch.hpp"

#include <CLI/CLI.hpp>
#include <cmwq/cmwq.hpp>

#include <atomic>
#include <chrono>
#include <map>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sched.h>

namespace {

using namespace std::chrono_literals;

struct settings {
    cmwq::priority priority = cmwq::priority::normal;
    std::string name, shape = "start";
    unsigned burners_per_cpu = 4;
    double load = 0.9, seconds = 10, verify_us = 5;
};

/// Returns whether the thread is in SCHED_FIFO now.
bool become_interrupt() {
    sched_param p{};
    p.sched_priority = 50;
    return ::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &p) == 0;
}

bench::json_line line(const settings& s, bool privileged, bool refused) {
    bench::json_line l;
    l.add("shape", s.shape).add("priority", s.name).add("burners_per_cpu", s.burners_per_cpu).add("load", s.load);
    l.add("interrupt", privileged ? "SCHED_FIFO" : "normal").add("refused", refused ? 1 : 0);
    return l;
}

struct bound_queue {
    explicit bound_queue(cmwq::priority p)
        : rt{{.on_event =
                  [this](const cmwq::event& e) {
                      if (e.what == cmwq::event::kind::priority_refused) refused = true;
                  }}},
          queue{rt, {.name = "measured", .priority = p}} {
        for (const unsigned cpu : rt.cpus()) queue.post_on(cpu, [] {}); // makes the workers
        queue.flush();
    }

    std::atomic<bool> refused{false};
    cmwq::runtime rt;
    cmwq::workqueue<> queue;
};

/// One item after the other, on each CPU in turn.
void measure_starts(const settings& s) {
    bound_queue q(s.priority);
    bench::start_delays delays;
    bool privileged = false;
    std::thread interrupt([&] {
        privileged = become_interrupt();
        const std::vector<unsigned> cpus = bench::usable_cpus();
        const bench::stopwatch all;
        while (all.ms() < s.seconds * 1e3) {
            std::this_thread::sleep_for(3ms);
            const unsigned cpu = cpus[delays.us().size() % cpus.size()];
            delays.sample([&](auto item) { q.queue.post_on(cpu, item); });
        }
    });
    interrupt.join();
    with_latencies(line(s, privileged, q.refused), delays.us()).print();
}

/// A thread reads blocks of 4 KiB: a device answers after 10 µs, an item verifies the block and wakes the reader. Apart
/// from the whole, the time until the item starts, and from its end until the reader goes on.
void measure_reads(const settings& s) {
    bound_queue q(s.priority);
    const auto rounds = static_cast<std::uint64_t>(s.verify_us * bench::spin_rounds_per_us());
    std::atomic<bool> stop{false};
    std::binary_semaphore submitted{0}, verified{0};
    bool privileged = false;
    std::vector<double> us, item_us, reader_us;
    bench::stopwatch answered, ended;
    std::thread device([&] {
        privileged = become_interrupt();
        for (;;) {
            submitted.acquire();
            if (stop) return;
            const bench::stopwatch answer;
            while (answer.us() < 10) {}
            answered = {};
            q.queue.post([&] {
                item_us.push_back(answered.us());
                bench::spin(rounds);
                ended = {};
                verified.release();
            });
        }
    });
    const bench::stopwatch all;
    while (all.ms() < s.seconds * 1e3) {
        const bench::stopwatch watch;
        submitted.release();
        verified.acquire();
        reader_us.push_back(ended.us());
        us.push_back(watch.us());
    }
    const double seconds = all.ms() * 1e-3;
    stop = true;
    submitted.release();
    device.join();
    q.queue.flush();
    auto l = line(s, privileged, q.refused);
    l.add("mib_per_second", static_cast<double>(us.size()) / 256 / seconds);
    l.add("item_mean_us", bench::mean(item_us)).add("item_p50_us", bench::median(item_us));
    l.add("reader_mean_us", bench::mean(reader_us)).add("reader_p50_us", bench::median(reader_us));
    with_latencies(l, us).print();
}

} // namespace

int main(int argc, char** argv) {
    settings s;
    const std::map<std::string, cmwq::priority> priorities{
        {"normal", cmwq::priority::normal}, {"high", cmwq::priority::high}, {"fifo", cmwq::priority::fifo}};
    CLI::App app{"The delay of items of a bound queue beside processes that compute. Prints one line of JSON.", "fifo"};
    s.name = "normal";
    app.add_option("--priority", s.name, "priority of the queue: normal, high or fifo")
        ->check(CLI::IsMember(priorities))
        ->capture_default_str();
    app.add_option("--shape", s.shape,
                   "start: from queueing an item to its start; read: from the request for a block of 4 KiB to its "
                   "verification by an item, and MiB/s")
        ->check(CLI::IsMember({"start", "read"}))
        ->capture_default_str();
    app.add_option("--burners-per-cpu", s.burners_per_cpu, "processes that compute, for each CPU")
        ->capture_default_str();
    app.add_option("--load", s.load, "share of a CPU that each of them wants")
        ->check(CLI::Range(0.01, 1.0))
        ->capture_default_str();
    app.add_option("--seconds", s.seconds, "duration")->capture_default_str();
    app.add_option("--verify-us", s.verify_us, "µs of CPU time to verify a block")->capture_default_str();
    CLI11_PARSE(app, argc, argv);

    s.priority = priorities.at(s.name);
    const bench::hogs burners{s.burners_per_cpu * static_cast<unsigned>(bench::usable_cpus().size()), s.load};
    if (s.shape == "start") measure_starts(s);
    else measure_reads(s);
    return 0;
}
