// SPDX-License-Identifier: BSL-1.0
//
// Rescuers against workers that come back, against producers, and against whoever takes items, pools or the queue away.
//
// The service thread calls rescuers when items have waited for 10 ms: with ticks after 1, 3, 7 and 15 ms that is the
// last of these. Until then nothing is searched; from there on the thread of the body runs beside that tick.
#include "catch.hpp"
#include "model/keyed_machine.hpp"
#include "model/threads.hpp"

#include <memory>
#include <optional>

namespace model = cmwq::detail::model;
using cmwq::attrs;
using cmwq_test::counted_runs;
using cmwq_test::keyed_setup;
using cmwq_test::machine;
using cmwq_test::moody_system;
using cmwq_test::search;
using cmwq_test::search_on;
using cmwq_test::setup;

namespace {

constexpr std::int64_t mayday = 15'000'000;

/// A pool that never had a worker, and cannot have one.
class short_machine {
public:
    short_machine() : m({.warm = false, .end_searched = true, .rescuer = true, .threads = &sys}) {
        quiet_.begin();
        sys.refuse(true);
    }
    /// Right before the tick that calls the rescuer of what was queued first.
    void begin_search() {
        model::sleep(mayday - 1);
        quiet_.end();
        model::sleep(1);
    }

    moody_system sys;
    machine m;

private:
    model::unsearched quiet_;
};

} // namespace

TEST_CASE("rescuer: is called, runs the item, and steps back when a worker comes") {
    CHECK(model::explore(search("returns", 3), [] {
        short_machine s;
        counted_runs of_x, of_y;
        model::semaphore done{0};
        cmwq::work x{[&] { of_x(), done.release(); }};
        cmwq::work y{[&] { of_y(), done.release(); }};
        s.m.q.queue(x);
        s.begin_search();
        s.sys.refuse(false);
        s.m.q.queue(y);
        done.acquire();
        done.acquire();
        model::require(of_x.runs() == 1 && of_y.runs() == 1, "both have run");
        s.m.q.flush();
    }));
}

TEST_CASE("rescuer: what comes while it leaves is not forgotten") {
    CHECK(model::explore(search("leaves", 3), [] {
        short_machine s;
        counted_runs of_x, of_y;
        model::semaphore done{0};
        cmwq::work x{[&] { of_x(), done.release(); }};
        cmwq::work y{[&] { of_y(), done.release(); }};
        s.m.q.queue(x);
        s.begin_search();
        done.acquire();
        s.m.q.queue(y);
        done.acquire();
        model::require(s.m.rt.stats().items_rescued == 2, "nobody else was there");
    }));
}

TEST_CASE("rescuer: its queue goes while it is being called") {
    CHECK(model::explore(search("cancel-and-destroy", 3), [] {
        short_machine s;
        counted_runs body;
        cmwq::work x{[&] { body(); }};
        s.m.q.queue(x);
        s.begin_search();
        const bool cancelled = x.cancel_sync();
        model::require(body.runs() == (cancelled ? 0 : 1), "it has run, or was cancelled");
    }));
}
