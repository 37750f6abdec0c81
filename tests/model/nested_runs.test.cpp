// SPDX-License-Identifier: BSL-1.0
//
// An item of an elastic queue waits for another one of its pool, and runs it inside its own run, while other threads
// queue, cancel and wait for both.
#include "catch.hpp"
#include "model/threads.hpp"

#include <functional>
#include <system_error>

using cmwq::attrs;
using cmwq::queue_status;
using namespace cmwq_test;

namespace {

/// An item queues another one, waits for it, and checks that it has run or was cancelled.
class waiting_pair {
    using function = std::function<void()>;

    model::checked<int> of_inner_{0}, of_outer_{0};

public:
    explicit waiting_pair(elastic_machine& m, function body = {})
        : inner([this, f = std::move(body)] {
              of_inner_ = of_inner_ + 1; // a data race if the item runs twice at once
              queued.release();
              if (f) f();
          }),
          outer([this, &m] {
              of_outer_ = of_outer_ + 1;
              status = m.q.queue(inner);
              queued.release();
              inner.flush();
          }) {}

    [[nodiscard]] int runs_of_inner() const { return of_inner_; }
    [[nodiscard]] int runs_of_outer() const { return of_outer_; }

    model::semaphore queued{0}; ///< released when the inner item was queued, and again when it starts
    queue_status status = queue_status::rejected;
    cmwq::work<function> inner, outer; // destroyed first, so that the members above outlive their runs
};

} // namespace

TEST_CASE("nested: the inner item runs once at any limit, and the flush returns after it") {
    const auto body = [](unsigned limit) {
        elastic_machine m({.max_active = limit});
        waiting_pair p(m);
        m.q.queue(p.outer);
        p.outer.flush();
        model::require(p.runs_of_inner() == 1, "it has run before the item that waits for it ended");
        model::require(m.waited() == 0, "no thread waited for the monitor");
        m.q.flush();
    };
    CHECK(model::explore(search_on(1, "once", 2), [&] { body(4); }));
    CHECK(model::explore(search_on(2, "once-beside-a-thief", 3), [&] { body(4); }));
    CHECK(model::explore(search_on(2, "once-at-the-limit", 3), [&] { body(1); }));
}

TEST_CASE("nested: each claim of the inner item leads to one run or to one cancel() that returns true") {
    const auto body = [] {
        elastic_machine m;
        waiting_pair p(m);
        int queued = 0;
        m.q.queue(p.outer);
        auto t = model::spawn([&] { queued += m.q.queue(p.inner) == queue_status::queued; });
        const int cancelled = p.inner.cancel();
        t.join();
        m.q.drain();
        queued += p.status == queue_status::queued;
        model::require(p.runs_of_inner() + cancelled == queued, "no item is lost or counted twice");
    };
    CHECK(model::explore(search_on(1, "cancel", 3), body));
    CHECK(model::explore(search_on(2, "cancel-beside-a-thief", 3), body));
}

TEST_CASE("nested: cancel_sync() waits for the inner run and for the outer one") {
    const auto body = [](bool outer) {
        elastic_machine m;
        waiting_pair p(m);
        m.q.queue(p.outer);
        p.queued.acquire();
        auto& w = outer ? p.outer : p.inner;
        static_cast<void>(w.cancel_sync());
        model::require(!w.busy(), "neither pending nor running");
        model::require(p.runs_of_inner() <= 1, "the run happened before the return");
        m.q.flush();
    };
    CHECK(model::explore(search_on(1, "cancel-sync-of-inner", 3), [&] { body(false); }));
    CHECK(model::explore(search_on(2, "cancel-sync-of-inner-beside-a-thief", 3), [&] { body(false); }));
    CHECK(model::explore(search_on(1, "cancel-sync-of-outer", 2), [&] { body(true); }));
}

