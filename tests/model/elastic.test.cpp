// SPDX-License-Identifier: BSL-1.0
//
// Concurrency management of pools that serve several CPUs: as many run as there are CPUs, whoever blocks is replaced,
// and all sentinels of the pool see to it.
#include "catch.hpp"
#include "model/keyed_machine.hpp"

#include <cmwq/detail/sync/atomic.hpp>
#include <cmwq/detail/sync/backoff.hpp>

#include <optional>

namespace model = cmwq::detail::model;
using cmwq::block_kind;
using cmwq::detail::atomic;
using cmwq::detail::acquire;
using cmwq::detail::backoff;
using cmwq::detail::release;
using cmwq_test::keyed_setup;
using cmwq_test::search_on;

namespace {

using machine = cmwq_test::keyed_machine<cmwq::elastic>;

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t before_the_monitor = ms / 2; // its first look is a millisecond after it was armed

/// Without random executions: in those a sentinel may look so often for nothing that it naps.
model::options systematic(unsigned cpus, const char* name, double seconds) {
    model::options o = search_on(cpus, name, seconds);
    o.random_executions = 0;
    return o;
}

void wait_at(model::semaphore& gate, std::optional<block_kind> announce) {
    if (!announce) return gate.acquire();
    const cmwq::blocking_region region(*announce);
    gate.acquire();
}

/// `nr` items block until another one has run, which somebody else queues at any moment.
void wait_for_another(keyed_setup s, int nr, std::optional<block_kind> announce, std::int64_t patience) {
    machine m(s);
    model::semaphore gate{0}, done{0};
    const auto body = [&] {
        wait_at(gate, announce);
        done.release();
    };
    cmwq::work a{body}, b{body};
    cmwq::work opens{[&] {
        for (int i = 0; i < nr; ++i) gate.release();
    }};
    auto t = model::spawn([&] { m.q().queue(opens); });
    m.q().queue(a);
    if (nr > 1) m.q().queue(b);
    // Not by flush(), which takes a look at the pool itself.
    for (int i = 0; i < nr; ++i) done.acquire();
    model::require(m.waited() <= patience, "the spare came in time");
    t.join();
    m.q().flush();
}

} // namespace

TEST_CASE("elastic: width 2, two that run side by side") {
    CHECK(model::explore(search_on(2, "side-by-side", 3), [] {
        machine m;
        model::semaphore done{0};
        atomic<bool> met{false};
        // Neither blocks: there is a CPU for each.
        cmwq::work a{[&] {
            for (backoff wait; !met.load(acquire);) wait.pause();
            done.release();
        }};
        cmwq::work b{[&] {
            met.store(true, release);
            done.release();
        }};
        auto t = model::spawn([&] { m.q().queue(b); });
        m.q().queue(a);
        done.acquire();
        done.acquire();
        t.join();
        m.q().flush();
    }));
}

TEST_CASE("elastic: width 2, whoever blocks is replaced") {
    CHECK(model::explore(search_on(2, "guard", 3), [] { wait_for_another({}, 2, cmwq::will_block, 0); }));
    CHECK(model::explore(systematic(2, "sentinels", 3),
                         [] { wait_for_another({.sentinel = true}, 2, {}, before_the_monitor); }));
    CHECK(model::explore(search_on(2, "sentinels-at-random", 2),
                         [] { wait_for_another({.sentinel = true}, 2, {}, 20 * ms); }));
    CHECK(model::explore(systematic(2, "guard-and-sentinels", 2),
                         [] { wait_for_another({.sentinel = true}, 2, cmwq::will_block, before_the_monitor); }));
    CHECK(model::explore(search_on(2, "monitor", 2), [] { wait_for_another({}, 2, {}, 20 * ms); }));
}

TEST_CASE("elastic: pools of one CPU each") {
    CHECK(model::explore(systematic(1, "one-sentinel", 2),
                         [] { wait_for_another({.sentinel = true}, 1, {}, before_the_monitor); }));
}

