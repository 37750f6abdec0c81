// SPDX-License-Identifier: BSL-1.0
//
// The promises of an item on every queue: pending, running, cancel, disable, flush, its own destruction.
#include "any_queue.hpp"
#include "catch.hpp"
#include "eventually.hpp"
#include "gate.hpp"
#include "policy_list.hpp"
#include "policy_test_case.hpp"

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
using namespace cmwq_test;

namespace {

class suicidal {
public:
    suicidal(std::atomic<int>& ends, any_queue& q) : ends_(ends), q_(q) {}
    void start() { q_.queue(item_); }

private:
    void run() {
        q_.queue(item_); // pending again: the destructor cancels that instance
        std::atomic<int>& e = ends_;
        delete this;
        ++e;
    }

    std::atomic<int>& ends_;
    any_queue& q_;
    cmwq::work_member<&suicidal::run> item_{*this};
};

bool is_deadlock(const std::system_error& e) { return e.code() == std::errc::resource_deadlock_would_occur; }

} // namespace

POLICY_TEST_CASE("items: an item runs once for each time it becomes pending; calls while it is pending add no run", "",
                 every_policy) {
    any_queue one{policy, at_most(policy, 1, "one")};
    any_queue other{policy, "other"};
    const unsigned cpu = first_cpu();
    std::atomic<int> runs{0};
    gate g;
    cmwq::work w{[&] { ++runs; }};
    g.hold(one, cpu);
    CHECK(one.queue_on(cpu, w) == queue_status::queued); // beyond the limit of 1: cannot start yet
    CHECK(one.queue_on(cpu, w) == queue_status::already_pending);
    CHECK(other.queue(w) == queue_status::already_pending); // also on another queue
    CHECK(w.pending());
    CHECK(w.busy());
    CHECK(runs == 0);
    g.open();
    w.flush();
    CHECK(runs == 1);
    CHECK_FALSE(w.busy());
}

POLICY_TEST_CASE("items: an item that is queued while it runs runs once more later; it may queue itself", "",
                 every_policy) {
    any_queue q{policy, "q"};
    std::atomic<int> runs{0}, inside{0};
    std::atomic<bool> overlapped{false}, refused{false};
    const std::vector<unsigned> cpus(cmwq::runtime::global().cpus().begin(), cmwq::runtime::global().cpus().end());
    cmwq::work<std::function<void()>> self{[&] {
        if (inside.fetch_add(1) != 0) overlapped = true;
        const int n = ++runs;
        const unsigned cpu = cpus[static_cast<unsigned>(n) % cpus.size()];
        if (n < 100 && q.queue_on(cpu, self) != queue_status::queued) refused = true;
        inside.fetch_sub(1);
    }};
    q.queue(self);
    q.drain();
    CHECK(runs == 100);
    CHECK_FALSE(overlapped);
    CHECK_FALSE(refused);
}

POLICY_TEST_CASE("items: an item that other threads queue while it runs never runs twice at once", "", every_policy) {
    any_queue q{policy, "q"};
    std::atomic<int> inside{0}, runs{0}, accepted{0};
    std::atomic<bool> overlapped{false};
    cmwq::work w{[&] {
        if (inside.fetch_add(1) != 0) overlapped = true;
        ++runs;
        std::this_thread::yield();
        inside.fetch_sub(1);
    }};
    std::vector<std::thread> producers;
    for (int t = 0; t < 3; ++t) {
        producers.emplace_back([&] {
            for (int i = 0; i < 300; ++i) {
                if (q.queue(w) == queue_status::queued) ++accepted;
                std::this_thread::yield();
            }
        });
    }
    for (auto& t : producers) t.join();
    w.flush();
    CHECK_FALSE(overlapped);
    CHECK(runs == accepted);
}

POLICY_TEST_CASE("items: flush waits for the instance that was queued last and returns whether there was one", "",
                 every_policy) {
    any_queue q{policy, "q"};
    gate g;
    CHECK_FALSE(g.item.flush()); // never queued
    // The flush may begin too late to see the item run. In one of the attempts it begins in time.
    bool waited = false;
    int round = 0;
    CHECK(eventually([&] {
        g.hold(q);
        ++round;
        std::thread opener([&] { g.open(); });
        waited = g.item.flush() || waited;
        CHECK_FALSE(g.item.busy());
        CHECK(g.runs == round);
        opener.join();
        return waited;
    }));
    CHECK_FALSE(g.item.flush()); // idle again
}

