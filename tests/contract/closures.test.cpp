// SPDX-License-Identifier: BSL-1.0
//
// In the steady state, post() and task_group::run() use the memory of closures that have run. And what an operator new
// of the program may do, which the library calls.
#include "catch.hpp"
#include "errands.hpp"
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

namespace {

/// Called by each allocation, but not by one that it makes itself.
std::atomic<void (*)()> called_by_new{nullptr};
std::atomic<int> nr_calls{0};
constinit thread_local bool in_call = false;

} // namespace

bool cmwq_test::allocation_fails() noexcept {
    nr_allocations.fetch_add(1, std::memory_order_relaxed);
    if (in_call) return false;
    in_call = true;
    if (void (*const call)() = called_by_new) {
        call();
        ++nr_calls;
    }
    in_call = false;
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

namespace {

struct used_by_new {
    cmwq::workqueue<> queue{"used by new"};
    std::atomic<int> runs{0};
    cmwq::work<void (*)()> item{[] { ++used->runs; }};
    cmwq::delayed_work<void (*)()> timer{[] {}};
    static inline used_by_new* used = nullptr; // never destroyed: threads of the process-wide runtime may be in a call
};

} // namespace

// proves: life-19
TEST_CASE("callers: an operator new of the program queues and modifies and cancels items in each call of the library") {
    used_by_new::used = new used_by_new;
    called_by_new = [] {
        used_by_new& u = *used_by_new::used;
        u.queue.modify(std::chrono::hours{1}, u.timer);
        u.timer.cancel();
        u.queue.queue(u.item);
    };
    {
        cmwq::runtime rt;
        CHECK(cmwq_test::errands::that_do_not_wait(rt) == "");
        CHECK(cmwq_test::errands::that_wait<>(rt) == "");
        rt.set_default_scope(cmwq::affinity_scope::system);
        CHECK(rt.dump() != "");
    }
    called_by_new = nullptr;
    used_by_new::used->queue.flush();
    CHECK(nr_calls > 100);
    CHECK(used_by_new::used->runs > 0);
}
