// SPDX-License-Identifier: BSL-1.0
//
// Rescuers beside workers that come back, beside producers, and beside threads that remove items, pools or the queue.
//
// The service thread calls rescuers when items have waited for 10 ms. Its ticks come after 1, 3, 7 and 15 ms, so it
// calls them at the last of these. The search begins there: the thread of the body runs beside that tick.
#include "catch.hpp"
#include "model/machine.hpp"
#include "model/threads.hpp"

#include <model/simulate.hpp>

#include <functional>
#include <optional>

using cmwq::attrs;
using namespace cmwq_test;

namespace {

constexpr std::int64_t mayday = 15 * ms;

/// A pool that never had a worker, and cannot have one.
template <class Policy>
class short_of_threads {
public:
    short_of_threads() : m({.warm = false, .end_searched = true, .rescuer = true, .threads = &threads}) {
        quiet_.begin();
        refuse_threads(threads, true);
    }
    /// Begins the search right before the tick at which the rescuer is called for the item that was queued first.
    void begin_search() {
        model::sleep(mayday - 1);
        quiet_.end();
        model::sleep(1);
    }

    fake_threads threads;
    machine_for<Policy> m;

private:
    model::unsearched quiet_;
};

using short_machine = short_of_threads<cmwq::bound>;

} // namespace

// proves: progress-16, kernel-8
TEST_CASE("rescuer: the rescuer is called and runs the item and leaves when a worker comes") {
    CHECK(model::explore(search("returns", 3), [] {
        short_machine s;
        two_items both;
        s.m.q.queue(both.x);
        s.begin_search();
        refuse_threads(s.threads, false);
        s.m.q.queue(both.y);
        both.wait();
        model::require(both.ran_once_each(), "both have run");
        model::require(s.m.waited() <= mayday + 16 * ms, "both have waited for one tick at most");
        s.m.q.flush();
    }));
}

// Otherwise the rescuer would be one more runnable thread until the backlog ends. The searches above cannot see that.
TEST_CASE("rescuer: leaves the backlog to the workers as soon as there are enough") {
    model::simulation machine{.name = "enough workers"};
    machine.around.cpus = 1;
    const auto r = model::simulate(machine, [] {
        fake_threads threads;
        cmwq::runtime rt{{.machine = cmwq::topology::flat(cmwq::cpuset::range(0, 1)), .threads = &threads}};
        cmwq::workqueue<> q{rt, cmwq::options<cmwq::bound>{.name = "q", .rescuer = true}};
        threads.refuse();
        model::semaphore go{0};
        cmwq::work rescued{[&] {
            model::require(cmwq::this_work::on_rescuer(), "no worker was there");
            threads.allow();
            go.acquire();
        }};
        cmwq::work waits{[&] { model::require(!cmwq::this_work::on_rescuer(), "the rescuer has left"); }};
        cmwq::work runs{[&] { // on the first worker
            q.queue_on(0, waits);
            for (int i = 0; i < 5; ++i) { // so little CPU time is no reason to start another item
                if (i == 2) go.release(); // the worker has a spare; the rescuer decides now
                model::burn(ms);
                cmwq::detail::yield_this_thread();
            }
        }};
        q.queue_on(0, rescued);
        q.queue_on(0, runs);
        rescued.flush();
        runs.flush();
        waits.flush();
        model::require(rt.stats().items_rescued == 1, "the rescuer has run the first item only");
    });
    INFO(r.message);
    CHECK(r);
}

TEST_CASE("rescuer: an item that comes while the rescuer leaves is not forgotten") {
    CHECK(model::explore(search("leaves", 3), [] {
        short_machine s;
        two_items both;
        s.m.q.queue(both.x);
        s.begin_search();
        both.done.acquire();
        s.m.q.queue(both.y);
        both.done.acquire();
        model::require(s.m.rt.stats().items_rescued == 2, "no worker was there");
        model::require(s.m.waited() <= mayday + 40 * ms, "the rescuer was called again in time");
    }));
}