// The instance that is queued during the inner run waits behind it, and then needs a worker.
TEST_CASE("nested: an inner item that is queued while it runs, runs again") {
    const auto body = [](std::int64_t patience) {
        elastic_machine m;
        model::semaphore gate{0};
        waiting_pair p(m, [&] { wait_at(gate, cmwq::will_block); });
        m.q.queue(p.outer);
        p.queued.acquire();
        p.queued.acquire(); // it runs
        const bool again = m.q.queue(p.inner) == queue_status::queued;
        gate.release();
        gate.release();
        p.queued.acquire(); // it runs again
        m.q.drain();
        model::require(again && p.runs_of_inner() == 2, "it has run again");
        model::require(m.waited() <= patience, "another worker has come in time");
    };
    CHECK(model::explore(search_on(1, "again", 3), [&] { body(0); }));
    CHECK(model::explore(search_on(2, "again-beside-a-cpu", 3), [&] { body(0); }));
}

TEST_CASE("nested: an inner item queues itself again, also while another item queues it") {
    CHECK(model::explore(search_on(2, "queues-itself", 4), [] {
        elastic_machine m;
        model::checked<int> runs{0};
        int queued = 0;
        cmwq::work<std::function<void()>>* self = nullptr;
        cmwq::work<std::function<void()>> inner{[&] {
            runs = runs + 1; // a data race if the item runs twice at once
            if (runs == 1) queued += m.q.queue(*self) == queue_status::queued;
        }};
        self = &inner;
        cmwq::work outer{[&] {
            m.q.queue(inner);
            inner.flush();
        }};
        m.q.queue(outer);
        m.q.drain();
        model::require(queued == 1 && runs == 2, "it has run twice");
    }));
}

TEST_CASE("nested: two items wait for each other's inner items") {
    CHECK(model::explore(search_on(2, "crossed", 3), [] {
        elastic_machine m;
        two_items t;
        int refused = 0;
        const auto waits = [&](cmwq::work_base& own, cmwq::work_base& other) {
            m.q.queue(own);
            try {
                own.flush();
                other.flush();
            } catch (const std::system_error&) {
                ++refused;
            }
        };
        cmwq::work a{[&] { waits(t.x, t.y); }};
        cmwq::work b{[&] { waits(t.y, t.x); }};
        m.q.queue(a);
        m.q.queue(b);
        t.wait();
        a.flush();
        b.flush();
        m.q.flush();
        model::require(refused == 0 && t.ran_once_each(), "there is no cycle");
    }));
}

TEST_CASE("nested: the inner item waits for the outer one") {
    CHECK(model::explore(search_on(2, "cycle", 3), [] {
        elastic_machine m;
        model::checked<int> refused{0};
        cmwq::work<std::function<void()>>* outer = nullptr;
        const auto waits_for = [&](cmwq::work_base& w) {
            try {
                w.flush();
            } catch (const std::system_error&) {
                refused = refused + 1;
            }
        };
        cmwq::work<std::function<void()>> inner{[&] { waits_for(*outer); }};
        cmwq::work<std::function<void()>> waits{[&] {
            m.q.queue(inner);
            waits_for(inner);
        }};
        outer = &waits;
        m.q.queue(waits);
        waits.flush();
        m.q.drain();
        model::require(refused == 1, "one of the two waits is refused");
    }));
}

TEST_CASE("nested: a freeze, a drain and a change of attributes beside an item that waits") {
    CHECK(model::explore(search_on(1, "freeze", 3), [] {
        elastic_machine m({.freezable = true});
        waiting_pair p(m);
        m.q.queue(p.outer);
        auto t = model::spawn([&] { m.rt.freeze(); });
        t.join();
        m.rt.thaw();
        m.q.drain();
        model::require(p.runs_of_inner() == 1, "it has run");
    }));
    CHECK(model::explore(search_on(2, "apply", 3), [] {
        elastic_machine m({.others = attrs{}.nice(1)});
        waiting_pair p(m);
        m.q.queue(p.outer);
        m.q.apply(attrs{}.nice(1));
        m.q.drain();
        model::require(p.runs_of_inner() == 1 && p.runs_of_outer() == 1, "each has run once");
        m.end_queue();
    }));
}
