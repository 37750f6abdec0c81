// SPDX-License-Identifier: BSL-1.0
//
// The promises of bound queues beyond those of all queues: items run where they were queued, and limits count for each
// CPU.
#include "catch.hpp"
#include "core_of.hpp"
#include "event_log.hpp"
#include "eventually.hpp"
#include "gate.hpp"
#include "pool_name.hpp"
#include "simulated.hpp"
#include "stress.hpp"
#include "this_task.hpp"

#include <cmwq/cmwq.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <sched.h>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

using cmwq::queue_status;
using namespace cmwq_test;

TEST_CASE("bound: an item that is queued on another CPU while it runs runs again on its first CPU") {
    cmwq::runtime rt;
    if (rt.cpus().size() < 2) return; // not visible with one CPU
    const unsigned first = *rt.cpus().begin(), second = rt.cpus().next(first + 1);
    cmwq::workqueue<> q{rt, "q"};
    std::binary_semaphore entered{0}, leave{0};
    std::atomic<int> runs{0};
    std::atomic<unsigned> last_cpu{~0u};
    cmwq::work<std::function<void()>> w{[&] {
        last_cpu = cmwq::detail::current_cpu();
        if (++runs == 1) {
            entered.release();
            leave.acquire();
        }
    }};
    REQUIRE(q.queue_on(first, w) == queue_status::queued);
    entered.acquire();
    REQUIRE(q.queue_on(second, w) == queue_status::queued);
    // An item that is queued behind w on the other CPU runs at once, so w does not wait there.
    cmwq::work other{[] {}};
    q.queue_on(second, other);
    other.flush();
    CHECK(runs == 1);
    CHECK(w.pending());
    leave.release();
    w.flush();
    CHECK(runs == 2);
    CHECK(last_cpu == first);
    REQUIRE(q.queue_on(second, w) == queue_status::queued); // w is idle now, so the CPU decides
    w.flush();
    CHECK(last_cpu == second);
}

TEST_CASE("bound: queue_on runs the item on that CPU") {
    cmwq::workqueue<> q{"q"};
    for (const unsigned cpu : cmwq::runtime::global().cpus()) {
        std::atomic<unsigned> seen{~0u};
        cmwq::work w{[&] { seen = cmwq::detail::current_cpu(); }};
        CHECK(q.queue_on(cpu, w) == queue_status::queued);
        w.flush();
        CHECK(seen == cpu);
    }
}

TEST_CASE("bound: at most max_active items of a queue are active on a CPU; the others wait in order") {
    cmwq::workqueue<> q{{.name = "q", .max_active = 3}};
    const unsigned cpu = first_cpu();
    std::atomic<int> inside{0}, most{0};
    std::vector<int> order;
    std::atomic_flag writing = ATOMIC_FLAG_INIT;
    {
        std::vector<std::unique_ptr<gate>> plugs;
        for (int i = 0; i < 3; ++i) {
            plugs.push_back(std::make_unique<gate>());
            plugs.back()->hold(q, cpu);
        }
        for (int i = 0; i < 50; ++i) {
            q.post_on(cpu, [&, i] {
                const int n = ++inside;
                int m = most;
                while (m < n && !most.compare_exchange_weak(m, n)) {}
                while (writing.test_and_set()) std::this_thread::yield();
                order.push_back(i);
                writing.clear();
                --inside;
            });
        }
        // The queue is at its limit: an item of another queue runs, but these items do not.
        cmwq::workqueue<> other{"other"};
        cmwq::work probe{[] {}};
        other.queue_on(cpu, probe);
        probe.flush();
        CHECK(order.empty());
    }
    q.flush();
    CHECK(most <= 3);
    REQUIRE(order.size() == 50);
    // If an item records its number before items with lower numbers, these are active as well. At most three items are
    // active, so at most two lower numbers are missing.
    int too_early = 0;
    for (int i = 0; i < 50; ++i) too_early += order[static_cast<std::size_t>(i)] > i + 2 ? 1 : 0;
    CHECK(too_early == 0);
}

// proves: kernel-2
TEST_CASE("bound: max_active counts for each CPU separately") {
    cmwq::workqueue<> one{{.name = "one", .max_active = 1}};
    for (const unsigned held : cmwq::runtime::global().cpus()) {
        gate g;
        g.hold(one, held);
        for (const unsigned cpu : cmwq::runtime::global().cpus()) {
            std::atomic<int> runs{0};
            cmwq::work w{[&] { ++runs; }};
            CHECK(one.queue_on(cpu, w) == queue_status::queued);
            if (cpu == held) CHECK(w.cancel());
            else w.flush();
            CHECK(runs == (cpu == held ? 0 : 1));
        }
    }
}

TEST_CASE("bound: a CPU outside of the runtime is replaced by another CPU in queue() and rejected by queue_on()") {
    cmwq::runtime one{{.cpus = {first_cpu()}}};
    cmwq::workqueue<> narrow{one, "narrow"};
    cmwq::work w{[] {}};
    for (const unsigned cpu : cmwq::runtime::global().cpus()) {
        const bool known = one.cpus().contains(cpu);
        CHECK(narrow.queue_on(cpu, w) == (known ? queue_status::queued : queue_status::rejected));
        w.flush();
    }
    CHECK(narrow.queue(w) == queue_status::queued); // from any CPU that this thread is on
    w.flush();
}

