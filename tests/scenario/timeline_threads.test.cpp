// SPDX-License-Identifier: BSL-1.0
//
// The kernel's timelines on real threads. The machine may have other things to do, so a run in which somebody else had
// the CPU is repeated; what is required is that the documented order comes out, not that nobody ever disturbs it.
// Where two items share the CPU while a third one sleeps, the last of their 10 ms and its wake-up are a tie, which goes
// either way as the scheduler slices: hence the number of attempts.
#include "catch.hpp"
#include "timeline.hpp"

#include <cmwq/cmwq.hpp>

#include <chrono>
#include <ctime>
#include <iostream>
#include <string>

namespace {

struct real_world {
    static double now() {
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
    }
    static double cpu_now() {
        timespec ts{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
        return static_cast<double>(ts.tv_sec) * 1e3 + static_cast<double>(ts.tv_nsec) * 1e-6;
    }
    static void burn(double ms) {
        const double end = cpu_now() + ms;
        while (cpu_now() < end) {}
    }
    static void sleep(double ms) {
        const timespec ts{0, static_cast<long>(ms * 1e6)};
        ::nanosleep(&ts, nullptr); // the blocking call that the scenario is about
    }
    template <class F>
    static void begin(cmwq::workqueue<>& q, unsigned cpu, F queue_all) {
        q.post_on(cpu, queue_all);
    }
};

void check(const timeline::scenario& s, bool annotated) {
    constexpr int attempts = 40;
    std::string log;
    bool came_out = false;
    for (int i = 0; i < attempts && !came_out; ++i) {
        cmwq::runtime rt;
        real_world world;
        const auto seen = timeline::play(rt, s, annotated, world);
        std::string why;
        came_out = timeline::in_documented_order(s, seen, why);
        log += timeline::to_text(seen) + (came_out ? "" : why + "\n\n");
    }
    INFO(s.name << (annotated ? ", annotated\n" : ", un-annotated\n") << log);
    std::cout << s.name << (annotated ? ", annotated\n" : ", un-annotated\n") << log << '\n';
    CHECK(came_out);
}

} // namespace

TEST_CASE("timelines on real threads, un-annotated: the sentinel notices") {
    for (const timeline::scenario& s : timeline::scenarios()) check(s, false);
}

TEST_CASE("timelines on real threads, annotated: the guard tells") {
    for (const timeline::scenario& s : timeline::scenarios()) check(s, true);
}
