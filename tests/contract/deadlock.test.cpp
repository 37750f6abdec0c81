// SPDX-License-Identifier: BSL-1.0
//
// Items that wait for each other: they are found and named, and are not confused with items that only wait for a long
// time.
//
// Each of these errors has made one of these tests fail: check and registration of a wait are two steps; a flush
// covers younger colors; a refused wait leaves nodes behind; an instance behind a run of its item counts as runnable; a
// single stuck run, or a freeze, counts as a full limit; there is no check after the second one; a cancel_sync() of an
// item of a queue with a rescuer is reported.
#include "catch.hpp"
#include "deadlocks.hpp"
#include "eventually.hpp"
#include "one_cpu.hpp"
#include "seed.hpp"

#include <cmwq/cmwq.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <semaphore>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using cmwq_test::address;
using cmwq_test::count_of;
using cmwq_test::eventually;
using cmwq_test::has;
using cmwq_test::refusal_of;
using cmwq_test::watched_runtime;

namespace {

using item = cmwq::work<std::function<void()>>;

/// Items that all begin before one of them waits. An item whose wait is refused records that.
struct ring {
    explicit ring(std::ptrdiff_t n) : begun(n) {}

    void wait(const std::function<void()>& call) {
        begun.arrive_and_wait();
        const std::string text = refusal_of(call);
        if (text.empty()) return;
        const std::lock_guard g(lock);
        refusals.push_back(text);
    }

    std::latch begun;
    std::mutex lock;
    std::vector<std::string> refusals;
};

} // namespace

// --- cycles of runs: refused -----------------------------------------------------------------------------------------

// proves: progress-29
TEST_CASE("deadlock: if an item of each of two queues flushes the other queue the second flush is always refused") {
    watched_runtime w;
    cmwq::workqueue<cmwq::unbound> left{w.rt, "left"}, right{w.rt, "right"};
    for (int round = 0; round < 200; ++round) {
        ring r(2);
        item a{[&] { r.wait([&] { right.flush(); }); }}, b{[&] { r.wait([&] { left.flush(); }); }};
        left.queue(a);
        right.queue(b);
        left.flush();
        right.flush();
        REQUIRE(r.refusals.size() == 1);
        const std::string& text = r.refusals[0];
        INFO(text);
        REQUIRE(has(text, "cmwq: deadlock: item "));
        REQUIRE(has(text, address(a)));
        REQUIRE(has(text, address(b)));
        // The text ends with the queue with which it begins.
        REQUIRE(count_of(text, "queue \"left\"") + count_of(text, "queue \"right\"") == 3);
        REQUIRE(has(text, " would wait in flush() for queue "));
        REQUIRE(has(text, ", whose item "));
        REQUIRE(has(text, " waits in flush() for queue "));
    }
    CHECK(w.count() == 0);
}

TEST_CASE("deadlock: a cycle of waits over three queues of three policies and two runtimes is found") {
    watched_runtime w, other;
    cmwq::workqueue<> one{w.rt, "one"};
    cmwq::workqueue<cmwq::elastic> two{other.rt, "two"};
    cmwq::workqueue<cmwq::ordered> three{w.rt, "three"};
    ring r(3);
    item a{[&] { r.wait([&] { two.flush(); }); }}, b{[&] { r.wait([&] { three.drain(); }); }},
        c{[&] { r.wait([&] { one.flush(); }); }};
    one.queue(a);
    two.queue(b);
    three.queue(c);
    one.flush();
    two.flush();
    three.flush();
    REQUIRE(r.refusals.size() == 1);
    INFO(r.refusals[0]);
    std::size_t named = 0;
    for (const char* name : {"one", "two", "three"}) {
        const std::size_t n = count_of(r.refusals[0], "queue \"" + std::string(name) + "\"");
        CHECK(n != 0);
        named += n;
    }
    CHECK(named == 4); // the text ends with the queue with which it begins
    CHECK(has(r.refusals[0], " in drain() for queue \"three\""));
    cmwq::work after{[] {}};
    CHECK(three.queue(after) == cmwq::queue_status::queued); // a drain that was refused has ended
}

