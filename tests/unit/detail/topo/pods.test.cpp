// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/topo/pods.hpp>

#include <cmwq/detail/topo/pods.hpp> // a second time: tests the include guard

#include "catch.hpp"
#include "seed.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

using cmwq::affinity_scope;
using cmwq::detail::cache_shard_of;
using cmwq::detail::cpu_location;
using cmwq::detail::nr_cache_shards;
using cmwq::detail::pod_numbers;

namespace {

using numbers = std::vector<unsigned>;

/// One cache with that many cores of one CPU each.
std::vector<cpu_location> cores(unsigned n) {
    std::vector<cpu_location> locations;
    for (unsigned c = 0; c < n; ++c) locations.push_back({c, c, 0, 0});
    return locations;
}

numbers shard_sizes(unsigned n, unsigned target) {
    numbers sizes;
    for (const unsigned pod : pod_numbers(cores(n), affinity_scope::cache_shard, target)) {
        if (pod >= sizes.size()) sizes.resize(pod + 1);
        ++sizes[pod];
    }
    return sizes;
}

} // namespace

TEST_CASE("pods: without CPUs there are no pods") {
    for (const affinity_scope s : cmwq::affinity_scopes) CHECK(pod_numbers({}, s, 8).empty());
}

TEST_CASE("pods: each scope uses its own property of the CPUs") {
    // Two nodes, three caches, four cores, siblings far apart.
    const std::vector<cpu_location> locations = {{0, 7, 3, 1}, {1, 5, 9, 0}, {2, 6, 9, 0},
                                                 {5, 8, 4, 1}, {8, 7, 3, 1}, {9, 5, 9, 0}};
    CHECK(pod_numbers(locations, affinity_scope::cpu, 8) == numbers{0, 1, 2, 3, 4, 5});
    CHECK(pod_numbers(locations, affinity_scope::smt, 8) == numbers{0, 1, 2, 3, 0, 1});
    CHECK(pod_numbers(locations, affinity_scope::cache, 8) == numbers{0, 1, 1, 2, 0, 1});
    CHECK(pod_numbers(locations, affinity_scope::cache_shard, 8) == numbers{0, 1, 1, 2, 0, 1});
    CHECK(pod_numbers(locations, affinity_scope::cache_shard, 1) == numbers{0, 1, 2, 3, 0, 1});
    CHECK(pod_numbers(locations, affinity_scope::default_, 1) == numbers{0, 1, 2, 3, 0, 1});
    CHECK(pod_numbers(locations, affinity_scope::numa, 8) == numbers{0, 1, 1, 0, 0, 1});
    CHECK(pod_numbers(locations, affinity_scope::system, 8) == numbers{0, 0, 0, 0, 0, 0});
}

