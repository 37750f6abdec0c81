// SPDX-License-Identifier: BSL-1.0
//
// Items on local lists, which any thread can cancel, wait for, queue again and destroy. Their worker runs them one
// after the other in one run, as a follower: without the lock of the pool in between.
//
// When these defects were put into the engine, these searches found them: a follower that does not look whether its end
// needs the lock; a thread that does not note so; a reset of `current` that is relaxed;
// a thread that does not look at `current` once more; a worker that becomes a follower although threads wait for its
// item, or although the item was queued again; a follower that is not searched for; a search for the run before an
// instance that looks at `current` only; an item that follows without being published as running, or by a relaxed
// store. They do not find that a thread notes so by a relaxed store.
#include "catch.hpp"
#include "model/threads.hpp"

#include <cmwq/detail/base/atomic.hpp>

#include <functional>
#include <memory>
#include <utility>

using cmwq::attrs;
using cmwq::queue_status;
using cmwq::detail::atomic;
using cmwq::detail::relaxed;
using namespace cmwq_test;

namespace {

/// An item queues two others, `older` and `newer`. Its worker runs the newer one first; the older one follows.
class family {
public:
    using function = std::function<void()>;

    explicit family(elastic_machine& m, function older_body = {}, function newer_body = {}, function of_parent = {})
        : older([this, f = std::move(older_body)] { run(of_older_, f); }),
          newer([this, f = std::move(newer_body)] { run(of_newer_, f); }), parent([this, &m, f = std::move(of_parent)] {
              status_of_older_ = m.q.queue(older);
              m.q.queue(newer);
              if (f) f();
              queued.release();
          }) {}

    void start(elastic_machine& m) { m.q.queue(parent); }
    [[nodiscard]] int runs_of_older() const { return of_older_; }
    [[nodiscard]] int runs_of_newer() const { return of_newer_; }
    [[nodiscard]] bool older_was_queued() const { return status_of_older_ == queue_status::queued; }

private:
    model::checked<int> of_older_{0}, of_newer_{0};
    queue_status status_of_older_ = queue_status::rejected;

public:
    model::semaphore queued{0};
    cmwq::work<function> older, newer, parent; // destroyed before the members above, so that these outlive their runs

private:
    static void run(model::checked<int>& runs, const function& f) {
        runs = runs + 1; // a data race if the item runs twice at once
        if (f) f();
    }
};

} // namespace

TEST_CASE("followers: each item that an item queues runs once, also if it has run before") {
    const auto body = [] {
        elastic_machine m;
        family f(m);
        for (int i = 1; i <= 2; ++i) {
            f.start(m);
            f.queued.acquire();
            m.q.flush();
            model::require(f.runs_of_older() == i && f.runs_of_newer() == i, "each has run once more");
        }
        model::require(m.waited() == 0, "no thread waited for the monitor");
    };
    CHECK(model::explore(search_on(1, "once", 2), body));
    CHECK(model::explore(search_on(2, "once-beside-a-thief", 3), body));
}

TEST_CASE("followers: flush() of an item returns after its run wherever the item is") {
    const auto body = [] {
        elastic_machine m;
        family f(m);
        f.start(m);
        f.queued.acquire();
        f.older.flush();
        model::require(f.runs_of_older() == 1, "it has run");
        m.q.flush();
        model::require(m.waited() == 0, "no thread waited for the monitor");
    };
    CHECK(model::explore(search_on(1, "flush", 3), body));
    CHECK(model::explore(search_on(2, "flush-beside-a-thief", 3), body));
}

// The next item may follow only if no thread waits for the end of the item before it.
TEST_CASE("followers: an item waits until flush() of the item that it follows has returned") {
    const auto body = [](bool parent) {
        elastic_machine m;
        model::semaphore flushed{0};
        const auto waits = [&] { flushed.acquire(); };
        family f = parent ? family(m, {}, waits) : family(m, waits);
        f.start(m);
        if (!parent) f.queued.acquire();
        parent ? f.parent.flush() : f.newer.flush();
        flushed.release();
        m.q.drain();
        model::require(f.runs_of_older() == 1 && f.runs_of_newer() == 1, "each has run once");
        model::require(m.waited() <= 20 * ms, "a detector was armed"); // the items may have changed their order
    };
    CHECK(model::explore(search_on(1, "flush-of-parent", 2), [&] { body(true); }));
    CHECK(model::explore(search_on(1, "flush-of-follower", 3), [&] { body(false); }));
}

// cancel_sync() with an item that runs: it waits only for that run.
TEST_CASE("followers: cancel_sync() leaves the item neither pending nor running") {
    const auto body = [] {
        elastic_machine m;
        family f(m);
        f.start(m);
        f.queued.acquire();
        const bool cancelled = f.older.cancel_sync();
        model::require(f.runs_of_older() == (cancelled ? 0 : 1), "it has run, or was cancelled");
        model::require(!f.older.busy(), "neither pending nor running");
        m.q.flush();
        model::require(f.runs_of_older() == (cancelled ? 0 : 1) && f.runs_of_newer() == 1, "no run is lost");
        model::require(m.waited() == 0, "no thread waited for the monitor");
    };
    CHECK(model::explore(search_on(1, "cancel-sync", 3), body));
    CHECK(model::explore(search_on(2, "cancel-sync-beside-a-thief", 3), body));
}

