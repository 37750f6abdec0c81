// SPDX-License-Identifier: BSL-1.0
//
// What an item promises: pending, running, cancel, disable, flush, its own destruction.
#include "catch.hpp"
#include "eventually.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <semaphore>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

using cmwq::queue_status;
using cmwq_test::eventually;

namespace {

// An item that says when it runs and stays until it is let go. Its queue is made after and destroyed before it.
struct gate {
    std::binary_semaphore entered{0};
    std::binary_semaphore leave{0};
    std::atomic<int> runs{0};
    cmwq::work<std::function<void()>> item{[this] {
        ++runs;
        entered.release();
        leave.acquire();
    }};
};

class suicidal {
public:
    suicidal(std::atomic<int>& ends, cmwq::workqueue<>& q) : ends_(ends), q_(q) {}
    void start() { q_.queue(item_); }

private:
    void run() {
        q_.queue(item_); // pending as well: the destructor takes that away
        std::atomic<int>& e = ends_;
        delete this;
        ++e;
    }

    std::atomic<int>& ends_;
    cmwq::workqueue<>& q_;
    cmwq::work_member<&suicidal::run> item_{*this};
};

bool is_deadlock(const std::system_error& e) { return e.code() == std::errc::resource_deadlock_would_occur; }

} // namespace

TEST_CASE("an item runs once for each time it was made pending, and calls in between are one run") {
    cmwq::workqueue<> q{"q"};
    gate g;
    std::atomic<int> runs{0};
    cmwq::work w{[&] { ++runs; }};
    REQUIRE(q.queue_on(0, g.item) == queue_status::queued);
    g.entered.acquire();
    cmwq::workqueue<> one{{.name = "one", .max_active = 1}};
    std::binary_semaphore blocked{0}, release{0};
    one.post_on(0, [&] {
        blocked.release();
        release.acquire();
    });
    blocked.acquire();
    CHECK(one.queue_on(0, w) == queue_status::queued); // beyond the limit of 1: cannot start yet
    CHECK(one.queue_on(0, w) == queue_status::already_pending);
    CHECK(q.queue(w) == queue_status::already_pending); // on whatever queue
    CHECK(w.pending());
    CHECK(w.busy());
    CHECK(runs == 0);
    release.release();
    w.flush();
    CHECK(runs == 1);
    CHECK_FALSE(w.busy());
    g.leave.release();
}

TEST_CASE("an item that is queued while it runs, also by itself, runs once more, later") {
    cmwq::workqueue<> q{"q"};
    std::atomic<int> runs{0}, inside{0};
    std::atomic<bool> overlapped{false}, refused{false};
    const auto nr_cpus = static_cast<unsigned>(cmwq::runtime::global().cpus().size());
    cmwq::work<std::function<void()>> self{[&] {
        if (inside.fetch_add(1) != 0) overlapped = true;
        const int n = ++runs;
        if (n < 100 && q.queue_on(static_cast<unsigned>(n) % nr_cpus, self) != queue_status::queued) refused = true;
        inside.fetch_sub(1);
    }};
    q.queue(self);
    q.drain();
    CHECK(runs == 100);
    CHECK_FALSE(overlapped);
    CHECK_FALSE(refused);
}

TEST_CASE("an item that still runs on one CPU is not run on another: it runs there again") {
    cmwq::runtime rt;
    if (rt.cpus().size() < 2) return; // a machine with one CPU cannot show it
    const unsigned first = *rt.cpus().begin(), second = rt.cpus().next(first + 1);
    cmwq::workqueue<> q{rt, "q"};
    gate g;
    std::atomic<unsigned> last_cpu{~0u};
    cmwq::work<std::function<void()>> w{[&] {
        last_cpu = cmwq::detail::current_cpu();
        if (++g.runs == 1) {
            g.entered.release();
            g.leave.acquire();
        }
    }};
    REQUIRE(q.queue_on(first, w) == queue_status::queued);
    g.entered.acquire();
    REQUIRE(q.queue_on(second, w) == queue_status::queued);
    // An item queued behind it on the other CPU runs at once: so w does not wait there.
    cmwq::work other{[] {}};
    q.queue_on(second, other);
    other.flush();
    CHECK(g.runs == 1);
    CHECK(w.pending());
    g.leave.release();
    w.flush();
    CHECK(g.runs == 2);
    CHECK(last_cpu == first);
    REQUIRE(q.queue_on(second, w) == queue_status::queued); // idle now: the CPU counts
    w.flush();
    CHECK(last_cpu == second);
}

TEST_CASE("queue_on runs the item on that CPU") {
    cmwq::workqueue<> q{"q"};
    for (const unsigned cpu : cmwq::runtime::global().cpus()) {
        std::atomic<unsigned> seen{~0u};
        cmwq::work w{[&] { seen = cmwq::detail::current_cpu(); }};
        CHECK(q.queue_on(cpu, w) == queue_status::queued);
        w.flush();
        CHECK(seen == cpu);
    }
}

