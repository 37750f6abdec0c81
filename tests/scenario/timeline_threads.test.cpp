// SPDX-License-Identifier: BSL-1.0
//
// The kernel's timelines on real threads. The machine may be busy, so a run in which another process had the CPU is
// repeated: the documented order has to appear in one run, not in each.
// The spare workers exist before the items do, as in a kernel that has been up for a while: ThreadSanitizer takes 2 ms
// to make a thread, and the timelines do not measure that.
#include "catch.hpp"
#include "core_of.hpp"
#include "eventually.hpp"
#include "timeline.hpp"

#include <cmwq/cmwq.hpp>

#include <chrono>
#include <ctime>
#include <iostream>
#include <latch>
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

/// Gives the pool of the CPU of the timelines the three workers that it needs, and waits until the pool has forgotten how
/// many workers this load needed.
void make_workers(cmwq::runtime& rt) {
    constexpr int needed = 3;
    {
        cmwq::workqueue<> q{rt, {.name = "before"}};
        std::latch all(needed);
        for (int i = 0; i < needed; ++i) {
            q.post_on(*rt.cpus().begin(), [&all] {
                const cmwq::blocking_region region;
                all.arrive_and_wait();
            });
        }
        q.drain();
    }
    CHECK(cmwq_test::eventually(
        [&] { return cmwq_test::core_of(rt).pools().pool_at(0, cmwq::priority::normal).limit() == 1; }));
}

void check(const timeline::scenario& s, bool annotated) {
    constexpr int attempts = 40;
    std::string log;
    bool came_out = false;
    for (int i = 0; i < attempts && !came_out; ++i) {
        cmwq::runtime rt;
        make_workers(rt);
        real_world world;
        const auto seen = timeline::play(rt, s, annotated, world);
        std::string why;
        came_out = timeline::in_documented_order(s, seen, why);
        log += timeline::to_text(seen) + (came_out ? "" : why + "\n\n");
    }
    INFO(s.name << (annotated ? ", annotated\n" : ", unannotated\n") << log);
    std::cout << s.name << (annotated ? ", annotated\n" : ", unannotated\n") << log << '\n';
    CHECK(came_out);
}

} // namespace

TEST_CASE("timelines: on real threads the sentinel notices unannotated waits") {
    for (const timeline::scenario& s : timeline::scenarios()) check(s, false);
}

TEST_CASE("timelines: on real threads the guard reports annotated waits") {
    for (const timeline::scenario& s : timeline::scenarios()) check(s, true);
}
