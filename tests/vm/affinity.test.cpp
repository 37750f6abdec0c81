// SPDX-License-Identifier: BSL-1.0
//
// The CPUs on which items run on a machine with 16 CPUs, SMT, four last-level caches and two nodes.
//
// The CPUs that the kernel isolates can only be chosen at boot: the test cases [isolated] have a guest of their own, in
// the part vm-isolated of scripts/check-all and in the test vm.isolated of ctest.
#include "catch.hpp"
#include "core_of.hpp"
#include "vm/machine.hpp"

#include <algorithm>
#include <memory>
#include <semaphore>
#include <stdexcept>

using cmwq::affinity_scope;
using cmwq::attrs;
using cmwq::cpuset;
using cmwq::queue_status;
using cmwq::topology;
using vm::eventually;
using vm::sighting;

namespace {

/// The expected pod of `cpu` in this machine.
cpuset pod_of(affinity_scope scope, unsigned cpu) {
    switch (scope) {
    case affinity_scope::cpu: return {cpu};
    case affinity_scope::smt: return {cpu / 2 * 2, cpu / 2 * 2 + 1};
    case affinity_scope::numa: return vm::node_cpus[cpu / 8];
    case affinity_scope::system: return vm::all_cpus;
    case affinity_scope::cache:
    case affinity_scope::cache_shard: // a cache with two cores is one shard
    case affinity_scope::default_: break;
    }
    return vm::cache_of(cpu);
}

template <class Policy>
void check_strict_pods(cmwq::runtime& rt) {
    for (const affinity_scope scope : cmwq::affinity_scopes) {
        cmwq::workqueue<Policy> q{rt, {.name = "strict", .attrs = attrs{}.affinity(scope).strict(true)}};
        for (unsigned cpu = 0; cpu < vm::nr_cpus; ++cpu) {
            const std::string pod = pod_of(scope, cpu).to_string();
            CAPTURE(std::string(to_string(scope)), cpu, pod);
            const sighting on = vm::see_on(q, cpu), from = vm::see_from(q, cpu);
            CHECK(on.mask.to_string() == pod);
            CHECK(pod_of(scope, cpu).contains(on.cpu));
            CHECK(from.mask.to_string() == pod);
            CHECK(pod_of(scope, cpu).contains(from.cpu));
        }
    }
}

template <class Policy>
void check_loose_pods(cmwq::runtime& rt) {
    for (const affinity_scope scope : cmwq::affinity_scopes) {
        cmwq::workqueue<Policy> q{rt, {.name = "loose", .attrs = attrs{}.affinity(scope)}};
        for (unsigned cpu = 0; cpu < vm::nr_cpus; ++cpu) {
            CAPTURE(std::string(to_string(scope)), cpu);
            CHECK(vm::see_on(q, cpu).mask == vm::all_cpus);
            CHECK(vm::see_from(q, cpu).mask == vm::all_cpus);
        }
    }
}

bool is_within(const cpuset& inner, const cpuset& outer) { return (inner - outer).empty(); }

/// Whether every thread with such a name may run on these CPUs only.
bool keep_to(const std::string& names, const cpuset& cpus) {
    const auto threads = vm::threads_named(names);
    return std::ranges::all_of(threads, [&](const auto& t) { return is_within(t.second, cpus); });
}

bool all_idle(const cmwq::runtime& rt) {
    const auto& pools = cmwq_test::shared_pools_of(rt);
    for (std::size_t i = 0; i < pools.size(); ++i) {
        if (const auto now = pools.at(i).summary(); now.idle != now.workers) return false;
    }
    return true;
}

bool service_keeps_to(const cpuset& cpus) {
    const auto threads = vm::threads_named("cmwq/service");
    return threads.size() == 1 && threads[0].second == cpus;
}

} // namespace

