// SPDX-License-Identifier: BSL-1.0
//
// The times of queue_stats, in simulations: there time passes only where an item burns it or sleeps, so they are exact.
#include "catch.hpp"
#include "model/machine.hpp"

#include <cmwq/task_group.hpp>
#include <model/simulate.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

namespace model = cmwq::detail::model;
using cmwq::duration_histogram;
using cmwq::queue_stats;
using cmwq_test::ms;
using std::chrono::nanoseconds;

namespace {

void simulate_runtime(std::string_view name, const std::function<void(cmwq::runtime&)>& body) {
    model::simulation s;
    s.name = name;
    s.around.cpus = 2;
    const auto r = model::simulate(s, [&] {
        cmwq::runtime rt{{.machine = cmwq::topology::flat(cmwq::cpuset::range(0, 2))}};
        body(rt);
    });
    INFO(r.message);
    CHECK(r);
}

template <class Policy>
void simulate_queue(const std::function<void(cmwq::workqueue<Policy>&)>& body) {
    simulate_runtime(Policy::name, [&](cmwq::runtime& rt) {
        cmwq::workqueue<Policy> q{rt, "q"};
        body(q);
    });
}

void require_runs(const queue_stats& s, std::uint64_t n, std::int64_t took_all) {
    model::require(s.run_times.total() == n, "the number of runs");
    model::require(s.run_times.sum == nanoseconds{took_all}, "the sum of their times");
}

} // namespace

TEMPLATE_TEST_CASE("queue times: CPU time is what an item burns, and run time also what it waits", "", cmwq::bound,
                   cmwq::elastic, cmwq::unbound, cmwq::ordered) {
    simulate_queue<TestType>([](auto& q) {
        const auto item = [](std::int64_t burns, std::int64_t sleeps) {
            return [=] {
                model::burn(burns);
                model::sleep(sleeps);
            };
        };
        cmwq::work first{item(5 * ms, 10 * ms)}, second{item(ms, 0)};
        q.queue(first);
        first.flush();
        queue_stats s = q.stats();
        require_runs(s, 1, 15 * ms);
        model::require(s.run_times.counts[duration_histogram::class_of(nanoseconds{15 * ms})] == 1, "its class");
        model::require(s.cpu_ns == 5 * ms, "the sleep is no CPU time");
        q.queue(second);
        second.flush();
        s = q.stats();
        require_runs(s, 2, 16 * ms);
        model::require(s.cpu_ns == 6 * ms, "of both");
    });
}