TEST_CASE("flush waits for the instance queued last and tells whether there was one") {
    cmwq::workqueue<> q{"q"};
    std::atomic<int> runs{0};
    std::atomic<bool> go{false};
    cmwq::work w{[&] {
        while (!go) std::this_thread::yield();
        ++runs;
    }};
    CHECK_FALSE(w.flush()); // never queued
    // Whether the flush is early enough to find it at work is a race; sooner or later it is.
    bool waited = false;
    CHECK(eventually([&] {
        go = false;
        q.queue(w);
        std::thread starter([&] { go = true; });
        const int before = runs;
        waited = w.flush() || waited;
        CHECK(runs >= before);
        CHECK_FALSE(w.pending());
        starter.join();
        return waited;
    }));
    CHECK_FALSE(w.flush()); // idle again
}

TEST_CASE("cancel takes a pending instance away and leaves a running one alone") {
    cmwq::workqueue<> q{{.name = "q", .max_active = 1}};
    gate g;
    std::atomic<int> runs{0};
    cmwq::work w{[&] { ++runs; }};
    CHECK_FALSE(w.cancel());
    q.queue_on(0, g.item);
    g.entered.acquire();
    q.queue_on(0, w);
    CHECK(w.cancel());
    CHECK_FALSE(w.pending());
    CHECK_FALSE(w.cancel());
    CHECK_FALSE(g.item.cancel()); // runs, but is not pending
    q.queue_on(0, g.item);
    CHECK(g.item.cancel()); // the second instance
    g.leave.release();
    q.flush();
    CHECK(runs == 0);
    CHECK(g.runs == 1);
}

TEST_CASE("a cancelled instance releases those who flush it") {
    cmwq::workqueue<> q{{.name = "q", .max_active = 1}};
    gate g;
    cmwq::work w{[] {}};
    q.queue_on(0, g.item);
    g.entered.acquire();
    q.queue_on(0, w);
    std::thread waiter([&] { w.flush(); });
    CHECK(w.cancel());
    waiter.join(); // whether it came before or after the cancel
    g.leave.release();
}

TEST_CASE("cancel_sync: afterwards the item is neither pending nor running") {
    cmwq::workqueue<> q{"q"};
    gate g;
    q.queue(g.item);
    g.entered.acquire();
    q.queue(g.item); // running and pending
    std::atomic<bool> returned{false};
    std::atomic<bool> was_pending{false};
    std::thread canceller([&] {
        was_pending = g.item.cancel_sync();
        returned = true;
    });
    // While it waits, nobody can queue the item.
    CHECK(eventually([&] { return q.queue(g.item) == queue_status::disabled; }));
    CHECK_FALSE(returned);
    g.leave.release();
    canceller.join();
    CHECK(was_pending);
    CHECK_FALSE(g.item.busy());
    CHECK(g.runs == 1);
    CHECK(q.queue(g.item) == queue_status::queued); // it can be queued again
    g.leave.release();
}

TEST_CASE("several cancel_sync at once nest") {
    cmwq::workqueue<> q{"q"};
    gate g;
    q.queue(g.item);
    g.entered.acquire();
    std::vector<std::thread> cancellers;
    for (int i = 0; i < 4; ++i) cancellers.emplace_back([&] { g.item.cancel_sync(); });
    g.leave.release();
    for (auto& t : cancellers) t.join();
    CHECK_FALSE(g.item.busy());
    CHECK(q.queue(g.item) == queue_status::queued);
    g.leave.release();
}

TEST_CASE("disable nests, takes a pending instance away, and enable does not queue") {
    cmwq::workqueue<> q{{.name = "q", .max_active = 1}};
    gate g;
    std::atomic<int> runs{0};
    cmwq::work w{[&] { ++runs; }};
    q.queue_on(0, g.item);
    g.entered.acquire();
    q.queue_on(0, w);
    CHECK(w.disable());       // was pending
    CHECK_FALSE(w.disable()); // depth 2
    CHECK(q.queue(w) == queue_status::disabled);
    CHECK_FALSE(w.enable());
    CHECK(q.queue(w) == queue_status::disabled);
    CHECK(w.enable());
    g.leave.release();
    q.flush();
    CHECK(runs == 0);
    CHECK(q.queue(w) == queue_status::queued);
    q.flush();
    CHECK(runs == 1);
    CHECK_FALSE(w.disable_sync());
    CHECK(w.enable());
}

TEST_CASE("enable without disable is an error that changes nothing, pending instances included") {
    cmwq::workqueue<> q{{.name = "q", .max_active = 1}};
    gate g;
    std::atomic<int> runs{0};
    cmwq::work w{[&] { ++runs; }};
    CHECK_THROWS_AS(w.enable(), std::logic_error);
    q.queue_on(0, g.item);
    g.entered.acquire();
    q.queue_on(0, w);
    CHECK_THROWS_AS(w.enable(), std::logic_error);
    CHECK(w.pending());
    g.leave.release();
    q.flush();
    CHECK(runs == 1);
}

