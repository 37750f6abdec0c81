// SPDX-License-Identifier: BSL-1.0
//
// CPUs go offline and online at random while queues of all policies are busy, made, changed and destroyed.
#include "catch.hpp"
#include "vm/load.hpp"
#include "vm/machine.hpp"

#include <iostream>

using cmwq::affinity_scope;
using cmwq::attrs;
using cmwq::cpuset;
using vm::eventually;

TEST_CASE("storm: under all policies every item runs once while CPUs go and return at random for 20 s or more") {
    constexpr std::chrono::seconds duration{20};
    const vm::cpus_come_back all;
    const std::ptrdiff_t threads_before = vm::nr_tasks();
    unsigned nr_switched = 0;
    {
        cmwq::runtime rt{{.idle_timeout = std::chrono::milliseconds{50}}};
        vm::load load(rt, 5);
        // Queues that live for a moment and change during that time.
        std::atomic<bool> stop{false};
        std::atomic<std::uint64_t> queued{0}, ran{0};
        std::thread fickle([&] {
            stress::random r(100);
            const auto some_attrs = [&r] {
                attrs a = attrs{}.affinity(cmwq::affinity_scopes[r.below(6)]).strict(r.one_in(2));
                if (r.one_in(3)) a.cpus({0, r.below(vm::nr_cpus), r.below(vm::nr_cpus)});
                return a;
            };
            const auto use = [&](auto& q) {
                for (int i = 0; i < 20; ++i) {
                    if (q.post_on(r.below(vm::nr_cpus), [&] { ++ran; }) == cmwq::queue_status::queued) ++queued;
                    if (r.one_in(8)) q.apply(some_attrs());
                }
            };
            while (!stop) {
                cmwq::workqueue<cmwq::unbound> u{rt, {.name = "fickle u", .max_active = 3, .attrs = some_attrs()}};
                cmwq::workqueue<cmwq::elastic> e{rt, {.name = "fickle e", .attrs = some_attrs()}};
                cmwq::workqueue<cmwq::ordered> o{rt, {.name = "fickle o", .attrs = some_attrs()}};
                use(u);
                use(e);
                use(o);
                switch (r.below(8)) {
                case 0: rt.set_unbound_cpus(cpuset{0} | cpuset{1 + r.below(15), 1 + r.below(15)}); break;
                case 1: rt.set_unbound_cpus(vm::all_cpus); break;
                case 2: rt.set_default_scope(cmwq::affinity_scopes[r.below(6)]); break;
                case 3: rt.refresh_topology(); break;
                default: break;
                }
            }
        });
        const auto end = std::chrono::steady_clock::now() + duration;
        stress::random r(200);
        std::vector<bool> on(vm::nr_cpus, true);
        // On a busy host a CPU may take seconds to go offline: the test continues until 12 changes were made.
        while (std::chrono::steady_clock::now() < end || nr_switched < 12) {
            const unsigned cpu = 1 + r.below(vm::nr_cpus - 1);
            REQUIRE(vm::set_online(cpu, !on[cpu]));
            on[cpu] = !on[cpu];
            ++nr_switched;
            if (r.one_in(6)) rt.refresh_topology();
            if (r.one_in(6)) CHECK(load.goes_on());
        }
        for (unsigned cpu = 1; cpu < vm::nr_cpus; ++cpu) REQUIRE(vm::go_online(cpu));
        stop = true;
        fickle.join();
        rt.set_unbound_cpus(vm::all_cpus);
        load.stop();
        CHECK(load.complaints.text() == "");
        CHECK(ran == queued);
        // All threads are bound to their CPUs.
        rt.refresh_topology();
        cmwq::workqueue<> bound{rt, "bound"};
        cmwq::workqueue<cmwq::unbound> by_cpu{
            rt, {.name = "by cpu", .attrs = attrs{}.affinity(affinity_scope::cpu).strict(true)}};
        for (unsigned cpu = 0; cpu < vm::nr_cpus; ++cpu) {
            CAPTURE(cpu);
            CHECK(eventually([&] { return vm::see_on(bound, cpu).mask == cpuset{cpu}; }));
            CHECK(eventually([&] { return vm::see_on(by_cpu, cpu).mask == cpuset{cpu}; }));
        }
    }
    CHECK(eventually([&] { return vm::nr_tasks() == threads_before; }));
    std::cout << nr_switched << " times a CPU went offline or online\n";
}