TEST_CASE("affinity: the topology of the machine is found") {
    const topology t = topology::system();
    CHECK(t.cpus() == vm::all_cpus);
    CHECK(t.nr_nodes() == 2);
    CHECK(t.pods(affinity_scope::cpu).size() == 16);
    CHECK(t.pods(affinity_scope::smt).size() == 8);
    CHECK(t.pods(affinity_scope::cache).size() == 4);
    CHECK(t.pods(affinity_scope::cache_shard).size() == 4);
    CHECK(t.pods(affinity_scope::numa).size() == 2);
    CHECK(t.pods(affinity_scope::system).size() == 1);
    for (const affinity_scope scope : cmwq::affinity_scopes) {
        for (unsigned cpu = 0; cpu < vm::nr_cpus; ++cpu) {
            CAPTURE(std::string(to_string(scope)), cpu);
            const topology::pod& pod = t.pods(scope)[t.pod_of(scope, cpu)];
            CHECK(pod.cpus.to_string() == pod_of(scope, cpu).to_string());
            CHECK(pod.node == (scope == affinity_scope::system ? cmwq::topology::no_node : cpu / 8));
            CHECK(t.node_of(cpu) == cpu / 8);
        }
    }
}

TEST_CASE("affinity: items of a strict unbound queue run inside of the pod for which they were queued") {
    cmwq::runtime rt;
    check_strict_pods<cmwq::unbound>(rt);
}

TEST_CASE("affinity: items of a strict elastic queue run inside of the pod for which they were queued") {
    cmwq::runtime rt;
    check_strict_pods<cmwq::elastic>(rt);
}

TEST_CASE("affinity: items of a queue that is not strict may run on every CPU") {
    cmwq::runtime rt;
    check_loose_pods<cmwq::unbound>(rt);
    check_loose_pods<cmwq::elastic>(rt);
}

// proves: cpus-2
TEST_CASE("affinity: an item of a queue that is not strict starts in its pod while the pod has an idle CPU") {
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::unbound> unbound{rt, "u"};
    cmwq::workqueue<cmwq::elastic> elastic{rt, "e"};
    constexpr int rounds = 10;
    for (cmwq::workqueue_base* q :
         {static_cast<cmwq::workqueue_base*>(&unbound), static_cast<cmwq::workqueue_base*>(&elastic)}) {
        for (const unsigned cpu : {2u, 9u}) {
            const cpuset pod = vm::cache_of(cpu);
            const unsigned elsewhere = (cpu + 7) % vm::nr_cpus;
            CAPTURE(std::string(q->name()), cpu, elsewhere);
            const std::uint64_t before = rt.stats().repatriated;
            int inside = 0, free = 0;
            for (int i = 0; i < rounds; ++i) {
                // The worker that is woken next wakes up outside of the pod.
                cmwq::work leaves{[&] { vm::bind_this_thread({elsewhere}); }};
                q->queue_on(cpu, leaves);
                leaves.flush();
                REQUIRE(eventually([&] { return all_idle(rt); })); // no worker is looking for the next item
                const sighting s = vm::see_from(*q, cpu);
                inside += pod.contains(s.cpu) ? 1 : 0;
                free += s.mask == vm::all_cpus ? 1 : 0;
            }
            // The scheduler may move the worker away before the item looks at its CPU, or a CPU of the guest may stop
            // for a while, so that another worker is woken.
            CHECK(inside > rounds / 2);
            CHECK(free > rounds / 2);
            CHECK(rt.stats().repatriated > before + rounds / 2);
        }
    }
}

// proves: cpus-2
TEST_CASE("affinity: items of an unbound queue that is not strict leave their pod when it is full") {
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::unbound> q{rt, "q"};
    vm::crowd all(vm::nr_cpus); // four times the number of CPUs of the pod
    std::mutex lock;
    cpuset seen;
    for (unsigned i = 0; i < vm::nr_cpus; ++i) {
        q.post_on(13, [&] {
            all.join();
            const std::lock_guard g(lock);
            seen.insert(vm::look().cpu);
        });
    }
    CHECK(eventually([&] { return all.complete(); }));
    all.give_up();
    q.flush();
    CHECK(seen.size() > vm::cache_of(13).size());
}

