// SPDX-License-Identifier: BSL-1.0
#include <cmwq/topology.hpp>

#include <cmwq/topology.hpp> // a second time: tests the include guard

#ifdef HWLOC_API_VERSION
#error "topology.hpp includes hwloc.h"
#endif

#include "catch.hpp"

#include <stdexcept>
#include <string>
#include <type_traits>

using cmwq::affinity_scope;
using cmwq::cpuset;
using cmwq::topology;

static_assert(std::is_copy_constructible_v<topology> && std::is_nothrow_copy_constructible_v<topology>);

TEST_CASE("topology: a flat machine has one cache and one node") {
    const topology t = topology::flat({1, 3, 70});
    CHECK(t.cpus() == cpuset{1, 3, 70});
    CHECK_FALSE(t.simulated());
    CHECK(t.nr_nodes() == 1);
    CHECK(t.node_of(70) == 0);
    for (const affinity_scope s : {affinity_scope::cpu, affinity_scope::smt}) {
        REQUIRE(t.pods(s).size() == 3);
        CHECK(t.pods(s)[2].cpus == cpuset{70});
        CHECK(t.pods(s)[2].node == 0);
        CHECK(t.pod_of(s, 3) == 1);
    }
    for (const affinity_scope s : {affinity_scope::cache, affinity_scope::cache_shard, affinity_scope::numa}) {
        REQUIRE(t.pods(s).size() == 1);
        CHECK(t.pods(s)[0].cpus == t.cpus());
        CHECK(t.pods(s)[0].node == 0);
    }
    CHECK(t.pods(affinity_scope::system)[0].cpus == t.cpus());
    CHECK(t.pods(affinity_scope::system)[0].node == topology::no_node);
    CHECK(topology::flat(cpuset::range(0, 20)).pods(affinity_scope::cache_shard).size() == 3);
    CHECK_THROWS_AS(topology::flat({}), std::invalid_argument);
}

TEST_CASE("topology: a machine may have several nodes") {
    const topology t = topology::synthetic("numa:2(indexes=4,1) core:2 pu:2");
    CHECK(t.simulated());
    CHECK(t.nr_nodes() == 2);
    CHECK(t.node_of(0) == 4);
    CHECK(t.node_of(7) == 1);
    CHECK(t.cpus_of_node(4) == cpuset::range(0, 4));
    CHECK(t.cpus_of_node(1) == cpuset::range(4, 8));
    CHECK((t.has_node(1) && t.has_node(4)));
    // CPUs and nodes that the machine does not have:
    CHECK(t.node_of(8) == topology::no_node);
    CHECK(t.node_of(~0u) == topology::no_node);
    CHECK(t.cpus_of_node(0).empty());
    CHECK(t.cpus_of_node(topology::no_node).empty());
    CHECK_FALSE(t.has_node(0));
    CHECK_FALSE(t.has_node(topology::no_node));
}

TEST_CASE("topology: each CPU has a pod") {
    const topology t = topology::synthetic("pack:2 numa:1 l3:2 core:4 pu:2");
    for (const affinity_scope s : cmwq::affinity_scopes) {
        std::size_t members = 0;
        for (std::size_t i = 0; i < t.pods(s).size(); ++i) {
            members += t.pods(s)[i].cpus.size();
            for (const unsigned c : t.pods(s)[i].cpus) CHECK(t.pod_of(s, c) == i);
        }
        CHECK(members == 32);
    }
    CHECK(t.pods(affinity_scope::default_).data() == t.pods(affinity_scope::cache_shard).data());
    CHECK(t.pod_of(affinity_scope::default_, 31) == 3);
    CHECK_THROWS_AS(t.pod_of(affinity_scope::cpu, 32), std::out_of_range);
    CHECK_THROWS_AS(t.pod_of(affinity_scope::system, ~0u), std::out_of_range);
}

TEST_CASE("topology: a pod of several nodes has no node") {
    // A cache over two nodes, as with sub-NUMA clustering.
    const topology t = topology::synthetic("l3:1 numa:2 core:2 pu:1");
    REQUIRE(t.pods(affinity_scope::cache).size() == 1);
    CHECK(t.pods(affinity_scope::cache)[0].node == topology::no_node);
    CHECK(t.pods(affinity_scope::numa)[1].node == 1);
    CHECK(t.pods(affinity_scope::system)[0].node == topology::no_node);
    // The same with two nodes whose CPUs alternate.
    const topology back = topology::synthetic("l3:1 numa:2 core:2 pu:1(indexes=0,2,1,3)");
    CHECK(back.pods(affinity_scope::cache)[0].node == topology::no_node);
    // The node of the remaining part is known again.
    CHECK(t.restricted({2, 3}).pods(affinity_scope::cache)[0].node == 1);
    CHECK(t.restricted({2, 3}).pods(affinity_scope::system)[0].node == topology::no_node);
}

