// SPDX-License-Identifier: BSL-1.0
//
// overtaking alone. Times are in milliseconds; a look each millisecond.
#include "catch.hpp"
#include "nanoseconds.hpp"

#include <cmwq/detail/engine/ledger/overtaking.hpp>

#include <cstdint>

using namespace cmwq::detail;
using cmwq_test::ms;

namespace {

constexpr int nothing = -1;

/// The times of items are those at which they were queued.
class watched_pool {
public:
    /// One more look, a millisecond after the last one.
    bool look(int oldest, int started, std::int64_t limit = 100) {
        const ages a = at(++now_);
        return o_.has_lasted(a, place(a, oldest), place(a, started), ms, limit * ms);
    }
    /// The same n times; how often it was true. The started item was queued just now.
    int look_often(int n, int oldest, std::int64_t limit = 100) {
        int found = 0;
        for (int i = 0; i < n; ++i) found += look(oldest, now_, limit) ? 1 : 0;
        return found;
    }
    [[nodiscard]] std::int64_t lasted() const { return o_.lasted() / ms; }
    [[nodiscard]] int now() const { return now_; }

private:
    static wait_stamp stamp(int time) { return stamp_of_tick((time + begin) * ms); }
    static ages at(int time) { return {stamp(0), stamp(time)}; }
    static ages::place place(const ages& a, int time) { return time == nothing ? ages::none : a.of(stamp(time)); }

    static constexpr int begin = 5'000'000; // the stamps begin again meanwhile
    int now_ = 0;
    overtaking o_;
};

} // namespace

TEST_CASE("overtaking: an item is noticed that waits while later ones start, and again after the same time") {
    watched_pool p;
    p.look_often(50, nothing);
    const int queued = p.now();
    CHECK(p.look_often(115, queued) == 0); // for 20 ms what starts was queued at about the same time
    CHECK(p.look_often(10, queued) == 1);
    CHECK(p.lasted() >= 100);
    CHECK(p.look_often(90, queued) == 0);
    CHECK(p.look_often(10, queued) == 1);
    CHECK_FALSE(p.look(nothing, queued)); // it has started
    CHECK(p.lasted() == 0);
}

TEST_CASE("overtaking: a backlog that is served in turn is not noticed, however old it is") {
    watched_pool p;
    p.look_often(50, nothing);
    for (int i = 0; i < 5'000; ++i) REQUIRE_FALSE(p.look(i / 2 + 1, i / 2));
    CHECK(p.lasted() == 0);
}

TEST_CASE("overtaking: a backlog that was queued within 20 ms may be served in any order") {
    watched_pool p;
    p.look_often(20, nothing);
    for (int i = 0; i < 5'000; ++i) REQUIRE_FALSE(p.look(1, 20 - i % 19));
    CHECK(p.lasted() == 0);
}

TEST_CASE("overtaking: one start in turn ends the time") {
    watched_pool p;
    p.look_often(50, nothing);
    const int queued = p.now();
    for (int i = 0; i < 20; ++i) {
        CHECK(p.look_often(90, queued) == 0);
        CHECK_FALSE(p.look(queued, queued + 1));
        CHECK(p.lasted() == 0);
    }
}

TEST_CASE("overtaking: while nothing starts the time goes on, but only after a start") {
    watched_pool p;
    p.look_often(50, nothing);
    const int queued = p.now();
    for (int i = 0; i < 500; ++i) REQUIRE_FALSE(p.look(queued, nothing)); // another check is for that
    CHECK_FALSE(p.look(queued, p.now()));
    int found = 0;
    for (int i = 0; i < 250; ++i) found += p.look(queued, nothing) ? 1 : 0;
    CHECK(found == 2);
}

TEST_CASE("overtaking: the next oldest item has its own time") {
    watched_pool p;
    p.look_often(50, nothing);
    const int first = p.now();
    p.look_often(60, first);
    const int second = p.now(); // what has started until now was not queued long after this one
    CHECK(p.look_often(30, first) == 0);
    CHECK(p.look_often(95, second) == 0);
    CHECK(p.look_often(10, second) == 1);
}

TEST_CASE("overtaking: without a limit nothing is found, but the time is known") {
    watched_pool p;
    p.look_often(50, nothing);
    const int queued = p.now();
    CHECK(p.look_often(500, queued, 0) == 0);
    CHECK(p.lasted() >= 470);
}