// proves: kernel-27
TEST_CASE("bound: priorities have separate pools; a refused priority falls back and is reported once") {
    event_log events;
    cmwq::runtime rt{{.on_event = events.listener()}};
    cmwq::workqueue<> normal{rt, "normal"};
    cmwq::workqueue<> high{rt, {.name = "high", .priority = cmwq::priority::high}};
    cmwq::workqueue<> fifo{rt, {.name = "fifo", .priority = cmwq::priority::fifo}};
    std::atomic<int> runs{0};
    gate g;
    g.hold(normal); // occupies the worker of the normal pool only
    for (int i = 0; i < 10; ++i) {
        high.post_on(first_cpu(), [&] { ++runs; });
        fifo.post_on(first_cpu(), [&] { ++runs; });
    }
    high.flush();
    fifo.flush();
    CHECK(runs == 20);
    CHECK(cmwq_test::all_told(rt));
    CHECK(events.count(cmwq::event::kind::priority_refused) <= 1); // none as root
    for (const cmwq::event& e : events.all()) CHECK_FALSE(e.message.empty());
}

namespace {

struct thread_kind {
    long nice, sched;
    std::string name;
    bool operator==(const thread_kind&) const = default;
};

thread_kind kind_of_worker(cmwq::runtime& rt, cmwq::priority p) {
    cmwq::workqueue<> q{rt, {.name = "q", .priority = p}};
    thread_kind seen;
    cmwq::work look{[&] { seen = {nice_of_this_task(), sched_class_of_this_task(), this_thread_name()}; }};
    q.queue_on(first_cpu(), look);
    look.flush();
    return seen;
}

std::string suffix(const std::string& name) {
    return name.substr(std::min(name.find_first_not_of("0123456789", name.find(':') + 1), name.size()));
}

} // namespace

TEST_CASE("bound: the threads of each priority have its nice value and class and a letter in their names") {
    event_log events;
    const auto refused = [&] { return events.count(cmwq::event::kind::priority_refused); };
    cmwq::runtime rt{{.on_event = events.listener()}};
    const std::string pool = "cmwq/" + std::to_string(first_cpu());
    const thread_kind normal = kind_of_worker(rt, cmwq::priority::normal);
    CHECK(normal == thread_kind{nice_of_this_task(), SCHED_OTHER, normal.name});
    CHECK(normal.name.starts_with(pool + ":"));
    CHECK(suffix(normal.name).empty());

    const thread_kind high = kind_of_worker(rt, cmwq::priority::high);
    CHECK(high.name.starts_with(pool + ":"));
    CHECK(suffix(high.name) == "H");
    if (refused() == 0) CHECK(high == thread_kind{-20, SCHED_OTHER, high.name});
    else std::puts("not checked: nice -20 is not permitted here");

    const int before = refused();
    const thread_kind fifo = kind_of_worker(rt, cmwq::priority::fifo);
    CHECK(fifo.name.starts_with(pool + ":"));
    CHECK(suffix(fifo.name) == "F");
    if (refused() == before && before == 0) CHECK(fifo.sched == SCHED_FIFO);
    else std::puts("not checked: SCHED_FIFO is not permitted here");
}

TEST_CASE("bound: the threads of shared pools have no letter in their names for any attributes") {
    cmwq::runtime rt;
    for (const auto& a : {cmwq::attrs{}.nice(-20), cmwq::attrs{}.scheduling(cmwq::scheduling::fifo)}) {
        cmwq::workqueue<cmwq::unbound> q{rt, {.name = "q", .attrs = a}};
        std::string name;
        cmwq::work look{[&] { name = this_thread_name(); }};
        q.queue(look);
        look.flush();
        CHECK(name.starts_with("cmwq/u"));
        CHECK(suffix(name).empty());
    }
}

// The items that spin on the other CPU are a clock: one after the other becomes overdue.
// proves: progress-4
TEST_CASE("bound: an item that the limit keeps back is not overdue") {
    auto options = simulated("numa:1 core:2 pu:1");
    options.cpu_hog_threshold = std::chrono::nanoseconds{0};
    cmwq::runtime rt{options};
    cmwq::workqueue<> limited{rt, {.name = "limited", .max_active = 1}}, others{rt, "others"};
    const auto nr_overdue = [&](unsigned cpu) {
        return core_of(rt).pools().pool_at(cpu, cmwq::priority::normal).stats().overdue;
    };
    std::atomic<bool> stop{false};
    std::atomic<int> running{0};
    const auto spin = [&] {
        ++running;
        while (!stop) stress::burn(1'000);
    };
    limited.post_on(0, spin);
    CHECK(eventually([&] { return running == 1; }));
    for (int i = 0; i < 8; ++i) others.post_on(1, spin);
    CHECK(eventually(
        [&] { return nr_overdue(1) >= 1; })); // meanwhile the idle worker of the first CPU has begun to sleep
    limited.post_on(0, [] {});
    CHECK(eventually([&] { return nr_overdue(1) >= 3; }));
    CHECK(nr_overdue(0) == 0);
    CHECK(eventually([&] { return rt.stats().workers_made.overdue >= 1; }));
    stop = true;
    limited.flush();
    others.flush();
}
