// SPDX-License-Identifier: BSL-1.0
//
// shutdown(cancel_pending): items that have not started are dropped and counted, running items are awaited.
#include "any_queue.hpp"
#include "catch.hpp"
#include "error_of.hpp"
#include "eventually.hpp"
#include "gate.hpp"
#include "policy_list.hpp"
#include "policy_test_case.hpp"
#include "stress.hpp"

#include <cmwq/async.hpp>
#include <cmwq/cmwq.hpp>
#include <cmwq/testing/manual_clock.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <semaphore>
#include <set>
#include <system_error>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using cmwq::cancel_pending;
using cmwq::queue_status;
using namespace cmwq_test;

namespace {

using item = cmwq::work<std::function<void()>>;
using timed_item = cmwq::delayed_work<std::function<void()>>;

/// A queue with one running item, so that later items wait behind it. The clock stands still.
struct held_queue {
    explicit held_queue(const any_policy& p) : other(p, rt, "other"), q(p, rt, at_most(p, 1, "q")) { g.hold(q, cpu); }

    cmwq::testing::manual_clock clock;
    const unsigned cpu = first_cpu();
    cmwq::runtime rt{{.cpus = cmwq::cpuset{cpu}, .clock = &clock}};
    any_queue other, q;
    gate g;

    /// Shuts the queue down, and releases the item when all other items have been dropped.
    std::size_t shut_down() {
        timed_item last{[] {}};
        q.queue_after(1h, last);
        std::thread opens([&] {
            static_cast<void>(eventually([&] { return !last.pending(); }));
            g.open();
        });
        const std::size_t dropped = q.shutdown(cancel_pending);
        opens.join();
        return dropped - 1;
    }
};

} // namespace

// proves: life-6
POLICY_TEST_CASE("shutdown: items that have not started are dropped and can be queued elsewhere", "", every_policy) {
    held_queue s{policy};
    std::atomic<int> runs{0};
    const auto count = [&] { ++runs; };
    std::vector<std::unique_ptr<item>> items;
    for (int i = 0; i < 20; ++i) {
        items.push_back(std::make_unique<item>(count));
        CHECK(s.q.queue_on(s.cpu, *items.back()) == queue_status::queued);
        s.q.post_on(s.cpu, count);
    }
    timed_item armed{count}, cancelled{count};
    s.q.queue_after(1h, armed);
    s.q.queue_after(1h, cancelled);
    CHECK(cancelled.cancel());
    CHECK(items[3]->cancel());
    CHECK(items[4]->disable());
    CHECK(s.q.queue(s.g.item) == queue_status::queued); // again, behind its own run
    CHECK(s.shut_down() == 18 + 20 + 1 + 1);
    CHECK(runs == 0);
    CHECK(s.g.runs == 1);
    CHECK(s.q.stats().started == 1);
    CHECK(s.q.stats().completed == 1);
    items[4]->enable();
    for (const auto& i : items) {
        CHECK_FALSE(i->busy());
        CHECK(s.other.queue(*i) == queue_status::queued);
    }
    CHECK_FALSE(armed.busy());
    CHECK(s.other.queue(armed) == queue_status::queued);
    s.other.flush();
    CHECK(runs == 21);
    s.clock.advance(2h); // no timer is left
    s.q.flush();
    CHECK(runs == 21);
}