POLICY_TEST_CASE("items: a flush of an instance that waits at the limit waits for its run", "", every_policy) {
    any_queue one{policy, at_most(policy, 1, "one")};
    gate g;
    std::atomic<bool> ran{false};
    cmwq::work w{[&] { ran = true; }};
    for (int round = 0; round < 20; ++round) {
        ran = false;
        g.hold(one);
        one.queue_on(first_cpu(), w);
        std::thread opener([&] { g.open(); });
        w.flush();
        CHECK(ran);
        opener.join();
    }
}

POLICY_TEST_CASE("items: cancel removes a pending instance and leaves a running one alone", "", every_policy) {
    any_queue one{policy, at_most(policy, 1, "one")};
    gate g;
    std::atomic<int> runs{0};
    cmwq::work w{[&] { ++runs; }};
    CHECK_FALSE(w.cancel());
    g.hold(one);
    one.queue_on(first_cpu(), w);
    CHECK(w.cancel());
    CHECK_FALSE(w.pending());
    CHECK_FALSE(w.cancel());
    CHECK_FALSE(g.item.cancel()); // runs, but is not pending
    one.queue_on(first_cpu(), g.item);
    CHECK(g.item.cancel()); // the second instance
    g.open();
    one.flush();
    CHECK(runs == 0);
    CHECK(g.runs == 1);
}

POLICY_TEST_CASE("items: a cancelled instance ends the flushes that wait for it", "", every_policy) {
    any_queue one{policy, at_most(policy, 1, "one")};
    gate g;
    cmwq::work w{[] {}};
    g.hold(one);
    for (int round = 0; round < 20; ++round) {
        one.queue_on(first_cpu(), w);
        std::thread waiter([&] { w.flush(); });
        CHECK(w.cancel());
        waiter.join(); // the flush may begin before or after the cancel
    }
    g.open();
}

POLICY_TEST_CASE("items: after cancel_sync the item is neither pending nor running", "", every_policy) {
    any_queue q{policy, "q"};
    gate g;
    g.hold(q);
    CHECK(q.queue_on(first_cpu(), g.item) == queue_status::queued); // running and pending
    std::atomic<bool> returned{false};
    std::atomic<bool> was_pending{false};
    std::thread canceller([&] {
        was_pending = g.item.cancel_sync();
        returned = true;
    });
    // While it waits, no thread can queue the item.
    CHECK(eventually([&] { return q.queue(g.item) == queue_status::disabled; }));
    CHECK(eventually([&] { return !g.item.pending(); })); // cancelled; otherwise it would run when the gate opens
    CHECK_FALSE(returned);
    g.open();
    canceller.join();
    CHECK(was_pending);
    CHECK_FALSE(g.item.busy());
    CHECK(g.runs == 1);
    g.open();
    CHECK(q.queue(g.item) == queue_status::queued); // it can be queued again
    g.item.flush();
    CHECK(g.runs == 2);
}

// proves: kernel-11
POLICY_TEST_CASE("items: several concurrent cancel_sync calls nest", "", every_policy) {
    any_queue q{policy, "q"};
    gate g;
    g.hold(q);
    std::vector<std::thread> cancellers;
    for (int i = 0; i < 4; ++i) cancellers.emplace_back([&] { g.item.cancel_sync(); });
    g.open();
    for (auto& t : cancellers) t.join();
    CHECK_FALSE(g.item.busy());
    g.open();
    CHECK(q.queue(g.item) == queue_status::queued);
}

POLICY_TEST_CASE("items: disable nests and removes a pending instance; enable does not queue it", "", every_policy) {
    any_queue one{policy, at_most(policy, 1, "one")};
    gate g;
    std::atomic<int> runs{0};
    cmwq::work w{[&] { ++runs; }};
    g.hold(one);
    one.queue_on(first_cpu(), w);
    CHECK(w.disable());       // was pending
    CHECK_FALSE(w.disable()); // depth 2
    CHECK(one.queue(w) == queue_status::disabled);
    CHECK_FALSE(w.enable());
    CHECK(one.queue(w) == queue_status::disabled);
    CHECK(w.enable());
    g.open();
    one.flush();
    CHECK(runs == 0);
    CHECK(one.queue(w) == queue_status::queued);
    one.flush();
    CHECK(runs == 1);
    CHECK_FALSE(w.disable_sync());
    CHECK(w.enable());
}

POLICY_TEST_CASE("items: enable without disable throws and changes nothing even if an instance is pending", "",
                 every_policy) {
    any_queue one{policy, at_most(policy, 1, "one")};
    gate g;
    std::atomic<int> runs{0};
    cmwq::work w{[&] { ++runs; }};
    CHECK_THROWS_AS(w.enable(), std::logic_error);
    g.hold(one);
    one.queue_on(first_cpu(), w);
    CHECK_THROWS_AS(w.enable(), std::logic_error);
    CHECK(w.pending());
    g.open();
    one.flush();
    CHECK(runs == 1);
}

