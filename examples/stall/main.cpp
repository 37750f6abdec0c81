// SPDX-License-Identifier: BSL-1.0
//
// Three mistakes that make a program hang, and what the library says about them: too few threads, too low a limit, and
// items that wait for each other. The main thread asks as a health check would, and then lets everything go on.
#include <cmwq/cmwq.hpp>

#include <chrono>
#include <cstdio>
#include <functional>
#include <latch>
#include <string>
#include <thread>

using namespace std::chrono_literals;

int main() {
    // Two workers in all, so that the third item finds none. The watchdog is quick here.
    cmwq::runtime few{{.max_threads = 2, .watchdog = 1s}};
    cmwq::runtime rt{{.watchdog = 1s}};
    std::latch go{1};

    cmwq::workqueue<cmwq::unbound> starved{few, "starved"};
    for (int i = 0; i < 3; ++i) starved.post([&] { go.wait(); });

    cmwq::workqueue<cmwq::elastic> full{rt, {.name = "full", .max_active = 2}};
    for (int i = 0; i < 3; ++i) full.post([&] { go.wait(); });

    cmwq::workqueue<cmwq::ordered> circular{rt, "circular"};
    cmwq::work<std::function<void()>> second{[] {}}, first{[&] {
        circular.queue(second);
        second.flush(); // an ordered queue runs one item at a time: this one
    }};
    circular.queue(first);

    const auto report = [&] { return few.stall_report() + rt.stall_report(300ms); };
    const auto has_all = [](const std::string& text) {
        for (const char* name : {"\"starved\"", "\"full\"", "\"circular\""}) {
            if (text.find(name) == std::string::npos) return false;
        }
        return true;
    };
    while (!has_all(report())) std::this_thread::sleep_for(100ms);
    std::printf("%s", report().c_str());

    go.count_down();
    second.cancel();
    starved.flush();
    full.flush();
    circular.flush();
    std::printf("%s", report().empty() ? "nothing hangs\n" : report().c_str());
}
