// SPDX-License-Identifier: BSL-1.0
//
// CPUs go offline and come back, and a cpuset is reduced and restored, under load. The random version is in
// storm.test.cpp.
#include "catch.hpp"
#include "event_log.hpp"
#include "fake_threads.hpp"
#include "vm/load.hpp"
#include "vm/machine.hpp"

#include <initializer_list>
#include <semaphore>
#include <string>
#include <thread>

using cmwq::affinity_scope;
using cmwq::attrs;
using cmwq::cpuset;
using cmwq::queue_status;
using vm::eventually;
using vm::go_offline;
using vm::go_online;
using vm::sighting;
using namespace std::chrono_literals;

namespace {

const attrs by_cpu = attrs{}.affinity(affinity_scope::cpu).strict(true);

/// Queues `n` items on the CPU. Each of them computes until all of them run at once, which is possible only if the pool
/// is not managed.
bool all_run_at_once(cmwq::workqueue<>& q, unsigned cpu, unsigned n) {
    vm::crowd c(n);
    for (unsigned i = 0; i < n; ++i) q.post_on(cpu, [&] { c.join(); });
    const bool did = eventually([&] { return c.complete(); });
    c.give_up();
    q.flush();
    return did;
}

/// Whether the second of two items waits until the first has used its CPU time.
bool one_at_a_time(cmwq::workqueue<>& q, unsigned cpu) {
    std::atomic<bool> first_ended{false}, waited{false};
    q.post_on(cpu, [&] {
        vm::burn(20ms);
        first_ended = true;
    });
    q.post_on(cpu, [&] { waited = first_ended.load(); });
    q.flush();
    return waited;
}

bool runs_at_home(cmwq::workqueue_base& q, unsigned cpu) {
    const sighting s = vm::see_on(q, cpu);
    return s.cpu == cpu && s.mask == cpuset{cpu};
}

/// Lists the threads that have the number of a CPU in their name but are not bound to exactly that CPU.
std::string strays() {
    std::string text;
    for (const auto& [name, mask] : vm::threads_named("cmwq/")) {
        unsigned cpu = 0;
        if (std::sscanf(name.c_str(), "cmwq/%u:", &cpu) != 1) continue;
        if (mask != cpuset{cpu}) text += name + " on " + mask.to_string() + "; ";
    }
    return text;
}

/// Five items on the CPU that all block at once, so that every worker and the sentinel have work.
bool all_block_at_once(cmwq::workqueue<>& q, unsigned cpu) {
    std::counting_semaphore<> leave{0};
    std::atomic<int> inside{0};
    for (int i = 0; i < 5; ++i) {
        q.post_on(cpu, [&] {
            ++inside;
            leave.acquire();
        });
    }
    const bool all_in = eventually([&] { return inside == 5; });
    leave.release(5);
    q.flush();
    return all_in;
}

bool has_sentinel(unsigned cpu) {
    const auto all = vm::threads_named("cmwq/" + std::to_string(cpu) + ":S");
    return all.size() == 1 && all.front().second == cpuset{cpu};
}

} // namespace

TEST_CASE("hotplug: no item of any policy is lost or runs twice or out of order while CPUs go and return") {
    const std::ptrdiff_t threads_before = vm::nr_tasks();
    {
        const vm::cpus_come_back all;
        cmwq::runtime rt;
        vm::load load(rt);
        for (const unsigned cpu : {5u, 15u}) {
            CAPTURE(cpu);
            REQUIRE(load.goes_on());
            REQUIRE(go_offline(cpu));
            CHECK(load.goes_on());
            REQUIRE(go_online(cpu));
            CHECK(load.goes_on());
        }
        load.stop();
        CHECK(load.complaints.text() == "");
        // The runtime has noticed that all CPUs are back.
        cmwq::workqueue<> bound{rt, "bound"};
        cmwq::workqueue<cmwq::unbound> unbound{rt, {.name = "unbound", .attrs = by_cpu}};
        for (const unsigned cpu : {5u, 15u}) {
            CAPTURE(cpu);
            CHECK(eventually([&] { return runs_at_home(bound, cpu); }));
            CHECK(eventually([&] { return runs_at_home(unbound, cpu); }));
        }
    }
    CHECK(eventually([&] { return vm::nr_tasks() == threads_before; }));
}