TEST_CASE("affinity: a queue uses the CPUs of its attributes and pods of these CPUs") {
    const cpuset some{1, 2, 5, 9};
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::unbound> strict{
        rt, {.name = "strict", .attrs = attrs{}.cpus(some).affinity(affinity_scope::cache).strict(true)}};
    cmwq::workqueue<cmwq::elastic> loose{
        rt, {.name = "loose", .attrs = attrs{}.cpus(some).affinity(affinity_scope::cache)}};
    for (const unsigned cpu : some) {
        CAPTURE(cpu);
        const cpuset pod = vm::cache_of(cpu) & some;
        CHECK(vm::see_on(strict, cpu).mask == pod);
        CHECK(vm::see_from(strict, cpu).mask == pod);
        CHECK(vm::see_on(loose, cpu).mask == some);
    }
    // Items from other CPUs go to the nearest pod: in the same cache, or else in the same node.
    for (const auto& [from, pod] : {std::pair{0u, cpuset{1, 2}}, {3u, {1, 2}}, {7u, {5}}, {11u, {9}}, {15u, {9}}}) {
        CAPTURE(from);
        CHECK(vm::see_from(strict, from).mask == pod);
        CHECK(vm::see_on(strict, from).mask == pod);
    }
    CHECK(some.contains(vm::see_on(loose, 0).cpu));

    // Attributes with CPUs that do not exist: the queue uses the existing CPUs.
    strict.apply(attrs{}.cpus(cpuset{3, 4000}).strict(true));
    CHECK(vm::see_on(strict, 3).mask == cpuset{3});
    CHECK(vm::see_on(strict, 12).mask == cpuset{3});
    CHECK_THROWS_AS(strict.apply(attrs{}.cpus(cpuset{16})), std::invalid_argument);
    CHECK(vm::see_on(strict, 3).mask == cpuset{3});
}

TEST_CASE("affinity: an item for a node runs on the CPUs of that node") {
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::unbound> by_node{rt,
                                           {.name = "n", .attrs = attrs{}.affinity(affinity_scope::numa).strict(true)}};
    cmwq::workqueue<cmwq::elastic> by_cpu{rt,
                                          {.name = "c", .attrs = attrs{}.affinity(affinity_scope::cpu).strict(true)}};
    for (unsigned cpu = 0; cpu < vm::nr_cpus; ++cpu) {
        const vm::pinned here(cpu);
        for (const unsigned node : {0u, 1u}) {
            CAPTURE(cpu, node);
            const cpuset& there = vm::node_cpus[node];
            CHECK(vm::see([&](auto& w) { return by_node.queue_on_node(node, w); }).mask == there);
            // If the CPU of the caller is in the node, the item runs on that CPU.
            const sighting s = vm::see([&](auto& w) { return by_cpu.queue_on_node(node, w); });
            CHECK(there.contains(s.cpu));
            if (there.contains(cpu)) CHECK(s.mask == cpuset{cpu});
        }
    }
    cmwq::work w{[] {}};
    CHECK(by_node.queue_on_node(2, w) == queue_status::rejected);
    CHECK(by_node.queue_on_node(cmwq::topology::no_node, w) == queue_status::rejected);
    CHECK_FALSE(w.busy());
}

TEST_CASE("affinity: a bound item runs on its CPU with every priority") {
    cmwq::runtime rt;
    for (const cmwq::priority p : {cmwq::priority::normal, cmwq::priority::high, cmwq::priority::fifo}) {
        cmwq::workqueue<> q{rt, {.name = "bound", .priority = p}};
        for (unsigned cpu = 0; cpu < vm::nr_cpus; ++cpu) {
            CAPTURE(static_cast<int>(p), cpu);
            for (const sighting& s : {vm::see_on(q, cpu), vm::see_from(q, cpu)}) {
                CHECK(s.cpu == cpu);
                CHECK(s.mask == cpuset{cpu});
            }
        }
    }
}

