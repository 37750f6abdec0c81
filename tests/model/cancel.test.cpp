// SPDX-License-Identifier: BSL-1.0
//
// Threads cancel items beside threads that queue and run them: cancel(), cancel_sync(), disable_sync(), the destructor.
//
// When these defects were put into the engine, these searches found them: cancel_sync() that does not wait for the run,
// or lets other threads queue; a cancelled item whose slot no other item takes; an item touched after its function has
// returned; a shut-down that overlooks a worker which is being made.
#include "catch.hpp"
#include "model/machine.hpp"

#include <cmwq/detail/base/atomic.hpp>

#include <memory>

using cmwq::queue_status;
using cmwq::detail::atomic;
using cmwq::detail::relaxed;
using namespace cmwq_test;

TEST_CASE("cancel: each claim leads to one run or to one cancel() that returns true") {
    CHECK(model::explore(search("cancel", 2), [] {
        machine m;
        model::checked<int> runs{0};
        atomic<int> queued{0};
        cmwq::work w{[&] { runs = runs + 1; }};
        auto t = model::spawn([&] {
            for (int i = 0; i < 2; ++i)
                if (m.q.queue(w) == queue_status::queued) queued.fetch_add(1, relaxed);
        });
        const int cancelled = w.cancel();
        t.join();
        m.q.flush();
        model::require(runs + cancelled == queued.load(relaxed), "no item is lost or counted twice");
    }));
}

TEST_CASE("cancel: cancel_sync() leaves the item neither pending nor running") {
    CHECK(model::explore(search("cancel-sync", 2), [] {
        machine m;
        model::checked<int> runs{0}; // a data race unless the run happens before the return
        cmwq::work w{[&] { runs = runs + 1; }};
        auto t = model::spawn([&] { m.q.flush(); });
        m.q.queue(w);
        const bool cancelled = w.cancel_sync();
        model::require(!w.busy(), "neither pending nor running");
        model::require(runs == (cancelled ? 0 : 1), "it has run, or was cancelled");
        t.join();
        model::require(m.q.queue(w) == queue_status::queued, "it can be queued again");
        m.q.flush();
        model::require(runs == (cancelled ? 1 : 2), "and runs again");
    }));
}

// The worker may have begun another item, which the scan for the run finds in its record.
TEST_CASE("cancel: cancel_sync() sees the effects of a run behind which its worker runs another item") {
    CHECK(model::explore(search("cancel-sync-next", 2), [] {
        machine m;
        model::checked<int> runs{0}; // a data race unless the run happens before the return
        model::semaphore held{0};
        cmwq::work w{[&] { runs = runs + 1; }};
        cmwq::work next{[&] { held.acquire(); }};
        m.q.queue(w);
        m.q.queue(next);
        const bool cancelled = w.cancel_sync();
        model::require(runs == (cancelled ? 0 : 1), "it has run, or was cancelled");
        held.release();
        m.q.flush();
    }));
}

TEST_CASE("cancel: cancel_sync() runs beside queue() of another thread") {
    CHECK(model::explore(search("cancel-sync-queue", 1), [] {
        machine m;
        model::checked<int> runs{0};
        queue_status s = queue_status::rejected;
        cmwq::work w{[&] { runs = runs + 1; }};
        auto t = model::spawn([&] { s = m.q.queue(w); });
        const bool cancelled = w.cancel_sync();
        t.join();
        m.q.flush();
        model::require(runs + int{cancelled} == int{s == queue_status::queued}, "no item is lost or counted twice");
    }));
}

TEST_CASE("cancel: cancel_sync() stops an item that queues itself") {
    CHECK(model::explore(search("self-requeue", 1), [] {
        machine m;
        model::checked<int> runs{0};
        bool ended = false;
        std::unique_ptr<cmwq::work_base*> self(new cmwq::work_base*(nullptr));
        cmwq::work w{[&] {
            model::require(!ended, "no run after cancel_sync()");
            runs = runs + 1;
            if (runs < 3) m.q.queue(**self);
        }};
        *self = &w;
        m.q.queue(w);
        w.cancel_sync();
        ended = true;
        model::require(!w.busy(), "neither pending nor running");
        m.q.flush();
    }));
}

// proves: kernel-11
TEST_CASE("cancel: two concurrent cancel_sync() both wait and at most one removes the item") {
    CHECK(model::explore(search("two-cancel-syncs", 3), [] {
        machine m;
        model::checked<int> runs{0};
        int by_a = 0, by_b = 0;
        cmwq::work w{[&] { runs = runs + 1; }};
        m.q.queue(w);
        auto t = model::spawn([&] {
            by_b = w.cancel_sync();
            model::require(runs + by_b <= 1, "the run happened before the return");
        });
        by_a = w.cancel_sync();
        model::require(runs + by_a <= 1, "the run happened before the return");
        t.join();
        model::require(runs + by_a + by_b == 1 && !w.busy(), "it has run, or one call has removed it");
        model::require(m.q.queue(w) == queue_status::queued, "the depth is zero again");
        w.cancel_sync();
    }));
}

