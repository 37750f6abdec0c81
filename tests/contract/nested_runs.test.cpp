// SPDX-License-Identifier: BSL-1.0
//
// An item of an elastic queue that waits for another item of its pool runs that item itself, inside its own run. All
// promises hold for the inner item as for any other.
#include "caller.hpp"
#include "catch.hpp"
#include "error_of.hpp"
#include "eventually.hpp"
#include "one_cpu.hpp"
#include "policy_list.hpp"

#include <cmwq/cmwq.hpp>
#include <cmwq/task_group.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using cmwq::elastic;
using cmwq::queue_status;
using cmwq_test::error_of;
using cmwq_test::eventually;
using cmwq_test::one_cpu;
using namespace std::chrono_literals;

namespace {

using item = cmwq::work<std::function<void()>>;
using queue = cmwq::workqueue<elastic>;

/// Runs `f` as an item, and returns when it has ended.
void run_on(queue& q, std::function<void()> f) {
    item outer{std::move(f)};
    q.queue(outer);
    outer.flush();
}

} // namespace

TEST_CASE("nested runs: an item runs the item that it waits for in its own thread") {
    cmwq::runtime rt{one_cpu()};
    queue q{rt, "q"};
    std::thread::id by;
    cmwq::work_base* current = nullptr;
    item inner{[&] {
        by = std::this_thread::get_id();
        current = cmwq::this_work::current();
    }};
    run_on(q, [&] {
        cmwq::work_base* const outer = cmwq::this_work::current();
        CHECK_FALSE(inner.flush()); // it is idle
        q.queue(inner);
        CHECK(inner.flush());
        CHECK(by == std::this_thread::get_id());
        CHECK(current == &inner);
        CHECK(cmwq::this_work::current() == outer);
        CHECK(cmwq::this_work::queue() == &q);
        CHECK_FALSE(inner.busy());
        q.queue(inner); // once more, under the record of the first run
        CHECK(inner.flush());
    });
    q.flush();
    CHECK(q.stats().started == 3);
    CHECK(q.stats().completed == 3);
}

TEST_CASE("nested runs: an item of another elastic queue of the pool runs inside, too") {
    cmwq::runtime rt{one_cpu()};
    queue q{rt, "q"}, other{rt, "other"};
    const cmwq::workqueue_base* seen = nullptr;
    item inner{[&] { seen = cmwq::this_work::queue(); }};
    run_on(q, [&] {
        other.queue(inner);
        CHECK(inner.flush());
        CHECK(seen == &other);
        CHECK(cmwq::this_work::queue() == &q);
    });
}

// proves: progress-13
TEST_CASE("nested runs: twenty thousand waits, one inside the other, need few threads at any limit") {
    const unsigned limit = GENERATE(1u, 4u, 256u);
    const int depth = limit == 1 ? 20'000 : 10'000;
    cmwq::runtime rt;
    queue q{rt, {.name = "deep", .max_active = limit}};
    std::atomic<int> nr_run{0};
    std::function<void(int)> descend = [&](int more) {
        ++nr_run;
        if (more == 0) return;
        item next{[&, more] { descend(more - 1); }};
        q.queue(next);
        next.flush();
    };
    run_on(q, [&] { descend(depth); });
    CHECK(nr_run == depth + 1);
    CHECK(rt.stats().threads < 400);
}

// proves: progress-13
TEST_CASE("nested runs: a tree of items that wait for one another ends with an exact count") {
    const unsigned limit = GENERATE(1u, 3u, 256u);
    constexpr int depth = 13;
    queue q{{.name = "tree", .max_active = limit}};
    std::atomic<int> nr_run{0};
    std::function<void(int)> grow = [&](int more) {
        ++nr_run;
        if (more == 0) return;
        item left{[&, more] { grow(more - 1); }};
        q.queue(left);
        grow(more - 1);
        left.flush();
    };
    run_on(q, [&] { grow(depth); });
    CHECK(nr_run == (2 << depth) - 1);
}

