// SPDX-License-Identifier: BSL-1.0
//
// Timers beside threads that arm, move, bring forward or remove them. The clock may jump at any step.
//
// When these defects were put into the engine, these searches found them: a timer that fires outside of the lock
// without a second look; a timer that is armed on a queue which is already draining; a destructor that looks at the
// location of an item before PENDING.
#include "catch.hpp"
#include "model/machine.hpp"

#include <cmwq/detail/base/atomic.hpp>

#include <chrono>
#include <functional>
#include <memory>

using namespace std::chrono_literals;
using cmwq::queue_status;
using cmwq::detail::atomic;
using cmwq::detail::relaxed;
using namespace cmwq_test;

TEST_CASE("timer: queue_after() runs beside cancel() and beside the firing") {
    CHECK(model::explore(with_time("arm-cancel", 3), [] {
        machine m;
        model::checked<int> runs{0};
        queue_status s = queue_status::rejected;
        cmwq::delayed_work w{[&] { runs = runs + 1; }};
        auto t = model::spawn([&] { s = m.q.queue_after(1ms, w); });
        const int cancelled = w.cancel();
        t.join();
        w.flush();
        model::require(s == queue_status::queued && runs + cancelled == 1, "no item is lost or counted twice");
        model::require(!w.busy(), "no work is left");
    }));
}

TEST_CASE("timer: cancel_sync() runs while the timer fires") {
    CHECK(model::explore(with_time("fire-cancel-sync", 2), [] {
        machine m;
        model::checked<int> runs{0};
        cmwq::delayed_work w{[&] { runs = runs + 1; }};
        m.q.queue_after(1ms, w);
        const int cancelled = w.cancel_sync();
        model::require(!w.busy() && runs + cancelled == 1, "it has run, or was cancelled");
        model::sleep(10'000'000);
        model::require(runs + cancelled == 1, "no timer is left that would fire");
    }));
}

TEST_CASE("timer: a timer fires without help and exactly at its time") {
    CHECK(model::explore(search("fires", 2), [] {
        machine m;
        model::semaphore done{0};
        cmwq::delayed_work late{[&] {
            model::require(m.waited() >= 5'000'000, "not before its time");
            done.release();
        }};
        cmwq::delayed_work soon{[&] {
            model::require(m.waited() >= 2'000'000, "not before its time");
            done.release();
        }};
        auto t = model::spawn([&] { m.q.queue_after(2ms, soon); });
        m.q.queue_after(5ms, late);
        done.acquire();
        done.acquire();
        t.join();
        model::require(m.waited() == 5'000'000, "not after its time: time passes only when no thread can go on");
    }));
}

TEST_CASE("timer: modify() runs beside cancel() and beside the firing") {
    CHECK(model::explore(with_time("modify-cancel", 4), [] {
        machine m;
        model::checked<int> runs{0};
        queue_status s = queue_status::rejected;
        cmwq::delayed_work w{[&] { runs = runs + 1; }};
        m.q.queue_after(1ms, w);
        auto t = model::spawn([&] { s = m.q.modify(3ms, w); });
        const int cancelled = w.cancel();
        t.join();
        w.flush();
        model::require(s == queue_status::queued || s == queue_status::modified, "it has a new time");
        model::require(runs + cancelled == 1 + int{s == queue_status::queued}, "no item is lost or counted twice");
    }));
}

TEST_CASE("timer: two modify() and one queue() at once in any order lead to one run for each claim") {
    CHECK(model::explore(with_time("modify-modify", 4), [] {
        machine m;
        model::checked<int> runs{0};
        atomic<int> queued{0};
        cmwq::delayed_work w{[&] { runs = runs + 1; }};
        const auto count = [&](queue_status s) {
            if (s == queue_status::queued) queued.fetch_add(1, relaxed);
        };
        auto a = model::spawn([&] { count(m.q.modify(1ms, w)); });
        auto b = model::spawn([&] { count(m.q.queue(w)); });
        count(m.q.modify(0ms, w));
        a.join();
        b.join();
        w.flush();
        m.q.drain();
        model::require(runs == queued.load(relaxed) && runs >= 1, "one run for each claim");
    }));
}

TEST_CASE("timer: flush() brings the timer of an item forward once although each run arms it again") {
    CHECK(model::explore(search("flush-arm", 3), [] {
        machine m;
        model::checked<int> runs{0};
        cmwq::delayed_work<std::function<void()>> w{[&] {
            runs = runs + 1;
            m.q.queue_after(1h, w);
        }};
        m.q.queue_after(1h, w);
        model::require(w.flush() && runs == 1, "it has run once, and that run has ended");
        model::require(w.cancel_sync() && runs == 1, "its timer is armed");
    }));
}

