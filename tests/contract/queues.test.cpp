// SPDX-License-Identifier: BSL-1.0
//
// What a queue promises: limits, order, flush, drain, its end.
#include "catch.hpp"
#include "eventually.hpp"

#include <cmwq/cmwq.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using cmwq::queue_status;
using cmwq_test::eventually;

namespace {

// Holds one CPU's slots of a queue until it is told to let them go.
class plug {
public:
    plug(cmwq::workqueue<>& q, unsigned cpu, int slots = 1) : slots_(slots) {
        for (int i = 0; i < slots; ++i) {
            q.post_on(cpu, [this] {
                entered_.release();
                leave_.acquire();
                gone_.release();
            });
        }
        for (int i = 0; i < slots; ++i) entered_.acquire();
    }
    void pull() {
        if (slots_ == 0) return;
        leave_.release(slots_);
        for (; slots_ > 0; --slots_) gone_.acquire();
    }
    ~plug() { pull(); }

private:
    int slots_;
    std::counting_semaphore<> entered_{0}, leave_{0}, gone_{0};
};

} // namespace

TEST_CASE("no more than max_active items of a queue are active on a CPU, the others wait in order") {
    cmwq::workqueue<> q{{.name = "q", .max_active = 3}};
    std::atomic<int> inside{0}, most{0};
    std::vector<int> order;
    std::atomic_flag writing = ATOMIC_FLAG_INIT;
    {
        plug p(q, 0, 3);
        for (int i = 0; i < 50; ++i) {
            q.post_on(0, [&, i] {
                const int n = ++inside;
                int m = most;
                while (m < n && !most.compare_exchange_weak(m, n)) {}
                while (writing.test_and_set()) std::this_thread::yield();
                order.push_back(i);
                writing.clear();
                --inside;
            });
        }
        // The limit is full: an item of another queue runs, these do not.
        cmwq::workqueue<> other{"other"};
        cmwq::work probe{[] {}};
        other.queue_on(0, probe);
        probe.flush();
        CHECK(order.empty());
    }
    q.flush();
    CHECK(most <= 3);
    REQUIRE(order.size() == 50);
    if (most == 1) CHECK(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE("with max_active 1 the items of a CPU run in queueing order") {
    cmwq::workqueue<> q{{.name = "q", .max_active = 1}};
    std::vector<int> order;
    for (int i = 0; i < 1000; ++i) q.post_on(0, [&order, i] { order.push_back(i); });
    q.flush();
    REQUIRE(order.size() == 1000);
    CHECK(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE("set_max_active takes effect at once: raising starts waiting items, lowering stops none") {
    cmwq::workqueue<> q{{.name = "q", .max_active = 1}};
    CHECK(q.max_active() == 1);
    std::counting_semaphore<> entered{0}, leave{0};
    std::atomic<int> inside{0};
    for (int i = 0; i < 5; ++i) {
        q.post_on(0, [&] {
            ++inside;
            entered.release();
            leave.acquire();
            --inside;
        });
    }
    entered.acquire();
    CHECK(inside == 1);
    q.set_max_active(3);
    entered.acquire();
    entered.acquire();
    CHECK(inside == 3);
    q.set_max_active(2);
    CHECK(inside == 3);
    leave.release(); // two are left: nobody starts
    CHECK(eventually([&] { return inside == 2; }));
    CHECK(q.stats().started == 3);
    leave.release(4);
    q.flush();
    CHECK(q.stats().completed == 5);
}

TEST_CASE("an impossible max_active is refused where it is made, and changes nothing") {
    CHECK_THROWS_AS(cmwq::workqueue<>({.name = "q", .max_active = 0}), std::invalid_argument);
    CHECK_THROWS_AS(cmwq::workqueue<>({.name = "q", .max_active = 2049}), std::invalid_argument);
    cmwq::workqueue<> q{{.name = "q", .max_active = 2048}};
    CHECK_THROWS_AS(q.set_max_active(0), std::invalid_argument);
    CHECK_THROWS_AS(q.set_max_active(1'000'000'000), std::invalid_argument);
    CHECK(q.max_active() == 2048);
    try {
        q.set_max_active(0);
    } catch (const std::invalid_argument& e) {
        CHECK(std::string(e.what()).find("1 to 2048") != std::string::npos);
    }
}

TEST_CASE("a failed constructor leaves the exception handler with its owner") {
    const auto counted = std::make_shared<int>(0);
    {
        cmwq::options<> o{.name = "q", .max_active = 0, .on_exception = [counted](std::exception_ptr) {}};
        CHECK(counted.use_count() == 2);
        CHECK_THROWS_AS(cmwq::workqueue<>(std::move(o)), std::invalid_argument);
    }
    CHECK(counted.use_count() == 1);
}

TEST_CASE("a queue keeps its whole name, and takes its policy's without one") {
    const std::string name(200, 'n');
    cmwq::workqueue<> q{name};
    CHECK(q.name() == name);
    cmwq::workqueue<> nameless{cmwq::options<>{}};
    CHECK(nameless.name() == "bound");
}

TEST_CASE("flush covers what was queued before, waiting items included, on every CPU") {
    cmwq::workqueue<> q{{.name = "q", .max_active = 2}};
    for (int round = 0; round < 20; ++round) {
        std::atomic<int> runs{0};
        for (const unsigned cpu : cmwq::runtime::global().cpus()) {
            for (int i = 0; i < 20; ++i) q.post_on(cpu, [&] { ++runs; });
        }
        q.flush();
        CHECK(runs == 20 * static_cast<int>(cmwq::runtime::global().cpus().size()));
    }
}

TEST_CASE("flush does not wait for what is queued later") {
    cmwq::workqueue<> q{"q"};
    std::atomic<bool> stop{false};
    std::atomic<int> runs{0};
    cmwq::work<std::function<void()>> self{[&] {
        ++runs;
        if (!stop) q.queue(self);
    }};
    q.queue(self);
    for (int i = 0; i < 100; ++i) q.flush(); // would never return if it did
    stop = true;
    q.drain();
    CHECK(runs > 0);
}

TEST_CASE("more flushers at once than there are colours") {
    cmwq::workqueue<> q{{.name = "q", .max_active = 4}};
    std::atomic<int> failures{0};
    std::vector<std::thread> flushers;
    for (int t = 0; t < 40; ++t) {
        flushers.emplace_back([&] {
            for (int i = 0; i < 20; ++i) {
                std::atomic<bool> ran{false};
                q.post([&] { ran = true; });
                q.flush();
                if (!ran) ++failures;
            }
        });
    }
    for (auto& t : flushers) t.join();
    CHECK(failures == 0);
}

TEST_CASE("drain waits for chained items and rejects foreign ones meanwhile") {
    cmwq::workqueue<> q{"q"};
    std::binary_semaphore entered{0}, leave{0};
    std::atomic<int> chained{0}, refused{0};
    std::function<void(int)> chain = [&](int left) {
        ++chained;
        if (left > 0 && q.post([&chain, left] { chain(left - 1); }) != queue_status::queued) ++refused;
    };
    q.post([&] {
        entered.release();
        leave.acquire();
        chain(9);
    });
    entered.acquire();
    std::thread drainer([&] { q.drain(); });
    std::atomic<int> foreign{0};
    cmwq::work stranger{[&] { ++foreign; }};
    int accepted = 0;
    CHECK(eventually([&] {
        const queue_status s = q.queue(stranger);
        accepted += s == queue_status::queued ? 1 : 0;
        return s == queue_status::rejected;
    }));
    CHECK(q.post([&] { ++foreign; }) == queue_status::rejected); // and its closure is gone
    leave.release();
    drainer.join();
    CHECK(chained == 10);
    CHECK(refused == 0);
    CHECK(foreign <= accepted); // some calls before the drain were one run
    CHECK_FALSE(stranger.pending());
    CHECK(q.queue(stranger) == queue_status::queued); // open again
    q.flush();
}

TEST_CASE("the destructor runs everything that was accepted, chained items and waiting ones included") {
    std::atomic<int> runs{0};
    {
        cmwq::workqueue<> q{{.name = "q", .max_active = 1}};
        for (int i = 0; i < 100; ++i) {
            q.post([&] {
                ++runs;
                q.post([&] { ++runs; });
            });
        }
    }
    CHECK(runs == 200);
}

TEST_CASE("a queue may be destroyed while its items run, and rejects others from then on") {
    std::binary_semaphore entered{0}, leave{0};
    std::atomic<bool> done{false}, in_time{false}, destroyed{false};
    auto q = std::make_unique<cmwq::workqueue<>>("q");
    cmwq::workqueue<>& alive = *q;
    cmwq::workqueue<> other{"other"};
    q->post([&] {
        entered.release();
        leave.acquire();
        done = true;
    });
    entered.acquire();
    std::thread destroyer([&] {
        q.reset();
        in_time = done.load();
        destroyed = true;
    });
    cmwq::work w{[] {}};
    CHECK(eventually([&] { return alive.queue(w) == queue_status::rejected; })); // its item still runs: it exists
    CHECK_FALSE(destroyed);
    CHECK(other.queue(w) != queue_status::rejected); // the item is as good as before
    leave.release();
    destroyer.join();
    CHECK(in_time);
    w.flush();
}

TEST_CASE("a queue destroyed by one of its own items: an error, and what it had accepted still runs") {
    std::atomic<bool> thrown{false};
    std::atomic<int> runs{0};
    {
        cmwq::runtime rt;
        // A plain pointer: reset() of the standard's owners is noexcept and would terminate.
        auto* q = new cmwq::workqueue<>(rt, {.name = "q", .max_active = 1});
        std::binary_semaphore go{0}, done{0};
        q->post_on(0, [&] {
            go.acquire();
            try {
                delete q;
            } catch (const std::system_error& e) {
                thrown = e.code() == std::errc::resource_deadlock_would_occur;
            }
            done.release();
        });
        for (int i = 0; i < 10; ++i) q->post_on(0, [&] { ++runs; });
        go.release();
        done.acquire();
    } // the runtime finishes it
    CHECK(thrown);
    CHECK(runs == 10);
}

TEST_CASE("an unknown CPU is rejected and leaves the item alone") {
    cmwq::workqueue<> q{"q"};
    cmwq::work w{[] {}};
    cmwq::delayed_work d{[] {}};
    CHECK(q.queue_on(1'000'000, w) == queue_status::rejected);
    CHECK(q.queue_on(~0u, w) == queue_status::rejected);
    CHECK(q.queue_after_on(~0u, std::chrono::seconds{1}, d) == queue_status::rejected);
    CHECK(q.post_on(4096, [] {}) == queue_status::rejected);
    CHECK_FALSE(w.busy());
    cmwq::runtime one{{.cpus = {*cmwq::runtime::global().cpus().begin()}}};
    cmwq::workqueue<> narrow{one, "narrow"};
    for (const unsigned cpu : cmwq::runtime::global().cpus()) {
        const bool known = one.cpus().contains(cpu);
        CHECK(narrow.queue_on(cpu, w) == (known ? queue_status::queued : queue_status::rejected));
        w.flush();
    }
    CHECK(narrow.queue(w) == queue_status::queued); // from whatever CPU this thread is on
    w.flush();
}

TEST_CASE("post and async own what they run") {
    const auto token = std::make_shared<int>(0);
    cmwq::workqueue<> q{"q"};
    q.post([token] {});
    q.flush();
    CHECK(eventually([&] { return token.use_count() == 1; }));
    auto answer = q.async([token] { return 42; });
    CHECK(answer.get() == 42);
    CHECK_THROWS_AS(q.async([]() -> int { throw std::runtime_error("no"); }).get(), std::runtime_error);
    q.async([] {}).get();
    struct counter {
        std::unique_ptr<int> owned = std::make_unique<int>(7); // not copyable
        int operator()() { return *owned; }
    };
    CHECK(q.async(counter{}).get() == 7);
    CHECK(eventually([&] { return token.use_count() == 1; }));
}

TEST_CASE("async on a queue that does not accept gives a future that says so") {
    cmwq::workqueue<> q{"q"};
    std::binary_semaphore entered{0}, leave{0};
    q.post([&] {
        entered.release();
        leave.acquire();
    });
    entered.acquire();
    std::thread drainer([&] { q.drain(); });
    cmwq::work w{[] {}};
    CHECK(eventually([&] { return q.queue(w) == queue_status::rejected; }));
    CHECK_THROWS_AS(q.async([] { return 1; }).get(), std::system_error);
    leave.release();
    drainer.join();
}

TEST_CASE("exceptions go to the queue's handler, and the worker goes on") {
    std::atomic<int> caught{0}, ran{0};
    cmwq::workqueue<> q{{.name = "q", .on_exception = [&](std::exception_ptr e) {
                             try {
                                 std::rethrow_exception(e);
                             } catch (const std::runtime_error&) {
                                 ++caught;
                             }
                         }}};
    for (int i = 0; i < 10; ++i) {
        q.post([] { throw std::runtime_error("item"); });
        q.post([&] { ++ran; });
    }
    q.flush();
    CHECK(caught == 10);
    CHECK(ran == 10);
}

TEST_CASE("priorities have pools of their own; what is refused falls back and is told once") {
    std::atomic<int> told{0}, mute{0}; // Catch's assertions are for the main thread only
    cmwq::runtime rt{{.on_event = [&](const cmwq::event& e) {
        if (e.what == cmwq::event::kind::priority_refused) ++told;
        if (e.message.empty()) ++mute;
    }}};
    cmwq::workqueue<> normal{rt, "normal"};
    cmwq::workqueue<> high{rt, {.name = "high", .priority = cmwq::priority::high}};
    cmwq::workqueue<> fifo{rt, {.name = "fifo", .priority = cmwq::priority::fifo}};
    std::atomic<int> runs{0};
    plug p(normal, 0); // holds the normal pool's worker, not the others
    for (int i = 0; i < 10; ++i) {
        high.post_on(0, [&] { ++runs; });
        fifo.post_on(0, [&] { ++runs; });
    }
    high.flush();
    fifo.flush();
    CHECK(runs == 20);
    CHECK(told <= 1); // none as root
    CHECK(mute == 0);
}

TEST_CASE("the global runtime has all CPUs, also when an item is the first to use it") {
    cmwq::runtime rt;
    cmwq::workqueue<> q{rt, "q"};
    CHECK(q.async([] { return cmwq::runtime().cpus().size(); }).get() == rt.cpus().size());
}

TEST_CASE("the system queues exist, are shared, and run items") {
    CHECK(&cmwq::system_wq() == &cmwq::system_wq());
    CHECK(cmwq::system_wq().name() == "system");
    std::atomic<int> runs{0};
    cmwq::work a{[&] { ++runs; }};
    cmwq::work b{[&] { ++runs; }};
    cmwq::work c{[&] { ++runs; }};
    cmwq::system_wq().queue(a);
    cmwq::system_highpri_wq().queue(b);
    cmwq::system_long_wq().queue(c);
    a.flush();
    b.flush();
    c.flush();
    CHECK(runs == 3);
}
