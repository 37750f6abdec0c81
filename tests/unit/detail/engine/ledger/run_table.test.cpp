// SPDX-License-Identifier: BSL-1.0
//
// run_table: finds the worker that runs an item, also after it has grown, and among followers.
#include "bare_pool.hpp"
#include "catch.hpp"

#include <cmwq/detail/engine/ledger/run_table.hpp>

#include <deque>

using namespace cmwq::detail;
using cmwq::work_base;
using cmwq_test::bare_env;
using cmwq_test::bare_pool;
using item = cmwq_test::bare_item;

namespace {

struct runs {
    worker& begin(work_base& w) {
        worker& by = pool.add_worker();
        by.current.store(&w, relaxed);
        table.add(by);
        return by;
    }
    void end(worker& by) {
        table.remove(by);
        by.current.store(nullptr, relaxed);
    }

    bare_env env;
    bare_pool pool{env};
    run_table table;
};

} // namespace

TEST_CASE("run table: an item is found while it runs") {
    runs r;
    std::deque<item> items;
    for (int i = 0; i < 40; ++i) items.emplace_back(); // more than one for each bucket
    std::deque<worker*> by;
    for (item& w : items) {
        CHECK(r.table.find(w) == nullptr);
        by.push_back(&r.begin(w));
    }
    for (std::size_t i = 0; i < items.size(); ++i) CHECK(r.table.find(items[i]) == by[i]);
    for (std::size_t i = 0; i < items.size(); i += 2) r.end(*by[i]);
    for (std::size_t i = 0; i < items.size(); ++i) CHECK(r.table.find(items[i]) == (i % 2 == 0 ? nullptr : by[i]));
}

TEST_CASE("run table: growing loses no run, and without memory nothing changes") {
    runs r;
    std::deque<item> items;
    std::deque<worker*> by;
    for (int i = 0; i < 20; ++i) by.push_back(&r.begin(items.emplace_back()));
    CHECK(r.table.is_small_for(20));
    std::pair<run_table::buckets, std::size_t> none{nullptr, 64};
    r.table.move_to(none);
    CHECK(r.table.is_small_for(20));
    auto room = run_table::make_room(20);
    r.table.move_to(room);
    CHECK_FALSE(r.table.is_small_for(20));
    for (std::size_t i = 0; i < items.size(); ++i) CHECK(r.table.find(items[i]) == by[i]);
}

TEST_CASE("run table: a follower is found by the item that it runs now, and then ends its run under the lock") {
    runs r;
    item first, second;
    worker& by = r.begin(first);
    r.end(by);
    REQUIRE(r.table.add_follower(by));
    CHECK(by.is_follower);
    by.current.store(&second, relaxed); // without the lock
    CHECK(r.table.find(first) == nullptr);
    CHECK(r.table.find(second) == &by);
    CHECK_FALSE(by.end_item_without_lock()); // somebody depends on this end
    r.table.remove_follower(by);
    CHECK_FALSE(by.is_follower);
    CHECK(r.table.find(second) == nullptr);
}

TEST_CASE("run table: sixteen workers may be followers at once") {
    runs r;
    for (int i = 0; i < 16; ++i) CHECK(r.table.add_follower(r.pool.add_worker()));
    CHECK_FALSE(r.table.add_follower(r.pool.add_worker()));
    // They are unlinked before they are destroyed.
    r.pool.ledger.for_each_record([&](run_record& k) {
        if (k.is_follower) r.table.remove_follower(k);
    });
}