TEST_CASE("deadlock: two items that flush each other are found") {
    watched_runtime w;
    cmwq::workqueue<cmwq::unbound> q{w.rt, "q"};
    ring r(2);
    std::optional<item> a, b;
    a.emplace([&] { r.wait([&] { b->flush(); }); });
    b.emplace([&] { r.wait([&] { a->flush(); }); });
    q.queue(*a);
    q.queue(*b);
    q.flush();
    REQUIRE(r.refusals.size() == 1);
    INFO(r.refusals[0]);
    CHECK(has(r.refusals[0], "would wait in flush() for item "));
    CHECK(has(r.refusals[0], ", which runs on queue \"q\" and waits in flush() for item "));
    CHECK(count_of(r.refusals[0], address(*a)) + count_of(r.refusals[0], address(*b)) == 3);
}

TEST_CASE("deadlock: two items that cancel and disable each other are found; they stay enabled as before") {
    watched_runtime w;
    cmwq::workqueue<> q{w.rt, "q"};
    ring r(2);
    std::optional<item> a, b;
    a.emplace([&] { r.wait([&] { static_cast<void>(b->cancel_sync()); }); });
    b.emplace([&] {
        r.wait([&] {
            a->disable_sync();
            a->enable();
        });
    });
    q.queue(*a);
    q.queue(*b);
    q.flush();
    REQUIRE(r.refusals.size() == 1);
    INFO(r.refusals[0]);
    CHECK(has(r.refusals[0], "in cancel_sync() for item " + address(*b)));
    CHECK(has(r.refusals[0], "in disable_sync() for item " + address(*a)));
    CHECK_THROWS_AS(a->enable(), std::logic_error);
    CHECK_THROWS_AS(b->enable(), std::logic_error);
}

TEST_CASE("deadlock: after a refused wait both items continue and may repeat the wait") {
    watched_runtime w;
    cmwq::workqueue<> q{w.rt, "q"}, other{w.rt, "other"};
    std::binary_semaphore go{0};
    std::vector<std::string> refusals;
    std::optional<item> b;
    item a{[&] {
        go.acquire();
        // A refused call leaves nothing behind in the queue, also when colors run out.
        for (int i = 0; i < 40; ++i) refusals.push_back(refusal_of([&] { q.flush(); }));
        refusals.push_back(refusal_of([&] { b->flush(); }));
    }};
    b.emplace([&] { a.flush(); });
    other.queue(a);
    q.queue(*b);
    REQUIRE(eventually([&] { return has(w.rt.dump(), "waits in flush() for item " + address(a)); }));
    go.release();
    q.flush();
    other.flush();
    REQUIRE(refusals.size() == 41);
    INFO(refusals.front() << '\n' << refusals.back());
    for (int i = 0; i < 40; ++i) {
        CHECK(has(refusals[static_cast<std::size_t>(i)],
                  "would wait in flush() for queue \"q\", whose item " + address(*b)));
    }
    CHECK(has(refusals.back(), "would wait in flush() for item " + address(*b)));
    CHECK(has(refusals.back(), "which runs on queue \"q\" and waits in flush() for item " + address(a)));
}

TEST_CASE("deadlock: the wait in the destructor of an item is part of the graph of waits") {
    watched_runtime w;
    cmwq::workqueue<> q{w.rt, "q"}, other{w.rt, "other"};
    std::binary_semaphore doomed_runs{0};
    std::counting_semaphore<> go{0};
    // One item destroys another item, which then flushes the first. This flush is refused.
    std::optional<item> doomed, destroyer;
    std::atomic<bool> refused{false};
    doomed.emplace([&] {
        doomed_runs.release();
        go.acquire();
        refused = !refusal_of([&] { destroyer->flush(); }).empty();
    });
    destroyer.emplace([&] {
        doomed_runs.acquire();
        doomed.reset(); // waits for the run
    });
    other.queue(*destroyer);
    q.queue(*doomed);
    REQUIRE(eventually([&] { return has(w.rt.dump(), " waits in ~work() for item "); }));
    go.release();
    other.flush();
    CHECK(refused); // the flush comes second, and unlike the destructor it may throw
    CHECK(w.count() == 0);
}

// --- behind limits: reported -----------------------------------------------------------------------------------------

