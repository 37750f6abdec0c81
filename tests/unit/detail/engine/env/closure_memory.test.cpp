// SPDX-License-Identifier: BSL-1.0
//
// closure_memory and closure_cache: blocks go from the worker that frees them to the threads that need them, and no
// more of them are kept than the caches have space for.
#include "catch.hpp"

#include <cmwq/detail/engine/env/closure_memory.hpp>

#include <new>
#include <set>
#include <vector>

using namespace cmwq::detail;

namespace {

void* fresh() { return ::operator new(closure_block); }

/// Takes all blocks of a cache.
std::set<void*> all_of(closure_cache& c, closure_memory& m) {
    std::set<void*> found;
    while (void* const p = c.take(m)) {
        CHECK(found.insert(p).second);
    }
    return found;
}

void free_all(const std::set<void*>& blocks) {
    for (void* p : blocks) ::operator delete(p);
}

} // namespace

TEST_CASE("closure memory: a new cache has no block") {
    closure_memory m(2);
    closure_cache c;
    CHECK(c.take(m) == nullptr);
    CHECK(m.take(0) == nullptr);
}

TEST_CASE("closure memory: a worker gets its own blocks back") {
    closure_memory m(2);
    closure_cache c;
    std::set<void*> given;
    for (int i = 0; i < 50; ++i) {
        void* const p = fresh();
        given.insert(p);
        c.give(p, m);
    }
    const std::set<void*> taken = all_of(c, m);
    CHECK(taken == given);
    free_all(taken);
}

TEST_CASE("closure memory: what one worker frees another one uses") {
    closure_memory m(2);
    closure_cache from, to;
    for (int i = 0; i < 200; ++i) from.give(fresh(), m);
    const std::set<void*> taken = all_of(to, m);
    CHECK(taken.size() >= 200 - 2 * block_stack::max); // the first worker keeps two stacks
    free_all(taken);
}

TEST_CASE("closure memory: a thread that is no worker takes what an idle worker gives") {
    closure_memory m(4);
    closure_cache c;
    for (int i = 0; i < 10; ++i) c.give(fresh(), m);
    c.give_all(1, m);
    CHECK(c.take(m) == nullptr);
    std::set<void*> taken;
    while (void* const p = m.take(0)) taken.insert(p); // looks on the next CPUs, too
    CHECK(taken.size() == 10);
    free_all(taken);
}

TEST_CASE("closure memory: nothing is left after free_all()") {
    closure_memory m(1);
    closure_cache c;
    for (int i = 0; i < 20'000; ++i) c.give(fresh(), m); // more than it keeps
    c.give_all(0, m);
    m.free_all();
    CHECK(m.take(0) == nullptr);
    free_all(all_of(c, m));
}
