// SPDX-License-Identifier: BSL-1.0
//
// placement alone: the pools for a queue, as a function of its policy, its attributes and the machine.
#include "bare_pool.hpp"
#include "catch.hpp"

#include <cmwq/attrs.hpp>
#include <cmwq/detail/engine/queue/queue_list.hpp>
#include <cmwq/detail/engine/runtime/placement.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

using namespace cmwq::detail;
using cmwq::affinity_scope;
using cmwq::attrs;
using cmwq::cpuset;
using cmwq_test::bare_env;
using cmwq_test::bare_queue;

namespace {

using strings = std::vector<std::string>;

struct strand : cmwq::ordered {
    static constexpr bool concurrency_managed = true;
};

/// A runtime on eight CPUs: two nodes with a cache each, of two cores with two threads.
class world {
public:
    explicit world(cmwq::runtime_options o = {}) : world("numa:2 l3:1 core:2 pu:2", std::move(o)) {}
    explicit world(const char* machine, cmwq::runtime_options o = {})
        : env_(machine, std::move(o)), placement_(env_.get(), queues_) {}
    template <class Policy = cmwq::unbound>
    [[nodiscard]] chosen_pools choose(const attrs& a, without_cpus what = without_cpus::refuse) const {
        const bare_queue<Policy> q(env_);
        const scoped_lock g(placement_.lock());
        return placement_.choose_pools(q.face, a, what);
    }
    [[nodiscard]] const cmwq::topology& machine() const { return env_.get().cpus.machine(); }
    [[nodiscard]] int width_of_machine() const { return env_.get().cpus.width_of(env_.get().cpus.cpus()); }

private:
    bare_env env_;
    queue_list queues_;
    placement placement_;
};

strings pods_of(const chosen_pools& chosen) {
    strings pods;
    for (const pool_choice& c : chosen.pools) pods.push_back(c.spec.pod.to_string());
    return pods;
}

/// The pool that serves the CPU with this index.
const pool_choice& pool_of(const chosen_pools& chosen, unsigned index) {
    const auto serves = [index](const pool_choice& c) { return std::ranges::count(c.indices, index) == 1; };
    return *std::ranges::find_if(chosen.pools, serves);
}

bool each_is_served_once(const chosen_pools& chosen, unsigned nr_cpus) {
    std::vector<unsigned> all;
    for (const pool_choice& c : chosen.pools) all.insert(all.end(), c.indices.begin(), c.indices.end());
    std::ranges::sort(all);
    if (all.size() != nr_cpus) return false;
    for (unsigned i = 0; i < nr_cpus; ++i) {
        if (all[i] != i) return false;
    }
    return true;
}

} // namespace

TEST_CASE("placement: an affinity scope divides the machine into pods, one pool for each") {
    const world w;
    const auto pods = [&](affinity_scope s) { return pods_of(w.choose(attrs{}.affinity(s))); };
    CHECK(pods(affinity_scope::cpu) == strings{"0", "1", "2", "3", "4", "5", "6", "7"});
    CHECK(pods(affinity_scope::smt) == strings{"0-1", "2-3", "4-5", "6-7"});
    CHECK(pods(affinity_scope::cache) == strings{"0-3", "4-7"});
    CHECK(pods(affinity_scope::numa) == strings{"0-3", "4-7"});
    CHECK(pods(affinity_scope::system) == strings{"0-7"});
    for (const affinity_scope s : {affinity_scope::cpu, affinity_scope::smt, affinity_scope::cache,
                                   affinity_scope::numa, affinity_scope::system})
        CHECK(each_is_served_once(w.choose(attrs{}.affinity(s)), 8));
}

// proves: kernel-5
TEST_CASE("placement: one pool serves two CPUs if and only if both are in one pod of the scope") {
    const world w{"pack:2 numa:1 l3:2 core:4 pu:2"}; // 32 CPUs
    for (const affinity_scope s : cmwq::affinity_scopes) {
        CAPTURE(to_string(s));
        const chosen_pools chosen = w.choose(attrs{}.affinity(s));
        REQUIRE(each_is_served_once(chosen, 32));
        int wrong = 0;
        for (unsigned a = 0; a < 32; ++a) {
            for (unsigned b = 0; b < 32; ++b) {
                const bool together = w.machine().pod_of(s, a) == w.machine().pod_of(s, b);
                wrong += (&pool_of(chosen, a) == &pool_of(chosen, b)) == together ? 0 : 1;
            }
        }
        CHECK(wrong == 0);
    }
}