TEST_CASE("pods: the number of shards of a cache depends on its cores") {
    for (unsigned n = 1; n <= 11; ++n) CHECK(nr_cache_shards(n, 8) == 1);
    for (unsigned n = 12; n <= 19; ++n) CHECK(nr_cache_shards(n, 8) == 2);
    CHECK(nr_cache_shards(20, 8) == 3);
    CHECK(nr_cache_shards(72, 8) == 9);
    CHECK(nr_cache_shards(5, 1) == 5);
    CHECK(nr_cache_shards(4, 3) == 1);
    CHECK(nr_cache_shards(5, 3) == 2);
    CHECK(nr_cache_shards(65'536, ~0u) == 1);
    CHECK(nr_cache_shards(65'536, 1) == 65'536);
}

TEST_CASE("pods: shards differ by one core at most and the larger ones come first") {
    CHECK(shard_sizes(1, 8) == numbers{1});
    CHECK(shard_sizes(11, 8) == numbers{11});
    CHECK(shard_sizes(12, 8) == numbers{6, 6});
    CHECK(shard_sizes(13, 8) == numbers{7, 6});
    CHECK(shard_sizes(20, 8) == numbers{7, 7, 6});
    CHECK(shard_sizes(72, 8) == numbers{8, 8, 8, 8, 8, 8, 8, 8, 8});
    CHECK(shard_sizes(7, 2) == numbers{2, 2, 2, 1});
    CHECK(cache_shard_of(0, 13, 2) == 0);
    CHECK(cache_shard_of(6, 13, 2) == 0);
    CHECK(cache_shard_of(7, 13, 2) == 1);
    CHECK(cache_shard_of(12, 13, 2) == 1);
}

TEST_CASE("pods: shards consist of cores and SMT siblings stay together") {
    // 12 cores of two threads, numbered as Linux does: 0-11 the first threads, 12-23 the second ones.
    std::vector<cpu_location> locations;
    for (unsigned c = 0; c < 24; ++c) locations.push_back({c, c % 12, 0, 0});
    const numbers pods = pod_numbers(locations, affinity_scope::cache_shard, 8);
    for (unsigned c = 0; c < 24; ++c) CHECK(pods[c] == (c % 12) / 6);
}

TEST_CASE("pods: the CPUs of two caches may alternate and pods are sorted by their lowest CPU") {
    std::vector<cpu_location> locations;
    for (unsigned c = 0; c < 8; ++c) locations.push_back({c, c, 1 - c % 2, 0});
    CHECK(pod_numbers(locations, affinity_scope::cache_shard, 2) == numbers{0, 1, 0, 1, 2, 3, 2, 3});
}

TEST_CASE("pods: every random machine has valid pods") {
    std::mt19937_64 random(cmwq_test::seed());
    const auto up_to = [&](unsigned n) { return static_cast<unsigned>(random() % n) + 1; };
    for (int round = 0; round < 300; ++round) {
        // Nodes contain caches, which contain cores of one to four threads. The CPU numbers are random, with gaps.
        std::vector<cpu_location> locations;
        unsigned core = 0, llc = 0;
        for (unsigned node = 0, nodes = up_to(4); node < nodes; ++node) {
            for (unsigned n = up_to(3); n > 0; --n, ++llc) {
                for (unsigned k = up_to(random() % 4 == 0 ? 60 : 12); k > 0; --k, ++core) {
                    const unsigned id = core * 7 % 1009; // the numbers of cores are in no order
                    for (unsigned t = up_to(random() % 3 == 0 ? 4 : 1); t > 0; --t) {
                        locations.push_back({0, id, llc, node * 2});
                    }
                }
            }
        }
        std::shuffle(locations.begin(), locations.end(), random);
        unsigned cpu = 0;
        for (cpu_location& p : locations) p.cpu = cpu += up_to(3);
        const unsigned target = up_to(12);
        CAPTURE(round, locations.size(), target);

        std::map<unsigned, std::set<unsigned>> cores_of_llc;
        for (const cpu_location& p : locations) cores_of_llc[p.llc].insert(p.core);

        std::map<affinity_scope, numbers> all;
        for (const affinity_scope s : cmwq::affinity_scopes) {
            const numbers pods = pod_numbers(locations, s, target);
            REQUIRE(pods.size() == locations.size()); // every CPU is in one pod
            unsigned next = 0;
            for (const unsigned pod : pods) {
                REQUIRE(pod <= next); // pods are numbered by their lowest CPU, without gaps
                next += pod == next ? 1 : 0;
            }
            all[s] = pods;
        }

        const auto same = [&](affinity_scope s, auto member) {
            for (std::size_t i = 0; i < locations.size(); ++i) {
                for (std::size_t j = 0; j < i; ++j) {
                    if ((locations[i].*member == locations[j].*member) != (all[s][i] == all[s][j])) return false;
                }
            }
            return true;
        };
        REQUIRE(same(affinity_scope::cpu, &cpu_location::cpu));
        REQUIRE(same(affinity_scope::smt, &cpu_location::core));
        REQUIRE(same(affinity_scope::cache, &cpu_location::llc));
        REQUIRE(same(affinity_scope::numa, &cpu_location::node));

        std::map<unsigned, std::set<unsigned>> cores_of_shard, shards_of_llc, shards_of_core;
        for (std::size_t i = 0; i < locations.size(); ++i) {
            const unsigned shard = all[affinity_scope::cache_shard][i];
            cores_of_shard[shard].insert(locations[i].core);
            shards_of_llc[locations[i].llc].insert(shard);
            shards_of_core[locations[i].core].insert(shard);
        }
        for (const auto& [id, shards] : shards_of_core) REQUIRE(shards.size() == 1);
        std::size_t nr_shards = 0;
        for (const auto& [id, shards] : shards_of_llc) {
            const std::size_t n = cores_of_llc[id].size();
            REQUIRE(shards.size() == std::max<std::size_t>(1, (n + target / 2) / target));
            std::size_t smallest = n, largest = 0, previous = n;
            for (const unsigned s : shards) { // in ascending order: by lowest CPU
                const std::size_t size = cores_of_shard[s].size();
                smallest = std::min(smallest, size);
                largest = std::max(largest, size);
                REQUIRE(size <= previous);
                previous = size;
            }
            REQUIRE(largest - smallest <= 1);
            nr_shards += shards.size();
        }
        REQUIRE(cores_of_shard.size() == nr_shards); // no shard spans two caches
    }
}
