// SPDX-License-Identifier: BSL-1.0
//
// A program with three queues. When it is ready it says so, then it waits for its input to end, and prints what it has
// counted. The first argument is the folder of the control socket. With a second one a bottom half is stuck as well.
#include <cmwq/cmwq.hpp>
#include <cmwq/control.hpp>
#include <cmwq/trace.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <latch>
#include <thread>

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    cmwq::runtime rt{{.watchdog = std::chrono::milliseconds{300}, .on_event = [](const cmwq::event&) {}}};
    const cmwq::control_socket control{rt, {.folder = argv[1]}};
    cmwq::workqueue<> events{rt, "events"};
    cmwq::workqueue<cmwq::elastic> disk{rt, {.name = "disk", .max_active = 2, .rescuer = true, .exported = true}};

    std::atomic<int> nr_events{0}, nr_disk{0};
    for (int i = 0; i < 1000; ++i) events.post([&] { ++nr_events; });
    events.flush();

    std::latch go{1};
    cmwq::work<std::function<void()>> stuck{[&] {
        ++nr_disk;
        cmwq::this_work::describe("waits for the end");
        go.wait();
    }};
    disk.queue(stuck);
    for (int i = 0; i < 3; ++i) {
        disk.post([&] {
            ++nr_disk;
            go.wait();
        });
    }
    cmwq::workqueue<cmwq::bh> interrupts{rt, "interrupts"};
    std::latch bottom_half_runs{1};
    std::jthread interrupted; // runs the bottom half itself
    if (argc > 2) {
        interrupted = std::jthread([&] {
            interrupts.post([&] {
                bottom_half_runs.count_down();
                go.wait();
            });
        });
        bottom_half_runs.wait();
    }
    while (rt.stall_report(std::chrono::milliseconds{100}).empty() || nr_disk != 2) {}
    std::printf("ready %p rescued %llu\n", static_cast<void*>(&stuck),
                static_cast<unsigned long long>(disk.stats().rescued)); // 0, if threads are made in 10 ms
    std::fflush(stdout);
    while (std::getchar() != EOF) {}
    go.count_down();
    disk.flush();
    interrupts.flush();
    std::printf("events %d disk %d\n", nr_events.load(), nr_disk.load());
}
