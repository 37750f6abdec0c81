// SPDX-License-Identifier: BSL-1.0
//
// The threads of the library while nothing is pending: the real engine in virtual time. Built with the model backend.
#include "catch.hpp"

#include <cmwq/cmwq.hpp>
#include <model/simulate.hpp>

#include <chrono>

namespace {

namespace model = cmwq::detail::model;
using namespace std::chrono_literals;

void sleep(std::chrono::nanoseconds d) { model::sleep(d.count()); }

} // namespace

// proves: progress-32
TEST_CASE("idle: once surplus workers have ended no thread of the library wakes while nothing is pending") {
    std::uint64_t before = 0, switches = 1;
    std::size_t threads_before = 0, threads_after = 0;
    model::simulation machine;
    machine.name = "idle";
    const auto result = model::simulate(machine, [&] {
        cmwq::runtime rt{{.idle_timeout = 60s}};
        cmwq::workqueue<> bound{rt, "bound"};
        cmwq::workqueue<cmwq::elastic> elastic{rt, "elastic"};
        cmwq::workqueue<cmwq::unbound> unbound{rt, {.name = "unbound", .rescuer = true}};
        cmwq::workqueue<cmwq::ordered> ordered{rt, "ordered"};
        cmwq::workqueue<cmwq::bh> bh{rt, "bh"};
        for (int i = 0; i < 20; ++i) { // more blocked items than a pool keeps workers
            bound.post([] { sleep(5ms); });
            elastic.post([] { sleep(5ms); });
            unbound.post([] { sleep(5ms); });
            ordered.post([] { sleep(1ms); });
            bh.post([] {});
        }
        cmwq::delayed_work timer{[] {}};
        bound.queue_after(30s, timer);
        sleep(31s);
        threads_before = rt.stats().threads;
        const std::uint64_t first = model::nr_switches();
        sleep(120s);
        const std::uint64_t begin = model::nr_switches();
        before = begin - first;
        sleep(std::chrono::hours{24});
        switches = model::nr_switches() - begin;
        threads_after = rt.stats().threads;
    });
    INFO(result.message);
    REQUIRE(result);
    CHECK(threads_after < threads_before);
    CHECK(before > 0); // the surplus workers have ended
    CHECK(switches == 0);
}