namespace {

/// An item is pending behind items that wait for it. Checks that this is reported with all names, and that a cancel
/// from outside ends it.
template <class Queue>
void check_saturated(watched_runtime& w, Queue& q, unsigned limit) {
    item pending{[] {}};
    std::vector<std::unique_ptr<item>> active;
    std::latch begun(limit);
    std::counting_semaphore<> go{0};
    for (unsigned i = 0; i < limit; ++i) {
        active.push_back(std::make_unique<item>([&] {
            begun.count_down();
            go.acquire();
            pending.flush();
        }));
        q.queue(*active.back());
    }
    begun.wait();
    q.queue(pending);
    go.release(limit);
    REQUIRE(eventually([&] { return w.count() != 0; }));
    const std::string text = w.messages()[0];
    INFO(text);
    for (const auto& a : active) CHECK(has(text, address(*a) + " "));
    CHECK(count_of(text, " of queue \"full\" waits in flush() for item " + address(pending)) == limit);
    CHECK(count_of(text, ", which is pending behind max_active " + std::to_string(limit) + " of queue \"full\"") ==
          limit);
    CHECK(pending.cancel()); // the items that wait for it continue
    q.flush();
    CHECK(w.count() == 1);
}

} // namespace

TEST_CASE("deadlock: an ordered queue whose item waits for the next item is reported") {
    watched_runtime w;
    cmwq::workqueue<cmwq::ordered> q{w.rt, "full"};
    check_saturated(w, q, 1);
}

// proves: kernel-15
TEST_CASE("deadlock: an unbound queue is reported if all its items wait for one that they keep from running") {
    watched_runtime w;
    cmwq::workqueue<cmwq::unbound> q{w.rt, {.name = "full", .max_active = 2}};
    check_saturated(w, q, 2);
}

// proves: progress-29
TEST_CASE("deadlock: a bound queue is reported if all its items wait for one that they keep from running") {
    watched_runtime w(cmwq::event::kind::deadlock, cmwq_test::one_cpu());
    cmwq::workqueue<> q{w.rt, {.name = "full", .max_active = 3}};
    check_saturated(w, q, 3);
}

TEST_CASE("deadlock: an item that flushes a full queue whose running items wait for that item is reported") {
    watched_runtime w;
    cmwq::workqueue<cmwq::ordered> full{w.rt, "full"};
    cmwq::workqueue<> other{w.rt, "other"};
    std::binary_semaphore begun{0}, go{0};
    item pending{[] {}};
    std::optional<item> outer;
    // Runs on `full`, and waits for `outer`, which waits for an item that is pending behind `first` only.
    item first{[&] {
        begun.release();
        go.acquire();
        outer->flush();
    }};
    outer.emplace([&] { pending.flush(); });
    full.queue(first);
    begun.acquire();
    full.queue(pending);
    other.queue(*outer);
    REQUIRE(eventually([&] { return has(w.rt.dump(), "waits in flush() for item " + address(pending)); }));
    go.release();
    REQUIRE(eventually([&] { return w.count() == 1; }));
    const std::string text = w.messages()[0];
    INFO(text);
    CHECK(has(text, "item " + address(first)));
    CHECK(has(text, "item " + address(*outer)));
    CHECK(has(text, "which is pending behind max_active 1 of queue \"full\""));
    CHECK(pending.cancel());
    full.flush();
}

TEST_CASE(
    "deadlock: an instance is reported if it waits for a run of its own item that waits for it through another item") {
    watched_runtime w;
    cmwq::workqueue<> q{w.rt, "q"}, other{w.rt, "other"};
    std::optional<item> again, flusher;
    std::atomic<bool> queued{false};
    again.emplace([&] {
        if (queued.exchange(true)) return; // the second run
        q.queue(*again);
        other.queue(*flusher);
        flusher->flush();
    });
    flusher.emplace([&] { again->flush(); });
    q.queue(*again);
    REQUIRE(eventually([&] { return w.count() == 1; }));
    INFO(w.messages()[0]);
    CHECK(has(w.messages()[0], "waits in flush() for item " + address(*again)));
    CHECK(has(w.messages()[0], "waits in flush() for item " + address(*flusher)));
    CHECK(again->cancel());
    q.flush();
    other.flush();
}

TEST_CASE("deadlock: a deadlock that is complete only after the limit was lowered and a run ended is reported later") {
    watched_runtime w;
    cmwq::workqueue<cmwq::unbound> q{w.rt, {.name = "full", .max_active = 2}};
    std::binary_semaphore begun{0}, queued{0}, holds{0}, go{0};
    item pending{[] {}};
    item holder{[&] {
        holds.release();
        go.acquire();
    }};
    item waits{[&] {
        begun.release();
        queued.acquire();
        pending.flush();
    }};
    q.queue(holder);
    holds.acquire();
    q.queue(waits);
    begun.acquire();
    q.set_max_active(1); // active items stay active
    q.queue(pending);
    queued.release();
    // This is no deadlock while `holder` runs. After that no thread registers a wait, so only a later check finds it.
    REQUIRE(eventually([&] { return has(w.rt.dump(), "waits in flush() for item " + address(pending)); }));
    const auto since = std::chrono::steady_clock::now();
    CHECK(eventually([&] { return std::chrono::steady_clock::now() - since > 500ms; }));
    CHECK(w.count() == 0);
    go.release();
    REQUIRE(eventually([&] { return w.count() == 1; }));
    q.set_max_active(2);
    q.flush();
}