TEST_CASE("timer: drain() brings an armed timer forward or refuses the arming") {
    CHECK(model::explore(with_time("arm-drain", 3), [] {
        machine m;
        model::checked<int> runs{0};
        queue_status s = queue_status::queued;
        cmwq::delayed_work w{[&] { runs = runs + 1; }};
        auto t = model::spawn([&] { s = m.q.queue_after(1h, w); });
        m.q.drain();
        t.join();
        // If the timer was armed after the first drain, it is still armed, and this drain brings it forward.
        m.q.drain();
        model::require(runs == int{s == queue_status::queued} && !w.busy(), "every accepted item has run");
    }));
}

// proves: life-4, kernel-13
TEST_CASE("timer: no timer of a queue fires after the destructor of the queue") {
    CHECK(model::explore(with_time("destroy", 3), [] {
        model::checked<int> runs{0};
        cmwq::delayed_work w{[&] { runs = runs + 1; }};
        machine m({.end_searched = true});
        {
            cmwq::workqueue<> q(m.rt, "short-lived");
            q.queue_after(1ms, w);
            if (w.flush()) model::require(runs == 1, "flush() brings it forward");
            q.queue_after(1ms, w);
        }
        model::require(runs == 2 && !w.busy(), "every accepted item has run");
        model::sleep(5'000'000);
        model::require(runs == 2, "no run came later");
    }));
}

// The pwqs of the queue end with the queue, possibly right after the service thread has fired the timer.
TEST_CASE("timer: the destructor of a queue drains while its timers fire") {
    CHECK(model::explore(with_time("destroy-bound", 2), [] {
        machine m;
        model::checked<int> runs{0};
        const auto body = [&] { runs = runs + 1; };
        cmwq::delayed_work a{body}, b{body};
        {
            cmwq::workqueue<> q(m.rt, {.name = "short-lived", .max_active = 1});
            q.queue_after(1ms, a);
            q.queue_after(2ms, b);
        }
        model::require(runs == 2 && !a.busy() && !b.busy(), "every accepted item has run");
    }));
    CHECK(model::explore(with_time("destroy-unbound", 3), [] {
        unbound_machine m;
        model::checked<int> runs{0};
        const auto body = [&] { runs = runs + 1; };
        cmwq::delayed_work a{body}, b{body};
        {
            cmwq::workqueue<cmwq::ordered> q(m.rt, "short-lived");
            q.queue_after(1ms, a);
            q.queue_after(2ms, b);
        }
        model::require(runs == 2 && !a.busy() && !b.busy(), "every accepted item has run");
        m.end_queue();
    }));
    CHECK(model::explore(with_time("destroy-and-modify", 2), [] {
        machine m;
        model::checked<int> runs{0};
        int queued = 1;
        cmwq::delayed_work w{[&] { runs = runs + 1; }};
        {
            cmwq::workqueue<> q(m.rt, "short-lived");
            q.queue_after(1ms, w);
            // An item of the queue moves the timer while the destructor brings it forward.
            q.post([&] { queued += int{q.modify(1h, w) == queue_status::queued}; });
        }
        model::require(runs == queued && !w.busy(), "every accepted item has run");
    }));
}

TEST_CASE("timer: an item arms a timer while its queue is being destroyed") {
    CHECK(model::explore(with_time("arm-destroy", 3), [] {
        machine m;
        model::checked<int> runs{0};
        queue_status s = queue_status::rejected;
        cmwq::delayed_work late{[&] { runs = runs + 1; }};
        {
            cmwq::workqueue<> q(m.rt, "short-lived");
            q.post([&] { s = q.queue_after(1h, late); });
        }
        model::require(runs == int{s == queue_status::queued} && !late.busy(), "every accepted item has run");
    }));
}

TEST_CASE("timer: the destructor of an item removes its timer") {
    CHECK(model::explore(with_time("item-destroyed", 3), [] {
        machine m;
        model::checked<int> runs{0};
        {
            cmwq::delayed_work w{[&] { runs = runs + 1; }};
            m.q.queue_after(1ms, w);
        }
        const int before = runs; // a data race if the item were still running
        model::sleep(5'000'000);
        model::require(runs == before && before <= 1, "no run after the destructor");
    }));
}
