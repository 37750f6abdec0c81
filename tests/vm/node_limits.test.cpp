// SPDX-License-Identifier: BSL-1.0
//
// The limit of an unbound queue on two real nodes: it is divided by CPUs and never exceeded, and a chain of min_active
// items completes. To check that an item does not start, a test queues a probe behind it, in the same pool and on a
// queue below its limit. After the probe has run, the test reads the counters.
#include "catch.hpp"
#include "stress.hpp"
#include "vm/machine.hpp"

#include <array>
#include <memory>
#include <semaphore>

using cmwq::affinity_scope;
using cmwq::attrs;
using cmwq::cpuset;
using vm::eventually;

namespace {

/// Counts the running items, for each node and in total.
class census {
public:
    void enter(unsigned node) {
        raise(most_[node], ++here_[node]);
        raise(most_all_, ++all_);
    }
    void leave(unsigned node) {
        --here_[node];
        --all_;
    }
    [[nodiscard]] int here(unsigned node) const { return here_[node]; }
    [[nodiscard]] int all() const { return all_; }
    [[nodiscard]] int most(unsigned node) const { return most_[node]; }
    [[nodiscard]] int most_of_all() const { return most_all_; }

private:
    static void raise(std::atomic<int>& most, int n) {
        int seen = most;
        while (seen < n && !most.compare_exchange_weak(seen, n)) {}
    }
    std::atomic<int> here_[2]{}, all_{0}, most_[2]{}, most_all_{0};
};

/// Items that run until the test releases them, by node. The node is the one for which an item was queued.
struct guests {
    guests(cmwq::workqueue<cmwq::unbound>& on, attrs where)
        : q(on), probes(runtime_of(), options_of(std::move(where))) {}
    ~guests() { let_all_go(); }

    void invite(unsigned cpu, int n) {
        const unsigned node = cpu / 8;
        queued += n;
        for (int i = 0; i < n; ++i) {
            q.post_on(cpu, [this, node] {
                who.enter(node);
                door[node].acquire();
                who.leave(node);
            });
        }
    }
    void let_go(unsigned node, int n) { door[node].release(n); }
    void let_all_go() {
        door[0].release(queued);
        door[1].release(queued);
        q.flush();
        queued = 0;
    }
    /// Waits until every item that may start has started.
    void settle() {
        for (const unsigned cpu : {0u, 4u, 8u, 12u}) vm::see_on(probes, cpu);
        CHECK(
            eventually([this] { return q.stats().started - q.stats().completed == static_cast<unsigned>(who.all()); }));
    }

    cmwq::workqueue<cmwq::unbound>& q;
    cmwq::workqueue<cmwq::unbound> probes;
    census who;
    std::counting_semaphore<> door[2]{std::counting_semaphore<>{0}, std::counting_semaphore<>{0}};
    int queued = 0;
    static inline cmwq::runtime* rt = nullptr;

private:
    static cmwq::runtime& runtime_of() { return *rt; }
    static cmwq::options<cmwq::unbound> options_of(attrs where) {
        return {.name = "probes", .max_active = 2048, .min_active = 1024, .attrs = std::move(where)};
    }
};

const attrs by_node = attrs{}.affinity(affinity_scope::numa).strict(true);
const attrs by_cpu = attrs{}.affinity(affinity_scope::cpu).strict(true);

struct world {
    explicit world(cmwq::options<cmwq::unbound> o) {
        const attrs where = o.attrs;
        q = std::make_unique<cmwq::workqueue<cmwq::unbound>>(rt, std::move(o));
        guests::rt = &rt;
        g = std::make_unique<guests>(*q, where);
    }
    vm::cpus_come_back all;
    cmwq::runtime rt;
    std::unique_ptr<cmwq::workqueue<cmwq::unbound>> q;
    std::unique_ptr<guests> g;
};

} // namespace