TEST_CASE("topology: restricted() keeps only the given CPUs") {
    const topology t = topology::synthetic("pack:2 l3:1 core:16 pu:2"); // CPUs 0-31 and 32-63
    CHECK(t.pods(affinity_scope::cache_shard).size() == 4);
    const topology part = t.restricted(cpuset::range(9, 40) | cpuset{1000});
    CHECK(part.cpus() == cpuset::range(9, 40));
    CHECK(part.simulated());
    REQUIRE(part.pods(affinity_scope::cache).size() == 2);
    CHECK(part.pods(affinity_scope::cache)[0].cpus == cpuset::range(9, 32));
    CHECK(part.pods(affinity_scope::smt)[0].cpus == cpuset{9}); // its sibling is gone
    CHECK(part.pods(affinity_scope::smt)[1].cpus == cpuset{10, 11});
    // 12 cores of the first cache, 4 of the second: shards of 6, 6 and 4.
    REQUIRE(part.pods(affinity_scope::cache_shard).size() == 3);
    CHECK(part.pods(affinity_scope::cache_shard)[0].cpus == cpuset::range(9, 20));
    CHECK(part.pods(affinity_scope::cache_shard)[1].cpus == cpuset::range(20, 32));
    CHECK(part.pods(affinity_scope::cache_shard)[2].cpus == cpuset::range(32, 40));
    CHECK(part.pod_of(affinity_scope::cpu, 9) == 0);
    CHECK_THROWS_AS(part.pod_of(affinity_scope::cpu, 8), std::out_of_range);
    CHECK(t.cpus().size() == 64); // the first topology is unchanged

    CHECK_THROWS_AS(t.restricted({}), std::invalid_argument);
    CHECK_THROWS_WITH(t.restricted({64, 65}), Catch::Matchers::Contains("0-63") && Catch::Matchers::Contains("64-65"));
    CHECK_FALSE(topology::flat({0, 1}).restricted({1}).simulated());
}

TEST_CASE("topology: with_cache_shard_size() changes the size of shards") {
    const topology t = topology::synthetic("l3:1 core:12 pu:1");
    CHECK(t.cache_shard_size() == topology::default_cache_shard_size);
    const topology fine = t.with_cache_shard_size(3);
    CHECK(fine.cache_shard_size() == 3);
    CHECK(fine.simulated());
    CHECK(fine.pods(affinity_scope::cache_shard).size() == 4);
    CHECK(fine.restricted(cpuset::range(0, 6)).pods(affinity_scope::cache_shard).size() == 2);
    CHECK(t.with_cache_shard_size(~0u).pods(affinity_scope::cache_shard).size() == 1);
    CHECK_THROWS_AS(t.with_cache_shard_size(0), std::invalid_argument);
}

TEST_CASE("topology: its pods exist as long as any copy of it") {
    auto pods = topology::flat({0}).pods(affinity_scope::cpu);
    {
        const topology t = topology::flat({2, 5});
        const topology copy = t; // NOLINT(performance-unnecessary-copy-initialization)
        pods = copy.pods(affinity_scope::cpu);
        CHECK(pods.data() == t.pods(affinity_scope::cpu).data());
        CHECK(pods[1].cpus == cpuset{5});
    }
}

TEST_CASE("topology: describe() prints the requested scopes") {
    const topology t = topology::flat({0, 33});
    const affinity_scope some[] = {affinity_scope::system, affinity_scope::cpu};
    CHECK(describe(t, affinity_scope::cpu, some) == "Affinity Scopes\n"
                                                    "===============\n"
                                                    "wq_unbound_cpumask=00000002,00000001\n"
                                                    "\n"
                                                    "SYSTEM\n"
                                                    "  nr_pods  1\n"
                                                    "  pod_cpus [0]=00000002,00000001\n"
                                                    "  pod_node [0]=-1\n"
                                                    "  cpu_pod  [0]=0 [33]=0\n"
                                                    "\n"
                                                    "CPU (default)\n"
                                                    "  nr_pods  2\n"
                                                    "  pod_cpus [0]=00000001 [1]=00000002,00000000\n"
                                                    "  pod_node [0]=0 [1]=0\n"
                                                    "  cpu_pod  [0]=0 [33]=1\n");
    CHECK(describe(t) == describe(t, affinity_scope::cache_shard));
    CHECK(describe(t).find("CACHE_SHARD (default)\n") != std::string::npos);
    CHECK(describe(t, affinity_scope::numa).find("NUMA (default)\n") != std::string::npos);
}