// proves: kernel-22
TEST_CASE("cancel: flush() of the item and of the queue end when another thread removes the item") {
    CHECK(model::explore(search("flush-and-cancel", 3), [] {
        machine m;
        model::checked<int> runs{0};
        cmwq::work w{[&] { runs = runs + 1; }};
        m.q.queue(w);
        auto a = model::spawn([&] { w.flush(); });
        auto b = model::spawn([&] { m.q.flush(); });
        const int cancelled = w.cancel();
        a.join();
        b.join();
        model::require(runs + cancelled == 1 && !w.busy(), "no item is lost or counted twice");
    }));
}

// proves: kernel-22
TEST_CASE("cancel: an item beyond max_active is removed and the others move up") {
    CHECK(model::explore(search("inactive", 2), [] {
        machine m({.max_active = 1});
        model::checked<int> runs{0}, behind{0};
        cmwq::work a{[&] { runs = runs + 1; }};
        cmwq::work b{[&] { runs = runs + 1; }};
        cmwq::work c{[&] { behind = behind + 1; }};
        m.q.queue(a);
        m.q.queue(b);
        m.q.queue(c);
        auto t = model::spawn([&] { a.cancel_sync(); });
        b.cancel_sync();
        t.join();
        m.q.flush();
        model::require(behind == 1 && runs <= 2, "the last one has run");
        model::require(m.waited() == 0, "no thread waited for the monitor");
    }));
}

TEST_CASE("cancel: two threads call disable_sync() and each calls enable()") {
    CHECK(model::explore(search("disable-sync", 2), [] {
        machine m;
        model::checked<int> runs{0};
        cmwq::work w{[&] { runs = runs + 1; }};
        m.q.queue(w);
        const auto alone = [&] {
            w.disable_sync();
            model::require(!w.busy(), "neither pending nor running");
            model::require(m.q.queue(w) == queue_status::disabled, "and no thread can change that");
            model::require(runs <= 1, "no race with a run");
            w.enable();
        };
        auto t = model::spawn(alone);
        alone();
        t.join();
        model::require(m.q.queue(w) == queue_status::queued, "the depth is zero again");
        m.q.flush();
    }));
}

// proves: life-1
TEST_CASE("cancel: no thread runs or accesses an item after its destructor") {
    CHECK(model::explore(search("destructor", 1), [] {
        machine m;
        const auto gone = std::make_unique<model::checked<bool>>(false);
        model::checked<int> runs{0};
        {
            const auto body = [&] {
                model::require(!*gone, "the item exists");
                runs = runs + 1;
            };
            const auto w = std::make_unique<cmwq::work<decltype(body)>>(body);
            auto t = model::spawn([&] {
                m.q.queue(*w);
                m.q.queue(*w);
            });
            t.join();
        }
        *gone = true; // a data race if the item still ran
        model::require(runs <= 2, "at most one run for each claim");
        m.q.flush();
    }));
}

// proves: life-2
TEST_CASE("cancel: an item deletes itself while another thread flushes the queue") {
    CHECK(model::explore(search("self-deleting", 2), [] {
        machine m;
        model::checked<int> runs{0};
        struct mortal {
            explicit mortal(model::checked<int>& n) : runs(n) {}
            void run() {
                runs = runs + 1;
                delete this;
            }
            model::checked<int>& runs;
            cmwq::work_member<&mortal::run> item{*this};
        };
        auto* one = new mortal(runs);
        auto t = model::spawn([&] { m.q.flush(); });
        m.q.queue(one->item);
        m.q.post([&] { runs = runs + 1; });
        m.q.flush();
        t.join();
        model::require(runs == 2, "both have run");
    }));
}

// Regression: the shut-down of a pool overlooked a worker that another worker was just making. Without an item to
// flush, the pool may be shut down while its first workers are still being made.
TEST_CASE("cancel: the runtime ends right after a cancel while the pool makes its first workers") {
    CHECK(model::explore(search("shut-down", 4), [] {
        machine m({.warm = false, .end_searched = true});
        cmwq::work w{[] {}};
        auto t = model::spawn([&] { m.q.queue(w); });
        w.cancel_sync();
        t.join();
        m.q.flush();
    }));
    CHECK(model::explore(search("shut-down-sentinel", 1), [] {
        machine m({.sentinel = true, .warm = false, .end_searched = true});
        cmwq::work w{[] {}};
        m.q.queue(w);
        w.cancel_sync();
    }));
}
