// SPDX-License-Identifier: BSL-1.0
//
// Items that an item of an elastic queue queues on that queue stay with its worker until another worker takes them.
// All promises of the queue include them: flush, drain, shut-down, freeze, the limit, the counters, and a start in
// time.
#include "caller.hpp"
#include "catch.hpp"
#include "eventually.hpp"
#include "stress.hpp"

#include <cmwq/cmwq.hpp>
#include <cmwq/task_group.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <thread>
#include <vector>

using cmwq::elastic;
using cmwq::queue_status;
using cmwq_test::eventually;
using namespace std::chrono_literals;

namespace {

using queue = cmwq::workqueue<elastic>;

/// Posts two closures for each one, down to 2^depth leaves; each calls `f`. Counts the closures.
struct tree {
    queue& q;
    std::function<void()> f = [] {};
    std::atomic<int> nr_run{0};

    void grow(int depth) {
        q.post([this, depth] {
            f();
            ++nr_run;
            if (depth == 0) return;
            grow(depth - 1);
            grow(depth - 1);
        });
    }
    static constexpr int size(int depth) { return (2 << depth) - 1; }
};

/// A closure that posts itself again until it is stopped, so that its worker always has a local item.
class endless {
public:
    explicit endless(queue& q) : q_(q) { post(); }
    ~endless() { stop(); }
    endless(const endless&) = delete;
    endless& operator=(const endless&) = delete;

    void stop() {
        stopped_ = true;
        ended_.wait();
    }
    [[nodiscard]] int nr_runs() const { return nr_runs_; }

private:
    void post() {
        const queue_status s = q_.post([this] {
            ++nr_runs_;
            if (!stopped_) post();
            else ended_.count_down();
        });
        if (s != queue_status::queued) ended_.count_down();
    }

    queue& q_;
    std::atomic<bool> stopped_{false};
    std::atomic<int> nr_runs_{0};
    std::latch ended_{1};
};

} // namespace

TEST_CASE("local items: every closure that an item posts runs once") {
    queue q{"tree"};
    tree t{q};
    t.grow(14);
    while (t.nr_run < tree::size(14)) q.flush();
    CHECK(t.nr_run == tree::size(14));
    q.flush();
    CHECK(q.stats().started == static_cast<std::uint64_t>(tree::size(14)));
    CHECK(q.stats().completed == static_cast<std::uint64_t>(tree::size(14)));
}

TEST_CASE("local items: every item that an item queues runs once for each claim, round after round") {
    queue q{"items"};
    std::atomic<int> nr_run{0}, nr_queued{0};
    std::atomic<bool> twice{false};
    struct one {
        explicit one(std::function<void()> f) : work(std::move(f)) {}
        std::atomic<bool> inside{false};
        cmwq::work<std::function<void()>> work;
    };
    std::vector<std::unique_ptr<one>> items;
    for (std::size_t i = 0; i < 200; ++i) {
        items.push_back(std::make_unique<one>([&, i] {
            if (items[i]->inside.exchange(true)) twice = true;
            ++nr_run;
            items[i]->inside = false;
        }));
    }
    const auto queue_all = [&] {
        for (const auto& one : items) nr_queued += q.queue(one->work) == queue_status::queued;
    };
    cmwq::work parent{queue_all};
    for (int round = 0; round < 300; ++round) {
        q.queue(parent);
        if (round % 3 == 0) queue_all(); // beside the parent
        if (round % 7 == 0) items[static_cast<std::size_t>(round) % items.size()]->work.flush();
    }
    q.drain();
    CHECK(nr_run == nr_queued);
    CHECK_FALSE(twice);
}

