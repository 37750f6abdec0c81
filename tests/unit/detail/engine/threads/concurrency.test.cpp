// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/engine/threads/concurrency.hpp>

#include <cmwq/detail/engine/threads/concurrency.hpp> // a second time: tests the include guard

#include <cmwq/detail/engine/threads/busy_workers.hpp>

#include <cmwq/detail/engine/threads/busy_workers.hpp> // a second time: tests the include guard

#include "catch.hpp"
#include "seed.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

using namespace cmwq::detail;
using cmwq_test::seed;

namespace {

struct row {
    const char* says;
    pool_snapshot pool;
    bool expected;
};

template <std::size_t N>
void check(bool (*predicate)(const pool_snapshot&) noexcept, const row (&table)[N]) {
    for (const row& r : table) {
        INFO(r.says);
        CHECK(predicate(r.pool) == r.expected);
    }
}

} // namespace

TEST_CASE("concurrency: need_more_worker is true if items wait and too few workers run") {
    check(
        &need_more_worker,
        {
            {"no items, no workers", {}, false},
            {"nothing pending, all blocked", {.running = 0, .active = 3, .limit = 5}, false},
            {"pending, no workers", {.pending = 1}, true},
            {"pending, one runs", {.pending = 9, .running = 1, .active = 1}, false},
            {"pending, the only worker is blocked", {.pending = 1, .running = 0, .active = 1}, true},
            {"pending, one of two runs", {.pending = 1, .running = 1, .active = 2}, false},
            {"pending, eleven are blocked: still urgent", {.pending = 1, .running = 0, .active = 11}, true},
            {"pending, twelve are blocked: not urgent", {.pending = 1, .running = 0, .active = 12}, false},
            {"twelve are blocked, but the limit is higher", {.pending = 1, .active = 12, .limit = 13}, true},
            {"one runs, fewer are active than the limit", {.pending = 1, .running = 1, .active = 2, .limit = 3}, true},
            {"one runs, as many are active as the limit", {.pending = 1, .running = 1, .active = 3, .limit = 3}, false},
            {"one runs, and there are two CPUs",
             {.pending = 1, .width = 2, .running = 1, .active = 3, .limit = 2},
             true},
            {"two run on two CPUs", {.pending = 1, .width = 2, .running = 2, .active = 3, .limit = 2}, false},
            {"23 are active on two CPUs", {.pending = 1, .width = 2, .running = 1, .active = 23, .limit = 2}, true},
            {"24 are active on two CPUs", {.pending = 1, .width = 2, .running = 1, .active = 24, .limit = 2}, false},
            {"not managed: as long as anything is pending", {.pending = 1, .managed = false, .active = 99}, true},
            {"not managed, nothing pending", {.managed = false}, false},
        });
}

TEST_CASE("concurrency: spare_is_urgent is true with a few blocked workers and not with many") {
    for (int width = 1; width < 4; ++width) {
        for (int active = 0; active < 12 * width; ++active) CHECK(spare_is_urgent(active, width));
        for (const int active : {12 * width, 13 * width, 100 * width}) CHECK_FALSE(spare_is_urgent(active, width));
    }
}

TEST_CASE("concurrency: may_start_working is true only if a spare stays behind") {
    check(&may_start_working, {
                                  {"no other worker is idle", {.pending = 5, .idle = 0}, false},
                                  {"one is idle", {.pending = 5, .idle = 1}, true},
                                  {"many are idle", {.idle = 40}, true},
                                  {"one is being created, none is idle", {.pending = 1, .creating = true}, false},
                              });
}

TEST_CASE("concurrency: keep_working is true if items wait and not too many workers run") {
    check(&keep_working,
          {
              {"nothing pending", {.pending = 0, .running = 1, .active = 1}, false},
              {"the only worker", {.pending = 1, .running = 1, .active = 1}, true},
              {"the others are blocked", {.pending = 1, .running = 1, .active = 7}, true},
              {"another one runs: one too many", {.pending = 1, .running = 2, .active = 2}, false},
              {"another one runs, and the limit is two", {.pending = 1, .running = 2, .active = 2, .limit = 2}, true},
              {"another one runs, more are active than the limit",
               {.pending = 1, .running = 2, .active = 3, .limit = 2},
               false},
              {"two run on two CPUs", {.pending = 1, .width = 2, .running = 2, .active = 3}, true},
              {"three run on two CPUs", {.pending = 1, .width = 2, .running = 3, .active = 3}, false},
              {"not managed: as long as anything is pending", {.pending = 1, .managed = false, .active = 99}, true},
              {"the worker itself is no longer counted as running", {.pending = 1, .running = 0, .active = 3}, true},
          });
}

TEST_CASE("concurrency: need_to_create_worker is true if no worker is idle or being created") {
    check(&need_to_create_worker, {
                                      {"no idle worker", {}, true},
                                      {"an idle worker", {.idle = 1}, false},
                                      {"one is being created", {.creating = true}, false},
                                      {"one is being created, one is idle", {.idle = 1, .creating = true}, false},
                                  });
}

