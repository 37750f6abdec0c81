// SPDX-License-Identifier: BSL-1.0
//
// shutdown(cancel_pending) and drain() beside threads that queue, cancel and wait, and beside items that queue
// themselves or each other.
#include "catch.hpp"
#include "model/machine.hpp"

#include <cmwq/detail/base/atomic.hpp>

#include <chrono>
#include <memory>
#include <utility>

using namespace std::chrono_literals;
using cmwq::cancel_pending;
using cmwq::queue_status;
using cmwq::detail::atomic;
using cmwq::detail::relaxed;
using namespace cmwq_test;

namespace {
} // namespace

TEST_CASE("shutdown: each claim of a thread that queues beside it is one run or one dropped item") {
    CHECK(model::explore(search("queue", 3), [] {
        machine m({.max_active = 1});
        model::checked<int> runs{0};
        const auto body = [&] { runs = runs + 1; };
        cmwq::work a{body}, b{body}, c{body};
        int queued = 1;
        m.q.queue(a);
        auto t = model::spawn([&] {
            if (m.q.queue(b) == queue_status::queued) ++queued;
            if (m.q.queue(c) == queue_status::queued) ++queued;
        });
        const auto dropped = static_cast<int>(m.q.shutdown(cancel_pending));
        model::require(m.q.queue(c) == queue_status::rejected, "rejected for good");
        t.join();
        m.q.flush(); // for a call that was admitted before the shutdown and pushed after it
        model::require(runs + dropped == queued, "no item is lost or counted twice");
        model::require(!a.busy() && !b.busy() && !c.busy(), "no work is left");
        model::require(m.waited() == 0, "no thread waited for the monitor");
    }));
}

TEST_CASE("shutdown: other threads call cancel_sync() and flush() for the items that it drops") {
    CHECK(model::explore(search("cancel-sync", 3), [] {
        machine m({.max_active = 1});
        model::checked<int> runs{0};
        const auto body = [&] { runs = runs + 1; };
        cmwq::work a{body}, b{body};
        m.q.queue(a);
        m.q.queue(b);
        int cancelled = 0;
        auto t = model::spawn([&] {
            cancelled = b.cancel_sync();
            model::require(!b.busy(), "neither pending nor running");
        });
        const auto dropped = static_cast<int>(m.q.shutdown(cancel_pending));
        t.join();
        model::require(runs + dropped + cancelled == 2, "each item has run or was dropped or cancelled");
    }));
    CHECK(model::explore(search("item-flush", 3), [] {
        machine m({.max_active = 1});
        model::checked<int> runs{0};
        const auto body = [&] { runs = runs + 1; };
        cmwq::work a{body}, b{body};
        m.q.queue(a);
        m.q.queue(b);
        auto t = model::spawn([&] { b.flush(); });
        auto u = model::spawn([&] { m.q.flush(); });
        const auto dropped = static_cast<int>(m.q.shutdown(cancel_pending));
        t.join();
        u.join();
        model::require(runs + dropped == 2 && !b.busy(), "the waiting thread has been woken");
    }));
}

TEST_CASE("shutdown: an item queues itself and other threads queue an item behind its run") {
    CHECK(model::explore(search("self-requeue", 3), [] {
        machine m;
        model::checked<int> runs{0};
        int queued = 1;
        cmwq::work_base* self = nullptr;
        cmwq::work w{[&] {
            runs = runs + 1;
            if (queued < 4 && m.q.queue(*self) == queue_status::queued) ++queued;
        }};
        self = &w;
        m.q.queue(w);
        const auto dropped = static_cast<int>(m.q.shutdown(cancel_pending));
        model::require(!w.busy() && runs + dropped == queued, "it has come to an end");
    }));
    CHECK(model::explore(search("behind-itself", 3), [] {
        machine m;
        model::checked<int> runs{0};
        int queued = 0;
        cmwq::work w{[&] { runs = runs + 1; }};
        auto t = model::spawn([&] {
            for (int i = 0; i < 2; ++i)
                if (m.q.queue(w) == queue_status::queued) ++queued;
        });
        const auto dropped = static_cast<int>(m.q.shutdown(cancel_pending));
        t.join();
        m.q.flush();
        model::require(runs + dropped == queued && !w.busy(), "no item is lost or counted twice");
    }));
}