TEST_CASE("followers: each claim leads to one run or to one cancel() that returns true") {
    CHECK(model::explore(search_on(1, "cancel", 3), [] {
        elastic_machine m;
        family f(m);
        atomic<int> queued{0};
        f.start(m);
        auto t = model::spawn([&] {
            if (m.q.queue(f.older) == queue_status::queued) queued.fetch_add(1, relaxed);
        });
        const int cancelled = f.older.cancel();
        f.queued.acquire();
        t.join();
        m.q.flush();
        model::require(f.runs_of_older() + cancelled == queued.load(relaxed) + int{f.older_was_queued()},
                       "no item is lost or counted twice");
    }));
}

TEST_CASE("followers: an item that is queued while it runs does not run twice at once") {
    const auto body = [](bool wait) {
        elastic_machine m;
        model::semaphore started{0};
        family f(m, [&] { started.release(); });
        f.start(m);
        started.acquire();
        const bool again = m.q.queue(f.older) == queue_status::queued; // it is running, or has just ended
        if (wait) f.older.flush();
        m.q.flush();
        model::require(again && f.runs_of_older() == 2, "it has run again");
        model::require(m.waited() == 0, "no thread waited for the monitor");
    };
    CHECK(model::explore(search_on(1, "again", 3), [&] { body(false); }));
    CHECK(model::explore(search_on(2, "again-beside-a-thief", 4), [&] { body(false); }));
    CHECK(model::explore(search_on(1, "again-and-flush", 3), [&] { body(true); }));
}

TEST_CASE("followers: an item waits until the item that it follows has run again") {
    const auto body = [](bool parent) {
        elastic_machine m;
        model::semaphore started{0}, again{0};
        const auto counts = [&] {
            started.release();
            again.release();
        };
        const auto waits = [&, first = true]() mutable {
            if (!std::exchange(first, false)) return;
            again.acquire();
            again.acquire();
        };
        family f = parent ? family(m, {}, waits, counts) : family(m, waits, counts);
        f.start(m);
        started.acquire();
        auto& w = parent ? f.parent : f.newer;
        while (m.q.queue(w) != queue_status::queued) {}
        started.acquire();
        m.q.drain();
        model::require((parent ? f.runs_of_newer() : f.runs_of_older()) >= 1, "it has run");
        model::require(m.waited() <= 20 * ms, "a detector was armed");
    };
    CHECK(model::explore(search_on(1, "parent-again", 1), [&] { body(true); }));
    CHECK(model::explore(search_on(2, "parent-again-beside-a-cpu", 2), [&] { body(true); }));
    CHECK(model::explore(search_on(1, "follower-again", 1), [&] { body(false); }));
    CHECK(model::explore(search_on(2, "follower-again-beside-a-cpu", 2), [&] { body(false); }));
}

// Another worker puts the instance behind the run, which blocks. Then the run goes on, and could continue with one more
// item, while the instance is cancelled.
TEST_CASE("followers: an instance that waits behind the run of its item is cancelled") {
    const auto body = [] {
        elastic_machine m;
        model::semaphore started{0}, gate{0};
        cmwq::work more{[] {}};
        family f(m, [&] {
            started.release();
            wait_at(gate, cmwq::will_block);
            m.q.queue(more);
        });
        {
            const model::unsearched quiet;
            f.start(m);
            started.acquire();
            m.q.queue(f.older);
            model::sleep(1000 * ms); // the instance waits behind the run
        }
        auto t = model::spawn([&] { gate.release(); });
        const int cancelled = f.older.cancel();
        gate.release(); // for the second instance
        t.join();
        m.q.drain();
        model::require(f.runs_of_older() + cancelled == 2, "no item is lost or counted twice");
    };
    CHECK(model::explore(search_on(1, "cancel-behind-run", 3), body));
    CHECK(model::explore(search_on(2, "cancel-behind-run-beside-a-cpu", 3), body));
}

TEST_CASE("followers: an item queues another one that still runs") {
    const auto body = [](int nr_rounds) {
        elastic_machine m;
        model::checked<int> runs{0};
        model::semaphore gate{0}, queued{0};
        cmwq::work w{[&] {
            runs = runs + 1; // a data race if the item runs twice at once
            if (runs > nr_rounds) return;
            queued.release();
            wait_at(gate, cmwq::will_block);
            runs = runs + 1;
        }};
        cmwq::work other{[&] {
            queued.acquire();
            m.q.queue(w);
            gate.release();
        }};
        m.q.queue(w);
        m.q.queue(other);
        other.flush();
        m.q.drain();
        model::require(runs == 3, "it has run twice");
    };
    CHECK(model::explore(search_on(1, "still-runs", 2), [&] { body(1); }));
    CHECK(model::explore(search_on(2, "still-runs-beside-a-cpu", 3), [&] { body(1); }));
}