// The items of one CPU start one after the other, so the n-th one waits for n others.
TEMPLATE_TEST_CASE("queue times: items wait from queue() until they are called", "", cmwq::bound, cmwq::elastic,
                   cmwq::unbound, cmwq::ordered) {
    simulate_queue<TestType>([](auto& q) {
        if constexpr (!std::is_same_v<TestType, cmwq::ordered>) q.set_max_active(1);
        constexpr int n = 10;
        for (int i = 0; i < n; ++i) q.post([] { model::burn(ms); });
        q.flush();
        const duration_histogram waits = q.stats().wait_times;
        model::require(waits.total() == n, "the number of waits");
        const std::int64_t all = waits.sum.count(), expected = n * (n - 1) / 2 * ms;
        model::require(all >= expected - n * 2'000 && all < expected + n * ms / 10, "the sum of the waits");
        model::require(waits.quantile(0.99) > nanoseconds{8 * ms}, "the longest wait");
    });
}

TEST_CASE("queue times: a delayed item waits from the end of its delay") {
    simulate_queue<cmwq::bound>([](auto& q) {
        cmwq::delayed_work item{[] {}};
        q.queue_after(std::chrono::seconds(1), item);
        item.flush();
        const duration_histogram waits = q.stats().wait_times;
        model::require(waits.total() == 1, "the number of waits");
        model::require(waits.sum < std::chrono::milliseconds(10), "not the delay");
    });
}

TEST_CASE("queue times: an item that is cancelled and queued again waits from the second time") {
    simulate_queue<cmwq::bound>([](auto& q) {
        q.set_max_active(1);
        cmwq::work first{[] { model::burn(20 * ms); }};
        cmwq::work second{[] {}};
        q.queue(first);
        q.queue(second);
        model::sleep(10 * ms);
        model::require(second.cancel(), "it is pending");
        q.queue(second);
        q.flush();
        const duration_histogram waits = q.stats().wait_times;
        model::require(waits.total() == 2, "the number of waits");
        model::require(waits.sum < nanoseconds{11 * ms}, "their sum");
    });
}

TEMPLATE_TEST_CASE("queue times: tasks wait, too, also those that the waiting item runs", "", cmwq::bound,
                   cmwq::elastic, cmwq::unbound) {
    simulate_queue<TestType>([](auto& q) {
        cmwq::work outer{[&q] {
            cmwq::task_group g{q};
            for (int i = 0; i < 4; ++i) g.run([] { model::burn(3 * ms); });
            g.wait();
        }};
        q.queue(outer);
        q.flush();
        const duration_histogram waits = q.stats().wait_times;
        model::require(waits.total() == 5, "the number of waits");
        // An unbound pool has a worker for each task.
        const bool one_by_one = !std::is_same_v<TestType, cmwq::unbound>;
        model::require(!one_by_one || waits.sum >= nanoseconds{6 * ms}, "some have waited for others");
    });
}

TEMPLATE_TEST_CASE("queue times: a queue is saturated as long as an item waits for a slot", "", cmwq::bound,
                   cmwq::elastic, cmwq::unbound, cmwq::ordered) {
    simulate_queue<TestType>([](auto& q) {
        if constexpr (!std::is_same_v<TestType, cmwq::ordered>) q.set_max_active(1);
        cmwq::work first{[&] {
            model::burn(4 * ms);
            model::require(q.stats().saturated_ns == 4 * ms, "until now");
            model::burn(6 * ms);
        }};
        cmwq::work second{[] { model::burn(3 * ms); }};
        cmwq::work third{[] { model::burn(ms); }};
        q.queue(first);
        q.queue(second);
        q.flush();
        model::require(q.stats().saturated_ns == 10 * ms, "not any more");
        q.queue(second);
        q.queue(third);
        model::sleep(2 * ms);
        model::require(third.cancel(), "it is pending");
        q.flush();
        model::require(q.stats().saturated_ns == 12 * ms, "until it was cancelled");
    });
}

TEST_CASE("queue times: a queue that is frozen is saturated until the thaw") {
    simulate_runtime("frozen", [](cmwq::runtime& rt) {
        cmwq::workqueue<cmwq::bound> q{rt, {.name = "q", .freezable = true}};
        rt.freeze();
        q.post([] {});
        model::sleep(5 * ms);
        rt.thaw();
        q.flush();
        const std::uint64_t time = q.stats().saturated_ns;
        model::require(time >= 5 * ms && time < 6 * ms, "from the push to the thaw");
    });
}

TEST_CASE("queue times: what the limit kept back before a freeze waits for the thaw since the freeze") {
    simulate_runtime("frozen-backlog", [](cmwq::runtime& rt) {
        cmwq::workqueue<cmwq::elastic> q{rt, {.name = "q", .max_active = 1, .freezable = true}};
        q.post([] { model::sleep(100 * ms); });
        q.post([] {});
        model::sleep(50 * ms);
        rt.freeze();
        model::sleep(10 * ms);
        model::require(rt.stall_report(nanoseconds{20 * ms}).empty(), "it has not waited for that long");
        const std::string report = rt.stall_report(nanoseconds{5 * ms});
        model::require(report.find("1 item waits for thaw(), up to 0.01") != std::string::npos, "since the freeze");
        rt.thaw();
        q.flush();
    });
}

TEST_CASE("queue times: bottom halves are measured, too") {
    simulate_queue<cmwq::bh>([](auto& q) {
        cmwq::work item{[] { model::burn(2 * ms); }};
        q.queue(item);
        q.flush();
        require_runs(q.stats(), 1, 2 * ms);
        model::require(q.stats().cpu_ns == 2 * ms, "its CPU time");
        model::require(q.stats().wait_times.total() == 1, "its wait");
    });
}

// An item that is measured as one of many counts for all of them. The waits inside others must not make the items after
// them be measured one by one.
TEMPLATE_TEST_CASE("queue times: how many items are measured does not depend on the tasks for which they wait", "",
                   cmwq::bound, cmwq::elastic, cmwq::unbound) {
    simulate_queue<TestType>([](auto& q) {
        cmwq::work outer{[&q] {
            cmwq::task_group g{q};
            g.run([] { model::burn(ms); });
            g.wait();
        }};
        q.queue(outer);
        q.flush();
        for (int i = 0; i < 100; ++i) q.post([] {});
        q.flush();
        const std::uint64_t others = q.stats().run_times.total() - 2;
        model::require(others % 1'024 == 0, "none of them was measured for itself");
    });
}

TEMPLATE_TEST_CASE("queue times: CPU time of a task belongs to the task, and not to the item that waits", "",
                   cmwq::bound, cmwq::elastic, cmwq::unbound) {
    simulate_queue<TestType>([](auto& q) {
        cmwq::work outer{[&q] {
            model::burn(2 * ms);
            cmwq::task_group g{q};
            for (int i = 0; i < 4; ++i) g.run([] { model::burn(3 * ms); });
            g.wait();
            model::burn(ms);
        }};
        q.queue(outer);
        q.flush();
        const queue_stats s = q.stats();
        model::require(s.run_times.total() == 5, "the number of runs");
        model::require(s.cpu_ns == 15 * ms, "each of them once");
    });
}

TEST_CASE("queue times: CPU time of an item that runs inside another one belongs to that item") {
    simulate_queue<cmwq::elastic>([](auto& q) {
        cmwq::work innermost{[] { model::burn(4 * ms); }};
        cmwq::work inner{[&] {
            model::burn(ms);
            q.queue(innermost);
            innermost.flush();
        }};
        cmwq::work outer{[&] {
            model::burn(2 * ms);
            q.queue(inner);
            inner.flush();
            model::burn(ms);
        }};
        q.queue(outer);
        q.flush();
        const queue_stats s = q.stats();
        require_runs(s, 3, (4 + 5 + 8) * ms);
        model::require(s.cpu_ns == 8 * ms, "each of them once");
    });
}

// The first one is measured, and then one of some dozens.
TEMPLATE_TEST_CASE("queue times: short items are estimated", "", cmwq::bound, cmwq::elastic, cmwq::unbound,
                   cmwq::ordered) {
    simulate_queue<TestType>([](auto& q) {
        constexpr std::int64_t n = 20'000, each = 20'000;
        for (std::int64_t i = 0; i < n; ++i) q.post([] { model::burn(each); });
        q.flush();
        const queue_stats s = q.stats();
        model::require(s.completed == n, "all have run");
        const auto waits = static_cast<std::int64_t>(s.wait_times.total());
        model::require(waits > n * 3 / 4 && waits <= n, "how many have waited");
        const auto runs = static_cast<std::int64_t>(s.run_times.total());
        model::require(runs > n * 3 / 4 && runs < n * 5 / 4, "how many there were");
        model::require(s.run_times.sum == nanoseconds{runs * each}, "all of them are alike");
        model::require(static_cast<std::int64_t>(s.cpu_ns) == runs * each, "also in their CPU time");
    });
}
