// SPDX-License-Identifier: BSL-1.0
#include <cmwq/runtime_options.hpp>

#include <cmwq/runtime_options.hpp> // a second time: tests the include guard

#include <cmwq/runtime.hpp>
#include <cmwq/testing/manual_clock.hpp>

#include "catch.hpp"
#include "event_log.hpp"
#include "eventually.hpp"
#include "fake_threads.hpp"
#include "nr_tasks.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <new>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using cmwq_test::event_log;
using cmwq_test::eventually;
using cmwq_test::fake_threads;
using cmwq_test::nr_tasks;
using cmwq_test::refuse_starts;

namespace {

unsigned not_allowed() {
    cmwq::runtime rt;
    unsigned c = 0;
    while (rt.cpus().contains(c)) ++c;
    return c;
}

} // namespace

TEST_CASE("runtime_options: a runtime has the given CPUs or by default those of the process") {
    const cmwq::runtime rt;
    CHECK_FALSE(rt.cpus().empty());
    const unsigned first = *rt.cpus().begin();
    const cmwq::runtime one{{.cpus = {first}}};
    CHECK(one.cpus() == cmwq::cpuset{first});
}

TEST_CASE("runtime_options: CPUs that the process may not use are refused and named") {
    const std::ptrdiff_t before = nr_tasks();
    const unsigned other = not_allowed();
    CHECK_THROWS_AS((cmwq::runtime{{.cpus = {other}}}), std::invalid_argument);
    CHECK_THROWS_WITH((cmwq::runtime{{.cpus = {*cmwq::runtime{}.cpus().begin(), other}}}),
                      Contains("CPUs " + std::to_string(other)));
    CHECK_THROWS_AS((cmwq::runtime{{.cpus = {cmwq::cpuset::capacity - 1}}}), std::invalid_argument);
    CHECK(eventually([&] { return nr_tasks() == before; }));
}

TEST_CASE("runtime_options: missing unbound CPUs are ignored but refused and named if all are missing") {
    const auto machine = cmwq::topology::synthetic("numa:1 l3:1 core:4 pu:1");
    CHECK_THROWS_WITH((cmwq::runtime{{.cpus = {0, 1}, .unbound_cpus = {2, 3}, .machine = machine}}),
                      Contains("unbound CPUs 2-3") && Contains("0-1"));
    const cmwq::runtime rt{{.cpus = {0, 1}, .unbound_cpus = {1, 2}, .machine = machine}};
    CHECK(rt.unbound_cpus() == cmwq::cpuset{1});
}

TEST_CASE("runtime_options: a machine without all CPUs of the runtime is refused and both sets are named") {
    const cmwq::cpuset allowed = cmwq::runtime{}.cpus();
    const unsigned first = *allowed.begin();
    const auto other = cmwq::topology::flat({cmwq::cpuset::capacity - 1});
    CHECK_THROWS_AS((cmwq::runtime{{.machine = other}}), std::invalid_argument);
    CHECK_THROWS_WITH((cmwq::runtime{{.cpus = {first}, .machine = other}}),
                      Contains("'" + std::to_string(cmwq::cpuset::capacity - 1) + "'") &&
                          Contains("runtime's, " + std::to_string(first)));
    CHECK_THROWS_AS((cmwq::runtime{{.cpus = {0, 3}, .machine = cmwq::topology::synthetic("numa:1 l3:1 core:2 pu:1")}}),
                    std::invalid_argument);
    if (allowed.size() > 1) { // an item for a CPU that the machine does not have would find no pool
        CHECK_THROWS_AS((cmwq::runtime{{.machine = cmwq::topology::flat({first})}}), std::invalid_argument);
    }
    CHECK_NOTHROW(cmwq::runtime{{.cpus = {first}, .machine = cmwq::topology::flat(allowed)}});
}

TEST_CASE("runtime_options: the size of a shard comes from the option or else from the machine") {
    const auto machine = cmwq::topology::synthetic("numa:1 l3:1 core:8 pu:1").with_cache_shard_size(4);
    const auto nr_pods = [](const cmwq::runtime& rt) {
        return rt.machine().pods(cmwq::affinity_scope::cache_shard).size();
    };
    CHECK(nr_pods(cmwq::runtime{{.machine = machine}}) == 2);
    CHECK(nr_pods(cmwq::runtime{{.cache_shard_size = 2, .machine = machine}}) == 4);
}

TEST_CASE("runtime_options: an invalid default scope is refused at construction and later") {
    constexpr auto none = static_cast<cmwq::affinity_scope>(7);
    CHECK_THROWS_AS((cmwq::runtime{{.default_scope = none}}), std::invalid_argument);
    CHECK_THROWS_WITH((cmwq::runtime{{.default_scope = static_cast<cmwq::affinity_scope>(99)}}),
                      Contains("affinity_scope is 99"));
    cmwq::runtime rt;
    CHECK_THROWS_AS(rt.set_default_scope(none), std::invalid_argument);
    CHECK(rt.default_scope() == cmwq::default_affinity_scope);
    CHECK_NOTHROW(rt.set_default_scope(cmwq::affinity_scope::default_));
}