TEST_CASE("nested runs: an exception of the inner item goes to the handler of its queue") {
    cmwq::runtime rt{one_cpu()};
    std::string caught;
    queue q{rt, "q"};
    queue handled{rt, {.name = "handled", .on_exception = [&](const std::exception_ptr& e) {
                           try {
                               std::rethrow_exception(e);
                           } catch (const std::exception& what) {
                               caught = what.what();
                           }
                       }}};
    item inner{[] { throw std::runtime_error("inside"); }};
    run_on(q, [&] {
        handled.queue(inner);
        CHECK_NOTHROW(inner.flush());
        CHECK(caught == "inside");
    });
}

TEST_CASE("nested runs: an inner item that waits for an outer one gets an error") {
    cmwq::runtime rt{one_cpu()};
    queue q{rt, "q"};
    item outer{[] {}};
    std::atomic<int> nr_refused{0};
    const auto waits_for = [&](item& w) {
        if (error_of([&] { w.flush(); }) == std::errc::resource_deadlock_would_occur) ++nr_refused;
    };
    item innermost{[&] { waits_for(outer); }};
    item inner{[&] {
        waits_for(outer);
        q.queue(innermost);
        innermost.flush();
    }};
    std::destroy_at(&outer);
    std::construct_at(&outer, [&] {
        q.queue(inner);
        inner.flush();
    });
    q.queue(outer);
    outer.flush();
    CHECK(nr_refused == 2);
}

TEST_CASE("nested runs: other threads wait for an inner item, queue it again and cancel that instance") {
    queue q{"q"};
    std::binary_semaphore started{0}, leave{0};
    std::atomic<int> nr_run{0};
    std::atomic<bool> inside{false}, twice{false};
    item inner{[&] {
        if (inside.exchange(true)) twice = true;
        if (nr_run++ == 0) {
            started.release();
            leave.acquire();
        }
        inside = false;
    }};
    item outer{[&] {
        q.queue(inner);
        inner.flush();
    }};
    q.queue(outer);
    started.acquire();
    CHECK(q.queue(inner) == queue_status::queued);
    CHECK(inner.cancel());
    CHECK(q.queue(inner) == queue_status::queued);
    cmwq_test::caller flusher([&] { inner.flush(); });
    cmwq_test::caller canceller([&] { outer.cancel_sync(); });
    CHECK(flusher.waits());
    CHECK(canceller.waits());
    leave.release();
    CHECK(flusher.returns());
    CHECK(canceller.returns());
    q.flush();
    CHECK(nr_run == 2);
    CHECK_FALSE(twice);
}

TEST_CASE("nested runs: an inner item destroys itself or the outer one") {
    cmwq::runtime rt{one_cpu()};
    queue q{rt, "q"};
    int nr_run = 0;
    std::unique_ptr<item> itself;
    std::unique_ptr<item> outer;
    itself = std::make_unique<item>([&] {
        ++nr_run;
        itself.reset();
    });
    item destroys{[&] {
        ++nr_run;
        outer.reset();
    }};
    std::binary_semaphore done{0};
    outer = std::make_unique<item>([&] {
        std::binary_semaphore& ended = done; // the callable is destroyed before its end
        q.queue(*itself);
        itself->flush();
        q.queue(destroys);
        destroys.flush();
        ended.release();
    });
    q.queue(*outer);
    done.acquire();
    q.flush();
    CHECK(nr_run == 2);
    CHECK(itself == nullptr);
    CHECK(outer == nullptr);
}

TEST_CASE("nested runs: an item whose timer is armed runs inside the flush") {
    cmwq::runtime rt{one_cpu()};
    queue q{rt, "q"};
    std::thread::id by;
    cmwq::delayed_work later{[&] { by = std::this_thread::get_id(); }};
    run_on(q, [&] {
        q.queue_after(24h, later);
        CHECK(later.flush());
        CHECK(by == std::this_thread::get_id());
    });
}