// The registry has one pool for equal specs.
TEST_CASE("placement: attributes with the same meaning lead to the same pool even if they are written differently") {
    const world w{"numa:1 l3:1 core:4 pu:1"}; // one cache, one node, one machine
    const auto pool_for = [&](const attrs& a) {
        const chosen_pools chosen = w.choose(a);
        REQUIRE(chosen.pools.size() == 1);
        return chosen.pools[0].spec;
    };
    const pool_spec pool = pool_for(attrs{});
    for (const affinity_scope s : {affinity_scope::cache, affinity_scope::cache_shard, affinity_scope::numa,
                                   affinity_scope::system, affinity_scope::default_}) {
        CHECK(pool_for(attrs{}.affinity(s)) == pool);
        // Confined to the CPUs that it may use anyway.
        CHECK(pool_for(attrs{}.affinity(s).cpus(cpuset::range(0, 100)).strict(true)) == pool);
        CHECK(w.choose<cmwq::ordered>(attrs{}.affinity(s)).pools[0].spec == pool);
        CHECK_FALSE(w.choose<cmwq::elastic>(attrs{}.affinity(s)).pools[0].spec == pool);
    }
    for (const attrs& a : {attrs{}.nice(1), attrs{}.scheduling(cmwq::scheduling::batch), attrs{}.cpus({0, 1, 2})})
        CHECK_FALSE(pool_for(a) == pool);
}

TEST_CASE("placement: without a scope the default one of the runtime counts") {
    const world w{{.default_scope = affinity_scope::smt}};
    CHECK(pods_of(w.choose(attrs{})) == strings{"0-1", "2-3", "4-5", "6-7"});
}

TEST_CASE("placement: the threads of strict pools stay in the pod, others may run on all CPUs of the queue") {
    const world w;
    const attrs a = attrs{}.affinity(affinity_scope::cache).cpus({0, 1, 4, 5});
    for (const bool strict : {false, true}) {
        const chosen_pools chosen = w.choose(attrs(a).strict(strict));
        CHECK(pods_of(chosen) == strings{"0-1", "4-5"});
        CHECK(chosen.pools[0].spec.cpus.to_string() == (strict ? "0-1" : "0-1,4-5"));
        CHECK(chosen.cpus.to_string() == "0-1,4-5");
    }
}

TEST_CASE("placement: a pool knows its node, its priority and its class") {
    const world w;
    const chosen_pools chosen = w.choose(attrs{}.affinity(affinity_scope::numa).nice(7));
    REQUIRE(chosen.pools.size() == 2);
    CHECK((chosen.pools[0].spec.node == 0 && chosen.pools[1].spec.node == 1));
    CHECK(chosen.cpus_of_node == std::vector<unsigned>{4, 4});
    CHECK(chosen.pools[0].spec.nice == 7);
    CHECK(chosen.pools[0].spec.sched == sched_class::normal);
    const pool_spec all =
        w.choose(attrs{}.affinity(affinity_scope::system).scheduling(cmwq::scheduling::idle)).pools[0].spec;
    CHECK(all.node == no_node);
    CHECK(all.sched == sched_class::idle);
}

TEST_CASE("placement: a queue that runs one item at a time has one pool, whatever its scope") {
    const world w;
    const attrs a = attrs{}.affinity(affinity_scope::cpu).cpus({2, 3, 6});
    CHECK(pods_of(w.choose<cmwq::ordered>(a)) == strings{"2-3,6"});
    CHECK(pods_of(w.choose<strand>(a)) == strings{"2-3,6"});
    CHECK_FALSE(w.choose<cmwq::ordered>(a).pools[0].spec.managed);
    CHECK(w.choose<strand>(a).pools[0].spec.managed);
}