TEST_CASE("node limits: a limit of 8 means at most 4 items on each node and 8 in total") {
    for (const attrs& where : {by_node, by_cpu}) { // one pool per node, and eight pools that share the slots of a node
        world w{{.name = "q", .max_active = 8, .min_active = 1, .attrs = where}};
        guests& g = *w.g;
        for (const unsigned cpu : vm::node_cpus[0]) g.invite(cpu, 3); // 24
        CHECK(eventually([&] { return g.who.here(0) == 4; }));
        g.settle();
        CHECK(g.who.here(0) == 4);
        for (const unsigned cpu : vm::node_cpus[1]) g.invite(cpu, 3);
        CHECK(eventually([&] { return g.who.here(1) == 4; }));
        g.settle();
        CHECK(g.who.here(0) == 4);
        CHECK(g.who.here(1) == 4);
        // When an item of a node ends, another item of that node starts.
        for (int i = 1; i <= 20; ++i) {
            const unsigned node = i % 2 == 0 ? 1 : 0;
            g.let_go(node, 1);
            const auto so_many = static_cast<unsigned>(8 + i);
            CHECK(eventually([&] { return w.q->stats().started == so_many; }));
            CHECK(eventually([&] { return g.who.here(0) == 4 && g.who.here(1) == 4; }));
        }
        g.let_all_go();
        CHECK(g.who.most(0) == 4);
        CHECK(g.who.most(1) == 4);
        CHECK(g.who.most_of_all() == 8);
        CHECK(w.q->stats().completed == 48);
    }
}

TEST_CASE("node limits: 16 producers with short-lived items never exceed the limit of a node or of the machine") {
    for (const attrs& where : {by_node, by_cpu, attrs{}.affinity(affinity_scope::cache)}) {
        cmwq::runtime rt;
        cmwq::workqueue<cmwq::unbound> q{rt, {.name = "q", .max_active = 8, .min_active = 1, .attrs = where}};
        census who;
        std::atomic<int> runs{0};
        vm::on_cpus(vm::all_cpus, [&](unsigned cpu) {
            stress::random r(cpu);
            for (int i = 0; i < 60; ++i) {
                const unsigned to = r.below(vm::nr_cpus);
                const unsigned long how = r.below(4);
                q.post_on(to, [&, to, how] {
                    who.enter(to / 8);
                    if (how == 0) stress::block_for(std::chrono::microseconds{200});
                    else stress::burn(500);
                    ++runs;
                    who.leave(to / 8);
                });
                if (r.one_in(16)) q.flush();
            }
        });
        q.flush();
        CHECK(runs == 60 * static_cast<int>(vm::nr_cpus));
        CHECK(who.most(0) <= 4);
        CHECK(who.most(1) <= 4);
        CHECK(who.most_of_all() <= 8);
        CHECK(who.most_of_all() >= 2);
    }
}

TEST_CASE("node limits: the share of a node depends on its CPUs, and the shares add up to the limit") {
    const cpuset uneven = cpuset::range(0, 10); // eight CPUs of one node, two of the other
    world w{{.name = "q", .max_active = 8, .min_active = 1, .attrs = attrs{by_node}.cpus(uneven)}};
    guests& g = *w.g;
    g.invite(0, 12);
    g.invite(8, 12);
    CHECK(eventually([&] { return g.who.here(0) == 6 && g.who.here(1) == 2; }));
    g.settle();
    CHECK(g.who.here(0) == 6); // 6.4
    CHECK(g.who.here(1) == 2); // 1.6
}

TEST_CASE("node limits: a limit that would leave a node less than min_active is not divided") {
    world w{{.name = "q", .max_active = 4, .min_active = 3, .attrs = by_node}};
    guests& g = *w.g;
    g.invite(0, 8);
    CHECK(eventually([&] { return g.who.here(0) == 4; }));
    g.invite(8, 8);
    g.settle();
    CHECK(g.who.here(0) == 4);
    CHECK(g.who.here(1) == 0);
    w.q->set_min_active(1); // two each, when node 0 has no more than that
    g.settle();
    CHECK(g.who.all() == 4);
    g.let_go(0, 1);
    CHECK(eventually([&] { return w.q->stats().started == 5; }));
    g.settle();
    CHECK(g.who.all() == 4);
    w.q->set_max_active(12); // 6 each
    CHECK(eventually([&] { return g.who.here(0) == 6 && g.who.here(1) == 6; }));
    g.settle();
    CHECK(g.who.all() == 12);
}

