// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/sync/lock_rank.hpp>

#include <cmwq/detail/sync/lock_rank.hpp> // a second time: tests the include guard
#include <cmwq/detail/sync/mutex.hpp>

#include "catch.hpp"

#include <functional>
#include <set>
#include <string>
#include <thread>

using namespace cmwq::detail;

// Held locks are recorded only where assertions are compiled. An inversion ends the program:
// tests/death/alone/lock_order.cpp.

#if CMWQ_ASSERTS

namespace {

std::uint32_t held() { return this_thread_slots().held_ranks; }

void hold_for_good(ranked_mutex<lock_rank::queue>& m) CMWQ_NO_TSA { m.lock(); }

} // namespace

TEST_CASE("lock rank: a lock is recorded while a thread holds it") {
    ranked_mutex<lock_rank::queue> queue;
    ranked_mutex<lock_rank::pool> pool;
    CHECK(held() == 0);
    {
        const scoped_lock q(queue);
        CHECK(held() == rank_bit(lock_rank::queue));
        {
            const scoped_lock p(pool);
            CHECK(held() == (rank_bit(lock_rank::queue) | rank_bit(lock_rank::pool)));
        }
        CHECK(held() == rank_bit(lock_rank::queue));
        const scoped_lock again(pool);
    }
    CHECK(held() == 0);
    // Unlocks the lock that was not taken last.
    queue.lock();
    pool.lock();
    queue.unlock();
    CHECK(held() == rank_bit(lock_rank::pool));
    pool.unlock();
    const scoped_lock first(queue);
}

TEST_CASE("lock rank: locks of other threads do not matter") {
    ranked_mutex<lock_rank::pool> mine;
    ranked_mutex<lock_rank::once> its;
    const scoped_lock g(mine);
    std::uint32_t seen = 0;
    std::thread([&] {
        const scoped_lock h(its);
        seen = held();
    }).join();
    CHECK(seen == rank_bit(lock_rank::once));
    CHECK(held() == rank_bit(lock_rank::pool));
}

TEST_CASE("lock rank: try_lock is allowed in any order and recorded if it succeeds") {
    ranked_mutex<lock_rank::queue> queue, other;
    ranked_mutex<lock_rank::pool> pool;
    pool.lock();
    const bool got_it = queue.try_lock();
    CHECK(got_it);
    CHECK(held() == (rank_bit(lock_rank::queue) | rank_bit(lock_rank::pool)));
    pool.unlock();
    CHECK_FALSE(queue.try_lock());
    CHECK(held() == rank_bit(lock_rank::queue));
    if (got_it) queue.unlock();
    std::thread(hold_for_good, std::ref(other)).join();
    CHECK_FALSE(other.try_lock());
    CHECK(held() == 0);
}

#endif

TEST_CASE("lock rank: a mutex with a rank is not larger than one without") {
    static_assert(sizeof(ranked_mutex<lock_rank::pool>) == sizeof(mutex));
}

TEST_CASE("lock rank: each rank has its own name") {
    std::set<std::string> names;
    unsigned nr = 0;
    for (; nr <= static_cast<unsigned>(lock_rank::thaw); ++nr) names.insert(name_of(static_cast<lock_rank>(nr)));
    CHECK(names.size() == nr);
    CHECK_FALSE(names.contains("?"));
}