TEST_CASE("affinity: an ordered queue with producers on all CPUs runs one item at a time and in order") {
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::ordered> q{rt, "ordered"};
    constexpr unsigned each = 100, all = each * vm::nr_cpus;
    std::mutex turn;
    unsigned next = 0;
    std::vector<unsigned> ran; // plain: one item at a time
    ran.reserve(all);
    std::atomic<bool> inside{false};
    std::atomic<unsigned> overlaps{0};
    vm::on_cpus(vm::all_cpus, [&](unsigned) {
        for (unsigned i = 0; i < each; ++i) {
            const std::lock_guard g(turn);
            q.post([&, number = next++] {
                if (inside.exchange(true)) ++overlaps;
                ran.push_back(number);
                inside = false;
            });
        }
    });
    q.flush();
    CHECK(overlaps == 0);
    REQUIRE(ran.size() == all);
    CHECK(std::ranges::is_sorted(ran));
    CHECK(vm::see_on(q, 12).mask == vm::all_cpus); // one pool spans all CPUs
}

TEST_CASE("affinity: set_unbound_cpus() moves live queues and the thread of the runtime") {
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::unbound> unbound{rt,
                                           {.name = "u", .attrs = attrs{}.affinity(affinity_scope::cpu).strict(true)}};
    cmwq::workqueue<cmwq::elastic> elastic{rt, "e"};
    cmwq::workqueue<cmwq::ordered> ordered{rt, "o"};
    cmwq::workqueue<> bound{rt, "b"};
    cmwq::workqueue_base* const keyed[] = {&unbound, &elastic, &ordered};
    CHECK(rt.unbound_cpus() == vm::all_cpus);
    CHECK(eventually([&] { return service_keeps_to(vm::all_cpus); }));

    // Other threads queue items all the time.
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> queued{0}, ran{0};
    std::thread load([&] {
        vm::on_cpus({0, 5, 10, 15}, [&](unsigned) {
            while (!stop) {
                for (cmwq::workqueue_base* q : keyed) {
                    if (q->post([&] { ++ran; }) == queue_status::queued) ++queued;
                }
                while (queued > ran + 64) ::sched_yield();
            }
        });
    });
    vm::notes outside;
    for (const cpuset& some : {cpuset{4, 5, 6, 7, 9}, cpuset{14}, cpuset::range(0, 8)}) {
        CAPTURE(some.to_string());
        rt.set_unbound_cpus(some);
        CHECK(rt.unbound_cpus() == some);
        for (unsigned cpu = 0; cpu < vm::nr_cpus; ++cpu) {
            for (cmwq::workqueue_base* q : keyed) {
                const sighting s = vm::see_on(*q, cpu);
                outside.expect(is_within(s.mask, some) && some.contains(s.cpu),
                               "queue " + std::string(q->name()) + " for CPU " + std::to_string(cpu) + ": on CPU " +
                                   std::to_string(s.cpu) + " with " + s.mask.to_string());
            }
            if (some.contains(cpu)) CHECK(vm::see_on(unbound, cpu).mask == cpuset{cpu});
            CHECK(vm::see_on(bound, cpu).cpu == cpu); // bound items stay on their CPUs
        }
        CHECK(outside.text() == "");
        CHECK(eventually([&] { return keep_to("cmwq/u", some); })); // the earlier threads have ended
        CHECK(eventually([&] { return service_keeps_to(some); }));
    }
    CHECK_THROWS_AS(rt.set_unbound_cpus(cpuset{}), std::invalid_argument);
    CHECK_THROWS_AS(rt.set_unbound_cpus(cpuset{16}), std::invalid_argument);
    CHECK(rt.unbound_cpus() == cpuset::range(0, 8));
    rt.set_unbound_cpus(vm::all_cpus);
    CHECK(vm::see_on(unbound, 12).mask == cpuset{12});
    CHECK(vm::see_on(elastic, 12).mask == vm::all_cpus);
    CHECK(eventually([&] { return service_keeps_to(vm::all_cpus); }));
    stop = true;
    load.join();
    for (auto flush : {std::function<void()>([&] { unbound.flush(); }), std::function<void()>([&] { elastic.flush(); }),
                       std::function<void()>([&] { ordered.flush(); })})
        flush();
    CHECK(ran == queued);
}