// proves: life-5
POLICY_TEST_CASE("shutdown: the number of dropped items is exact after any earlier operations on the items", "",
                 every_policy) {
    for (unsigned round = 0; round < 10; ++round) {
        stress::random r(round);
        held_queue s{policy};
        std::atomic<int> runs{0};
        struct one {
            explicit one(std::atomic<int>& n) : w([&n] { ++n; }) {}
            timed_item w;
            bool pending = false;
            int depth = 0;
        };
        std::vector<std::unique_ptr<one>> all;
        for (int i = 0; i < 40; ++i) all.push_back(std::make_unique<one>(runs));
        std::size_t posted = 0;
        int wrong = 0;
        const auto expect = [&](bool good) { wrong += good ? 0 : 1; };
        for (int step = 0; step < 400; ++step) {
            one& i = *all[r.below(40)];
            const auto queued = [&](queue_status st) {
                expect(st == (i.depth != 0 ? queue_status::disabled
                              : i.pending  ? queue_status::already_pending
                                           : queue_status::queued));
                i.pending = i.pending || i.depth == 0;
            };
            switch (r.below(8)) {
            case 0:
            case 1: queued(s.q.queue_on(s.cpu, i.w)); break;
            case 2: queued(s.q.queue_after_on(s.cpu, 1h, i.w)); break;
            case 3:
                if (i.depth != 0) break;
                expect(s.q.modify(r.one_in(2) ? 2h : 3h, i.w) ==
                       (i.pending ? queue_status::modified : queue_status::queued));
                i.pending = true;
                break;
            case 4:
                expect(i.w.cancel() == i.pending);
                i.pending = false;
                break;
            case 5:
                expect(i.w.disable_sync() == i.pending);
                i.pending = false;
                ++i.depth;
                break;
            case 6:
                if (i.depth != 0) expect(i.w.enable() == (--i.depth == 0));
                break;
            default:
                if (s.q.post_on(s.cpu, [&] { ++runs; }) == queue_status::queued) ++posted;
                break;
            }
        }
        std::size_t pending = posted;
        for (const auto& i : all) pending += i->pending ? 1 : 0;
        CHECK(wrong == 0);
        CHECK(s.shut_down() == pending);
        CHECK(runs == 0);
    }
}

POLICY_TEST_CASE("shutdown: an instance that a worker has put behind a run of the same item is dropped as well", "",
                 crowded_policies) {
    held_queue s{policy};
    s.q.set_max_active(4);
    CHECK(s.q.queue_on(s.cpu, s.g.item) == queue_status::queued);
    s.q.async([] {}).get(); // starts after that instance, so a worker has found the item running
    CHECK(s.g.item.pending());
    CHECK(s.shut_down() == 1);
    CHECK_FALSE(s.g.item.busy());
    CHECK(s.g.runs == 1);
}

// proves: life-6
POLICY_TEST_CASE("shutdown: dropped closures are destroyed together with the objects that they own", "", every_policy) {
    held_queue s{policy};
    const auto token = std::make_shared<int>(0);
    for (int i = 0; i < 10; ++i) s.q.post_on(s.cpu, [token] { ++*token; });
    // A closure may hold another item that was pending, and its destructor may use the queue.
    auto held = std::make_unique<item>([token] { ++*token; });
    s.q.queue_on(s.cpu, *held);
    std::atomic<int> rejected{0};
    struct last_word {
        std::function<void()> f;
        last_word(std::function<void()> g) : f(std::move(g)) {}
        ~last_word() { f(); }
    };
    s.q.post_on(s.cpu, [h = std::shared_ptr<item>(std::move(held)), token] { ++*token; });
    s.q.post_on(s.cpu, [w = std::make_shared<last_word>(
                            [&] { rejected += s.q.post([] {}) == queue_status::rejected ? 1 : 0; })] {});
    std::future<int> result = s.q.async([token] { return ++*token; });
    if (!policy.runs_in_the_caller) CHECK(result.wait_for(0s) == std::future_status::timeout);
    CHECK(s.shut_down() >= 13);
    CHECK(token.use_count() == 1);
    CHECK(rejected == 1);
    if (!policy.runs_in_the_caller) CHECK_THROWS_AS(result.get(), std::future_error);
    if (!policy.runs_in_the_caller) CHECK(*token == 0);
}