TEST_CASE("runtime_options: a shard size of zero is refused") {
    CHECK_THROWS_AS((cmwq::runtime{{.cache_shard_size = 0}}), std::invalid_argument);
}

TEST_CASE("runtime_options: reaching max_threads is reported once with the number") {
    event_log log;
    cmwq::runtime rt{{.max_threads = 1, .watchdog = 0s, .on_event = log.listener()}};
    cmwq::workqueue<cmwq::unbound> q{rt, "q"};
    std::binary_semaphore leave{0};
    std::atomic<bool> ran{false};
    q.post([&] { leave.acquire(); });
    q.post([&] { ran = true; });
    CHECK(eventually([&] { return !log.all().empty(); }));
    CHECK_FALSE(ran); // it waits for the only thread
    leave.release();
    q.flush();
    CHECK(ran);
    CHECK(rt.stats().peak_threads == 1);
    CHECK(cmwq_test::all_told(rt));
    const std::vector<cmwq::event> events = log.all();
    REQUIRE(events.size() == 1);
    CHECK(events[0].what == cmwq::event::kind::thread_limit);
    CHECK_THAT(events[0].message, Contains("max_threads is 1") && Contains("rescuer"));
}

TEST_CASE("runtime_options: negative time-outs are refused and zero is valid") {
    CHECK_THROWS_AS((cmwq::runtime{{.idle_timeout = -1ns}}), std::invalid_argument);
    CHECK_THROWS_AS((cmwq::runtime{{.may_block_threshold = -1ns}}), std::invalid_argument);
    CHECK_NOTHROW((cmwq::runtime{{.idle_timeout = 0ns, .may_block_threshold = 0ns}}));
}

TEST_CASE("runtime_options: the constructor of a runtime throws without its three threads and leaves nothing behind") {
    const int failing = GENERATE(1, 2, 3);
    const std::ptrdiff_t before = nr_tasks();
    cmwq::testing::manual_clock clock;
    fake_threads source(refuse_starts(failing, failing));
    try {
        const cmwq::runtime rt{{.clock = &clock, .threads = &source}};
        FAIL("the runtime was constructed");
    } catch (const std::system_error& e) {
        CHECK(e.code() == std::errc::resource_unavailable_try_again);
    }
    CHECK(source.asked() == failing);
    clock.advance(1s); // the clock has no listener any more
    CHECK(eventually([&] { return nr_tasks() == before; }));

    // The next runtime uses the same source and clock.
    cmwq::runtime rt{{.clock = &clock, .threads = &source}};
    cmwq::workqueue<> q{rt, "q"};
    std::atomic<int> runs{0};
    cmwq::work item{[&] { ++runs; }};
    CHECK(q.queue(item) == cmwq::queue_status::queued);
    q.flush();
    CHECK(runs == 1);
}

TEST_CASE("runtime_options: a worker that cannot be created is reported once and tried again") {
    event_log log;
    fake_threads source(refuse_starts(4, 8, ENOMEM)); // the runtime's three threads come first
    cmwq::runtime rt{{.sentinel = false, .on_event = log.listener(), .threads = &source}};
    cmwq::workqueue<> q{rt, "q"};
    std::atomic<int> runs{0};
    cmwq::work item{[&] { ++runs; }};
    const unsigned cpu = *rt.cpus().begin();
    REQUIRE(q.queue_on(cpu, item) == cmwq::queue_status::queued);
    CHECK(eventually([&] { return runs == 1; }));
    CHECK(source.refused() == 5);
    CHECK(cmwq_test::all_told(rt));
    const std::vector<cmwq::event> events = log.all();
    REQUIRE(events.size() == 1);
    CHECK(events[0].what == cmwq::event::kind::no_thread);
    CHECK(events[0].error == ENOMEM);
    CHECK(events[0].cpu == cpu);
    CHECK_THAT(events[0].message, Contains("CPU " + std::to_string(cpu)));
}

TEST_CASE("runtime_options: one worker runs all items that do not block") {
    fake_threads source(refuse_starts(5, 1'000'000'000)); // the runtime's three threads and one worker start
    cmwq::runtime rt{{.cpus = {*cmwq::runtime{}.cpus().begin()}, .sentinel = false, .threads = &source}};
    cmwq::workqueue<> q{rt, "q"};
    std::atomic<int> runs{0};
    for (int i = 0; i < 100; ++i) q.post([&] { ++runs; });
    q.drain();
    CHECK(runs == 100);
    CHECK(rt.stats().threads == 1);
    CHECK(source.refused() >= 1);
}