TEST_CASE("hotplug: an item that was queued on a CPU runs although the CPU goes offline") {
    const vm::cpus_come_back all;
    cmwq::runtime rt;
    cmwq::workqueue<> q{rt, {.name = "q", .max_active = 2}};
    std::counting_semaphore<> entered{0}, leave{0};
    std::atomic<int> runs{0};
    for (int i = 0; i < 2; ++i) {
        q.post_on(5, [&] { // the limit is reached, so the other items wait
            entered.release();
            leave.acquire();
        });
    }
    entered.acquire();
    entered.acquire();
    for (int i = 0; i < 20; ++i) q.post_on(5, [&] { ++runs; });
    REQUIRE(go_offline(5));
    for (int i = 0; i < 20; ++i) q.post_on(5, [&] { ++runs; });
    CHECK(runs == 0);
    leave.release(2);
    CHECK(eventually([&] { return runs == 40; }));
    q.flush();
    REQUIRE(go_online(5));
    for (int i = 0; i < 20; ++i) q.post_on(5, [&] { ++runs; });
    q.flush();
    CHECK(runs == 60);
    CHECK(eventually([&] { return runs_at_home(q, 5); }));
}

// proves: kernel-34
TEST_CASE("hotplug: the pool of an offline CPU is not managed until the CPU is back and its workers are bound to it") {
    const vm::cpus_come_back all;
    cmwq::runtime rt{vm::computing_items()};
    cmwq::workqueue<> q{rt, "q"};
    for (const bool by_itself : {false, true}) {
        CAPTURE(by_itself);
        REQUIRE(runs_at_home(q, 5));
        CHECK(one_at_a_time(q, 5));
        REQUIRE(go_offline(5));
        if (!by_itself) rt.refresh_topology();
        CHECK(all_run_at_once(q, 5, 6)); // more items than the pool has workers
        CHECK(vm::see_on(q, 5).cpu != 5);
        REQUIRE(go_online(5));
        if (!by_itself) rt.refresh_topology();
        CHECK(eventually([&] { return runs_at_home(q, 5); }));
        CHECK(eventually([&] { return one_at_a_time(q, 5); }));
        for (int i = 0; i < 5; ++i) CHECK(one_at_a_time(q, 5));
    }
}

TEST_CASE("hotplug: an item that waits behind a running item starts when the CPU goes offline") {
    const vm::cpus_come_back all;
    cmwq::runtime rt;
    cmwq::workqueue<> q{rt, "q"};
    vm::crowd both(2);
    q.post_on(5, [&] { both.join(); });
    CHECK(eventually([&] { return both.here() == 1; }));
    q.post_on(5, [&] { both.join(); });
    REQUIRE(go_offline(5));
    rt.refresh_topology();
    CHECK(eventually([&] { return both.complete(); }));
    both.give_up();
}

TEST_CASE("hotplug: after a CPU has come back all threads of its pools and its sentinel keep to it again") {
    const vm::cpus_come_back all;
    cmwq::runtime rt;
    cmwq::workqueue<> q{rt, "q"};
    for (int round = 0; round < 2; ++round) {
        CHECK(all_run_at_once(q, 3, 1));
        REQUIRE(go_offline(3));
        rt.refresh_topology();
        CHECK(all_run_at_once(q, 3, 4));
        REQUIRE(go_online(3));
        rt.refresh_topology();
        std::string text;
        CHECK(eventually([&] {
            const bool all_in = all_block_at_once(q, 3);
            text = strays();
            return all_in && text.empty();
        }));
        CHECK(text == "");
    }
}

TEST_CASE("hotplug: a sentinel that is first needed while its CPU is offline works when the CPU is back") {
    const vm::cpus_come_back all;
    cmwq_test::event_log events;
    cmwq::runtime rt{{.on_event = events.listener()}};
    cmwq::workqueue<> q{rt, "q"};
    REQUIRE(go_offline(3));
    CHECK(all_block_at_once(q, 3)); // nobody may have noticed that the CPU is missing
    REQUIRE(go_online(3));
    CHECK(eventually([&] { return all_block_at_once(q, 3) && has_sentinel(3) && runs_at_home(q, 3); }));
    CHECK(events.count(cmwq::event::kind::binding_refused) == 0);
    CHECK(rt.dump().find("binding refused") == std::string::npos);
}

