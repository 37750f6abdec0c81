// SPDX-License-Identifier: BSL-1.0
//
// The kernel's timelines in virtual time: the real engine runs on a simulated CPU, and the times must be the documented
// ones to the millisecond. Built with the model backend.
#include "catch.hpp"
#include "timeline.hpp"

#include <cmwq/cmwq.hpp>
#include <model/simulate.hpp>

#include <cmath>
#include <iostream>
#include <string>
#include <vector>

namespace {

namespace model = cmwq::detail::model;

// A world with a simulated CPU. Runnable workers share the CPU in slices, as in the cpu_intensive scenario.
struct simulated_world {
    double slice; ///< milliseconds

    static double now() { return static_cast<double>(model::elapsed()) * 1e-6; }
    void burn(double ms) const {
        for (double left = ms; left > 0; left -= slice) {
            model::burn(static_cast<std::int64_t>(std::min(slice, left) * 1e6));
            if (left > slice) cmwq::detail::yield_this_thread();
        }
    }
    static void sleep(double ms) { model::sleep(static_cast<std::int64_t>(ms * 1e6)); }
    template <class F>
    static void begin(cmwq::workqueue<>& q, unsigned cpu, F queue_all) {
        q.post_on(cpu, queue_all);
    }
};

std::vector<timeline::entry> simulate(const timeline::scenario& s, bool annotated, double slice) {
    std::vector<timeline::entry> seen;
    model::simulation machine;
    machine.name = s.name;
    machine.around.cpus = 1;
    const auto r = model::simulate(machine, [&] {
        cmwq::runtime rt;
        simulated_world world{slice};
        seen = timeline::play(rt, s, annotated, world);
    });
    INFO(r.message);
    CHECK(r);
    return seen;
}

using times = std::vector<double>;

times at(const std::vector<timeline::entry>& seen) {
    times t;
    for (const auto& e : seen) t.push_back(std::round(e.at * 10) / 10);
    return t;
}

void check(std::size_t index, bool annotated, double slice, const times& documented) {
    const timeline::scenario& s = timeline::scenarios()[index];
    const auto seen = simulate(s, annotated, slice);
    std::cout << s.name << (annotated ? ", annotated\n" : ", unannotated\n") << timeline::to_text(seen) << '\n';
    std::string why;
    CHECK(timeline::in_documented_order(s, seen, why));
    INFO(s.name << ": " << why);
    CHECK(at(seen) == documented);
}

} // namespace

TEST_CASE("timelines: the events have the documented times in virtual time") {
    const bool annotated = GENERATE(false, true);
    INFO((annotated ? "annotated" : "unannotated"));
    constexpr double whole = 5; // first come, first served, as the document assumes
    check(0, annotated, whole, {0, 5, 15, 20, 20, 25, 35, 35, 40, 50});
    check(1, annotated, whole, {0, 5, 5, 10, 10, 15, 15, 20, 20, 25});
    // w1 wakes at 20, when w2 has just got the CPU, and gets the CPU with the next slice.
    check(2, annotated, 0.5, {0, 5, 5, 10, 15, 20, 20, 20.5, 25, 35});
    // "w1 and w2 start and burn CPU" at the same time: they share the CPU.
    check(3, annotated, 0.5, {0, 5, 5, 5.5, 14.5, 15, 15, 20, 24.5, 25});
}
