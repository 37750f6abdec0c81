// SPDX-License-Identifier: BSL-1.0
//
// runtime_stats::workers_made: the reason for which a pool has made each worker, in simulations.
#include "catch.hpp"
#include "model/machine.hpp"

#include <cmwq/blocking_region.hpp>
#include <model/simulate.hpp>

#include <chrono>
#include <cstdint>
#include <functional>

namespace model = cmwq::detail::model;
using cmwq::pool_growth;
using cmwq_test::ms;

namespace {

void simulate_runtime(const std::function<void(cmwq::runtime&)>& body) {
    model::simulation s;
    s.name = "growth";
    s.around.cpus = 2;
    const auto r = model::simulate(s, [&] {
        cmwq::runtime rt{{.machine = cmwq::topology::flat(cmwq::cpuset::range(0, 2)), .cpu_hog_threshold = {}}};
        body(rt);
    });
    INFO(r.message);
    CHECK(r);
}

void require_made(const cmwq::runtime& rt, const pool_growth& expected) {
    const pool_growth made = rt.stats().workers_made;
    std::uint64_t all = 0;
    cmwq::detail::for_each_reason([&](const char* why, std::uint64_t pool_growth::* n) {
        model::require(made.*n == expected.*n, why);
        all += made.*n;
    });
    model::require(all == rt.stats().threads, "no other worker was made, and none has ended");
}

template <class Queue, class F>
void run_two(Queue& q, F&& f) {
    q.post_on(0, f);
    q.post_on(0, f);
    q.flush();
}

} // namespace

TEMPLATE_TEST_CASE("pool growth: the first item gets a worker, and one to spare", "", cmwq::bound, cmwq::elastic,
                   cmwq::unbound, cmwq::ordered) {
    simulate_runtime([](cmwq::runtime& rt) {
        cmwq::workqueue<TestType> q{rt, "q"};
        require_made(rt, {});
        q.post_on(0, [] {});
        q.flush();
        require_made(rt, {.first = 2});
    });
}

TEST_CASE("pool growth: a worker that blocks with an item pending is replaced") {
    simulate_runtime([](cmwq::runtime& rt) {
        cmwq::workqueue<cmwq::bound> q{rt, "q"};
        run_two(q, [] {
            cmwq::blocking_region blocked;
            model::sleep(5 * ms);
        });
        require_made(rt, {.first = 2, .blocked = 1});
    });
}

TEST_CASE("pool growth: an elastic pool has a worker for each of its CPUs") {
    simulate_runtime([](cmwq::runtime& rt) {
        cmwq::workqueue<cmwq::elastic> q{rt, "q"};
        run_two(q, [] { model::burn(5 * ms); });
        require_made(rt, {.first = 2, .parallel = 1});
    });
}

TEST_CASE("pool growth: an unbound pool has a worker for each active item") {
    simulate_runtime([](cmwq::runtime& rt) {
        cmwq::workqueue<cmwq::unbound> q{rt, "q"};
        run_two(q, [] { model::sleep(5 * ms); });
        require_made(rt, {.first = 2, .unmanaged = 1});
    });
}