TEST_CASE("hotplug: a CPU is away for so short a time that nobody notices and all threads keep to it again") {
    const vm::cpus_come_back all;
    cmwq::runtime rt;
    cmwq::workqueue<> q{rt, "q"};
    CHECK(all_block_at_once(q, 3));
    for (int round = 0; round < 5; ++round) {
        std::thread works{[&] {
            for (int i = 0; i < 20; ++i) static_cast<void>(all_block_at_once(q, 3));
        }};
        CHECK(go_offline(3));
        CHECK(go_online(3));
        works.join();
        CHECK(eventually([&] { return all_block_at_once(q, 3) && has_sentinel(3) && runs_at_home(q, 3); }));
    }
}

TEST_CASE("hotplug: a queue whose CPU is offline uses other CPUs and reports that and returns later") {
    const vm::cpus_come_back all;
    std::atomic<int> told{0}, deaf{0};
    cmwq::runtime* self = nullptr;
    cmwq::runtime rt{{.on_event = [&](const cmwq::event& e) {
        if (e.what != cmwq::event::kind::cpus_unavailable) return;
        if (e.message.find("\"only 9\"") == std::string::npos) ++deaf;
        static_cast<void>(self->unbound_cpus()); // no lock is held
        ++told;
    }}};
    self = &rt;
    cmwq::workqueue<cmwq::unbound> any{rt, {.name = "any", .attrs = by_cpu}};
    cmwq::workqueue<cmwq::unbound> only{rt, {.name = "only 9", .attrs = attrs{by_cpu}.cpus({9})}};
    cmwq::workqueue<cmwq::ordered> ordered{rt, {.name = "ordered", .attrs = attrs{}.cpus({9, 10})}};
    CHECK(runs_at_home(any, 9));
    CHECK(runs_at_home(only, 9));
    CHECK(vm::see_on(ordered, 0).mask == cpuset{9, 10});
    REQUIRE(go_offline(9));
    rt.refresh_topology();
    CHECK(eventually([&] { return told == 1; }));
    CHECK(deaf == 0);
    for (const unsigned cpu : {9u, 8u, 0u}) {
        CAPTURE(cpu);
        const sighting s = vm::see_on(any, cpu);
        CHECK(s.cpu != 9);
        CHECK(s.mask.size() == 1); // still strict
        CHECK_FALSE(s.mask.contains(9));
        CHECK(vm::see_on(only, cpu).mask.size() == 1);
        CHECK(vm::see_on(ordered, cpu).mask == cpuset{10});
    }
    REQUIRE(go_online(9));
    rt.refresh_topology();
    CHECK(runs_at_home(any, 9));
    for (const unsigned cpu : {9u, 8u, 0u}) {
        CHECK(vm::see_on(only, cpu).mask == cpuset{9});
        CHECK(vm::see_on(ordered, cpu).mask == cpuset{9, 10});
    }
    CHECK(told == 1);
}

TEST_CASE("hotplug: a busy unbound queue notices without refresh_topology() that its CPU goes offline and comes back") {
    const vm::cpus_come_back all;
    cmwq_test::event_log events;
    cmwq::runtime rt{{.on_event = events.listener()}};
    cmwq::workqueue<cmwq::unbound> q{rt, {.name = "only 9", .attrs = attrs{by_cpu}.cpus({9})}};
    CHECK(runs_at_home(q, 9));
    REQUIRE(go_offline(9));
    CHECK(eventually(
        [&] { return vm::see_on(q, 9).cpu != 9 && events.count(cmwq::event::kind::cpus_unavailable) == 1; }));
    REQUIRE(go_online(9));
    CHECK(eventually([&] { return runs_at_home(q, 9); }));
}

