// SPDX-License-Identifier: BSL-1.0
//
// The delay of items beside processes that compute, for the three priorities of a bound queue, and for an unbound queue
// of nice -20. The kernel's proposal WQ_SCHED_FIFO (2023) was measured in this way: by the start delay of the items,
// and by a reader who waits for a block that an item verifies.
//
// A thread of SCHED_FIFO, at a higher priority than the workers, stands for the interrupt that queues the items.
#include "support/burn.hpp"
#include "support/cli.hpp"
#include "support/cpus.hpp"
#include "support/hogs.hpp"
#include "support/latencies.hpp"
#include "support/start_delays.hpp"
#include "support/stopwatch.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <chrono>
#include <map>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

namespace {

using namespace std::chrono_literals;

struct settings {
    std::string priority = "normal", shape = "start";
    unsigned burners_per_cpu = 4;
    int reader_nice = 0;
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
    l.add("shape", s.shape).add("priority", s.priority).add("burners_per_cpu", s.burners_per_cpu).add("load", s.load);
    l.add("interrupt", privileged ? "SCHED_FIFO" : "normal").add("refused", refused ? 1 : 0);
    return l;
}

template <class Policy>
struct measured_queue {
    explicit measured_queue(cmwq::options<Policy> o)
        : rt{{.on_event =
                  [this](const cmwq::event& e) {
                      if (e.what == cmwq::event::kind::priority_refused) refused = true;
                  }}},
          queue{rt, std::move(o)} {
        for (const unsigned cpu : rt.cpus()) queue.post_on(cpu, [] {}); // makes the workers
        queue.flush();
    }

    std::atomic<bool> refused{false};
    cmwq::runtime rt;
    cmwq::workqueue<Policy> queue;
};

/// One item after the other, on each CPU in turn.
template <class Policy>
void measure_starts(const settings& s, cmwq::options<Policy> o) {
    measured_queue<Policy> q(std::move(o));
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
template <class Policy>
void measure_reads(const settings& s, cmwq::options<Policy> o) {
    measured_queue<Policy> q(std::move(o));
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
    double seconds = 0;
    std::thread reader([&] {
        if (s.reader_nice != 0 && ::setpriority(PRIO_PROCESS, 0, s.reader_nice) != 0) q.refused = true;
        const bench::stopwatch all;
        while (all.ms() < s.seconds * 1e3) {
            const bench::stopwatch watch;
            submitted.release();
            verified.acquire();
            reader_us.push_back(ended.us());
            us.push_back(watch.us());
        }
        seconds = all.ms() * 1e-3;
    });
    reader.join();
    stop = true;
    submitted.release();
    device.join();
    q.queue.flush();
    auto l = line(s, privileged, q.refused);
    l.add("reader_nice", s.reader_nice);
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
    CLI::App app{"The delay of items of a queue beside processes that compute. Prints one line of JSON.", "fifo"};
    app.add_option("--priority", s.priority,
                   "normal, high or fifo: priority of a bound queue; unbound-high: an unbound queue of nice -20")
        ->check(CLI::IsMember({"normal", "high", "fifo", "unbound-high"}))
        ->capture_default_str();
    app.add_option("--shape", s.shape,
                   "start: from queueing an item to its start; read: from the request for a block of 4 KiB to its "
                   "verification by an item, and MiB/s")
        ->check(CLI::IsMember({"start", "read"}))
        ->capture_default_str();
    app.add_option("--burners-per-cpu", s.burners_per_cpu, "processes that compute, for each CPU")
        ->check(bench::between(0, 16))
        ->capture_default_str();
    app.add_option("--load", s.load, "share of a CPU that each of them wants")
        ->check(bench::between(0.01, 1))
        ->capture_default_str();
    app.add_option("--seconds", s.seconds, "duration, seconds")->check(bench::duration())->capture_default_str();
    app.add_option("--verify-us", s.verify_us, "µs of CPU time to verify a block")
        ->check(bench::between(0, 1e6))
        ->capture_default_str();
    app.add_option("--reader-nice", s.reader_nice, "nice value of the reader")
        ->check(bench::between(-20, 19))
        ->capture_default_str();
    CLI11_PARSE(app, argc, argv);

    const bench::hogs burners{s.burners_per_cpu * static_cast<unsigned>(bench::usable_cpus().size()), s.load};
    const auto measure = [&]<class Policy>(cmwq::options<Policy> o) {
        if (s.shape == "start") measure_starts(s, std::move(o));
        else measure_reads(s, std::move(o));
    };
    return bench::run_and_report("fifo", [&] {
        if (s.priority == "unbound-high")
            measure(cmwq::options<cmwq::unbound>{.name = "measured", .attrs = cmwq::attrs{}.nice(-20)});
        else measure(cmwq::options<cmwq::bound>{.name = "measured", .priority = priorities.at(s.priority)});
    });
}