TEST_CASE("affinity: a runtime with given unbound CPUs keeps its thread and its unbound items there from the start") {
    const cpuset some{2, 3, 13};
    cmwq::runtime rt{{.unbound_cpus = some}};
    CHECK(rt.cpus() == vm::all_cpus);
    CHECK(eventually([&] { return service_keeps_to(some); }));
    cmwq::workqueue<cmwq::unbound> q{rt, "q"};
    cmwq::workqueue<> bound{rt, "bound"};
    for (unsigned cpu = 0; cpu < vm::nr_cpus; ++cpu) {
        CHECK(is_within(vm::see_on(q, cpu).mask, some));
        CHECK(vm::see_on(bound, cpu).mask == cpuset{cpu});
    }
    CHECK(keep_to("cmwq/u", some));
}

// Hidden: it needs a guest with the boot parameter isolcpus=, in which vm.isolated runs it.
// proves: kernel-18
TEST_CASE("affinity: CPUs that were isolated at boot get bound items only", "[.][isolated]") {
    const cpuset isolated = cpuset::parse(vm::line_of("/sys/devices/system/cpu/isolated"));
    REQUIRE(isolated == cpuset{14, 15});
    // The kernel starts programs outside of the isolated CPUs.
    REQUIRE(vm::bind_this_thread(vm::all_cpus));
    cmwq::runtime rt;
    CHECK(rt.cpus() == vm::all_cpus);
    CHECK(rt.unbound_cpus() == vm::all_cpus - isolated);
    CHECK(eventually([&] { return service_keeps_to(vm::all_cpus - isolated); }));
    cmwq::workqueue<cmwq::unbound> q{rt, "q"};
    cmwq::workqueue<cmwq::elastic> strict{rt, {.name = "strict", .attrs = attrs{}.strict(true)}};
    cmwq::workqueue<> bound{rt, "bound"};
    CHECK(rt.dump().find("wq_unbound_cpumask=00003fff\n") != std::string::npos);
    for (const unsigned cpu : isolated) {
        CHECK((vm::see_from(q, cpu).mask & isolated).empty());
        CHECK(vm::see_from(strict, cpu).mask == vm::cache_of(cpu) - isolated); // the nearest pod
        CHECK(vm::see_on(bound, cpu).mask == cpuset{cpu});
    }
    CHECK(keep_to("cmwq/u", vm::all_cpus - isolated));
}

TEST_CASE("affinity: an elastic queue that is not strict leaves no CPU idle while items wait") {
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::elastic> q{rt, {.name = "loose", .attrs = attrs{}.affinity(affinity_scope::cache)}};
    for (const unsigned cpu : {0u, 13u}) {
        vm::crowd all(vm::nr_cpus); // four times the number of CPUs of the pod
        for (unsigned i = 0; i < vm::nr_cpus; ++i) q.post_on(cpu, [&] { all.join(); });
        CHECK(eventually([&] { return all.complete(); }));
        all.give_up();
        q.flush();
    }
}

TEST_CASE("affinity: a strict elastic queue runs as many items as the pod has CPUs and no more") {
    cmwq::runtime rt{vm::computing_items()};
    cmwq::workqueue<cmwq::elastic> q{rt,
                                     {.name = "strict", .attrs = attrs{}.affinity(affinity_scope::cache).strict(true)}};
    for (const unsigned cpu : {0u, 13u}) {
        vm::crowd pod(4);
        for (unsigned i = 0; i < 200; ++i) {
            q.post_on(cpu, [&] { pod.join(); });
        }
        CHECK(eventually([&] { return pod.complete(); }));
        pod.give_up();
        q.flush();
        CHECK(pod.most() >= 4);
        // The mean, because an item that blocks for a moment, e.g. because of a page fault, is replaced.
        CHECK(pod.mean() < 7); // 16 if the queue is not strict
    }
}