// proves: life-5
POLICY_TEST_CASE("shutdown: after the call the queue rejects all items forever; also from items of the queue", "",
                 every_policy) {
    cmwq::runtime rt;
    any_queue q{policy, rt, "q"};
    std::counting_semaphore<> entered{0}, leave{0};
    std::atomic<int> chained{0}, refused{0};
    item next{[&] { ++chained; }};
    timed_item later{[&] { ++chained; }};
    const call_from_aside caller(policy, [&] {
        q.post([&] {
            entered.release();
            wait_in_item(policy, leave);
            refused += q.queue(next) == queue_status::rejected ? 1 : 0;
            refused += q.post([&] { ++chained; }) == queue_status::rejected ? 1 : 0;
            refused += q.queue_after(1ms, later) == queue_status::rejected ? 1 : 0;
        });
    });
    entered.acquire();
    std::atomic<bool> done{false};
    std::thread shuts([&] {
        q.shutdown(cancel_pending);
        done = true;
    });
    item foreign{[&] { ++chained; }};
    CHECK(eventually([&] { return q.queue(foreign) == queue_status::rejected; }));
    CHECK_FALSE(done); // shutdown() waits for running items
    leave.release();
    shuts.join();
    chained = 0; // forget the items that ran before the shutdown
    CHECK(refused == 3);
    CHECK_FALSE(foreign.busy());
    q.drain(); // the queue stays closed
    CHECK(q.queue(foreign) == queue_status::rejected);
    CHECK(q.queue_on(*rt.cpus().begin(), foreign) == queue_status::rejected);
    CHECK(q.queue_after(0s, later) == queue_status::rejected);
    CHECK(q.queue_after(1h, later) == queue_status::rejected);
    CHECK(q.modify(1h, later) == queue_status::rejected);
    CHECK(q.post([&] { ++chained; }) == queue_status::rejected);
    CHECK_THROWS_AS(q.async([] {}).get(), std::system_error);
    if (policy.has_attributes) {
        CHECK(q.queue_on_node(0, foreign) == queue_status::rejected);
        q.apply(cmwq::attrs{}.nice(1));
        CHECK(q.queue(foreign) == queue_status::rejected);
    }
    if (policy.has_limit) q.set_max_active(2);
    CHECK(q.shutdown(cancel_pending) == 0);
    q.flush();
    CHECK(chained == 0);
}

POLICY_TEST_CASE("shutdown: concurrent calls share the dropped items and all wait for running items", "",
                 every_policy) {
    held_queue s{policy};
    std::atomic<int> runs{0};
    timed_item armed{[&] { ++runs; }};
    for (int i = 0; i < 100; ++i) s.q.post_on(s.cpu, [&] { ++runs; });
    s.q.queue_after(1h, armed);
    std::atomic<bool> opened{false};
    std::atomic<std::size_t> dropped{0}, too_early{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            dropped += s.q.shutdown(cancel_pending);
            too_early += opened ? 0 : 1;
        });
    }
    CHECK(eventually([&] { return !armed.pending(); }));
    opened = true;
    s.g.open();
    for (std::thread& t : threads) t.join();
    CHECK(dropped == 101);
    CHECK(too_early == 0);
    CHECK(runs == 0);
}

// proves: life-6
POLICY_TEST_CASE("shutdown: a wait for a dropped item ends", "", every_policy) {
    held_queue s{policy};
    item dropped{[] {}};
    s.q.queue_on(s.cpu, dropped);
    std::atomic<int> told{0};
    std::thread of_item([&] {
        dropped.flush();
        ++told;
    });
    std::thread of_queue([&] {
        s.q.flush();
        ++told;
    });
    std::thread of_all([&] {
        s.q.drain();
        ++told;
    });
    std::thread opens([&] {
        static_cast<void>(eventually([&] { return !dropped.pending(); }));
        s.g.open();
    });
    CHECK(s.q.shutdown(cancel_pending) == 1);
    opens.join();
    of_item.join();
    of_queue.join();
    of_all.join();
    CHECK(told == 3);
}

POLICY_TEST_CASE("shutdown: an item of the queue cannot shut it down; the attempt changes nothing", "", every_policy) {
    std::atomic<int> refused{0}, ran{0};
    cmwq::runtime rt;
    any_queue q{policy, rt, "q"};
    item shuts{[&] {
        q.post([&] { ++ran; });
        if (error_of([&] { q.shutdown(cancel_pending); }) == std::errc::resource_deadlock_would_occur) ++refused;
        q.post([&] { ++ran; });
    }};
    q.queue(shuts);
    q.flush();
    q.drain();
    CHECK(refused == 1);
    CHECK(ran == 2);
    CHECK(q.queue(shuts) == queue_status::queued);
    q.flush();
    CHECK(refused == 2);
}