TEST_CASE("hotplug: a whole node goes offline and comes back under load") {
    const vm::cpus_come_back all;
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::unbound> by_node{rt,
                                           {.name = "n", .attrs = attrs{}.affinity(affinity_scope::numa).strict(true)}};
    vm::load load(rt);
    for (const unsigned cpu : vm::node_cpus[1]) REQUIRE(go_offline(cpu));
    rt.refresh_topology();
    CHECK(load.goes_on());
    CHECK(vm::see_on(by_node, 12).mask == vm::node_cpus[0]);
    cmwq::work w{[] {}};
    CHECK(by_node.queue_on_node(1, w) != queue_status::rejected); // the node is only a hint
    w.flush();
    for (const unsigned cpu : vm::node_cpus[1]) REQUIRE(go_online(cpu));
    rt.refresh_topology();
    CHECK(load.goes_on());
    CHECK(vm::see_on(by_node, 12).mask == vm::node_cpus[1]);
    CHECK(vm::see([&](auto& item) { return by_node.queue_on_node(1, item); }).mask == vm::node_cpus[1]);
    load.stop();
    CHECK(load.complaints.text() == "");
}

TEST_CASE("hotplug: timers fire whether their CPU is online or not") {
    const vm::cpus_come_back all;
    cmwq::runtime rt;
    cmwq::workqueue<> bound{rt, "bound"};
    cmwq::workqueue<cmwq::unbound> unbound{rt, {.name = "unbound", .attrs = by_cpu}};
    std::atomic<int> beats{0}, fired{0};
    struct beat {
        cmwq::workqueue<>& q;
        std::atomic<int>& n;
        cmwq::delayed_work<std::function<void()>> item{[this] {
            ++n;
            q.queue_after_on(6, 2ms, item);
        }};
    };
    beat b{bound, beats};
    cmwq::delayed_work late{[&] { ++fired; }};
    cmwq::delayed_work later{[&] { ++fired; }};
    bound.queue_after_on(6, 2ms, b.item);
    CHECK(eventually([&] { return beats > 5; }));
    bound.queue_after_on(6, 300ms, late);
    unbound.queue_after_on(6, 300ms, later);
    REQUIRE(go_offline(6));
    int seen = beats;
    CHECK(eventually([&] { return beats > seen + 5; }));
    CHECK(eventually([&] { return fired == 2; }));
    bound.queue_after_on(6, 300ms, late);
    unbound.queue_after_on(6, 300ms, later);
    REQUIRE(go_online(6));
    seen = beats;
    CHECK(eventually([&] { return beats > seen + 5; }));
    CHECK(eventually([&] { return fired == 4; }));
    b.item.disable_sync();
}

TEST_CASE("hotplug: items and timers of a CPU that goes and comes back run while the start of a thread stalls") {
    const vm::cpus_come_back all;
    cmwq_test::fake_threads threads;
    cmwq::runtime rt{{.threads = &threads}};
    cmwq::workqueue<> bound{rt, "bound"};
    cmwq::workqueue<cmwq::unbound> unbound{rt, {.name = "unbound", .attrs = by_cpu}};
    for (cmwq::workqueue_base* q : std::initializer_list<cmwq::workqueue_base*>{&bound, &unbound}) {
        static_cast<void>(vm::see_on(*q, 6)); // there is a worker
    }
    threads.stall();
    cmwq::workqueue<> stuck{rt, {.name = "stuck", .priority = cmwq::priority::high}};
    std::atomic<int> late_runs{0}, runs{0};
    stuck.post([&] { ++late_runs; });
    REQUIRE(eventually([&] { return threads.nr_stalled() == 1; }));
    cmwq::delayed_work of_bound{[&] { ++runs; }};
    cmwq::delayed_work of_unbound{[&] { ++runs; }};
    const auto all_run = [&] {
        const int before = runs;
        bound.queue_after_on(6, 10ms, of_bound);
        unbound.queue_after_on(6, 10ms, of_unbound);
        bound.post_on(6, [&] { ++runs; });
        unbound.post_on(6, [&] { ++runs; });
        return eventually([&] { return runs == before + 4; });
    };
    CHECK(all_run());
    REQUIRE(go_offline(6));
    CHECK(all_run());
    REQUIRE(go_online(6));
    CHECK(all_run());
    CHECK(late_runs == 0);
    threads.go_on();
    CHECK(eventually([&] { return late_runs == 1; }));
    CHECK(eventually([&] { return runs_at_home(bound, 6); }));
    CHECK(eventually([&] { return runs_at_home(unbound, 6); }));
}

