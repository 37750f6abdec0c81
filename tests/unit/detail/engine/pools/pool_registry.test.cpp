// SPDX-License-Identifier: BSL-1.0
//
// pool_registry alone: who shares a pool, and what becomes of its record when nobody uses it. No pool has a thread
// here.
#include "bare_pool.hpp"
#include "catch.hpp"

#include <cmwq/detail/engine/pools/pool_registry.hpp>

#include <cstdint>

using namespace cmwq::detail;
using cmwq::cpuset;
using cmwq_test::bare_env;

namespace {

struct pools {
    bare_env env{"numa:1 core:4 pu:1"};
    pool_registry& registry = env.get().pools.shared();

    static pool_spec on(cpuset cpus, bool managed = false) { return {.cpus = cpus, .pod = cpus, .managed = managed}; }
    [[nodiscard]] unsigned users_of(const item_pool& p) const { return registry.usage_of(p, INT64_MAX).users; }
};

} // namespace

TEST_CASE("pool registry: equal attributes share a pool, and each difference makes another one") {
    pools p;
    item_pool& first = p.registry.get(pools::on({0, 1}));
    CHECK(&p.registry.get(pools::on({0, 1})) == &first);
    CHECK(p.users_of(first) == 2);
    pool_spec nice = pools::on({0, 1}), batch = nice, narrow = nice, wide = nice;
    nice.nice = 1;
    batch.sched = sched_class::batch;
    narrow.pod = {0};
    wide.cpus = {0, 1, 2};
    for (const pool_spec& other : {nice, batch, narrow, wide, pools::on({2, 3}), pools::on({0, 1}, true)}) {
        item_pool& pool = p.registry.get(other);
        CHECK(&pool != &first);
        CHECK(pool.spec() == other);
        CHECK(p.users_of(pool) == 1);
        CHECK((pool.concurrency != nullptr) == other.managed);
        CHECK((pool.locals != nullptr) == other.managed);
    }
    CHECK(p.registry.size() == 7);
}

TEST_CASE("pool registry: a pool ends with its last user, and its record serves the next pool of its kind") {
    pools p;
    item_pool& first = p.registry.get(pools::on({0}));
    p.registry.put(p.registry.get(pools::on({0})));
    p.registry.end_unused();
    CHECK(&p.registry.get(pools::on({0})) == &first); // it is still in use
    p.registry.put(first);
    p.registry.put(first);
    CHECK(p.env.get().requests.take_cleaning());
    CHECK(p.registry.usage_of(first, INT64_MAX).spec == pool_spec{}); // it has no attributes without a user
    p.registry.end_unused();
    item_pool& managed = p.registry.get(pools::on({1}, true));
    CHECK(&managed != &first); // a record keeps its kind
    CHECK(&p.registry.get(pools::on({1})) == &first);
    CHECK(first.spec().cpus == cpuset{1});
    p.registry.put(managed);
    p.registry.end_unused();
    item_pool& third = p.registry.get(pools::on({2}));
    CHECK(&third != &managed);
    CHECK(&p.registry.get(pools::on({3}, true)) == &managed);
    CHECK(p.registry.size() == 3);
}

TEST_CASE("pool registry: the id of a pool that has ended names a record that is safe to read") {
    pools p;
    item_pool& pool = p.registry.get(pools::on({0}));
    const std::uint64_t id = pool.id();
    p.registry.put(pool);
    p.registry.end_unused();
    CHECK(&p.env.get().pools.pool(id) == &pool);
    CHECK_FALSE(pool.pending());
}

TEST_CASE("pool registry: the sentinels of its CPUs watch a managed pool") {
    pools p;
    pool_spec spec = pools::on({0, 1, 2}, true);
    spec.pod = {0, 1};
    item_pool& pool = p.registry.get(spec);
    cpuset watched;
    pool.concurrency->for_each_sentinel([&](unsigned index) { watched.insert(index); });
    const cpu_map& cpus = p.env.get().cpus;
    CHECK(watched == cpus.indices_of(cpus.sentinel_cpus_of(spec))); // under a quota, fewer than its CPUs
    CHECK(watched.contains(0));
}
