// SPDX-License-Identifier: BSL-1.0
//
// Making and ending workers: a worker starts items only while another one is idle, is being made, or cannot be made (an
// assertion of the engine). That holds for every refusal of the system, for every pool that gives up a worker, and
// while producers push.
#include "catch.hpp"
#include "model/threads.hpp"

#include <optional>

using namespace cmwq_test;

namespace {

/// The times at which the manager thread tries again to make a worker, requested by ticks of the monitor: after 1, 3, 7
/// ms.
constexpr std::int64_t two_tries = 3 * ms;

} // namespace

// proves: kernel-9
TEST_CASE("workers: producers push while the first worker is being made") {
    CHECK(model::explore(search("cold", 3), [] {
        machine m({.warm = false, .end_searched = true});
        two_items both;
        auto t = model::spawn([&] { m.q.queue(both.y); });
        m.q.queue(both.x);
        both.wait();
        t.join();
        model::require(m.waited() == 0, "no thread waited for the monitor");
    }));
}

// proves: kernel-9
TEST_CASE("workers: the system refuses threads and later makes them again") {
    CHECK(model::explore(search("refused", 3), [] {
        fake_threads threads;
        machine m({.warm = false, .end_searched = true, .threads = &threads});
        two_items both;
        refuse_threads(threads, true);
        auto t = model::spawn([&] { m.q.queue(both.y); });
        auto u = model::spawn([&] { refuse_threads(threads, false); });
        m.q.queue(both.x);
        both.wait();
        t.join();
        u.join();
        model::require(m.waited() <= two_tries, "the manager thread soon tried again");
    }));
    // The spare is refused: the only worker runs alone, and waits for the item behind it.
    CHECK(model::explore(search("no-spare", 3), [] {
        fake_threads threads;
        machine m({.warm = false, .end_searched = true, .threads = &threads});
        model::semaphore gate{0}, done{0};
        cmwq::work first{[&] { done.release(); }};
        cmwq::work waits{[&] {
            const cmwq::blocking_region region(cmwq::will_block);
            gate.acquire();
            done.release();
        }};
        cmwq::work opens{[&] { gate.release(); }};
        m.q.queue(first);
        refuse_threads(threads, true); // the pool has two workers, one worker or no worker by now
        m.q.queue(waits);
        auto t = model::spawn([&] { refuse_threads(threads, false); });
        m.q.queue(opens);
        done.acquire();
        done.acquire();
        t.join();
        model::require(m.waited() <= 40 * ms, "a spare was made in time");
    }));
}

// Regression: the service thread requested that worker from itself again and again.
TEST_CASE("workers: a blocked worker continues while another worker still cannot be made") {
    model::options o = search("back-at-work", 3);
    o.time_jumps = 1;
    CHECK(model::explore(o, [] {
        fake_threads threads;
        machine m({.end_searched = true, .threads = &threads});
        model::semaphore gate{0}, done{0};
        const auto body = [&] {
            {
                const cmwq::blocking_region region(cmwq::will_block);
                gate.acquire();
            }
            done.release(); // the item runs again
        };
        cmwq::work a{body}, b{body};
        cmwq::work c{[&] { done.release(); }};
        {
            const model::unsearched quiet;
            refuse_threads(threads, true);
            m.q.queue(a);
            m.q.queue(b);
            m.q.queue(c); // no worker is left for this one
            model::sleep(20 * ms);
        }
        gate.release();
        done.acquire();
        gate.release();
        done.acquire();
        done.acquire();
        m.q.flush();
    }));
}

TEST_CASE("workers: a pool gives up a worker to another pool while items come") {
    // With two threads, a pool that has a worker and a spare gives up one of them. With one thread, that thread changes
    // its pool.
    const auto give_up = [](unsigned max_threads, std::int64_t soon) {
        machine m({.warm = false, .end_searched = true, .max_threads = max_threads});
        two_items both;
        {
            const model::unsearched quiet;
            m.q.queue_on(0, both.x);
            both.done.acquire();
            model::sleep(1000 * ms);
        }
        auto t = model::spawn([&] { m.q.queue_on(0, both.x); });
        m.q.queue_on(1, both.y);
        both.wait();
        t.join();
        model::require(both.of_x.runs() == 2 && both.of_y.runs() == 1, "all have run");
        model::require(m.waited() <= 1000 * ms + soon, "the items have run soon");
    };
    CHECK(model::explore(search_on(2, "give-up", 3), [&] { give_up(2, two_tries); }));
    CHECK(model::explore(search_on(2, "give-up-the-last", 3), [&] { give_up(1, 20 * ms); }));
    // The pool gives up a worker while it has a blocked worker that has to be replaced later.
    CHECK(model::explore(search_on(2, "give-up-behind-a-block", 3), [] {
        machine m({.warm = false, .end_searched = true, .max_threads = 3});
        counted_runs of_a, of_b;
        model::semaphore gate{0}, done{0};
        cmwq::work holds{[&] {
            const cmwq::blocking_region region(cmwq::will_block);
            gate.acquire();
            done.release();
        }};
        cmwq::work a{[&] { of_a(), gate.release(), done.release(); }};
        cmwq::work b{[&] { of_b(), done.release(); }};
        {
            const model::unsearched quiet;
            m.q.queue_on(0, holds);
            model::sleep(1000 * ms);
        }
        auto t = model::spawn([&] { m.q.queue_on(1, b); });
        m.q.queue_on(0, a);
        for (int i = 0; i < 3; ++i) done.acquire();
        t.join();
        model::require(m.waited() <= 1000 * ms + 20 * ms, "the items have run soon");
    }));
}

TEST_CASE("workers: idle workers are ended while items come") {
    CHECK(model::explore(search("cull", 3), [] {
        machine m({.end_searched = true, .idle_timeout = 1'000 * ms});
        counted_runs of_a, of_b;
        model::semaphore gate{0}, done{0};
        const auto body = [&] {
            const cmwq::blocking_region region(cmwq::will_block);
            gate.acquire();
            done.release();
        };
        {
            const model::unsearched quiet; // three items block at once: four workers, of which two are surplus
            cmwq::work one{body}, two{body}, three{body};
            m.q.queue(one);
            m.q.queue(two);
            m.q.queue(three);
            for (int i = 0; i < 3; ++i) gate.release();
            for (int i = 0; i < 3; ++i) done.acquire();
            m.q.flush();
            model::sleep(1'000 * ms - 1);
        }
        model::sleep(1); // now the surplus workers have to end
        cmwq::work a{[&] { of_a(), done.release(); }};
        cmwq::work b{[&] { of_b(), done.release(); }};
        auto t = model::spawn([&] { m.q.queue(b); });
        m.q.queue(a);
        done.acquire();
        done.acquire();
        t.join();
        model::require(m.waited() <= 1'000 * ms + two_tries, "no thread waited for long");
    }));
}