TEST_CASE("nested runs: no item of a frozen queue starts inside an item of another one") {
    cmwq::runtime rt;
    queue q{rt, "q"}, freezes{rt, {.name = "freezes", .freezable = true}};
    std::atomic<int> nr_run{0};
    item inner{[&] { ++nr_run; }};
    std::binary_semaphore queued{0};
    item outer{[&] {
        freezes.queue(inner);
        queued.release();
        inner.flush();
    }};
    rt.freeze();
    REQUIRE(rt.wait_frozen_for(120s));
    q.queue(outer);
    queued.acquire();
    cmwq_test::caller flusher([&] { outer.flush(); });
    CHECK(flusher.waits());
    CHECK(nr_run == 0);
    rt.thaw();
    CHECK(flusher.returns());
    CHECK(nr_run == 1);
}

TEMPLATE_TEST_CASE("nested runs: items of a queue with an order start in that order, whatever waits for them", "",
                   cmwq::unbound, cmwq_test::in_turn) {
    cmwq::runtime rt;
    cmwq::workqueue<TestType> q{rt, {.name = "q", .max_active = 2}};
    std::vector<int> order;
    std::binary_semaphore held{0};
    item holds{[&] { held.acquire(); }};
    item first{[&] { order.push_back(1); }};
    item second{[&] { order.push_back(2); }};
    item outer{[&] {
        q.queue(first); // beyond the limit until `holds` has ended
        q.queue(second);
        held.release();
        second.flush();
    }};
    q.queue(holds);
    q.queue(outer);
    outer.flush();
    q.flush();
    CHECK(order == std::vector<int>{1, 2});
}

TEST_CASE("nested runs: another item starts when an inner one blocks") {
    const bool announced = GENERATE(true, false);
    cmwq::runtime rt{one_cpu()};
    queue q{rt, "q"};
    std::binary_semaphore ran{0};
    item other{[&] { ran.release(); }};
    bool in_time = false;
    item inner{[&] {
        q.queue(other);
        if (announced) {
            const cmwq::blocking_region region;
            in_time = ran.try_acquire_for(120s);
        } else {
            in_time = ran.try_acquire_for(120s);
        }
    }};
    run_on(q, [&] {
        q.queue(inner);
        inner.flush();
    });
    CHECK(in_time);
}

TEST_CASE("nested runs: an inner item that is queued from inside items does not run twice at once") {
    queue q{"q"};
    std::atomic<int> nr_run{0}, nr_queued{0};
    std::atomic<bool> inside{false}, twice{false};
    item inner{[&] {
        if (inside.exchange(true)) twice = true;
        if (++nr_run % 2 == 1) nr_queued += q.queue(*cmwq::this_work::current()) == queue_status::queued;
        inside = false;
    }};
    item other{[&] { nr_queued += q.queue(inner) == queue_status::queued; }};
    item outer{[&] {
        nr_queued += q.queue(inner) == queue_status::queued;
        inner.flush();
    }};
    for (int i = 0; i < 5'000; ++i) {
        q.queue(outer);
        q.queue(other);
        outer.flush();
    }
    q.drain();
    CHECK(nr_run == nr_queued);
    CHECK_FALSE(twice);
}

TEST_CASE("nested runs: an item waits at its limit for an item that cannot run inside it") {
    const cmwq::cpuset all = cmwq::runtime::global().cpus();
    if (all.size() < 2) return;
    const unsigned first = *all.begin(), second = all.next(first + 1);
    SECTION("because it is in the pool of another CPU") {
        queue q{
            {.name = "q", .max_active = 1, .attrs = cmwq::attrs{}.affinity(cmwq::affinity_scope::cpu).strict(true)}};
        item inner{[] {}};
        item outer{[&] {
            q.queue_on(second, inner);
            inner.flush();
        }};
        q.queue_on(first, outer);
        cmwq_test::caller waits([&] { outer.flush(); });
        CHECK(waits.returns());
    }
    SECTION("because it still runs on another queue") {
        queue q{{.name = "q", .max_active = 1}}, other{"other"};
        std::binary_semaphore started{0}, leave{0}, queued{0};
        std::atomic<int> nr_run{0};
        item inner{[&] {
            if (nr_run++ != 0) return;
            started.release();
            leave.acquire();
        }};
        item outer{[&] {
            q.queue(inner);
            queued.release();
            inner.flush();
        }};
        other.queue(inner);
        started.acquire();
        q.queue(outer);
        queued.acquire();
        leave.release();
        cmwq_test::caller waits([&] { outer.flush(); });
        CHECK(waits.returns());
        CHECK(nr_run == 2);
    }
}