TEST_CASE("concurrency: reason_to_grow names what has made one more worker necessary") {
    const struct {
        const char* says;
        pool_snapshot pool;
        std::size_t busy;
        std::uint64_t cmwq::pool_growth::* why;
    } table[] = {
        {"the pool has no worker", {.pending = 1}, 0, &cmwq::pool_growth::first},
        {"the only worker begins", {.pending = 1, .managed = false}, 0, &cmwq::pool_growth::first},
        {"not managed", {.pending = 1, .managed = false, .active = 1}, 1, &cmwq::pool_growth::unmanaged},
        {"two CPUs, one worker",
         {.pending = 1, .width = 2, .running = 1, .active = 1, .limit = 2},
         1,
         &cmwq::pool_growth::parallel},
        {"the only one is blocked", {.pending = 1, .active = 1}, 1, &cmwq::pool_growth::blocked},
        {"it waits inside the library", {.pending = 1, .active = 0}, 1, &cmwq::pool_growth::blocked},
        {"one of two is blocked, of two CPUs",
         {.pending = 1, .width = 2, .running = 1, .active = 2, .limit = 2},
         2,
         &cmwq::pool_growth::blocked},
        {"one runs, the limit is two",
         {.pending = 1, .running = 1, .active = 1, .limit = 2},
         1,
         &cmwq::pool_growth::learned},
        {"an overdue item", {.pending = 1, .running = 1, .active = 1, .overdue = true}, 1, &cmwq::pool_growth::overdue},
    };
    for (const auto& r : table) {
        INFO(r.says);
        CHECK(need_more_worker(r.pool));
        CHECK(reason_to_grow(r.pool, r.busy) == r.why);
    }
}

TEST_CASE("concurrency: too_many_workers is true beyond two idle ones and a quarter of the busy ones") {
    check(&too_many_workers, {
                                 {"none", {}, false},
                                 {"the two that a pool keeps", {.idle = 2}, false},
                                 {"three, and none works", {.idle = 3}, true},
                                 {"three, four work", {.active = 4, .idle = 3}, true},
                                 {"three, five work", {.active = 5, .idle = 3}, false},
                                 {"six, sixteen work", {.active = 16, .idle = 6}, true},
                                 {"six, seventeen work", {.active = 17, .idle = 6}, false},
                             });
}

TEST_CASE("concurrency: the predicates agree with each other over all small pools") {
    for (unsigned pending = 0; pending < 3; ++pending) {
        for (const int width : {1, 2, 5})
            for (int active = 0; active < 15; ++active) {
                for (int running = 0; running <= active; ++running) {
                    for (int limit = 1; limit < 15; ++limit) {
                        for (int idle = 0; idle < 6; ++idle) {
                            const pool_snapshot p{.pending = pending,
                                                  .width = width,
                                                  .running = running,
                                                  .active = active,
                                                  .limit = limit,
                                                  .idle = idle};
                            CAPTURE(pending, width, active, running, limit, idle);
                            // Without pending items no worker is woken or created, and none goes on working.
                            if (pending == 0) REQUIRE_FALSE((need_more_worker(p) || keep_working(p)));
                            // If an item is pending and no worker is active, one has to be woken or created,
                            // regardless of the rest of the state.
                            if (pending > 0 && active == 0) REQUIRE(need_more_worker(p));
                            // A worker that goes idle although an item is pending leaves a running worker for each CPU.
                            if (pending > 0 && running > 0 && !keep_working(p)) REQUIRE(running > width);
                            // After a worker has gone idle, the pool does not wake a worker at once.
                            if (pending > 0 && running > width && limit >= width && !keep_working(p)) {
                                pool_snapshot without = p;
                                --without.running;
                                --without.active;
                                REQUIRE_FALSE(need_more_worker(without));
                            }
                            // A pool keeps two idle workers.
                            if (too_many_workers(p)) REQUIRE(idle > 2);
                        }
                    }
                }
            }
    }
}

namespace {

struct busy {
    std::size_t busy_index = 0;
};

} // namespace

TEST_CASE("busy_workers: a walk meets each member once and no other worker") {
    busy_workers<busy> in;
    std::vector<std::unique_ptr<busy>> all;
    for (int i = 0; i < 1000; ++i) all.push_back(std::make_unique<busy>());
    REQUIRE(in.reserve(all.size()));
    const auto met = [&] {
        std::multiset<busy*> found;
        in.for_each([&](busy& b) {
            found.insert(&b);
            return true;
        });
        return found;
    };
    for (auto& b : all) in.add(*b);
    CHECK(met().size() == 1000);
    std::multiset<busy*> expected;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (i % 300 == 7) expected.insert(all[i].get());
        else in.remove(*all[i]);
    }
    CHECK(met() == expected); // the walk visits four workers, not a thousand
    int n = 0;
    in.for_each([&](busy&) { return ++n < 2; });
    CHECK(n == 2);
}

TEST_CASE("busy_workers: every walk meets a worker that stays while another thread changes the array") {
    busy_workers<busy> in;
    std::vector<std::unique_ptr<busy>> all;
    for (int i = 0; i < 20; ++i) all.push_back(std::make_unique<busy>());
    REQUIRE(in.reserve(all.size()));
    for (auto& b : all) in.add(*b); // some before `stays`, some behind it
    busy& stays = *all[10];
    std::atomic<bool> stop{false};
    std::thread changes([&, random = std::mt19937(static_cast<unsigned>(seed()))]() mutable {
        std::vector<bool> is_in(all.size(), true);
        while (!stop) {
            const std::size_t i = random() % all.size();
            if (all[i].get() == &stays) continue;
            if (is_in[i]) in.remove(*all[i]);
            else in.add(*all[i]);
            is_in[i] = !is_in[i];
        }
    });
    int missed = 0;
    for (int i = 0; i < 200'000; ++i) {
        bool found = false;
        in.for_each([&](busy& b) {
            found |= &b == &stays;
            return true;
        });
        missed += found ? 0 : 1;
    }
    stop = true;
    changes.join();
    CHECK(missed == 0);
}