// --- no delays -------------------------------------------------------------------------------------------------------

// In an earlier version the service thread made all these checks, and each check of a wait visited every pending item.
// proves: progress-31
TEST_CASE("deadlock: hundreds of waits in front of hundreds of thousands of items do not delay a timer", "[timing]") {
    watched_runtime w;
    cmwq::workqueue<cmwq::unbound> full{w.rt, {.name = "full", .max_active = 1}},
        q{w.rt, {.name = "q", .max_active = 512}};
    cmwq::workqueue<> timers{w.rt, "timers"};
    constexpr int nr_waits = 500, nr_pending = 300'000, nr_timers = 200;
    std::binary_semaphore begun{0}, go{0}, fired{0};
    item gate{[&] {
        begun.release();
        go.acquire();
    }};
    full.queue(gate);
    begun.acquire();
    for (int i = 0; i < nr_waits; ++i) q.post([&] { full.flush(); });
    REQUIRE(eventually([&] { return count_of(w.rt.dump(), " waits in flush() for queue \"full\"") == nr_waits; }));
    for (int i = 0; i < nr_pending; ++i) full.post([] {}); // queued after the waits began, so no wait covers them
    cmwq::delayed_work timer{[&] { fired.release(); }};
    const auto since = std::chrono::steady_clock::now();
    for (int i = 0; i < nr_timers; ++i) {
        timers.queue_after(2ms, timer);
        fired.acquire();
    }
    const auto took = std::chrono::steady_clock::now() - since;
    CHECK(took < 10s);
    go.release();
    q.flush();
    full.shutdown(cmwq::cancel_pending); // beside other load, running the items one by one can take minutes
    CHECK(w.count() == 0);
}

// --- no false alarms -------------------------------------------------------------------------------------------------

TEST_CASE("deadlock: no alarm for an item that flushes a queue in which a later item waits for it") {
    watched_runtime w;
    cmwq::workqueue<cmwq::unbound> q{w.rt, "q"}, other{w.rt, "other"};
    std::binary_semaphore begun{0}, go{0};
    item earlier{[&] {
        begun.release();
        go.acquire();
    }};
    item flusher{[&] { q.flush(); }};
    item later{[&] { flusher.flush(); }}; // queued after the flush has begun, so the flush does not cover it
    q.queue(earlier);
    begun.acquire();
    other.queue(flusher);
    REQUIRE(eventually([&] { return has(w.rt.dump(), "waits in flush() for queue \"q\""); }));
    q.queue(later);
    REQUIRE(eventually([&] { return has(w.rt.dump(), "waits in flush() for item " + address(flusher)); }));
    // The waits last longer than three checks, and no check finds a deadlock.
    const auto since = std::chrono::steady_clock::now();
    CHECK(eventually([&] { return std::chrono::steady_clock::now() - since > 400ms; }));
    CHECK(w.count() == 0);
    go.release();
    q.flush();
    other.flush();
    CHECK(w.count() == 0);
}

TEST_CASE("deadlock: no alarm for a long wait that ends or for a queue that is full for a long time") {
    watched_runtime w;
    cmwq::workqueue<cmwq::ordered> q{w.rt, "q"};
    cmwq::workqueue<> other{w.rt, "other"};
    std::binary_semaphore begun{0}, go{0};
    item slow{[&] {
        begun.release();
        go.acquire(); // the library does not know that another thread ends this wait
    }};
    item pending{[] {}};
    item waits{[&] { pending.flush(); }}, waits_for_that{[&] { waits.flush(); }};
    q.queue(slow);
    begun.acquire();
    q.queue(pending);
    other.queue(waits);
    other.queue(waits_for_that);
    const auto since = std::chrono::steady_clock::now();
    CHECK(eventually([&] { return std::chrono::steady_clock::now() - since > 500ms; }));
    go.release();
    other.flush();
    q.flush();
    CHECK(w.count() == 0);
}