TEST_CASE("items: the disable depth has a limit beyond which disable throws and does not wrap") {
    cmwq::workqueue<> q{"q"};
    cmwq::work w{[] {}};
    for (int i = 0; i < 65535; ++i) w.disable();
    CHECK_THROWS_AS(w.disable(), std::length_error);
    CHECK(q.queue(w) == queue_status::disabled);
    int too_early = 0;
    for (int i = 0; i < 65534; ++i) too_early += w.enable() ? 1 : 0;
    CHECK(too_early == 0);
    CHECK(w.enable());
    CHECK(q.queue(w) == queue_status::queued);
}

// proves: progress-33
POLICY_TEST_CASE("items: a wait of an item for itself throws; it does not hang and changes nothing", "", every_policy) {
    any_queue q{policy, "q"};
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
    CHECK(q.queue(w) == queue_status::queued); // not disabled, and the queue does not drain
    w.flush();
    CHECK(thrown == 10);
}

// proves: life-2, kernel-30
POLICY_TEST_CASE("items: an item may destroy itself in its function", "", every_policy) {
    any_queue q{policy, "q"};
    std::atomic<int> ends{0};
    for (int i = 0; i < 1000; ++i) {
        auto* s = new suicidal(ends, q);
        s->start();
    }
    q.drain();
    CHECK(ends == 1000);
}

POLICY_TEST_CASE("items: a new item at the address of an item that has destroyed itself does not wait for the old run",
                 "", every_policy) {
    using item = cmwq::work<std::function<void()>>;
    any_queue q{policy, "q"};
    std::binary_semaphore gone{0};
    std::counting_semaphore<> leave{0};
    alignas(item) static std::byte memory[sizeof(item)];
    item* first = nullptr;
    first = new (memory) item{[&] {
        std::function<void()> rest = [&] {
            gone.release();
            wait_in_item(policy, leave);
        };
        auto keep = std::make_unique<std::function<void()>>(rest); // the closure is destroyed with the item
        first->~item();
        (*keep)();
    }};
    const call_from_aside caller(policy, [&] { q.queue_on(first_cpu(), *first); });
    gone.acquire();
    std::atomic<int> runs{0};
    auto* second = new (memory) item{[&] { ++runs; }};
    CHECK_FALSE(second->busy());
    CHECK(q.queue_on(first_cpu(), *second) == queue_status::queued);
    if (policy.runs_one_at_a_time) {
        // The second item runs after the function of the first. A call that cancels it need not wait for that function.
        CHECK(second->cancel_sync());
        CHECK(runs == 0);
    } else {
        second->flush(); // it runs beside the function of the first
        CHECK(runs == 1);
    }
    second->~item();
    leave.release();
}

POLICY_TEST_CASE("items: the destructor of an item cancels it and waits for the running instance", "", every_policy) {
    any_queue one{policy, at_most(policy, 1, "one")};
    std::binary_semaphore entered{0};
    std::counting_semaphore<> leave{0};
    std::atomic<bool> done{false}, in_time{false};
    auto running = std::make_unique<cmwq::work<std::function<void()>>>([&] {
        entered.release();
        wait_in_item(policy, leave);
        done = true;
    });
    std::atomic<int> runs{0};
    const call_from_aside caller(policy, [&, item = running.get()] { one.queue_on(first_cpu(), *item); });
    {
        cmwq::work pending{[&] { ++runs; }};
        entered.acquire();
        one.queue_on(first_cpu(), pending);
    }
    std::thread destroyer([&] {
        running.reset();
        in_time = done.load();
    });
    leave.release();
    destroyer.join();
    CHECK(in_time);
    one.flush();
    CHECK(runs == 0);
}

// The model tests search the races of calls that find the item pending already.
POLICY_TEST_CASE("items: the run sees data that was written before queue()", "", every_policy) {
    any_queue q{policy, "q"};
    int mailbox = 0; // not atomic: queue() and flush() order the accesses
    std::atomic<int> seen{0};
    cmwq::work w{[&] { seen = mailbox; }};
    int wrong = 0;
    for (int i = 1; i <= 2000; ++i) {
        q.queue(w);
        w.flush();
        mailbox = i;
        q.queue(w);
        w.flush();
        wrong += seen == i ? 0 : 1;
    }
    CHECK(wrong == 0);
}

POLICY_TEST_CASE("items: this_work returns the item and the queue only during a run", "", every_policy) {
    any_queue q{policy, "q"};
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
    CHECK(queue == &q.base());
    CHECK(cmwq::this_work::current() == nullptr);
}