TEST_CASE("local items: each operation finds an item on the list of a worker that blocks") {
    const bool announced = GENERATE(true, false);
    // One CPU and a limit of one: no other worker takes the items.
    cmwq::runtime rt{{.cpus = cmwq::cpuset{*cmwq::runtime::global().cpus().begin()}}};
    queue q{rt, {.name = "blocks", .max_active = 1}};
    std::atomic<int> nr_run{0};
    const auto count = [&] { ++nr_run; };
    auto gone = std::make_unique<cmwq::work<std::function<void()>>>(count);
    cmwq::work cancelled{count};
    cmwq::work waited_for{count};
    cmwq::work disabled{count};
    std::binary_semaphore queued{0}, leave{0};
    cmwq::work parent{[&] {
        for (cmwq::work_base* w :
             {static_cast<cmwq::work_base*>(gone.get()), static_cast<cmwq::work_base*>(&cancelled),
              static_cast<cmwq::work_base*>(&waited_for), static_cast<cmwq::work_base*>(&disabled)})
            q.queue(*w);
        queued.release();
        if (announced) {
            const cmwq::blocking_region region;
            leave.acquire();
        } else {
            leave.acquire();
        }
    }};
    q.queue(parent);
    queued.acquire();
    CHECK(cancelled.pending());
    CHECK(cancelled.cancel());
    CHECK_FALSE(cancelled.busy());
    CHECK(disabled.disable_sync());
    gone.reset();
    CHECK(nr_run == 0);
    cmwq_test::caller flusher([&] { waited_for.flush(); });
    CHECK(flusher.waits());
    leave.release();
    CHECK(flusher.returns());
    CHECK(nr_run == 1);
    q.drain();
    CHECK(nr_run == 1);
    disabled.enable();
}

TEST_CASE("local items: an item that follows another one runs again if it is queued meanwhile") {
    queue q{"again"};
    std::atomic<int> nr_run{0}, nr_queued{0};
    std::atomic<bool> inside{false}, twice{false}, stop{false};
    cmwq::work child{[&] {
        if (inside.exchange(true)) twice = true;
        ++nr_run;
        inside = false;
    }};
    cmwq::work parent{[&] {
        nr_queued += q.queue(child) == queue_status::queued;
        if (!stop) q.queue(*cmwq::this_work::current());
    }};
    q.queue(parent);
    for (int i = 0; i < 20'000; ++i) nr_queued += q.queue(child) == queue_status::queued;
    stop = true;
    parent.flush();
    q.drain();
    CHECK(nr_run == nr_queued);
    CHECK_FALSE(twice);
}

TEST_CASE("local items: the drain of a queue includes what its items post") {
    queue q{"drained"};
    tree t{q};
    t.grow(10);
    q.drain();
    CHECK(t.nr_run == tree::size(10));
}

TEST_CASE("local items: the destructor of a queue waits for what its items post") {
    std::atomic<int> nr_run{0};
    {
        queue q{"destroyed"};
        for (int i = 0; i < 4; ++i) {
            q.post([&] {
                for (int n = 0; n < 100; ++n) q.post([&] { ++nr_run; });
            });
        }
    }
    CHECK(nr_run == 400);
}

TEST_CASE("local items: a flush waits for closures that were posted before it, wherever they are") {
    queue q{"flushed"};
    std::atomic<int> nr_run{0};
    std::binary_semaphore posted{0}, leave{0};
    q.post([&] {
        for (int i = 0; i < 100; ++i) q.post([&] { ++nr_run; });
        posted.release();
        leave.acquire();
    });
    posted.acquire();
    std::atomic<bool> flushed{false};
    std::thread t([&] {
        q.flush();
        flushed = true;
    });
    CHECK(eventually([&] { return nr_run == 100; })); // another worker has taken them from the blocked one
    CHECK_FALSE(flushed);
    leave.release();
    t.join();
    CHECK(flushed);
}

TEST_CASE("local items: a flush does not wait for closures that are posted after it") {
    queue q{"endless"};
    endless e{q};
    for (int i = 0; i < 20; ++i) q.flush(); // would not return
    const int seen = e.nr_runs();
    CHECK(eventually([&] { return e.nr_runs() > seen; }));
}

// proves: progress-10
TEST_CASE("local items: an item may wait for a closure that it has posted") {
    const bool announced = GENERATE(true, false);
    queue q{"waits"};
    std::atomic<int> nr_ended{0};
    for (int i = 0; i < 8; ++i) {
        q.post([&, announced] {
            std::binary_semaphore ran{0};
            q.post([&] { ran.release(); });
            if (announced) {
                const cmwq::blocking_region region;
                ran.acquire();
            } else {
                ran.acquire();
            }
            ++nr_ended;
        });
    }
    CHECK(eventually([&] { return nr_ended == 8; }));
    q.flush();
}

// Each worker that runs always has a local item of its own, and so need not look at those of others.
// proves: progress-10
TEST_CASE("local items: an item may wait for a closure that it has posted beside endless local items") {
    cmwq::runtime rt{{.overdue_after = 0ns}}; // help for overdue items would hide that nobody takes the closure
    queue q{rt, "endless"};
    const bool announced = GENERATE(false, true);
    std::vector<std::unique_ptr<endless>> chains;
    for (std::size_t i = 0; i < rt.cpus().size(); ++i) chains.push_back(std::make_unique<endless>(q));
    int nr_hung = 0;
    for (int round = 0; round < 20 && nr_hung == 0; ++round) {
        std::binary_semaphore ran{0}, ended{0};
        q.post([&] {
            q.post([&] { ran.release(); });
            std::optional<cmwq::blocking_region> region;
            if (announced) region.emplace(cmwq::will_block);
            if (!ran.try_acquire_for(120s)) {
                ++nr_hung;
                for (auto& c : chains) c->stop();
                ran.acquire();
            }
            ended.release();
        });
        ended.acquire();
    }
    CHECK(nr_hung == 0);
}

// proves: progress-9
TEST_CASE("local items: endless local items keep no item of another queue from starting") {
    queue busy{"busy"}, other{"other"};
    std::vector<std::unique_ptr<endless>> load;
    for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency(); ++i)
        load.push_back(std::make_unique<endless>(busy));
    for (int i = 0; i < 10; ++i) {
        std::binary_semaphore ran{0};
        other.post([&] { ran.release(); });
        CHECK(ran.try_acquire_for(120s));
    }
    cmwq::work intrusive{[] {}};
    busy.queue(intrusive);
    CHECK(eventually([&] { return !intrusive.busy(); }));
}

