// SPDX-License-Identifier: BSL-1.0
//
// In the steady state, post() and task_group::run() use the memory of closures that have run.
#include "catch.hpp"
#include "replaced_new.hpp"

#include <cmwq/cmwq.hpp>
#include <cmwq/task_group.hpp>

#include <atomic>
#include <chrono>
#include <semaphore>

namespace {

std::atomic<int> nr_allocations{0};

/// Returns the number of allocations of the whole process during `nr_rounds` calls of `f()`, after as many to warm up.
template <class F>
int allocations_of(int nr_rounds, F f) {
    for (int i = 0; i < nr_rounds; ++i) f();
    const int before = nr_allocations;
    for (int i = 0; i < nr_rounds; ++i) f();
    return nr_allocations - before;
}

constexpr int nr_rounds = 20, nr_closures = 1000;

// A thread that does not get a lock at once uses the allocator instead of waiting, so there may be a few calls.
constexpr int few = nr_rounds * nr_closures / 10;

} // namespace

bool cmwq_test::allocation_fails() noexcept {
    nr_allocations.fetch_add(1, std::memory_order_relaxed);
    return false;
}

TEMPLATE_TEST_CASE("closures: posting from outside hardly calls the allocator", "", cmwq::bound, cmwq::unbound,
                   cmwq::elastic, cmwq::ordered) {
    cmwq::workqueue<TestType> q{"q"};
    std::atomic<int> nr_run{0};
    const int n = allocations_of(nr_rounds, [&] {
        for (int i = 0; i < nr_closures; ++i) q.post([&] { ++nr_run; });
        q.flush();
    });
    CHECK(nr_run == 2 * nr_rounds * nr_closures);
    CHECK(n < few);
}

TEST_CASE("closures: posting from inside hardly calls the allocator") {
    cmwq::workqueue<cmwq::elastic> q{"q"};
    std::atomic<int> nr_run{0};
    const int n = allocations_of(nr_rounds, [&] {
        std::binary_semaphore posted{0};
        q.post([&] {
            for (int i = 0; i < nr_closures; ++i) q.post([&] { ++nr_run; });
            posted.release();
        });
        posted.acquire();
        q.flush();
    });
    CHECK(nr_run == 2 * nr_rounds * nr_closures);
    CHECK(n < few);
}

TEST_CASE("closures: tasks of groups hardly call the allocator") {
    cmwq::workqueue<cmwq::elastic> q{"q"};
    std::atomic<int> nr_run{0};
    const int n = allocations_of(nr_rounds, [&] {
        cmwq::task_group g{q};
        for (int i = 0; i < nr_closures; ++i) g.run([&] { ++nr_run; });
        g.wait();
    });
    CHECK(nr_run == 2 * nr_rounds * nr_closures);
    CHECK(n < few);
}