TEST_CASE("rescuer: a queue is destroyed while its rescuer is being called") {
    CHECK(model::explore(search("cancel-and-destroy", 3), [] {
        short_machine s;
        counted_runs of_x;
        cmwq::work x{[&] { of_x(); }};
        s.m.q.queue(x);
        s.begin_search();
        const bool cancelled = x.cancel_sync();
        model::require(of_x.runs() == (cancelled ? 0 : 1), "it has run, or was cancelled");
    }));
    CHECK(model::explore(search("worker-and-destroy", 3), [] {
        counted_runs of_x;
        std::optional<cmwq::work<std::function<void()>>> x;
        {
            short_machine s;
            x.emplace([&] { of_x(); });
            s.m.q.queue(*x);
            s.begin_search();
            refuse_threads(s.threads, false);
        }
        model::require(of_x.runs() == 1, "the destructor has waited for it");
    }));
}

TEST_CASE("rescuer: a rescued item is queued again and never runs twice at once") {
    CHECK(model::explore(search("queued-again", 3), [] {
        short_machine s;
        counted_runs of_x;
        cmwq::work x{[&] { of_x(); }};
        s.m.q.queue(x);
        s.begin_search();
        refuse_threads(s.threads, false); // a worker may take the second instance while the rescuer runs the first
        const bool again = s.m.q.queue(x) == cmwq::queue_status::queued;
        s.m.q.flush();
        model::require(of_x.runs() == (again ? 2 : 1), "one run for each claim");
    }));
    CHECK(model::explore(search("queues-itself", 3), [] {
        short_machine s;
        counted_runs of_x;
        int left = 2;
        cmwq::work_base* self = nullptr;
        cmwq::work x{[&] {
            of_x();
            if (--left > 0) s.m.q.queue(*self);
        }};
        self = &x;
        s.m.q.queue(x);
        s.begin_search();
        refuse_threads(s.threads, false);
        x.cancel_sync();
        model::require(!x.busy() && of_x.runs() <= 2, "neither pending nor running");
        s.m.q.flush();
    }));
}

// The rescuer looks at each item once and remembers the last item that it has looked at. Other threads may remove that
// item.
TEST_CASE("rescuer: other threads remove items of other queues that the rescuer has passed") {
    CHECK(model::explore(search("cursor", 4), [] {
        short_machine s;
        counted_runs of_x, of_y;
        model::semaphore done{0};
        cmwq::workqueue<> foreign(s.m.rt, "foreign");
        cmwq::work a{[] {}};
        cmwq::work b{[] {}};
        cmwq::work x{[&] { of_x(), done.release(); }};
        cmwq::work y{[&] { of_y(), done.release(); }};
        foreign.queue(a);
        foreign.queue(b);
        s.m.q.queue(x);
        s.begin_search();
        b.cancel(); // the rescuer has looked at b last, and runs x now
        s.m.q.queue(y);
        a.cancel();
        done.acquire();
        done.acquire();
        model::require(s.m.rt.stats().items_rescued == 2, "the items of its own queue and no others");
        refuse_threads(s.threads, false);
        foreign.flush();
    }));
}

TEST_CASE("rescuer: two rescuers work in one pool") {
    CHECK(model::explore(search("two-rescuers", 3), [] {
        short_machine s;
        counted_runs of_x, of_y;
        model::semaphore done{0};
        refuse_threads(s.threads, false);
        std::optional<cmwq::workqueue<>> other;
        other.emplace(s.m.rt, cmwq::options<cmwq::bound>{.name = "other", .rescuer = true});
        refuse_threads(s.threads, true);
        cmwq::work x{[&] { of_x(), done.release(); }};
        cmwq::work y{[&] { of_y(), done.release(); }};
        s.m.q.queue(x);
        other->queue(y);
        s.begin_search();
        done.acquire();
        done.acquire();
        model::require(of_x.runs() == 1 && of_y.runs() == 1, "each has run");
        other.reset();
    }));
}