TEST_CASE("deadlock: no alarm for an item that waits for a frozen queue because it waits for the thaw") {
    watched_runtime w;
    cmwq::workqueue<cmwq::unbound> frozen{w.rt, {.name = "frozen", .max_active = 2, .freezable = true}};
    cmwq::workqueue<> q{w.rt, "q"};
    std::binary_semaphore begun{0}, go{0};
    item pending{[] {}};
    item waits{[&] { pending.flush(); }}, waits_inside{[&] {
        begun.release();
        go.acquire();
        pending.flush(); // the limit has room for both items
    }};
    frozen.queue(waits_inside);
    begun.acquire();
    w.rt.freeze();
    frozen.queue(pending);
    q.queue(waits);
    go.release();
    const auto since = std::chrono::steady_clock::now();
    CHECK(eventually([&] { return std::chrono::steady_clock::now() - since > 500ms; }));
    CHECK(w.count() == 0);
    w.rt.thaw();
    q.flush();
    frozen.flush();
    CHECK(w.count() == 0);
}

// proves: progress-29
TEST_CASE("deadlock: no alarm for 10000 random nested waits without a cycle from several threads") {
    // An item of level n queues items of lower levels and waits for them, in one of several ways. Each level has queues
    // of its own, so that a flush, too, waits for lower levels.
    watched_runtime w;
    constexpr unsigned nr_levels = 5, nr_threads = 4;
    constexpr int total = 10'000;
    struct level {
        explicit level(cmwq::runtime& rt, unsigned n)
            : bound(rt, {.name = "bound" + std::to_string(n), .max_active = 64}),
              unbound(rt, {.name = "unbound" + std::to_string(n), .max_active = 64}) {}
        cmwq::workqueue<> bound;
        cmwq::workqueue<cmwq::unbound> unbound;
    };
    std::vector<std::unique_ptr<level>> levels;
    for (unsigned n = 0; n < nr_levels; ++n) levels.push_back(std::make_unique<level>(w.rt, n));
    std::atomic<int> budget{total}, waits{0}, refused{0};
    const auto seed = cmwq_test::seed();
    std::atomic<unsigned> stream{0};

    std::function<void(unsigned)> nest = [&](unsigned n) {
        std::mt19937_64 random(seed + stream.fetch_add(1));
        const auto pick = [&](unsigned k) { return static_cast<unsigned>(random() % k); };
        if (n == 0) { // sometimes the waits for it last for two checks or more
            if (pick(400) != 0) return;
            const auto since = std::chrono::steady_clock::now();
            static_cast<void>(eventually([&] { return std::chrono::steady_clock::now() - since > 250ms; }));
            return;
        }
        const unsigned below = pick(n);
        level& there = *levels[below];
        item inner{[&nest, below] { nest(below); }};
        const bool to_bound = pick(2) == 0;
        try {
            for (int rounds = 1 + static_cast<int>(pick(2)); rounds > 0 && budget.fetch_sub(1) > 0; --rounds) {
                ++waits;
                if (to_bound) there.bound.queue(inner);
                else there.unbound.queue(inner);
                switch (pick(4)) {
                case 0: inner.flush(); break;
                case 1: inner.cancel_sync(); break;
                case 2: there.bound.flush(); break;
                default: there.unbound.flush(); break;
                }
            }
        } catch (const std::system_error&) {
            ++refused;
        }
    };
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < nr_threads; ++t) {
        threads.emplace_back([&] {
            while (budget > 0) {
                item outer{[&] { nest(nr_levels - 1); }};
                levels.back()->unbound.queue(outer);
                outer.flush();
            }
        });
    }
    for (auto& t : threads) t.join();
    CHECK(waits >= total);
    CHECK(refused == 0);
    CHECK(w.count() == 0);
}

// --- rescuers, and items that are destroyed while they are queued ----------------------------------------------------

