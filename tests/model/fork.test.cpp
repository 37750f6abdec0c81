// SPDX-License-Identifier: BSL-1.0
//
// The part of fork() that can be modeled. Its handlers take their locks in the real order, beside all other threads
// that take these locks. The holder of all of them sees queues, pools and attributes at rest. There is no child here.
#include "catch.hpp"
#include "core_of.hpp"
#include "model/machine.hpp"

#include <optional>

using cmwq::attrs;
using namespace cmwq_test;

namespace {

/// Does the same as the handlers before and after fork() in the parent.
void stand_still(cmwq::runtime& rt) {
    cmwq_test::core_of(rt).lock_for_fork();
    cmwq_test::core_of(rt).unlock_after_fork();
}

} // namespace

TEST_CASE("fork: its handlers take their locks beside threads that queue and flush and change attributes") {
    CHECK(model::explore(search_on(1, "apply", 4), [] {
        unbound_machine m({.others = attrs{}.nice(1)});
        model::semaphore done{0};
        cmwq::work a{[&] { done.release(); }};
        cmwq::work b{[&] { done.release(); }};
        auto t = model::spawn([&] { stand_still(m.rt); });
        auto u = model::spawn([&] {
            m.q.queue(a);
            m.q.flush();
        });
        m.q.apply(attrs{}.nice(1));
        m.q.queue(b);
        done.acquire();
        done.acquire();
        t.join();
        u.join();
    }));
    CHECK(model::explore(search_on(1, "unbound-cpus", 3), [] {
        unbound_machine m;
        auto t = model::spawn([&] { stand_still(m.rt); });
        auto u = model::spawn([&] { m.rt.set_default_scope(cmwq::affinity_scope::cpu); });
        m.q.post([] {});
        stand_still(m.rt);
        t.join();
        u.join();
        m.q.flush();
    }));
}

TEST_CASE("fork: its handlers take their locks while queues are made and destroyed") {
    CHECK(model::explore(search_on(1, "queues", 4), [] {
        unbound_machine m;
        int runs = 0;
        auto t = model::spawn([&] { stand_still(m.rt); });
        auto u = model::spawn([&] {
            cmwq::workqueue<cmwq::ordered> q(m.rt, "ordered");
            q.post([&] { ++runs; });
        });
        m.q.flush();
        m.end_queue();
        t.join();
        u.join();
        model::require(runs == 1, "its destructor has waited for it");
    }));
}

TEST_CASE("fork: its handlers take their locks while the runtime freezes and the service thread cleans up") {
    CHECK(model::explore(search_on(1, "freeze", 4), [] {
        unbound_machine m({.others = attrs{}.nice(1), .freezable = true});
        model::semaphore done{0};
        cmwq::work a{[&] { done.release(); }};
        m.q.queue(a);
        auto t = model::spawn([&] { m.q.apply(attrs{}.nice(1)); }); // the old pwq is reaped once it has drained
        auto u = model::spawn([&] { stand_still(m.rt); });
        {
            const cmwq::freeze_guard still(m.rt);
            stand_still(m.rt); // as in the example of freeze_guard
        }
        done.acquire();
        t.join();
        u.join();
    }));
}