TEST_CASE("hotplug: the thread of the runtime returns to the unbound CPUs when they come back") {
    const vm::cpus_come_back all;
    cmwq::runtime rt{{.unbound_cpus = {7}}};
    const auto service_on = [](const cpuset& cpus) {
        const auto threads = vm::threads_named("cmwq/service");
        return threads.size() == 1 && threads[0].second == cpus;
    };
    CHECK(eventually([&] { return service_on({7}); }));
    cmwq::workqueue<cmwq::unbound> q{rt, "q"};
    CHECK(vm::see_on(q, 3).mask == cpuset{7});
    REQUIRE(go_offline(7));
    rt.refresh_topology();
    CHECK(vm::see_on(q, 3).cpu != 7); // the set contains no other CPU
    REQUIRE(go_online(7));
    rt.refresh_topology();
    CHECK(vm::see_on(q, 3).mask == cpuset{7});
    CHECK(eventually([&] { return service_on({7}); }));
}

TEST_CASE("hotplug: a CPU comes back that was offline when the thread of the runtime was bound") {
    const vm::cpus_come_back all;
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::unbound> q{rt, {.name = "q", .attrs = by_cpu}};
    const auto send = [&](const cpuset& cpus) {
        rt.set_unbound_cpus(cpus);
        // Compares only CPUs that are online: the kernel may drop the others from the mask.
        CHECK(eventually([&] {
            const auto service = vm::threads_named("cmwq/service");
            return service.size() == 1 && service[0].second - cpuset{9} == cpus - cpuset{9};
        }));
    };
    REQUIRE(go_offline(9));
    send({0, 9});
    REQUIRE(go_online(9));
    rt.refresh_topology();
    CHECK(vm::see_on(q, 9).mask == cpuset{9});
    REQUIRE(go_offline(9));
    send(vm::all_cpus);
    REQUIRE(go_online(9));
    rt.refresh_topology();
    CHECK(vm::see_on(q, 9).mask == cpuset{9});
}

TEST_CASE("hotplug: threads of pools that are no longer needed end") {
    const vm::cpus_come_back all;
    const std::ptrdiff_t threads_before = vm::nr_tasks();
    {
        cmwq::runtime rt{{.idle_timeout = 20ms}};
        cmwq::workqueue<> bound{rt, "bound"};
        cmwq::workqueue<cmwq::unbound> unbound{rt, {.name = "u", .attrs = by_cpu}};
        cmwq::workqueue<cmwq::elastic> elastic{rt, "e"};
        cmwq::workqueue<cmwq::ordered> ordered{rt, "o"};
        const auto use_all = [&] {
            for (unsigned cpu = 0; cpu < vm::nr_cpus; ++cpu) {
                for (cmwq::workqueue_base* q :
                     {static_cast<cmwq::workqueue_base*>(&bound), static_cast<cmwq::workqueue_base*>(&unbound),
                      static_cast<cmwq::workqueue_base*>(&elastic), static_cast<cmwq::workqueue_base*>(&ordered)})
                    vm::see_on(*q, cpu);
            }
        };
        // Two workers for each pool: 16 bound pools, 16 pools of one CPU, four pools of a cache, one pool of the
        // ordered queue.
        constexpr unsigned kept = 2 * (16 + 16 + 4 + 1);
        use_all();
        CHECK(eventually([&] { return rt.stats().threads == kept; }));
        for (int round = 0; round < 2; ++round) {
            REQUIRE(go_offline(10));
            rt.refresh_topology();
            CHECK(all_run_at_once(bound, 10, 8));
            use_all();
            REQUIRE(go_online(10));
            rt.refresh_topology();
            use_all();
        }
        CHECK(eventually([&] { return rt.stats().threads == kept; }));
        CAPTURE(rt.stats().threads);
        // In addition: a sentinel for each CPU, the three threads of the runtime, and the calling thread.
        CHECK(eventually([&] { return vm::nr_tasks() <= threads_before + kept + vm::nr_cpus + 3; }));
    }
    CHECK(eventually([&] { return vm::nr_tasks() == threads_before; }));
}

