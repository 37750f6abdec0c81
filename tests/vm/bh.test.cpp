// SPDX-License-Identifier: BSL-1.0
//
// Bottom halves on 16 CPUs: the CPUs on which they run, one item at a time in each context, and their execution after
// their CPU has gone offline.
#include "catch.hpp"
#include "stress.hpp"
#include "vm/machine.hpp"

#include <array>

using cmwq::cpuset;
using cmwq::priority;
using cmwq::queue_status;
using vm::eventually;
using vm::sighting;

TEST_CASE("bh: an item for this CPU runs in the caller before queue() returns and an item for another CPU runs there") {
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::bh> normal{rt, "n"};
    cmwq::workqueue<cmwq::bh> high{rt, {.name = "h", .priority = priority::high}};
    for (cmwq::workqueue<cmwq::bh>* q : {&normal, &high}) {
        for (unsigned cpu = 0; cpu < vm::nr_cpus; ++cpu) {
            CAPTURE(cpu);
            const vm::pinned here(cpu);
            std::thread::id ran_in;
            cmwq::work own{[&] { ran_in = std::this_thread::get_id(); }};
            CHECK(q->queue(own) == queue_status::queued);
            CHECK(ran_in == std::this_thread::get_id());
            for (const unsigned other : {(cpu + 1) % vm::nr_cpus, (cpu + 9) % vm::nr_cpus}) {
                const sighting s = vm::see_on(*q, other);
                CHECK(s.cpu == other);
                CHECK(s.mask == cpuset{other});
            }
        }
    }
}

TEST_CASE("bh: 16 producers lose no item and each context runs one item at a time and in order") {
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::bh> normal{rt, "n"};
    cmwq::workqueue<cmwq::bh> high{rt, {.name = "h", .priority = priority::high}};
    cmwq::workqueue<cmwq::bh>* const queues[] = {&normal, &high};
    struct context {
        std::atomic<bool> inside{false};
        std::array<int, vm::nr_cpus> last{}; // by producer; not atomic: one item runs at a time
    };
    std::array<std::array<context, vm::nr_cpus>, 2> contexts;
    std::atomic<unsigned> queued{0}, ran{0};
    vm::notes n;
    vm::on_cpus(vm::all_cpus, [&](unsigned producer) {
        stress::random r(producer);
        for (int i = 1; i <= 300; ++i) {
            const unsigned prio = r.below(2), cpu = r.one_in(2) ? producer : r.below(vm::nr_cpus);
            const auto work = [&, prio, cpu, producer, i] {
                context& c = contexts[prio][cpu];
                n.expect(!c.inside.exchange(true), "two at once on CPU " + std::to_string(cpu));
                int& last = c.last[producer];
                n.expect(last < i, "CPU " + std::to_string(cpu) + ": " + std::to_string(i) + " of producer " +
                                       std::to_string(producer) + " after " + std::to_string(last));
                last = i;
                stress::burn(200);
                c.inside = false;
                ++ran;
            };
            const queue_status s = cpu == producer ? queues[prio]->post(work) : queues[prio]->post_on(cpu, work);
            if (s == queue_status::queued) ++queued;
        }
    });
    normal.flush();
    high.flush();
    CHECK(n.text() == "");
    CHECK(queued == 300 * vm::nr_cpus);
    CHECK(ran == queued);
}

TEST_CASE("bh: items for an offline CPU run elsewhere and run on that CPU again when it is back") {
    const vm::cpus_come_back all;
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::bh> q{rt, "q"};
    const vm::pinned here(0);
    for (int round = 0; round < 2; ++round) {
        std::atomic<bool> entered{false}, go{false};
        std::atomic<int> runs{0};
        CHECK(vm::see_on(q, 5).mask == cpuset{5});
        q.post_on(5, [&] { // occupies the context
            entered = true;
            while (!go) ::sched_yield();
        });
        CHECK(eventually([&] { return entered.load(); }));
        for (int i = 0; i < 50; ++i) q.post_on(5, [&] { ++runs; });
        REQUIRE(vm::go_offline(5));
        CHECK(runs == 0);
        go = true;
        CHECK(eventually([&] { return runs == 50; }));
        for (int i = 0; i < 50; ++i) q.post_on(5, [&] { ++runs; });
        q.flush();
        CHECK(runs == 100);
        CHECK(vm::see_on(q, 5).cpu != 5);
        REQUIRE(vm::go_online(5));
        if (round == 0) rt.refresh_topology();
        CHECK(eventually([&] {
            const sighting s = vm::see_on(q, 5);
            // Without refresh_topology() no thread notices the change for the sake of bottom halves.
            return s.cpu == 5 && (round == 1 || s.mask == cpuset{5});
        }));
    }
}

TEST_CASE("bh: an offline CPU also has one context") {
    const vm::cpus_come_back all;
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::bh> q{rt, "q"};
    REQUIRE(vm::go_offline(11));
    std::atomic<bool> inside{false};
    std::atomic<unsigned> ran{0}, overlaps{0};
    vm::on_cpus(vm::all_cpus - cpuset{11}, [&](unsigned) {
        for (int i = 0; i < 50; ++i) {
            q.post_on(11, [&] {
                if (inside.exchange(true)) ++overlaps;
                stress::burn(100);
                inside = false;
                ++ran;
            });
        }
    });
    q.flush();
    CHECK(overlaps == 0);
    CHECK(ran == 50 * 15);
}