TEST_CASE("shutdown: timers are armed or firing or just being armed") {
    CHECK(model::explore(with_time("timer", 3), [] {
        machine m;
        model::checked<int> runs{0};
        int queued = 1;
        cmwq::delayed_work a{[&] { runs = runs + 1; }};
        cmwq::delayed_work b{[&] { runs = runs + 1; }};
        m.q.queue_after(1ms, a);
        auto t = model::spawn([&] {
            if (m.q.queue_after(1h, b) == queue_status::queued) ++queued;
        });
        const auto dropped = static_cast<int>(m.q.shutdown(cancel_pending));
        t.join();
        m.q.flush();
        model::require(runs + dropped == queued && !a.busy() && !b.busy(), "no item is lost or counted twice");
    }));
}

TEST_CASE("shutdown: two shutdowns share the posted closures and each closure is destroyed once") {
    CHECK(model::explore(search("posted", 3), [] {
        machine m({.max_active = 1});
        const auto token = std::make_shared<int>();
        model::checked<int> runs{0};
        for (int i = 0; i < 2; ++i) m.q.post([&, token] { runs = runs + 1; });
        int other = 0;
        auto t = model::spawn([&] { other = static_cast<int>(m.q.shutdown(cancel_pending)); });
        const auto dropped = static_cast<int>(m.q.shutdown(cancel_pending));
        t.join();
        model::require(runs + dropped + other == 2, "no item is lost or counted twice");
        model::require(token.use_count() == 1, "all are gone");
    }));
}

TEST_CASE("shutdown: a queue is shut down while slots of the node are on their way") {
    CHECK(model::explore(search_on(2, "slots", 4), [] {
        unbound_machine m({.attributes = pool_for_each_cpu(), .max_active = 1});
        model::checked<int> runs{0};
        const auto body = [&] { runs = runs + 1; };
        cmwq::work a{body}, b{body}, c{body};
        int queued = 1;
        m.q.queue_on(0, a);
        auto t = model::spawn([&] {
            if (m.q.queue_on(1, b) == queue_status::queued) ++queued;
            if (m.q.queue_on(0, c) == queue_status::queued) ++queued;
        });
        const auto dropped = static_cast<int>(m.q.shutdown(cancel_pending));
        t.join();
        m.q.flush();
        model::require(runs + dropped == queued, "no item is lost or counted twice");
        m.end_queue();
    }));
}

TEST_CASE("shutdown: a frozen queue is shut down") {
    CHECK(model::explore(search("frozen", 3), [] {
        machine m({.freezable = true});
        model::checked<int> runs{0};
        const auto body = [&] { runs = runs + 1; };
        cmwq::work a{body}, b{body};
        m.q.queue(a);
        m.rt.freeze();
        int queued = 1;
        auto t = model::spawn([&] {
            if (m.q.queue(b) == queue_status::queued) ++queued;
        });
        const auto dropped = static_cast<int>(m.q.shutdown(cancel_pending)); // does not wait for the thaw
        t.join();
        m.rt.thaw();
        m.q.flush();
        model::require(runs + dropped == queued, "no item is lost or counted twice");
    }));
}

TEST_CASE("shutdown: drain() runs at the same time while items queue other items") {
    CHECK(model::explore(search("drain", 3), [] {
        machine m;
        model::checked<int> runs{0};
        int queued = 1;
        cmwq::work second{[&] { runs = runs + 1; }};
        cmwq::work first{[&] {
            runs = runs + 1;
            if (m.q.queue(second) == queue_status::queued) ++queued;
        }};
        m.q.queue(first);
        auto t = model::spawn([&] { m.q.drain(); });
        const auto dropped = static_cast<int>(m.q.shutdown(cancel_pending));
        t.join();
        model::require(runs + dropped == queued && m.q.queue(first) == queue_status::rejected, "it stays shut");
    }));
    // Two drains: the one that ends first leaves the queue closed for other callers.
    CHECK(model::explore(search("two-drains", 3), [] {
        machine m;
        model::checked<int> runs{0};
        int foreign = 0;
        cmwq::work third{[&] { ++foreign; }};
        cmwq::work second{[&] { runs = runs + 1; }};
        cmwq::work first{[&] {
            runs = runs + 1;
            model::require(m.q.queue(second) == queue_status::queued, "accepted from inside");
        }};
        m.q.queue(first);
        auto t = model::spawn([&] { m.q.drain(); });
        m.q.drain();
        model::require(runs == 2, "the whole chain has run");
        t.join();
        model::require(m.q.queue(third) == queue_status::queued, "open again");
        m.q.flush();
        model::require(foreign == 1, "and it runs");
    }));
}
