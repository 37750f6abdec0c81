// SPDX-License-Identifier: BSL-1.0
#include "watchdog.hpp"

#include "ledger.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <utility>

#include <unistd.h>

namespace soak {

namespace {

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string name_of(pid_t tid) {
    std::ifstream file("/proc/self/task/" + std::to_string(tid) + "/comm");
    std::string name;
    std::getline(file, name);
    return name;
}

} // namespace

watchdog::watchdog(rules r) : rules_(std::move(r)), thread_([this] { watch(); }) {}

watchdog::~watchdog() {
    {
        const std::lock_guard g(lock_);
        end_ = true;
    }
    ended_.notify_all();
    thread_.join();
}

watchdog::describes::describes(watchdog& w, std::function<std::string()> text) : w_(w) {
    const std::lock_guard g(w_.lock_);
    w_.text_ = std::move(text);
}

watchdog::describes::~describes() {
    const std::lock_guard g(w_.lock_);
    w_.text_ = nullptr;
}

void watchdog::watch() {
    std::unique_lock g(lock_);
    while (!ended_.wait_for(g, std::chrono::seconds{1}, [this] { return end_; })) look(seconds_now());
}

void watchdog::look(double now) {
    bool stuck = false;
    {
        const std::lock_guard g(activity::list_lock);
        for (activity* a : activity::list) {
            const std::uint64_t turn = a->turn.load(std::memory_order_relaxed);
            if (turn != a->seen_turn || a->seen_at == 0 || a->what.load(std::memory_order_relaxed) == nullptr) {
                a->seen_turn = turn;
                a->seen_at = now;
            }
            stuck |= now - a->seen_at > rules_.patience;
        }
    }
    if (stuck) bark();
}

void watchdog::bark() {
    const double now = seconds_now();
    {
        const std::lock_guard g(activity::list_lock);
        std::fprintf(stderr, "soak: stuck. The current operation of each thread, and its minimum duration:\n");
        for (const activity* a : activity::list) {
            const kind* what = a->what.load(std::memory_order_relaxed);
            std::fprintf(stderr, "  %d %-16s %-20s %6.1f s\n", static_cast<int>(a->tid), name_of(a->tid).c_str(),
                         what == nullptr ? "-" : what->name, now - a->seen_at);
        }
    }
    std::fprintf(stderr, "reproduce: %s\n", rules_.reproduction.c_str());
    std::fflush(stderr);
    // Last, because it takes locks that a stuck thread may hold.
    if (text_) std::fprintf(stderr, "%s\n", text_().c_str());
    std::fflush(stderr);
    if (rules_.hold) {
        for (;;) ::pause();
    }
    std::abort();
}

} // namespace soak