TEST_CASE("the disable depth has a ceiling, which is an error and not a wrap") {
    cmwq::workqueue<> q{"q"};
    cmwq::work w{[] {}};
    for (int i = 0; i < 65535; ++i) w.disable();
    CHECK_THROWS_AS(w.disable(), std::length_error);
    CHECK(q.queue(w) == queue_status::disabled);
    for (int i = 0; i < 65534; ++i) CHECK_FALSE(w.enable());
    CHECK(w.enable());
    CHECK(q.queue(w) == queue_status::queued);
}

TEST_CASE("waiting for oneself throws instead of hanging, and changes nothing") {
    cmwq::workqueue<> q{"q"};
    std::atomic<int> thrown{0};
    cmwq::work<std::function<void()>> w{[&] {
        const auto expect = [&](auto f) {
            try {
                f();
            } catch (const std::system_error& e) {
                if (is_deadlock(e)) ++thrown;
            }
        };
        expect([&] { w.flush(); });
        expect([&] { w.cancel_sync(); });
        expect([&] { w.disable_sync(); });
        expect([&] { q.flush(); });
        expect([&] { q.drain(); });
    }};
    q.queue(w);
    w.flush();
    CHECK(thrown == 5);
    CHECK(q.queue(w) == queue_status::queued); // neither disabled nor draining
    w.flush();
    CHECK(thrown == 10);
}

TEST_CASE("an item may destroy itself in its function") {
    cmwq::workqueue<> q{"q"};
    std::atomic<int> ends{0};
    for (int i = 0; i < 1000; ++i) {
        auto* s = new suicidal(ends, q);
        s->start();
    }
    q.drain();
    CHECK(ends == 1000);
}

TEST_CASE("what takes the address of an item that has destroyed itself does not wait for it") {
    cmwq::workqueue<> q{"q"};
    std::binary_semaphore gone{0}, leave{0};
    alignas(cmwq::work<std::function<void()>>) static std::byte memory[sizeof(cmwq::work<std::function<void()>>)];
    using item = cmwq::work<std::function<void()>>;
    item* first = nullptr;
    first = new (memory) item{[&] {
        std::function<void()> rest = [&] {
            gone.release();
            leave.acquire();
        };
        auto keep = std::make_unique<std::function<void()>>(rest); // the closure itself goes with the item
        first->~item();
        (*keep)();
    }};
    q.queue_on(0, *first);
    gone.acquire();
    std::atomic<int> runs{0};
    auto* second = new (memory) item{[&] { ++runs; }};
    CHECK_FALSE(second->busy());
    CHECK(q.queue_on(0, *second) == queue_status::queued);
    second->flush(); // runs beside the function of the first
    CHECK(runs == 1);
    second->~item();
    leave.release();
}

TEST_CASE("destroying an item cancels it and waits for the running instance") {
    cmwq::workqueue<> q{{.name = "q", .max_active = 1}};
    std::binary_semaphore entered{0}, leave{0};
    std::atomic<bool> done{false}, in_time{false};
    auto running = std::make_unique<cmwq::work<std::function<void()>>>([&] {
        entered.release();
        leave.acquire();
        done = true;
    });
    std::atomic<int> runs{0};
    {
        cmwq::work pending{[&] { ++runs; }};
        q.queue_on(0, *running);
        entered.acquire();
        q.queue_on(0, pending);
    }
    std::thread destroyer([&] {
        running.reset();
        in_time = done.load();
    });
    leave.release();
    destroyer.join();
    CHECK(in_time);
    q.flush();
    CHECK(runs == 0);
}

TEST_CASE("what was written before queue() is seen by the run; the model tests search the races of losing calls") {
    cmwq::workqueue<> q{"q"};
    int mailbox = 0; // plain: the item's order makes it visible
    std::atomic<int> seen{0};
    cmwq::work w{[&] { seen = mailbox; }};
    for (int i = 1; i <= 2000; ++i) {
        q.queue(w);
        w.flush();
        mailbox = i;
        q.queue(w);
        w.flush();
        CHECK(seen == i);
    }
}

TEST_CASE("this_work knows the item and the queue, inside only") {
    cmwq::workqueue<> q{"q"};
    CHECK(cmwq::this_work::current() == nullptr);
    CHECK(cmwq::this_work::queue() == nullptr);
    std::atomic<cmwq::work_base*> item{nullptr};
    std::atomic<cmwq::workqueue_base*> queue{nullptr};
    cmwq::work w{[&] {
        item = cmwq::this_work::current();
        queue = cmwq::this_work::queue();
    }};
    q.queue(w);
    w.flush();
    CHECK(item == &w);
    CHECK(queue == &q);
}