TEST_CASE("shutdown: a bottom half cannot shut a queue down; the attempt changes nothing") {
    cmwq::workqueue<> q{"q"};
    cmwq::workqueue<cmwq::bh> fast{"fast"};
    bool refused = false;
    fast.post([&] { refused = error_of([&] { q.shutdown(cancel_pending); }) == std::errc::operation_not_permitted; });
    fast.flush();
    CHECK(refused);
    CHECK(q.post([] {}) == queue_status::queued);
}

namespace {

/// An item on the heap that its own run destroys, as in real programs, and a second item that it owns.
struct request final : cmwq::work_base {
    explicit request(std::atomic<int>& n)
        : work_base([](work_base& w) { delete static_cast<request*>(&w); }), alive(n) {
        ++alive;
    }
    ~request() {
        end_of_life();
        --alive;
    }
    std::atomic<int>& alive;
    cmwq::work<std::function<void()>> second{[] {}};
};

} // namespace

// proves: life-6
POLICY_TEST_CASE("shutdown: dropped items that would delete themselves are handed to the callable of the caller", "",
                 every_policy) {
    constexpr std::size_t many = 50;
    for (const bool owners : {false, true}) {
        held_queue s{policy};
        std::atomic<int> alive{0};
        int closures = 0;
        std::set<cmwq::work_base*> requests;
        for (std::size_t i = 0; i < many; ++i) {
            auto* r = new request(alive);
            requests.insert(r);
            REQUIRE(s.q.queue_on(s.cpu, *r) == queue_status::queued);
            if (owners) REQUIRE(s.q.queue_on(s.cpu, r->second) == queue_status::queued); // pending when its owner ends
            s.q.post_on(s.cpu, [&closures] { ++closures; });
        }
        item stays{[] {}};
        timed_item armed{[] {}}, armed_too{[] {}};
        s.q.queue_on(s.cpu, stays);
        s.q.queue_after(1h, armed);
        s.q.queue_after(1h, armed_too);
        const std::thread::id me = std::this_thread::get_id();
        int wrong = 0, others = 0;
        bool opened = false;
        const std::size_t dropped = s.q.shutdown(cancel_pending, [&](cmwq::work_base& w) {
            if (std::this_thread::get_id() != me || w.pending()) ++wrong;
            if (!opened) s.g.open(); // no item starts although the limit has room
            opened = true;
            if (&w == &stays) {
                wrong += s.other.queue(w) == queue_status::queued ? 0 : 1;
                ++others;
            } else if (&w == &armed || &w == &armed_too) {
                wrong += (&w == &armed ? armed_too : armed).cancel() ? 0 : 1; // cancelled: it is not handed over
                ++others;
            } else if (requests.erase(&w) == 1) {
                delete static_cast<request*>(&w); // also destroys its second item, which is pending
            } else {
                ++wrong;
            }
        });
        CHECK(wrong == 0);
        CHECK(alive == 0);
        CHECK(requests.empty());
        CHECK(closures == 0);
        CHECK(others == 2);
        CHECK(dropped == 2 * many + 2);
        CHECK(s.g.runs == 1);
        s.other.flush();
        CHECK_FALSE(stays.busy());
    }
}

POLICY_TEST_CASE("shutdown: the first exception of the callable is thrown after the shutdown is complete", "",
                 every_policy) {
    held_queue s{policy};
    std::vector<std::unique_ptr<item>> items;
    for (int i = 0; i < 10; ++i) {
        items.push_back(std::make_unique<item>([] {}));
        s.q.queue_on(s.cpu, *items.back());
    }
    int calls = 0;
    try {
        s.q.shutdown(cancel_pending, [&](cmwq::work_base&) {
            s.g.open();
            throw ++calls; // each call throws
        });
        FAIL("shutdown() has thrown nothing");
    } catch (const int& first) {
        CHECK(first == 1);
    }
    CHECK(calls == 10);
    CHECK_FALSE(s.g.item.busy());
    for (const auto& i : items) CHECK_FALSE(i->busy());
    CHECK(s.q.shutdown(cancel_pending) == 0);
    CHECK(s.q.queue(*items[0]) == queue_status::rejected);
}

