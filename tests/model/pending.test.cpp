// SPDX-License-Identifier: BSL-1.0
//
// Claiming and clearing PENDING: a call that loses the claim still publishes, no run is lost, and every claim leads to
// one run.
//
// When these defects were put into the engine, these searches found them: a claim that loads first; a relaxed claim;
// PENDING cleared by a plain store; a failing claim that gives PENDING back although the item was enabled meanwhile, or
// that shows PENDING on a disabled item at all; an item pushed to another CPU while it runs.
#include "catch.hpp"
#include "model/machine.hpp"

#include <cmwq/detail/base/atomic.hpp>

#include <memory>

using cmwq::queue_status;
using cmwq::detail::atomic;
using cmwq::detail::relaxed;
using namespace cmwq_test;

namespace {

/// Counts the calls that made the item pending, across threads.
class tally {
public:
    queue_status operator()(queue_status s) noexcept {
        if (s == queue_status::queued) n_.fetch_add(1, relaxed);
        return s;
    }
    [[nodiscard]] int count() const noexcept { return n_.load(relaxed); }

private:
    atomic<int> n_{0};
};

} // namespace

TEST_CASE("pending: the next run sees data written before queue() whether the call won or lost") {
    CHECK(model::explore(search("publish", 3), [] {
        machine m;
        // Relaxed: only the item's own protocol can publish them.
        atomic<int> from_a{0}, from_b{0};
        model::checked<int> runs{0}; // checked: each run happens before the next, and before the end of flush()
        int seen_a = 0, seen_b = 0;
        tally queued;
        cmwq::work w{[&] {
            runs = runs + 1;
            seen_a = from_a.load(relaxed);
            seen_b = from_b.load(relaxed);
        }};
        auto t = model::spawn([&] {
            from_b.store(1, relaxed);
            queued(m.q.queue(w));
        });
        from_a.store(1, relaxed);
        queued(m.q.queue(w));
        t.join();
        m.q.flush();
        model::require(seen_a == 1 && seen_b == 1, "the last run sees both");
        model::require(runs == queued.count(), "one run for each claim");
    }));
}

// proves: kernel-10
TEST_CASE("pending: a queue() that loses publishes a plain variable") {
    CHECK(model::explore(search("publish-plain", 2), [] {
        machine m;
        model::checked<int> message{0};
        atomic<bool> written{false};
        int seen = 0;
        cmwq::work w{[&] {
            // `written` keeps the first run from racing. The last run must see it: queue() publishes it even if it
            // loses.
            if (written.load(cmwq::detail::acquire)) seen = message;
        }};
        m.q.queue(w);
        message = 42;
        written.store(true, cmwq::detail::release);
        m.q.queue(w);
        m.q.flush();
        model::require(seen == 42, "the message has arrived");
    }));
}

// proves: progress-1
TEST_CASE("pending: three threads queue an item and each claim is one run and no two runs happen at once") {
    CHECK(model::explore(search("collapse", 4), [] {
        machine m;
        model::checked<int> runs{0};
        tally queued;
        cmwq::work w{[&] { runs = runs + 1; }};
        auto a = model::spawn([&] { queued(m.q.queue(w)); });
        auto b = model::spawn([&] { queued(m.q.queue(w)); });
        queued(m.q.queue(w));
        a.join();
        b.join();
        m.q.flush();
        model::require(runs >= 1 && runs == queued.count(), "one run for each claim, and at least one");
        model::require(!w.pending() && !w.busy(), "idle afterwards");
    }));
}

TEST_CASE("pending: an item queues itself while other threads queue it on two CPUs") {
    CHECK(model::explore(search_on(2, "again-from-inside", 4), [] {
        machine m;
        model::checked<int> runs{0};
        tally queued;
        std::unique_ptr<cmwq::work_base*> self(new cmwq::work_base*(nullptr));
        cmwq::work w{[&] {
            runs = runs + 1;
            if (runs == 1) model::require(queued(m.q.queue(**self)) != queue_status::rejected, "accepted");
        }};
        *self = &w;
        auto t = model::spawn([&] { queued(m.q.queue_on(1, w)); });
        queued(m.q.queue_on(0, w));
        t.join();
        m.q.drain();
        model::require(runs >= 2 && runs == queued.count(), "one run for each claim, the inner one included");
    }));
}

TEST_CASE("pending: a queue() after enable() is not lost to another thread that fails to claim") {
    CHECK(model::explore(search("enable", 4, 3), [] {
        machine m;
        atomic<int> event{0};
        int seen = 0;
        tally queued;
        model::checked<int> runs{0};
        cmwq::work w{[&] {
            runs = runs + 1;
            seen = event.load(relaxed);
        }};
        w.disable();
        auto t = model::spawn([&] { queued(m.q.queue(w)); });
        event.store(1, relaxed);
        model::require(w.enable(), "enabled");
        model::require(queued(m.q.queue(w)) != queue_status::disabled, "it is enabled");
        t.join(); // the other thread may have won the claim, and a flush covers the item only after that thread's push
        m.q.flush();
        model::require(seen == 1, "a run follows the queue() of the thread that enabled it");
        model::require(runs == queued.count(), "one run for each claim");
    }));
}

TEST_CASE("pending: an item is queued and disabled again and each claim is a run or was cancelled") {
    CHECK(model::explore(search("enable-disable", 3), [] {
        machine m;
        tally queued;
        model::checked<int> runs{0};
        cmwq::work w{[&] { runs = runs + 1; }};
        w.disable();
        auto t = model::spawn([&] { queued(m.q.queue(w)); });
        w.enable();
        const queue_status s = queued(m.q.queue(w));
        const int cancelled = w.disable_sync();
        t.join();
        model::require(s != queue_status::disabled, "it was enabled");
        model::require(runs + cancelled >= 1, "it was reported as pending, so it runs or is cancelled");
        model::require(runs + cancelled == queued.count(), "each claim is a run, or was cancelled");
    }));
}

TEST_CASE("pending: no thread can make a disabled item pending") {
    CHECK(model::explore(search("disable", 3), [] {
        machine m;
        tally queued;
        model::checked<int> runs{0};
        int cancelled = 0;
        cmwq::work w{[&] { runs = runs + 1; }};
        auto t = model::spawn([&] { queued(m.q.queue(w)); });
        cancelled += w.disable_sync();
        const int before = runs;
        model::require(queued(m.q.queue(w)) == queue_status::disabled, "disabled");
        t.join();
        m.q.flush();
        model::require(runs == before, "no run while disabled");
        model::require(w.enable() && queued(m.q.queue(w)) == queue_status::queued, "enabled again, it can be queued");
        m.q.flush();
        model::require(runs + cancelled == queued.count(), "each claim is a run, or was cancelled");
    }));
}