TEST_CASE("nested runs: an item that the limit of another queue keeps back waits for that limit") {
    const bool inside = GENERATE(true, false); // whether the item could run inside the one that waits
    const cmwq::cpuset all = cmwq::runtime::global().cpus();
    const unsigned first = *all.begin(), second = all.size() < 2 ? first : all.next(first + 1);
    const cmwq::attrs attrs = cmwq::attrs{}.affinity(cmwq::affinity_scope::cpu).strict(true);
    queue one{{.name = "one", .max_active = 1, .attrs = attrs}}, other{{.name = "other", .attrs = attrs}};
    std::binary_semaphore started{0}, leave{0}, queued{0};
    std::atomic<int> nr_inside{0};
    std::atomic<bool> both{false};
    item active{[&] {
        ++nr_inside;
        started.release();
        leave.acquire();
        --nr_inside;
    }};
    item inner{[&] { both = nr_inside != 0; }};
    item outer{[&] {
        one.queue_on(second, inner);
        queued.release();
        inner.flush();
    }};
    one.queue_on(second, active);
    started.acquire();
    other.queue_on(inside ? second : first, outer);
    queued.acquire();
    cmwq_test::caller waits([&] { outer.flush(); });
    CHECK(waits.waits());
    leave.release();
    CHECK(waits.returns());
    CHECK_FALSE(both);
}

TEST_CASE("nested runs: bottom halves that the waiting item holds back run during its wait") {
    cmwq::runtime rt;
    queue q{rt, "q"};
    cmwq::workqueue<cmwq::bh> fast{rt, "fast"};
    std::binary_semaphore ran{0};
    item bottom_half{[&] { ran.release(); }};
    bool in_time = false;
    item inner{[&] { in_time = ran.try_acquire_for(120s); }};
    run_on(q, [&] {
        const cmwq::bh_disable_guard guard;
        fast.queue(bottom_half);
        q.queue(inner);
        inner.flush();
    });
    CHECK(in_time);
}

TEST_CASE("nested runs: inner items use task groups of their own and of outer ones") {
    const unsigned limit = GENERATE(1u, 2u, 256u);
    queue q{{.name = "groups", .max_active = limit}};
    std::atomic<int> nr_run{0}, nr_incomplete{0};
    std::function<void(int)> grow = [&](int more) {
        ++nr_run;
        if (more == 0) return;
        cmwq::task_group g{q};
        item inner{[&, more] {
            cmwq::task_group own{q};
            own.run([&, more] { grow(more - 1); });
            g.run([&, more] { grow(more - 1); });
            nr_incomplete += !own.wait();
        }};
        q.queue(inner);
        g.run([&, more] { grow(more - 1); });
        inner.flush();
        nr_incomplete += !g.wait();
    };
    run_on(q, [&] { grow(7); });
    CHECK(nr_incomplete == 0);
    CHECK(nr_run == 3280); // 3^0 + 3^1 + ... + 3^7
}

TEST_CASE("nested runs: an inner item must not wait for a group of which an outer one is a task") {
    cmwq::runtime rt{one_cpu()};
    queue q{rt, "q"};
    bool refused = false;
    run_on(q, [&] {
        cmwq::task_group g{q};
        item inner{[&] { refused = error_of([&] { g.wait(); }) == std::errc::resource_deadlock_would_occur; }};
        g.run([&] {
            q.queue(inner);
            inner.flush();
        });
        g.wait();
    });
    CHECK(refused);
}

TEST_CASE("nested runs: the drain of a queue includes what inner items queue") {
    queue q{"q"};
    std::atomic<int> nr_run{0};
    std::vector<std::unique_ptr<item>> last;
    for (int i = 0; i < 100; ++i) last.push_back(std::make_unique<item>([&] { ++nr_run; }));
    item inner{[&] {
        for (const auto& w : last) q.queue(*w);
    }};
    item outer{[&] {
        q.queue(inner);
        inner.flush();
    }};
    q.queue(outer);
    q.drain();
    CHECK(nr_run == 100);
}