TEST_CASE("rescuer: blocked workers return while the rescuer is called") {
    CHECK(model::explore(search("blocked-workers", 4), [] {
        machine m({.end_searched = true, .rescuer = true, .max_threads = 2});
        counted_runs of_x, of_y;
        model::semaphore gate{0}, done{0};
        cmwq::work holds{[&] { gate.acquire(), done.release(); }};
        cmwq::work holds_too{[&] { gate.acquire(), done.release(); }};
        cmwq::work x{[&] { of_x(), done.release(); }};
        cmwq::work y{[&] { of_y(), done.release(); }};
        {
            const model::unsearched quiet;
            m.q.queue(holds);
            m.q.queue(holds_too);
            m.q.queue(x);
            // The monitor finds both workers blocked, one after the other, and then looks for 10 ms and more.
            while (m.rt.stats().items_rescued == 0 && m.waited() < 100 * ms) model::sleep(ms / 2);
            model::require(of_x.runs() == 1, "the rescuer came");
            m.q.queue(y);
        }
        gate.release();
        gate.release();
        for (int i = 0; i < 4; ++i) done.acquire();
        m.q.flush();
    }));
}

// Regression: the pool kept the time at which a shortage began after the shortage had ended.
TEST_CASE("rescuer: the second call also comes only after items have waited for 10 ms") {
    CHECK(model::explore(search("patience", 0.5), [] {
        short_machine s;
        model::semaphore gate{0}, done{0};
        cmwq::work first{[&] { done.release(); }};
        const auto body = [&] {
            gate.acquire();
            done.release();
        };
        cmwq::work holds{body}, holds_too{body};
        s.m.q.queue(first);
        model::sleep(2 * ms);
        refuse_threads(s.threads, false);
        done.acquire(); // a worker came soon, and has a spare
        refuse_threads(s.threads, true);
        model::sleep(1000 * ms);
        s.m.q.queue(holds);
        s.m.q.queue(holds_too);
        const std::int64_t since = model::elapsed();
        cmwq::work second{[&] {
            model::require(model::elapsed() - since >= 10 * ms, "the item has waited for 10 ms");
            done.release();
        }};
        s.m.q.queue(second);
        done.acquire();
        gate.release();
        gate.release();
        done.acquire();
        done.acquire();
        model::require(s.m.rt.stats().items_rescued == 1, "the rescuer has run the second item only");
    }));
}

TEST_CASE("rescuer: apply() removes the pool for which the rescuer has been called") {
    CHECK(model::explore(search_on(1, "apply", 4), [] {
        short_of_threads<cmwq::unbound> s;
        two_items both;
        s.m.q.queue(both.x);
        s.begin_search();
        s.m.q.apply(attrs{}.nice(1));
        s.m.q.queue(both.y);
        both.wait();
        model::require(s.m.rt.stats().items_rescued == 2, "no worker was there");
        s.m.end_queue();
        model::require(both.ran_once_each(), "each has run");
    }));
    CHECK(model::explore(search_on(1, "apply-and-workers", 4), [] {
        short_of_threads<cmwq::unbound> s;
        counted_runs of_x;
        cmwq::work x{[&] { of_x(); }};
        s.m.q.queue(x);
        s.begin_search();
        auto t = model::spawn([&] { refuse_threads(s.threads, false); });
        s.m.q.apply(attrs{}.nice(1));
        const bool again = s.m.q.queue(x) == cmwq::queue_status::queued;
        t.join();
        s.m.end_queue();
        model::require(of_x.runs() == (again ? 2 : 1), "one run for each claim, and one at a time");
    }));
    // The second item waits until the first pool has been given up, which waits until the rescuer has left that pool.
    CHECK(model::explore(search_on(1, "apply-ordered", 3), [] {
        short_of_threads<cmwq::ordered> s;
        counted_runs runs;
        model::semaphore done{0};
        cmwq::work x{[&] { runs(), done.release(); }};
        cmwq::work y{[&] { runs(), done.release(); }};
        s.m.q.queue(x);
        s.begin_search();
        s.m.q.apply(attrs{}.nice(1));
        s.m.q.queue(y);
        done.acquire();
        done.acquire();
        model::require(runs.runs() == 2, "both have run, one after the other");
    }));
}
