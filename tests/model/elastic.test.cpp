// SPDX-License-Identifier: BSL-1.0
//
// Concurrency management of pools that serve several CPUs: as many items run as there are CPUs, a blocked item is
// replaced, and all sentinels of the pool take part in that.
//
// When these defects were put into the engine, these searches found them: a push behind running workers, or a guard,
// that starts no worker and arms no detector; a pool that no detector watches; a pool's flag that is not cleared, is
// cleared or read relaxed, is cleared after the look at the pending items, or is left over from the previous pool in
// its record; a sentinel without a second look; a CPU that is not lent. They do not find a sentinel that clears its own
// flag last: that needs two preemptions within a few steps of long executions.
#include "catch.hpp"
#include "model/machine.hpp"

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/sync/backoff.hpp>

#include <optional>

using cmwq::block_kind;
using cmwq::detail::acquire;
using cmwq::detail::atomic;
using cmwq::detail::backoff;
using cmwq::detail::release;
using namespace cmwq_test;

namespace {

constexpr std::int64_t before_the_monitor = ms / 2; // the monitor looks first 1 ms after it was armed

/// `nr` items block until another item has run, which another thread queues at any moment.
void wait_for_another(setup s, int nr, std::optional<block_kind> announce, std::int64_t patience) {
    elastic_machine m(s);
    model::semaphore gate{0}, done{0};
    const auto body = [&] {
        wait_at(gate, announce);
        done.release();
    };
    cmwq::work a{body}, b{body};
    cmwq::work opens{[&] {
        for (int i = 0; i < nr; ++i) gate.release();
    }};
    auto t = model::spawn([&] { m.q.queue(opens); });
    m.q.queue(a);
    if (nr > 1) m.q.queue(b);
    // No flush() here: it looks at the pool itself and could hide a missing wake-up.
    for (int i = 0; i < nr; ++i) done.acquire();
    model::require(m.waited() <= patience, "the spare came in time");
    t.join();
    m.q.flush();
}

} // namespace

TEST_CASE("elastic: two items run side by side in a pool of width 2") {
    CHECK(model::explore(search_on(2, "side-by-side", 3), [] {
        elastic_machine m;
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
        auto t = model::spawn([&] { m.q.queue(b); });
        m.q.queue(a);
        done.acquire();
        done.acquire();
        t.join();
        m.q.flush();
    }));
}

// With ordered queues each of the two would have a worker.
TEST_CASE("elastic: items of two strands that only compute run one after the other in a pool of one CPU") {
    CHECK(model::explore(search("strands", 2), [] {
        strand_machine m;
        model::unsearched quiet;
        quiet.begin();
        cmwq::workqueue<strand> other{m.rt, "other"}; // uses the same pool
        quiet.end();
        atomic<int> inside{0};
        const auto body = [&] {
            model::require(inside.fetch_add(1, acquire) == 0, "one is runnable");
            backoff wait;
            wait.pause(); // another thread goes on
            inside.fetch_sub(1, release);
        };
        cmwq::work a{body}, b{body};
        auto t = model::spawn([&] { other.queue(b); });
        m.q.queue(a);
        t.join();
        a.flush();
        b.flush();
        quiet.begin();
    }));
}

TEST_CASE("elastic: each blocked item is replaced in a pool of width 2") {
    CHECK(model::explore(search_on(2, "guard", 3), [] { wait_for_another({}, 2, cmwq::will_block, 0); }));
    CHECK(model::explore(systematic(2, "sentinels", 3),
                         [] { wait_for_another({.sentinel = true}, 2, {}, before_the_monitor); }));
    CHECK(model::explore(search_on(2, "sentinels-at-random", 2),
                         [] { wait_for_another({.sentinel = true}, 2, {}, 20 * ms); }));
    CHECK(model::explore(systematic(2, "guard-and-sentinels", 2),
                         [] { wait_for_another({.sentinel = true}, 2, cmwq::will_block, before_the_monitor); }));
    CHECK(model::explore(search_on(2, "monitor", 2), [] { wait_for_another({}, 2, {}, 20 * ms); }));
}

TEST_CASE("elastic: a blocked item is replaced in a pool of one CPU") {
    CHECK(model::explore(systematic(1, "one-sentinel", 2),
                         [] { wait_for_another({.sentinel = true}, 1, {}, before_the_monitor); }));
}