TEST_CASE("hotplug: a cpuset is reduced and restored while the process is idle") {
    const vm::cgroup group("idle");
    REQUIRE(group.set("cpuset.cpus", "0-11"));
    CHECK(vm::in_child([&](vm::notes& n) {
              n.expect(group.enter(), "cannot enter the group");
              cmwq::runtime rt;
              cmwq::workqueue<> bound{rt, "b"};
              cmwq::workqueue<cmwq::unbound> strict{rt, {.name = "s", .attrs = by_cpu}};
              cmwq::workqueue<cmwq::elastic> caches{
                  rt, {.name = "c", .attrs = attrs{}.affinity(affinity_scope::cache).strict(true)}};
              // Checks without waiting: a change of the cpuset changes the CPUs of all threads, so a mask is right only
              // if the library has bound the thread again.
              const auto fits = [&](const std::string& when) {
                  for (const unsigned cpu : {0u, 1u, 2u, 3u, 8u}) {
                      const std::string number = std::to_string(cpu);
                      n.same(when + ": bound on " + number, vm::see_on(bound, cpu).mask.to_string(), number);
                      n.same(when + ": strict on " + number, vm::see_on(strict, cpu).mask.to_string(), number);
                      if (cpu < 4)
                          n.same(when + ": cache on " + number, vm::see_on(caches, cpu).mask.to_string(), "0-3");
                  }
              };
              fits("at first");
              n.expect(group.set("cpuset.cpus", "0-3,8"), "cannot reduce the cpuset");
              rt.refresh_topology();
              fits("cut");
              n.expect(group.set("cpuset.cpus", "0-11"), "cannot restore the cpuset");
              rt.refresh_topology();
              fits("given back");
              n.same("strict on 9", vm::see_on(strict, 9).mask.to_string(), "9");
          }) == "");
}

TEST_CASE("hotplug: a cpuset is reduced while the process is busy and restored") {
    const vm::cgroup group("hotplug");
    REQUIRE(group.set("cpuset.cpus", "0-11"));
    CHECK(vm::in_child([&](vm::notes& n) {
              n.expect(group.enter(), "cannot enter the group");
              const std::ptrdiff_t threads_before = vm::nr_tasks();
              {
                  cmwq::runtime rt;
                  n.same("CPUs", rt.cpus().to_string(), "0-11");
                  cmwq::workqueue<> bound{rt, "b"};
                  cmwq::workqueue<cmwq::unbound> strict{rt, {.name = "s", .attrs = by_cpu}};
                  cmwq::workqueue<cmwq::elastic> caches{
                      rt, {.name = "c", .attrs = attrs{}.affinity(affinity_scope::cache).strict(true)}};
                  cmwq::workqueue<cmwq::elastic> loose{rt, "l"};
                  const auto all_fits = [&](const cpuset& cpus) {
                      std::string wrong;
                      return eventually([&] {
                          wrong.clear();
                          for (unsigned cpu = 0; cpu < 12; ++cpu) {
                              const auto differs = [&](cmwq::workqueue_base& q, const cpuset& want) {
                                  const cpuset got = vm::see_on(q, cpu).mask;
                                  if (got != want)
                                      wrong += std::string(q.name()) + " on " + std::to_string(cpu) + ": " +
                                               got.to_string() + " instead of " + want.to_string() + "; ";
                              };
                              differs(loose, cpus);
                              if (!cpus.contains(cpu)) {
                                  vm::see_on(bound, cpu); // may run on any CPU
                                  continue;
                              }
                              differs(bound, {cpu});
                              differs(strict, {cpu});
                              differs(caches, vm::cache_of(cpu) & cpus);
                          }
                          return wrong.empty();
                      })
                                 ? std::string()
                                 : wrong;
                  };
                  vm::load load(rt, 3);
                  n.same("at first", all_fits(cpuset::range(0, 12)), "");
                  n.expect(group.set("cpuset.cpus", "0-3,8"), "cannot reduce the cpuset");
                  n.same("cut", all_fits(cpuset::parse("0-3,8")), "");
                  n.expect(load.goes_on(), "a queue stands still on fewer CPUs");
                  n.expect(group.set("cpuset.cpus", "0-11"), "cannot restore the cpuset");
                  n.same("given back", all_fits(cpuset::range(0, 12)), "");
                  n.expect(load.goes_on(), "a queue stands still");
                  load.stop();
                  if (const std::string text = load.complaints.text(); !text.empty()) n.add(text);
              }
              n.expect(eventually([&] { return vm::nr_tasks() == threads_before; }), "threads are left");
          }) == "");
}