TEST_CASE("flush dependency: a wait of an item with a rescuer for a queue without one is reported once") {
    watched_runtime w(cmwq::event::kind::flush_dependency);
    cmwq::workqueue<> reclaim{w.rt, {.name = "reclaim", .rescuer = true}};
    cmwq::workqueue<> plain{w.rt, "plain"};
    std::binary_semaphore begun{0}, go{0};
    item held{[&] {
        begun.release();
        go.acquire();
    }};
    SECTION("flush of the queue") {
        plain.queue(held);
        begun.acquire();
        item waits{[&] { plain.flush(); }};
        reclaim.queue(waits);
        REQUIRE(eventually([&] { return w.count() == 1; }));
        const std::string text = w.messages()[0];
        INFO(text);
        CHECK(has(text, "item " + address(waits)));
        CHECK(
            has(text, "queue \"reclaim\", which has a rescuer, waits in flush() for queue \"plain\", which has none"));
        go.release();
        reclaim.flush();
        reclaim.queue(waits); // no second report for this queue
        reclaim.flush();
        CHECK(w.count() == 1);
    }
    SECTION("flush of an item") {
        plain.queue(held);
        begun.acquire();
        item waits{[&] { held.flush(); }};
        reclaim.queue(waits);
        REQUIRE(eventually([&] { return w.count() == 1; }));
        INFO(w.messages()[0]);
        CHECK(has(w.messages()[0], "waits in flush() for item " + address(held)));
        CHECK(has(w.messages()[0], " of queue \"plain\", which has none"));
        go.release();
        reclaim.flush();
    }
    SECTION("no report for cancel_sync(): the item for which it waits has a thread already") {
        plain.queue(held);
        begun.acquire();
        item waits{[&] { held.cancel_sync(); }};
        reclaim.queue(waits);
        REQUIRE(eventually([&] { return has(w.rt.dump(), "waits in cancel_sync()"); }));
        go.release();
        reclaim.flush();
        CHECK(w.count() == 0);
    }
    SECTION("no report for a wait between queues with rescuers or by an item of a queue without a rescuer") {
        cmwq::workqueue<> second{w.rt, {.name = "second", .rescuer = true}};
        item waits{[&] { second.flush(); }}, from_plain{[&] { reclaim.flush(); }};
        second.queue(held);
        begun.acquire();
        reclaim.queue(waits);
        REQUIRE(eventually([&] { return has(w.rt.dump(), "waits in flush() for queue \"second\""); }));
        plain.queue(from_plain);
        REQUIRE(eventually([&] { return has(w.rt.dump(), "waits in flush() for queue \"reclaim\""); }));
        go.release();
        plain.flush();
        CHECK(w.count() == 0);
    }
}

TEST_CASE("destroyed while queued: the event is reported to a listener in builds with assertions") {
    watched_runtime w(cmwq::event::kind::destroyed_while_queued);
    cmwq::workqueue<cmwq::ordered> q{w.rt, "jobs"};
    std::binary_semaphore begun{0}, go{0};
    item held{[&] {
        begun.release();
        go.acquire();
    }};
    q.queue(held);
    begun.acquire();
    std::string first, second;
    {
        item pending{[] {}};
        q.queue(pending);
        first = address(pending);
    }
    {
        cmwq::delayed_work armed{[] {}};
        q.queue_after(1h, armed);
        second = address(armed);
    }
    {
        item cancelled{[] {}}; // no report: the program cancels it first
        q.queue(cancelled);
        cancelled.cancel();
    }
    go.release();
    q.flush();
    if (CMWQ_ASSERTS == 0) {
        CHECK(w.count() == 0);
        return;
    }
    REQUIRE(w.count() == 2);
    INFO(w.messages()[0] << '\n' << w.messages()[1]);
    CHECK(has(w.messages()[0], "item " + first));
    CHECK(has(w.messages()[0], "is destroyed while it is queued on queue \"jobs\" (pool "));
    CHECK(has(w.messages()[1], "item " + second));
    CHECK(has(w.messages()[1], "queued on queue \"jobs\" (armed, for CPU "));
}

TEST_CASE("dump: the text contains each waiting item and the queue for which it waits") {
    cmwq::runtime rt;
    cmwq::workqueue<> q{rt, "q"};
    cmwq::workqueue<> other{rt, "other"};
    std::binary_semaphore begun{0}, go{0};
    item held{[&] {
        begun.release();
        go.acquire();
    }};
    item waits{[&] { q.flush(); }};
    q.queue(held);
    begun.acquire();
    CHECK(rt.dump().ends_with("\nWaiting items\n=============\n"));
    other.queue(waits);
    const std::string line = "\nitem " + address(waits) + " (";
    REQUIRE(eventually([&] { return has(rt.dump(), line); }));
    CHECK(has(rt.dump(), ") of queue \"other\" waits in flush() for queue \"q\", for "));
    go.release();
    other.flush();
    CHECK(rt.dump().ends_with("\nWaiting items\n=============\n"));
}
