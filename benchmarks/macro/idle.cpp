// SPDX-License-Identifier: BSL-1.0
//
// A program with open queues that has nothing to do. Run it under strace (benchmarks/tools/idle_strace.sh): after the
// first idle second, no thread may make a system call.
#include <cmwq/cmwq.hpp>

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <deque>
#include <thread>

namespace {

using namespace std::chrono_literals;

/// Uses workers, announced and unannounced blocks, and a timer, so that each thread that these need has been woken.
void be_busy(cmwq::runtime& runtime, cmwq::workqueue<>& queue, cmwq::workqueue<>& urgent) {
    const auto block = [] { std::this_thread::sleep_for(2ms); };
    const auto announce = [] {
        const cmwq::blocking_region region;
        std::this_thread::sleep_for(2ms);
    };
    std::deque<cmwq::work<decltype(block)>> blocking;
    std::deque<cmwq::work<decltype(announce)>> announcing;
    cmwq::delayed_work late{[] {}};
    for (const unsigned cpu : runtime.cpus()) {
        for (int i = 0; i < 20; ++i) {
            queue.queue_on(cpu, blocking.emplace_back(block));
            urgent.queue_on(cpu, announcing.emplace_back(announce));
        }
    }
    queue.queue_after(50ms, late);
    late.flush();
    queue.drain();
    urgent.drain();
}

} // namespace

int main(int argc, char** argv) {
    double seconds = 10;
    CLI::App app{"Opens queues, uses some of them, and idles.", "idle"};
    app.add_option("--seconds", seconds, "how long it idles")->capture_default_str();
    CLI11_PARSE(app, argc, argv);

    cmwq::runtime runtime;
    cmwq::workqueue<> queue{runtime, {.name = "used"}};
    cmwq::workqueue<> urgent{runtime, {.name = "urgent", .priority = cmwq::priority::high}};
    cmwq::workqueue<> unused{runtime, {.name = "unused"}};
    cmwq::delayed_work alarm{[] {}};
    be_busy(runtime, queue, urgent);
    queue.queue_after(1h, alarm); // an armed timer is no reason to wake up either

    std::fputs("idle begins\n", stderr);
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    std::fputs("idle ends\n", stderr);
    alarm.cancel_sync();
    return 0;
}
