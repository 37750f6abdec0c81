// SPDX-License-Identifier: BSL-1.0
//
// The effect of a limit of active items. Writers queue items that compute a checksum of 64 KiB, update a structure
// under a mutex, and wait for a device. In 2023 the kernel's limit became one per CPU by mistake, and a file system ran
// 768 such items instead of 8.
#include "support/burn.hpp"
#include "support/cli.hpp"
#include "support/json.hpp"
#include "support/memory.hpp"
#include "support/stopwatch.hpp"
#include "support/usage.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

namespace {

struct settings {
    std::string policy = "unbound";
    unsigned limit = 16, writers = 32, outstanding = 32;
    double seconds = 5, checksum_us = 40, locked_us = 10, device_us = 500;
};

void raise_to(std::atomic<unsigned>& most, unsigned n) {
    unsigned seen = most.load();
    while (seen < n && !most.compare_exchange_weak(seen, n)) {}
}

template <class Policy>
void measure(const settings& s) {
    cmwq::runtime rt;
    cmwq::workqueue<Policy> queue{rt, {.name = "writes", .max_active = s.limit}};
    const double rounds_per_us = bench::spin_rounds_per_us();
    const auto checksum = static_cast<std::uint64_t>(s.checksum_us * rounds_per_us);
    const auto update = static_cast<std::uint64_t>(s.locked_us * rounds_per_us);
    const auto device = std::chrono::nanoseconds(static_cast<std::int64_t>(s.device_us * 1e3));
    std::mutex tree;
    std::atomic<unsigned> now{0}, most{0}, waiting{0}, most_waiting{0};
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> written{0};

    const auto before = bench::usage::now();
    std::deque<std::counting_semaphore<>> rooms; // items may still be in release() when their writer has ended
    std::vector<std::thread> writers;
    for (unsigned w = 0; w < s.writers; ++w) {
        writers.emplace_back([&, &room = rooms.emplace_back(s.outstanding)] {
            while (!stop) {
                room.acquire();
                queue.post([&] {
                    raise_to(most, now.fetch_add(1) + 1);
                    bench::spin(checksum);
                    {
                        raise_to(most_waiting, waiting.fetch_add(1) + 1);
                        const std::lock_guard g(tree);
                        waiting.fetch_sub(1);
                        bench::spin(update);
                    }
                    std::this_thread::sleep_for(device);
                    now.fetch_sub(1);
                    written.fetch_add(1, std::memory_order_relaxed);
                    room.release();
                });
            }
            for (unsigned i = 0; i < s.outstanding; ++i) room.acquire();
        });
    }
    const bench::stopwatch watch;
    std::this_thread::sleep_for(std::chrono::duration<double>(s.seconds));
    const std::uint64_t n = written.load();
    const double seconds = watch.ms() * 1e-3;
    const auto after = bench::usage::now();
    stop = true;
    for (std::thread& t : writers) t.join();
    queue.flush();

    bench::json_line line;
    line.add("policy", s.policy).add("limit", s.limit).add("mib_per_second", static_cast<double>(n) / 16 / seconds);
    line.add("threads", rt.stats().peak_threads).add("most_active", most.load());
    line.add("most_waiting_for_the_mutex", most_waiting.load());
    line.add("cpu_percent", cpu_percent(before, after));
    line.add("switches_per_item", switches_between(before, after) / static_cast<double>(n));
    line.print();
}

} // namespace

int main(int argc, char** argv) {
    settings s;
    CLI::App app{"Throughput and threads of writers whose items compute, lock and wait, under a limit of active items. "
                 "Prints one line of JSON.",
                 "limits"};
    app.add_option("--policy", s.policy, "bound, elastic or unbound")
        ->check(CLI::IsMember({"bound", "elastic", "unbound"}))
        ->capture_default_str();
    app.add_option("--limit", s.limit, "max_active of the queue")
        ->check(bench::between(1, 2048))
        ->capture_default_str();
    app.add_option("--writers", s.writers, "threads that write")->check(bench::between(1, 1000))->capture_default_str();
    app.add_option("--outstanding", s.outstanding, "items outstanding of each writer")
        ->check(bench::between(1, 10'000))
        ->capture_default_str();
    app.add_option("--seconds", s.seconds, "duration, seconds")->check(bench::duration())->capture_default_str();
    app.add_option("--checksum-us", s.checksum_us, "µs of CPU time outside the mutex")
        ->check(bench::between(0, 1e6))
        ->capture_default_str();
    app.add_option("--locked-us", s.locked_us, "µs of CPU time under the mutex")
        ->check(bench::between(0, 1e6))
        ->capture_default_str();
    app.add_option("--device-us", s.device_us, "µs until the device has written")
        ->check(bench::between(0, 1e6))
        ->capture_default_str();
    CLI11_PARSE(app, argc, argv);

    return bench::run_and_report("limits", [&] {
        if (s.policy == "bound") measure<cmwq::bound>(s);
        else if (s.policy == "elastic") measure<cmwq::elastic>(s);
        else measure<cmwq::unbound>(s);
    });
}