// proves: progress-9
TEST_CASE("local items: newer ones keep no older one from starting") {
    queue q{"newest first"};
    std::binary_semaphore ran{0};
    std::vector<std::unique_ptr<endless>> load;
    for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) load.push_back(std::make_unique<endless>(q));
    std::unique_ptr<endless> after;
    std::latch made{1};
    q.post([&] {
        q.post([&] { ran.release(); });
        after = std::make_unique<endless>(q);
        made.count_down();
    });
    CHECK(ran.try_acquire_for(120s));
    made.wait();
}

// proves: progress-9
TEST_CASE("local items: a flood from outside keeps no local item from starting") {
    queue q{"flooded"};
    std::atomic<bool> stop{false};
    std::atomic<int> nr_waiting{0};
    std::thread flood([&] {
        while (!stop) {
            if (nr_waiting > 1000) {
                std::this_thread::yield();
                continue;
            }
            ++nr_waiting;
            q.post([&] { --nr_waiting; });
        }
    });
    for (int i = 0; i < 20; ++i) {
        std::binary_semaphore ran{0};
        q.post([&] { q.post([&] { ran.release(); }); });
        CHECK(ran.try_acquire_for(120s));
    }
    stop = true;
    flood.join();
    q.flush();
}

TEST_CASE("local items: no more items than the limit run at once") {
    const unsigned limit = GENERATE(1u, 2u, 3u);
    queue q{{.name = "limited", .max_active = limit}};
    std::atomic<unsigned> inside{0}, most{0};
    tree t{q, [&] {
               const unsigned now = ++inside;
               for (unsigned seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {}
               stress::burn(1000);
               --inside;
           }};
    t.grow(9);
    q.drain();
    CHECK(t.nr_run == tree::size(9));
    CHECK(most <= limit);
}

TEST_CASE("local items: shutdown drops those that have not started and counts them") {
    queue q{"shut"};
    std::atomic<int> nr_run{0}, nr_posted{0};
    std::binary_semaphore posted{0};
    std::atomic<bool> closed{false};
    q.post([&] {
        for (int i = 0; i < 100; ++i) {
            if (q.post([&] { ++nr_run; }) == queue_status::queued) ++nr_posted;
        }
        posted.release();
        while (!closed) closed = q.post([] {}) == queue_status::rejected;
    });
    posted.acquire();
    const std::size_t dropped = q.shutdown(cmwq::cancel_pending);
    CHECK(nr_run + static_cast<int>(dropped) >= nr_posted);
    CHECK(q.stats().completed + dropped >= 101u);
}

TEST_CASE("local items: a freeze stops them and a thaw continues") {
    cmwq::runtime rt;
    queue q{rt, {.name = "frozen", .freezable = true}};
    endless e{q};
    CHECK(eventually([&] { return e.nr_runs() > 100; }));
    rt.freeze();
    CHECK(rt.wait_frozen_for(120s));
    const int seen = e.nr_runs();
    q.post([] {}); // waits for the thaw, too
    CHECK(rt.frozen());
    CHECK(e.nr_runs() == seen);
    rt.thaw();
    CHECK(eventually([&] { return e.nr_runs() > seen; }));
}

TEST_CASE("local items: an item that posts its first closure during a freeze keeps it back") {
    cmwq::runtime rt;
    queue q{rt, {.name = "frozen", .freezable = true}};
    std::binary_semaphore started{0}, post{0};
    std::atomic<int> nr_run{0};
    q.post([&] {
        started.release();
        post.acquire();
        q.post([&] { ++nr_run; });
    });
    started.acquire();
    rt.freeze();
    post.release();
    CHECK(rt.wait_frozen_for(120s));
    CHECK(nr_run == 0);
    rt.thaw();
    q.flush();
    CHECK(nr_run == 1);
}

TEST_CASE("local items: a flush does not wait for the first closure that a running item posts") {
    queue q{"flushed"};
    std::binary_semaphore started{0}, post{0}, flushed{0};
    std::atomic<bool> in_time{false};
    q.post([&] {
        started.release();
        post.acquire();
        q.post([&] { in_time = flushed.try_acquire_for(120s); });
    });
    started.acquire();
    cmwq_test::caller flusher([&] {
        q.flush();
        flushed.release();
    });
    CHECK(flusher.waits());
    post.release();
    CHECK(flusher.returns());
    q.drain();
    CHECK(in_time);
}

// proves: progress-10
TEST_CASE("local items: a pool of one CPU runs what an item has posted inside a blocking region") {
    cmwq::runtime rt{{.cpus = cmwq::cpuset{*cmwq::runtime::global().cpus().begin()}}};
    queue q{rt, "one"};
    for (int i = 0; i < 200; ++i) {
        std::binary_semaphore ran{0}, ended{0};
        q.post([&] {
            {
                const cmwq::blocking_region region;
                q.post([&] { ran.release(); });
            }
            ran.acquire(); // not announced
            ended.release();
        });
        REQUIRE(ended.try_acquire_for(120s));
    }
}

// proves: progress-10
TEST_CASE("local items: a flood keeps no local item of a blocked worker from starting", "[timing]") {
    // Without help for overdue items, which would hide it.
    cmwq::runtime rt{{.cpus = cmwq::cpuset{*cmwq::runtime::global().cpus().begin()}, .overdue_after = 0ns}};
    queue q{rt, "blocked"}, flooded{rt, "flooded"};
    // Items that are queued again and again, so that the pool is never without one.
    std::atomic<bool> stop{false};
    std::atomic<int> nr_flood{0};
    auto again = [&] {
        ++nr_flood;
        if (!stop) flooded.queue(*cmwq::this_work::current());
    };
    cmwq::work<decltype(again)> flood[] = {cmwq::work{again}, cmwq::work{again}, cmwq::work{again}, cmwq::work{again}};
    int nr_passed = 0; // items that started before a local one
    for (int i = 0; i < 20; ++i) {
        std::binary_semaphore ran{0}, ended{0};
        q.post([&] {
            for (auto& w : flood) flooded.queue(w);
            const int before = nr_flood;
            q.post([&] {
                nr_passed += nr_flood - before;
                ran.release();
            });
            CHECK(ran.try_acquire_for(120s)); // without a guard
            ended.release();
        });
        ended.acquire();
    }
    stop = true;
    for (auto& w : flood) w.flush();
    CHECK(nr_passed < 20'000); // if it is a matter of luck, some 100,000 at least
}

TEST_CASE("local items: endless ones give the limit to items that wait for it") {
    queue q{{.name = "one at a time", .max_active = 1}};
    std::binary_semaphore started{0}, go{0}, ran{0};
    std::atomic<bool> stop{false};
    struct chain {
        queue& q;
        std::atomic<bool>& stop;
        void operator()() const {
            cmwq::task_group g{q};
            for (int i = 0; i < 8; ++i) g.run([] {});
            g.wait();
            if (!stop) q.post(*this);
        }
    };
    q.post([&] {
        started.release();
        go.acquire();
        q.post(chain{q, stop});
    });
    started.acquire();
    q.post([&] { ran.release(); }); // beyond the limit
    go.release();
    CHECK(ran.try_acquire_for(120s));
    stop = true;
    q.drain();
}

TEST_CASE("local items: none is lost and none runs twice while the attributes change") {
    queue q{"moved"};
    tree t{q};
    t.grow(13);
    for (int i = 0; t.nr_run < tree::size(13); ++i) {
        cmwq::attrs a;
        a.nice(i % 2);
        q.apply(a);
    }
    q.drain();
    CHECK(t.nr_run == tree::size(13));
}

TEST_CASE("local items: exceptions go to the handler of the queue and the next items run") {
    std::atomic<int> nr_caught{0}, nr_run{0};
    queue q{{.name = "throws", .on_exception = [&](std::exception_ptr) { ++nr_caught; }}};
    q.post([&] {
        for (int i = 0; i < 100; ++i) {
            q.post([&] {
                ++nr_run;
                throw std::runtime_error("one");
            });
        }
    });
    q.drain();
    CHECK(nr_run == 100);
    CHECK(nr_caught == 100);
}

TEST_CASE("local items: each run has its own current item and description") {
    queue q{"current"};
    std::atomic<int> nr_right{0};
    q.post([&] {
        cmwq::this_work::describe("the first");
        for (int i = 0; i < 10; ++i) {
            q.post([&] {
                cmwq::work_base* const w = cmwq::this_work::current();
                if (w != nullptr && cmwq::this_work::queue() == &q) ++nr_right;
                cmwq::this_work::describe("another one");
            });
        }
    });
    q.drain();
    CHECK(nr_right == 10);
}

TEST_CASE("local items: closures on other queues go to those queues") {
    queue q{"from"}, other{"to"};
    cmwq::workqueue<cmwq::bound> bound{"bound"};
    std::atomic<int> nr_right{0};
    q.post([&] {
        other.post([&] { nr_right += cmwq::this_work::queue() == &other; });
        bound.post([&] { nr_right += cmwq::this_work::queue() == &bound; });
        const unsigned cpu = *cmwq::runtime::global().cpus().begin();
        q.post_on(cpu, [&] { nr_right += cmwq::this_work::queue() == &q; });
    });
    q.drain();
    other.drain();
    bound.drain();
    CHECK(nr_right == 3);
}