TEST_CASE("node limits: pools that span the nodes have the whole limit") {
    for (const attrs& where :
         {attrs{}.affinity(affinity_scope::system), attrs{}.cpus({6, 7, 8, 9}).affinity(affinity_scope::system)}) {
        world w{{.name = "q", .max_active = 8, .min_active = 1, .attrs = where}};
        guests& g = *w.g;
        g.invite(6, 6);
        g.invite(9, 6);
        CHECK(eventually([&] { return g.who.all() == 8; }));
        g.settle();
        CHECK(g.who.all() == 8);
        CHECK(g.who.here(0) == 6); // in queueing order, because it is one pool
    }
}

// proves: progress-15
TEST_CASE("node limits: a chain of min_active items that wait for each other completes beside items that end") {
    for (const unsigned length : {8u, 3u}) { // 8: the default, and not divided; 3: four for each node
        world w{{.name = "q", .max_active = 8, .min_active = length == 8 ? 0 : length, .attrs = by_cpu}};
        CHECK(w.q->min_active() == length);
        guests& g = *w.g;
        g.invite(0, 12);
        CHECK(eventually([&] { return g.who.here(0) >= static_cast<int>(length); }));
        // Each item waits for the next one.
        std::vector<std::unique_ptr<std::counting_semaphore<>>> started;
        for (unsigned i = 0; i <= length; ++i) started.push_back(std::make_unique<std::counting_semaphore<>>(0));
        std::atomic<unsigned> done{0};
        for (unsigned i = 0; i < length; ++i) {
            w.q->post_on(8 + i % 8, [&, i] {
                started[i]->release();
                if (i + 1 < length) started[i + 1]->acquire();
                ++done;
            });
        }
        g.let_go(0, 12);
        CHECK(eventually([&] { return done == length; }));
        for (auto& s : started) s->release(); // ends the items after a failure, too
    }
}

TEST_CASE("node limits: a node that goes offline leaves its share to the other node and takes it back later") {
    world w{{.name = "q", .max_active = 8, .min_active = 1, .attrs = by_cpu}};
    guests& g = *w.g;
    for (const unsigned cpu : vm::node_cpus[0]) g.invite(cpu, 4); // 32
    for (const unsigned cpu : vm::node_cpus[1]) g.invite(cpu, 2); // 16
    CHECK(eventually([&] { return g.who.here(0) == 4 && g.who.here(1) == 4; }));
    for (const unsigned cpu : vm::node_cpus[1]) REQUIRE(vm::go_offline(cpu));
    w.rt.refresh_topology();
    // The active items stay. The limit is not divided any more.
    g.settle();
    CHECK(g.who.all() == 8);
    // Each item of node 1 that ends leaves a place, and the nodes take the places in turns. Nothing of node 0 ends
    // here.
    g.let_go(1, 16);
    CHECK(eventually([&] { return g.who.here(0) == 8; })); // the other node has the whole limit now
    for (const unsigned cpu : vm::node_cpus[1]) REQUIRE(vm::go_online(cpu));
    w.rt.refresh_topology();
    for (const unsigned cpu : vm::node_cpus[1]) g.invite(cpu, 2);
    g.settle();
    CHECK(g.who.here(0) == 8);
    CHECK(g.who.here(1) == 0);
    // While all slots are in use, the limit is not divided again. After a pause it is, and node 0 has its share of it.
    g.let_all_go();
    CHECK(w.q->stats().completed == 64);
    guests later(*w.q, by_cpu);
    CHECK(eventually([&] {
        later.invite(0, 12);
        later.settle();
        const int here = later.who.here(0);
        later.let_go(0, 12);
        w.q->flush();
        return here == 4;
    }));
}