// A run in another worker has just ended, or has not ended yet.
TEST_CASE("followers: an item queues another one that has just run") {
    CHECK(model::explore(search_on(2, "just-ran", 3), [] {
        elastic_machine m;
        model::checked<int> runs{0};
        cmwq::work w{[&] { runs = runs + 1; }}; // a data race unless the runs follow each other
        cmwq::work other{[&] { m.q.queue(w); }};
        m.q.queue(w);
        m.q.queue(other);
        m.q.drain();
        model::require(runs == 1 || runs == 2, "the second call may have come before the run");
    }));
}

TEST_CASE("followers: an item queues another one that still runs in the former pool of the queue") {
    CHECK(model::explore(search_on(2, "former-pool", 3), [] {
        elastic_machine m({.others = attrs{}.nice(1)});
        model::checked<int> runs{0};
        model::semaphore started{0}, gate{0};
        cmwq::work w{[&] {
            runs = runs + 1; // a data race if the item runs twice at once
            started.release();
            wait_at(gate, cmwq::will_block);
            runs = runs + 1;
        }};
        cmwq::work other{[&] {
            m.q.queue(w);
            gate.release();
            gate.release();
        }};
        {
            const model::unsearched quiet;
            m.q.queue(w);
            started.acquire();
            m.q.apply(attrs{}.nice(1));
        }
        m.q.queue(other);
        other.flush();
        m.q.drain();
        model::require(runs == 4, "it has run twice");
        m.end_queue();
    }));
}

TEST_CASE("followers: an item destroys itself in its function, and the next one follows") {
    CHECK(model::explore(search_on(1, "destroys-itself", 2), [] {
        elastic_machine m;
        std::unique_ptr<cmwq::work<std::function<void()>>> gone;
        model::checked<int> runs{0};
        model::semaphore done{0};
        gone = std::make_unique<cmwq::work<std::function<void()>>>([&] {
            runs = runs + 1;
            gone.reset();
        });
        cmwq::work next{[&] {
            runs = runs + 1;
            done.release();
        }};
        cmwq::work parent{[&] {
            m.q.queue(next);
            m.q.queue(*gone);
        }};
        m.q.queue(parent);
        done.acquire();
        m.q.flush();
        model::require(runs == 2, "both have run");
    }));
}

TEST_CASE("followers: the owner of an item destroys it while it may follow") {
    const auto body = [] {
        elastic_machine m;
        model::checked<int> runs{0};
        model::semaphore queued{0};
        auto older = std::make_unique<cmwq::work<std::function<void()>>>([&] { runs = runs + 1; });
        cmwq::work newer{[] {}};
        cmwq::work parent{[&] {
            m.q.queue(*older);
            m.q.queue(newer);
            queued.release();
        }};
        m.q.queue(parent);
        queued.acquire();
        older.reset();
        model::require(runs <= 1, "the run happened before the return"); // a data race otherwise
        m.q.flush();
    };
    CHECK(model::explore(search_on(1, "destroyed", 3), body));
    CHECK(model::explore(search_on(2, "destroyed-beside-a-thief", 3), body));
}

// The newer item blocks in the run in which the older one would follow.
TEST_CASE("followers: an item that blocks keeps no older one from starting") {
    const auto body = [](std::optional<cmwq::block_kind> announce, std::int64_t patience) {
        elastic_machine m;
        model::semaphore gate{0};
        family f(m, [&] { gate.release(); }, [&] { wait_at(gate, announce); });
        f.start(m);
        f.queued.acquire();
        f.newer.flush();
        m.q.flush();
        model::require(f.runs_of_older() == 1 && f.runs_of_newer() == 1, "each has run once");
        model::require(m.waited() <= patience, "another worker has come in time");
    };
    CHECK(model::explore(search_on(1, "blocks-announced", 2), [&] { body(cmwq::will_block, 0); }));
    CHECK(model::explore(search_on(1, "blocks", 2), [&] { body({}, 20 * ms); }));
}

TEST_CASE("followers: no item runs between wait_frozen() and thaw() and none is lost") {
    CHECK(model::explore(search_on(1, "freeze", 3), [] {
        elastic_machine m({.freezable = true});
        family f(m);
        f.start(m);
        m.rt.freeze();
        model::require(m.rt.wait_frozen(), "no thread thaws it");
        const int before = f.runs_of_older() + f.runs_of_newer(); // a data race unless no item runs
        m.rt.thaw();
        f.queued.acquire();
        m.q.flush();
        model::require(before <= 2 && f.runs_of_older() == 1 && f.runs_of_newer() == 1, "each has run once");
    }));
}

TEST_CASE("followers: a queue changes its pools while its items follow each other") {
    const auto body = [] {
        elastic_machine m({.others = attrs{}.nice(1)});
        family f(m);
        auto t = model::spawn([&] { m.q.apply(attrs{}.nice(1)); });
        f.start(m);
        f.queued.acquire();
        t.join();
        m.q.drain();
        model::require(f.runs_of_older() == 1 && f.runs_of_newer() == 1, "each has run once");
        m.end_queue();
    };
    CHECK(model::explore(search_on(1, "apply", 3), body));
    CHECK(model::explore(search_on(2, "apply-beside-a-thief", 3), body));
}
