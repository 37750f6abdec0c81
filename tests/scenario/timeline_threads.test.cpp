// SPDX-License-Identifier: BSL-1.0
//
// The kernel's timelines on real threads, measured in the time of their CPU, because another process may use that CPU
// too. A run in which a wake-up came late is repeated: one run must show the documented order, not each run.
#include "catch.hpp"
#include "real_world.hpp"
#include "timeline.hpp"

#include <cmwq/cmwq.hpp>

#include <iostream>
#include <string>

namespace {

void check(const timeline::scenario& s, bool annotated) {
    constexpr int attempts = 40;
    std::string log;
    bool came_out = false;
    for (int i = 0; i < attempts && !came_out; ++i) {
        cmwq::runtime rt;
        CHECK(timeline::make_workers(rt));
        timeline::real_world world;
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