TEST_CASE("placement: managed pools share the CPUs, or the quota of the process, among them") {
    const world w;
    for (const affinity_scope s : {affinity_scope::cache, affinity_scope::system}) {
        const chosen_pools chosen = w.choose<cmwq::elastic>(attrs{}.affinity(s));
        int sum = 0;
        for (const pool_choice& c : chosen.pools) {
            CHECK(c.spec.managed);
            CHECK((c.spec.width >= 1 && c.spec.width <= static_cast<int>(c.spec.pod.size())));
            sum += c.spec.width;
        }
        CHECK(sum == w.width_of_machine());
        CHECK(each_is_served_once(chosen, 8));
    }
    CHECK(w.choose(attrs{}).pools[0].spec.width == 1); // without management it has no meaning
}

// proves: cpus-3
TEST_CASE("placement: the nearest pod serves a CPU that the queue does not use") {
    const world w{"numa:2 l3:2 core:4 pu:2"}; // nodes of 16 CPUs, caches of 8, cores of 2
    struct one {
        const char* why;
        cpuset cpus;
        unsigned from, by;
    };
    for (const auto& [why, cpus, from, by] :
         {one{"of its core", {0, 2, 5, 9, 16}, 4, 5}, one{"of its cache", {0, 9, 14, 16}, 3, 0},
          one{"of its node", {0, 16, 24}, 12, 0}, one{"of its node", {0, 8, 31}, 16, 31},
          one{"the only one", {31}, 0, 31}}) {
        CAPTURE(why, cpus.to_string(), from);
        const chosen_pools chosen = w.choose(attrs{}.affinity(affinity_scope::cpu).cpus(cpus));
        REQUIRE(each_is_served_once(chosen, 32));
        CHECK(pool_of(chosen, from).spec.pod == cpuset{by});
    }
}

// proves: cpus-3
TEST_CASE("placement: CPUs that are equally near to several pods are shared out among them") {
    const world w{"numa:2 l3:2 core:4 pu:1", {.unbound_cpus = cpuset::range(0, 8)}};
    const chosen_pools all = w.choose(attrs{}.affinity(affinity_scope::cpu));
    REQUIRE(each_is_served_once(all, 16));
    CHECK(all.pools.size() == 8);
    for (const pool_choice& c : all.pools) CHECK(c.indices.size() == 2); // its own, and one of the other node
    // Also if all callers have odd numbers.
    const chosen_pools even = w.choose(attrs{}.affinity(affinity_scope::cpu).cpus({0, 2, 4, 6}));
    for (const unsigned cpu : {1u, 3u, 5u, 7u}) {
        const auto same = [&](unsigned other) { return &pool_of(even, other) == &pool_of(even, cpu); };
        for (const unsigned other : {1u, 3u, 5u, 7u}) CHECK(same(other) == (other == cpu));
    }
}

TEST_CASE("placement: unbound items use the CPUs that the runtime leaves to them") {
    const world w{{.unbound_cpus = {0, 1, 2}}};
    CHECK(pods_of(w.choose(attrs{}.affinity(affinity_scope::numa))) == strings{"0-2"});
    CHECK(pods_of(w.choose(attrs{}.cpus({2, 3}).affinity(affinity_scope::numa))) == strings{"2"});
    CHECK_THROWS_AS((world{{.unbound_cpus = {99}}}), std::invalid_argument);
}

TEST_CASE("placement: if the queue may use none of its CPUs, that is refused, or it uses others and says so") {
    const world w{{.unbound_cpus = {0, 1, 2}}};
    const attrs a = attrs{}.cpus({5, 6}).affinity(affinity_scope::numa);
    CHECK_THROWS_WITH(w.choose(a), Catch::Contains("5-6") && Catch::Contains("0-2"));
    const chosen_pools chosen = w.choose(a, without_cpus::use_all);
    CHECK(pods_of(chosen) == strings{"0-2"});
    CHECK(chosen.instead.to_string() == "0-2");
    CHECK(w.choose(attrs{}).instead.empty());
}