// [ARM-3]: the pool records whether its sentinels are armed. The sentinels have just been armed for an item that is
// gone now. They fall asleep one after the other while the next item comes.
TEST_CASE("elastic: sentinels that fall asleep do not miss the next item") {
    CHECK(model::explore(systematic(2, "asleep", 4), [] {
        elastic_machine m({.sentinel = true});
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
        // opens_first is pending behind two items that wait, until the sentinels find these; then no item is pending.
        cmwq::work opens_first{[&] { first.release(); }};
        cmwq::work opens_second{[&] {
            second.release();
            second.release();
        }};
        m.q.queue(a);
        m.q.queue(b);
        m.q.queue(opens_first);
        quiet.end();
        // The search reaches this point at the latest when opens_first has ended.
        opens_first.flush();
        const std::int64_t before = m.waited();
        m.q.queue(opens_second);
        done.acquire();
        done.acquire();
        model::require(m.waited() - before <= before_the_monitor, "the spare came in time");
        m.q.flush();
    }));
}

// [ARM-3] An item was pending for a moment only, while a sentinel was falling asleep: the sentinel must not miss the
// next item because the pool considers it armed.
TEST_CASE("elastic: sentinels that fall asleep meet an item that is removed again") {
    enum class searched : bool { while_they_fall_asleep, next_item };
    const auto body_of = [](searched what) {
        elastic_machine m({.sentinel = true});
        model::unsearched quiet;
        model::semaphore gate{0}, done{0};
        atomic<bool> enough{false};
        const auto body = [&] { // computes, then waits
            for (backoff wait; !enough.load(acquire);) wait.pause();
            gate.acquire();
            done.release();
        };
        cmwq::work a{body}, b{body};
        const auto nothing = [] {};
        cmwq::work c{nothing}, d{nothing};
        cmwq::work opens{[&] {
            gate.release();
            gate.release();
        }};
        m.q.queue(a);
        m.q.queue(b);
        model::sleep(1);
        m.q.queue(c); // pending behind both
        model::sleep(1);
        if (what == searched::while_they_fall_asleep) quiet.end();
        c.cancel();
        m.q.queue(d);
        d.cancel();
        quiet.begin();
        model::sleep(200 * ms); // all threads without work sleep
        enough.store(true, release);
        model::sleep(100 * ms); // both wait
        const std::int64_t before = m.waited();
        if (what == searched::next_item) quiet.end();
        m.q.queue(opens);
        quiet.begin();
        done.acquire();
        done.acquire();
        model::require(m.waited() - before <= before_the_monitor, "the spare came in time");
        m.q.flush();
        quiet.end();
    };
    auto o = systematic(2, "taken-away", 4);
    o.stale_reads = 0;
    CHECK(model::explore(o, [&] { body_of(searched::while_they_fall_asleep); }));
    o = systematic(2, "after-taken-away", 2);
    o.preemptions = 0; // stale reads only
    CHECK(model::explore(o, [&] { body_of(searched::next_item); }));
}

// The next pool uses the record of a pool that has ended. That pool ends while its sentinels are awake for another
// pool, so no sentinel records in it that it has fallen asleep.
TEST_CASE("elastic: a pool that reuses the record of an ended pool has sentinels") {
    const auto body = [](std::int64_t patience) {
        elastic_machine m({.sentinel = true, .end_searched = true});
        model::unsearched quiet;
        const auto of_others = [] { return elastic_machine::queue_options("others", cmwq::attrs{}.nice(1), 8); };
        atomic<bool> enough{false};
        const auto computes = [&] {
            for (backoff wait; !enough.load(acquire);) wait.pause();
        };
        cmwq::work a{computes}, b{computes};
        cmwq::work c{[] {}};
        m.q.queue(a);
        m.q.queue(b);
        m.q.queue(c); // pending, so the sentinels stay awake
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
        m.q.flush();
        model::sleep(1'000 * ms); // the sentinels sleep
        {
            // The next pool has its workers before it gets more items.
            cmwq::workqueue<cmwq::elastic> q(m.rt, of_others());
            cmwq::work first{[] {}};
            q.queue(first);
            q.flush();
            model::sleep(1'000 * ms);
            q.queue(d);
            q.queue(e);
            model::sleep(100 * ms); // both wait, and no detector looks
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

// Each CPU has a pool of its own, whose workers may run on both CPUs. The sentinel of the idle CPU lends it.
TEST_CASE("elastic: an idle CPU outside of the pod runs items of the pool") {
    CHECK(model::explore(search_on(2, "lend", 3), [] {
        elastic_machine m({.attributes = cmwq::attrs{}.affinity(cmwq::affinity_scope::cpu), .sentinel = true});
        model::semaphore done{0};
        atomic<bool> met{false};
        cmwq::work a{[&] { // computes, as far as the library can see
            for (backoff wait; !met.load(acquire);) wait.pause();
            done.release();
        }};
        cmwq::work b{[&] {
            met.store(true, release);
            done.release();
        }};
        m.q.queue_on(0, a);
        m.q.queue_on(0, b);
        done.acquire();
        done.acquire();
        m.q.flush();
    }));
}