TEST_CASE("affinity: the runtime has the CPUs that a cgroup leaves to the process even if it splits a cache") {
    const vm::cgroup group("affinity");
    REQUIRE(group.set("cpuset.cpus", "2-5,9"));
    CHECK(vm::in_child([&](vm::notes& n) {
              n.expect(group.enter(), "cannot enter the group");
              const cpuset mine = cpuset::parse("2-5,9");
              {
                  cmwq::runtime rt;
                  n.same("CPUs", rt.cpus().to_string(), "2-5,9");
                  n.same("unbound CPUs", rt.unbound_cpus().to_string(), "2-5,9");
                  std::string caches;
                  for (const topology::pod& p : rt.machine().pods(affinity_scope::cache)) {
                      caches += p.cpus.to_string() + " of " + std::to_string(p.node) + "; ";
                  }
                  n.same("caches", caches, "2-3 of 0; 4-5 of 0; 9 of 1; ");
                  cmwq::workqueue<> bound{rt, "b"};
                  cmwq::workqueue<cmwq::unbound> strict{
                      rt, {.name = "s", .attrs = attrs{}.affinity(affinity_scope::cache).strict(true)}};
                  cmwq::workqueue<cmwq::elastic> loose{rt, "l"};
                  cmwq::workqueue<cmwq::ordered> ordered{rt, "o"};
                  for (unsigned cpu = 0; cpu < vm::nr_cpus; ++cpu) {
                      const std::string number = std::to_string(cpu);
                      cmwq::work w{[] {}};
                      if (!mine.contains(cpu)) {
                          n.expect(bound.queue_on(cpu, w) == queue_status::rejected, "takes an item for CPU " + number);
                          continue;
                      }
                      n.same("bound on " + number, vm::see_on(bound, cpu).mask.to_string(), number);
                      n.same("strict on " + number, vm::see_on(strict, cpu).mask.to_string(),
                             (vm::cache_of(cpu) & mine).to_string());
                      n.same("strict from " + number, vm::see_from(strict, cpu).mask.to_string(),
                             (vm::cache_of(cpu) & mine).to_string());
                      n.same("loose on " + number, vm::see_on(loose, cpu).mask.to_string(), "2-5,9");
                      n.same("ordered on " + number, vm::see_on(ordered, cpu).mask.to_string(), "2-5,9");
                  }
                  n.expect(keep_to("cmwq/", mine), "a thread may leave the CPUs");
              }
              // A runtime with explicit CPUs that the group does not contain.
              try {
                  cmwq::runtime more{{.cpus = {2, 6}}};
                  n.add("a runtime was made on CPUs that it may not use");
              } catch (const std::invalid_argument&) {}
          }) == "");
}

TEST_CASE("affinity: with a quota of 1.5 CPUs an elastic pool runs two items at a time") {
    // The mean counts: a worker that sleeps for a moment, e.g. because of a page fault, gets a spare, and goes on
    // beside it. Without the quota the means are above 4.
    constexpr double too_many = 3;
    const vm::cgroup group("quota");
    REQUIRE(group.set("cpu.max", "150000 100000"));
    CHECK(vm::in_child([&](vm::notes& n) {
              n.expect(group.enter(), "cannot enter the group");
              cmwq::runtime rt{vm::computing_items()};
              n.same("CPUs", rt.cpus().to_string(), "0-15");
              // The whole machine is one pod, so no CPU outside of it can help.
              cmwq::workqueue<cmwq::elastic> q{rt, {.name = "q", .attrs = attrs{}.affinity(affinity_scope::system)}};
              vm::crowd two(2);
              for (unsigned i = 0; i < 240; ++i) {
                  q.post([&] { two.join(); });
              }
              n.expect(eventually([&] { return two.complete(); }), "no two items at once");
              two.give_up();
              q.flush();
              n.expect(two.mean() < too_many, std::to_string(two.mean()) + " items at once");

              // In this queue CPUs outside of the pod exist, but they do not help either.
              cmwq::workqueue<cmwq::elastic> narrow{rt,
                                                    {.name = "n", .attrs = attrs{}.affinity(affinity_scope::cache)}};
              vm::crowd again(2);
              for (unsigned i = 0; i < 240; ++i) narrow.post_on(0, [&] { again.join(); });
              n.expect(eventually([&] { return again.complete(); }), "no two items of a pod at once");
              again.give_up();
              narrow.flush();
              n.expect(again.mean() < too_many, std::to_string(again.mean()) + " items of a pod at once");
          }) == "");
}