// [ARM-3]: the pool says whether its sentinels are armed. They have just been, for something that is over now, and fall
// asleep one after the other while the next item comes.
TEST_CASE("elastic: sentinels that fall asleep against the next item") {
    CHECK(model::explore(systematic(2, "asleep", 4), [] {
        machine m({.sentinel = true});
        model::unsearched quiet;
        model::semaphore first{0}, second{0}, done{0};
        cmwq::work a{[&] {
            first.acquire();
            second.acquire();
            done.release();
        }};
        cmwq::work b{[&] {
            second.acquire();
            done.release();
        }};
        // The first one is pending behind two that wait, until the sentinels find them; then nothing is pending.
        cmwq::work opens_first{[&] { first.release(); }};
        cmwq::work opens_second{[&] {
            second.release();
            second.release();
        }};
        m.q().queue(a);
        m.q().queue(b);
        m.q().queue(opens_first);
        quiet.end();
        // At the latest when the first has gone: whoever runs then has seen nothing else.
        opens_first.flush();
        const std::int64_t before = m.waited();
        m.q().queue(opens_second);
        done.acquire();
        done.acquire();
        model::require(m.waited() - before <= before_the_monitor, "the spare came in time");
        m.q().flush();
    }));
}

// The record of a pool that has ended serves the next one. It ends here while its sentinels are awake for another pool,
// so none of them says that it has fallen asleep.
TEST_CASE("elastic: a pool that takes the place of an ended one has its sentinels, too") {
    const auto body = [](std::int64_t patience) {
        machine m({.sentinel = true, .end_searched = true});
        model::unsearched quiet;
        const auto of_others = [] { return machine::queue_options("others", cmwq::attrs{}.nice(1), 8); };
        atomic<bool> enough{false};
        const auto computes = [&] {
            for (backoff wait; !enough.load(acquire);) wait.pause();
        };
        cmwq::work a{computes}, b{computes};
        cmwq::work c{[] {}};
        m.q().queue(a);
        m.q().queue(b);
        m.q().queue(c); // pending, so they stay awake
        model::semaphore gate{0}, done{0};
        const auto waits = [&] {
            gate.acquire();
            done.release();
        };
        cmwq::work d{waits}, e{waits};
        cmwq::work opens{[&] {
            gate.release();
            gate.release();
        }};
        {
            cmwq::workqueue<cmwq::elastic> q(m.rt, of_others());
            q.queue(d);
            q.queue(e);
            q.queue(opens);
            q.flush();
            done.acquire();
            done.acquire();
        }
        model::sleep(20 * ms); // the pool ends
        enough.store(true, release);
        m.q().flush();
        model::sleep(1'000 * ms); // they sleep
        {
            // The next pool has its workers before it is asked for more.
            cmwq::workqueue<cmwq::elastic> q(m.rt, of_others());
            cmwq::work first{[] {}};
            q.queue(first);
            q.flush();
            model::sleep(1'000 * ms);
            q.queue(d);
            q.queue(e);
            model::sleep(100 * ms); // both wait, and nobody looks
            const std::int64_t before = m.waited();
            quiet.end();
            q.queue(opens);
            done.acquire();
            done.acquire();
            model::require(m.waited() - before <= patience, "the spare came in time");
            quiet.begin();
            q.flush();
        }
        quiet.end();
    };
    CHECK(model::explore(systematic(2, "next-life", 3), [&] { body(before_the_monitor); }));
}

// Each CPU has a pool of its own, whose workers may run on both: the sentinel of the idle one lends it.
TEST_CASE("elastic: a CPU outside of the pod that idles helps") {
    CHECK(model::explore(search_on(2, "lend", 3), [] {
        machine m({.attributes = cmwq::attrs{}.affinity(cmwq::affinity_scope::cpu), .sentinel = true});
        model::semaphore done{0};
        atomic<bool> met{false};
        cmwq::work a{[&] { // computes, as far as anybody can see
            for (backoff wait; !met.load(acquire);) wait.pause();
            done.release();
        }};
        cmwq::work b{[&] {
            met.store(true, release);
            done.release();
        }};
        m.q().queue_on(0, a);
        m.q().queue_on(0, b);
        done.acquire();
        done.acquire();
        m.q().flush();
    }));
}