// shutdown() drops the items before the wait that would close the cycle.
TEST_CASE("shutdown: a call from an item for which the queue waits is an error but the queue is shut down") {
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::ordered> q{rt, "q"};
    cmwq::workqueue<> other{rt, "other"};
    std::binary_semaphore go{0};
    std::atomic<bool> refused{false};
    std::atomic<int> ran{0};
    item dropped{[&] { ++ran; }};
    item shuts{[&] {
        go.acquire();
        refused = error_of([&] { q.shutdown(cancel_pending); }) == std::errc::resource_deadlock_would_occur;
    }};
    item waits{[&] { shuts.flush(); }};
    other.queue(shuts);
    q.queue(waits);
    q.queue(dropped);
    CHECK(eventually([&] { return rt.dump().find(" waits in flush() for item") != std::string::npos; }));
    go.release();
    other.flush();
    CHECK(refused);
    CHECK_FALSE(dropped.pending());
    CHECK(q.queue(dropped) == queue_status::rejected);
    CHECK(q.shutdown(cancel_pending) == 0); // waits for the running item
    CHECK_FALSE(waits.busy());
    CHECK(ran == 0);
}

POLICY_TEST_CASE("shutdown: the call covers the pools that apply() has replaced and the new ones", "", keyed_policies) {
    held_queue s{policy};
    std::atomic<int> runs{0};
    const auto queue_ten = [&] {
        for (int i = 0; i < 10; ++i) s.q.post_on(s.cpu, [&] { ++runs; });
    };
    queue_ten();
    s.q.apply(cmwq::attrs{}.nice(1));
    queue_ten();
    s.q.apply(cmwq::attrs{}.nice(2));
    queue_ten();
    CHECK(s.shut_down() == 30);
    CHECK(runs == 0);
}

// proves: life-5
POLICY_TEST_CASE("shutdown: every item accepted from concurrent threads has run or was dropped", "", every_policy) {
    for (int round = 0; round < 15; ++round) {
        cmwq::runtime rt;
        any_queue q{policy, rt, at_most(policy, 2, "q")};
        std::atomic<std::size_t> accepted{0}, ran{0}, too_late{0};
        std::atomic<bool> shut{false};
        const std::shared_ptr<int> token = std::make_shared<int>();
        std::vector<std::thread> threads;
        for (int t = 0; t < 3; ++t) {
            threads.emplace_back([&, t] {
                item own{[&] { ++ran; }};
                timed_item timed{[&] { ++ran; }};
                std::size_t mine = 0;
                queue_status last = queue_status::queued;
                const auto note = [&](queue_status s) {
                    last = s;
                    mine += s == queue_status::queued ? 1 : 0;
                };
                for (int i = 0; last != queue_status::rejected; ++i) {
                    const bool late = shut;
                    if (i % 3 == 0) note(q.queue(own));
                    else if (i % 3 == 1) note(q.queue_after(std::chrono::microseconds{20 * t + 1}, timed));
                    else note(q.post([&ran, token] { ++ran; }));
                    if (late && last != queue_status::rejected) ++too_late;
                }
                accepted += mine;
                // The items are destroyed only after shutdown() has counted and all accepted items have run: if the
                // destructor cancels an item, the item is not counted.
                static_cast<void>(eventually([&] { return shut.load(); }));
                q.flush();
            });
        }
        CHECK(eventually([&] { return ran >= 20; }));
        const std::size_t dropped = q.shutdown(cancel_pending);
        shut = true;
        for (std::thread& t : threads) t.join();
        CHECK(too_late == 0);
        CHECK(accepted == ran + dropped);
        CHECK(token.use_count() == 1);
    }
}