namespace {

/// The sentinels of this process: the number of those that have run for at least 1 ms, and the total time of all.
struct sentinels {
    unsigned nr = 0;
    double seconds = 0;
};
sentinels sentinels_so_far() {
    sentinels all;
    for (const auto& task : vm::fs::directory_iterator("/proc/self/task")) {
        const std::string name = vm::line_of(task.path() / "comm");
        if (!name.starts_with("cmwq/") || !name.ends_with(":S")) continue;
        const double seconds = std::strtod(vm::line_of(task.path() / "schedstat").c_str(), nullptr) / 1e9;
        all.seconds += seconds;
        if (seconds > 1e-3) ++all.nr;
    }
    return all;
}

} // namespace

// proves: cpus-5
TEST_CASE("affinity: under a quota of two CPUs at most two sentinels are awake and they leave the quota to the items") {
    const bool with_sentinels = GENERATE(true, false);
    const vm::cgroup group("throttled");
    REQUIRE(group.set("cpu.max", "200000 100000"));
    CHECK(vm::in_child([&](vm::notes& n) {
              n.expect(group.enter(), "cannot enter the group");
              cmwq::runtime_options o = vm::computing_items();
              o.sentinel = with_sentinels;
              cmwq::runtime rt{std::move(o)};
              cmwq::workqueue<cmwq::elastic> q{rt, "q"};
              std::atomic<bool> stop{false};
              std::atomic<unsigned> nr_runs{0}, nr_at_once{0}, most_at_once{0};
              std::vector<std::unique_ptr<cmwq::work<std::function<void()>>>> items;
              for (unsigned i = 0; i < 64; ++i) { // a backlog for each pod
                  items.push_back(std::make_unique<cmwq::work<std::function<void()>>>([&, i] {
                      const unsigned now = ++nr_at_once;
                      for (unsigned seen = most_at_once;
                           seen < now && !most_at_once.compare_exchange_weak(seen, now);) {}
                      vm::burn(std::chrono::milliseconds{1});
                      --nr_at_once;
                      ++nr_runs;
                      if (!stop) q.queue_on(i % vm::nr_cpus, *items[i]);
                  }));
              }
              for (unsigned i = 0; i < 64; ++i) q.queue_on(i % vm::nr_cpus, *items[i]);
              const auto begin = std::chrono::steady_clock::now();
              const auto used = [] {
                  timespec t{};
                  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
                  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
              };
              n.expect(eventually([&] { return used() >= 10; }), "uses too little time"); // 5 s under this quota
              stop = true;
              const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
              const sentinels watching = sentinels_so_far();
              const double all = used();
              std::string throttled;
              std::ifstream stat("/sys/fs/cgroup/throttled/cpu.stat");
              for (std::string line; std::getline(stat, line);) {
                  if (line.starts_with("nr_")) throttled += ", " + line;
              }
              std::printf(
                  "quota of 2 CPUs, sentinels %s: %.0f items/s, %u at once at most, %u sentinels ran for %.3f s of "
                  "%.2f s%s\n",
                  with_sentinels ? "on" : "off", nr_runs / seconds, most_at_once.load(), watching.nr, watching.seconds,
                  all, throttled.c_str());
              std::fflush(stdout);
              q.drain();
              n.expect(watching.nr <= 2, std::to_string(watching.nr) + " sentinels ran");
              n.expect(watching.seconds < all / 5, "the sentinels took more than a fifth of the time");
          }) == "");
}
