// SPDX-License-Identifier: BSL-1.0
#include <cmwq/affinity_scope.hpp>

#include <cmwq/affinity_scope.hpp> // a second time: tests the include guard

#include "catch.hpp"

using cmwq::affinity_scope;
using cmwq::parse_affinity_scope;

TEST_CASE("affinity_scope: parse_affinity_scope() and to_string() use the names of the kernel") {
    CHECK(to_string(affinity_scope::cpu) == "cpu");
    CHECK(to_string(affinity_scope::smt) == "smt");
    CHECK(to_string(affinity_scope::cache) == "cache");
    CHECK(to_string(affinity_scope::cache_shard) == "cache_shard");
    CHECK(to_string(affinity_scope::numa) == "numa");
    CHECK(to_string(affinity_scope::system) == "system");
    CHECK(to_string(affinity_scope::default_) == "default");
    for (const affinity_scope s : cmwq::affinity_scopes) CHECK(parse_affinity_scope(to_string(s)) == s);
    CHECK(parse_affinity_scope("default") == affinity_scope::default_);
}

TEST_CASE("affinity_scope: parse_affinity_scope() refuses other texts") {
    for (const char* text : {"", "CPU", "cpu ", " cpu", "cache_", "caches", "default_", "node"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_affinity_scope(text).has_value());
    }
}

TEST_CASE("affinity_scope: affinity_scopes contains all scopes except default_ in the order of their values") {
    unsigned value = 0;
    for (const affinity_scope s : cmwq::affinity_scopes) CHECK(static_cast<unsigned>(s) == value++);
    CHECK(static_cast<unsigned>(affinity_scope::default_) == value);
    static_assert(cmwq::default_affinity_scope == affinity_scope::cache_shard);
}
