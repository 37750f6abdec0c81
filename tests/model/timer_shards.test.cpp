// SPDX-License-Identifier: BSL-1.0
//
// Timers of several CPUs, each in the shard of its CPU: the sleep of the service thread, and calls that look for a
// timer while it moves to another shard, or fires.
//
// When these defects were put into the engine, these searches found them: no second look of the service thread before
// it sleeps; a relaxed store behind which the arming thread looks whether it has to wake the service thread; no wake-up
// by that thread; a look at whether the queue is open before the lock of the shard; a drain of one shard only; no
// second look at the shard under its lock; items of a batch that are pushed outside of the lock; a batch that notifies
// one pool only; timers of an ordered queue in the shards of several CPUs.
#include "catch.hpp"
#include "model/machine.hpp"

#include <cmwq/detail/base/atomic.hpp>
#include <model/body.hpp>

#include <chrono>
#include <optional>
#include <vector>

using namespace std::chrono_literals;
using cmwq::queue_status;
using namespace cmwq_test;

namespace {

model::options with_time_on_two(std::string name, double size) {
    model::options o = search_on(2, std::move(name), size);
    o.time_jumps = 2;
    return o;
}

} // namespace

// proves: progress-19
TEST_CASE("timer shards: the service thread wakes for an earlier timer of another CPU while it is about to sleep") {
    CHECK(model::explore(search_on(2, "about-to-sleep", 4), [] {
        machine m;
        model::semaphore done{0};
        const auto at = [&](std::int64_t time) {
            return [&m, &done, time] {
                model::require(m.waited() == time, "exactly at its time: time passes only when no thread can go on");
                done.release();
            };
        };
        cmwq::delayed_work late{at(5 * ms)}, soon{at(2 * ms)};
        auto t = model::spawn([&] { m.q.queue_after_on(1, 2ms, soon); });
        m.q.queue_after_on(0, 5ms, late);
        done.acquire();
        done.acquire();
        t.join();
    }));
}

TEST_CASE("timer shards: a timer that is armed while another one fires is not late") {
    CHECK(model::explore(search_on(2, "beside-firing", 3), [] {
        machine m;
        model::semaphore fired{0}, done{0};
        cmwq::delayed_work first{[&] { fired.release(); }};
        cmwq::delayed_work second{[&] {
            model::require(m.waited() == 3 * ms, "exactly at its time");
            done.release();
        }};
        m.q.queue_after_on(0, 1ms, first);
        fired.acquire(); // the service thread is on its way back to sleep
        m.q.queue_after_on(1, 2ms, second);
        done.acquire();
    }));
}

// A thread is stopped while it arms the first timer of the runtime, and the service thread sleeps for ever. (A thread
// that is stopped in its critical section delays those that use the same shard.)
// proves: progress-7
TEST_CASE("timer shards: a timer does not wait for a thread that is stopped while it arms an earlier one") {
    model::options o = search_on(2, "stopped-arming", 2);
    o.stalls = 1;
    o.stalls_with_locks = false;
    CHECK(model::explore(o, [] {
        machine m;
        model::semaphore done{0};
        cmwq::delayed_work first{[] {}};
        cmwq::delayed_work second{[&] { done.release(); }};
        auto t = model::spawn([&] {
            const model::may_stall here;
            m.q.queue_after_on(0, 2ms, first);
        });
        m.q.queue_after_on(0, 5ms, second);
        done.acquire();
        model::require(m.waited() == 5 * ms, "exactly at its time");
        t.join();
        first.flush();
    }));
}

TEST_CASE("timer shards: cancel() finds a timer that moves to another runtime") {
    CHECK(model::explore(with_time_on_two("move-to-runtime", 3), [] {
        machine m;
        std::optional<cmwq::runtime> other;
        std::optional<cmwq::workqueue<>> q;
        {
            const model::unsearched quiet;
            other.emplace(cmwq::runtime_options{.cpus = cmwq::cpuset{0}, .sentinel = false});
            q.emplace(*other, "other");
        }
        {
            cmwq::detail::atomic<int> runs{0}; // the item may run in both runtimes at once
            int queued = 1;
            cmwq::delayed_work w{[&] { runs.fetch_add(1, cmwq::detail::relaxed); }};
            m.q.queue_after_on(0, 1h, w);
            auto t = model::spawn([&] {
                model::set_current_cpu(1);
                queued += m.q.modify(2h, w) == queue_status::queued;
                queued += q->modify(3h, w) == queue_status::queued;
            });
            const int cancelled = w.cancel() + w.cancel();
            t.join();
            w.flush();
            m.q.flush(); // a run that another one has overtaken
            q->flush();
            model::require(runs.load(cmwq::detail::relaxed) + cancelled == queued && !w.busy(),
                           "no item is lost or counted twice");
        }
        const model::unsearched quiet;
        q.reset();
        other.reset();
    }));
}

TEST_CASE("timer shards: drain() finds the timers of all CPUs or refuses the arming") {
    CHECK(model::explore(with_time_on_two("arm-drain", 3), [] {
        machine m;
        model::checked<int> runs_a{0}, runs_b{0};
        queue_status s = queue_status::queued;
        cmwq::delayed_work a{[&] { runs_a = runs_a + 1; }};
        cmwq::delayed_work b{[&] { runs_b = runs_b + 1; }};
        m.q.queue_after_on(0, 1h, a);
        auto t = model::spawn([&] { s = m.q.queue_after_on(1, 1h, b); });
        m.q.drain();
        t.join();
        model::require(runs_a == 1, "a was armed before the drain");
        m.q.drain(); // b may have been armed after the first one
        model::require(runs_b == int{s == queue_status::queued} && !b.busy(), "every accepted item has run");
    }));
}

TEST_CASE("timer shards: an item arms a timer of another CPU while its queue is being destroyed") {
    CHECK(model::explore(with_time_on_two("arm-destroy", 3), [] {
        machine m;
        model::checked<int> runs{0};
        queue_status s = queue_status::rejected;
        cmwq::delayed_work late{[&] { runs = runs + 1; }};
        {
            cmwq::workqueue<> q(m.rt, "short-lived");
            q.post_on(0, [&] { s = q.queue_after_on(1, 1h, late); });
        }
        model::require(runs == int{s == queue_status::queued} && !late.busy(), "every accepted item has run");
    }));
}

TEST_CASE("timer shards: cancel() finds a timer that moves to the shard of another CPU") {
    CHECK(model::explore(with_time_on_two("move-cancel", 4), [] {
        machine m;
        model::checked<int> runs{0};
        queue_status s = queue_status::rejected;
        cmwq::delayed_work w{[&] { runs = runs + 1; }};
        m.q.queue_after_on(0, 1ms, w);
        auto t = model::spawn([&] {
            model::set_current_cpu(1);
            s = m.q.modify(3ms, w);
        });
        const int cancelled = w.cancel();
        t.join();
        w.flush();
        model::require(s == queue_status::queued || s == queue_status::modified, "it has a new time");
        model::require(runs + cancelled == 1 + int{s == queue_status::queued}, "no item is lost or counted twice");
    }));
}

TEST_CASE("timer shards: two threads move one timer back and forth while it fires") {
    CHECK(model::explore(with_time_on_two("move-move", 3), [] {
        machine m;
        model::checked<int> runs{0};
        int queued_here = 1, queued_there = 0;
        cmwq::delayed_work w{[&] { runs = runs + 1; }};
        m.q.queue_after_on(0, 1ms, w);
        auto t = model::spawn([&] {
            model::set_current_cpu(1);
            queued_there = m.q.modify(2ms, w) == queue_status::queued;
        });
        queued_here += m.q.modify(2ms, w) == queue_status::queued;
        t.join();
        w.flush();
        model::require(runs == queued_here + queued_there && !w.busy(), "one run for each claim");
    }));
}

TEST_CASE("timer shards: cancel_sync() of one timer while it expires together with others") {
    CHECK(model::explore(with_time_on_two("batch-cancel", 4), [] {
        machine m;
        model::checked<int> runs_a{0}, runs_b{0}, runs_c{0};
        cmwq::delayed_work a{[&] { runs_a = runs_a + 1; }};
        cmwq::delayed_work b{[&] { runs_b = runs_b + 1; }};
        cmwq::delayed_work c{[&] { runs_c = runs_c + 1; }};
        m.q.queue_after_on(0, 1ms, a);
        m.q.queue_after_on(0, 1ms, b);
        m.q.queue_after_on(1, 1ms, c);
        const int cancelled = b.cancel_sync();
        model::require(!b.busy() && runs_b + cancelled == 1, "it has run, or was cancelled");
        a.flush();
        c.flush();
        model::require(runs_a == 1 && runs_c == 1, "the others have run");
    }));
}

TEST_CASE("timer shards: timers of several queues that expire together start at once") {
    CHECK(model::explore(search_on(2, "batch-pools", 2), [] {
        machine m;
        cmwq::workqueue<cmwq::unbound> other(m.rt, "other");
        model::semaphore done{0};
        const auto start = [&] {
            model::require(m.waited() == ms, "no item waits until the monitor finds it");
            done.release();
        };
        cmwq::delayed_work a{start}, b{start}, c{start};
        m.q.queue_after_on(0, 1ms, a);
        other.queue_after_on(0, 1ms, b);
        m.q.queue_after_on(0, 1ms, c);
        for (int i = 0; i < 3; ++i) done.acquire();
    }));
}

TEST_CASE("timer shards: timers of an ordered queue fire in the order of arming whatever CPU arms them") {
    CHECK(model::explore(search_on(2, "ordered", 2), [] {
        ordered_machine m;
        model::semaphore done{0};
        std::vector<int> order;
        const auto note = [&](int i) {
            return [&, i] {
                order.push_back(i);
                done.release();
            };
        };
        cmwq::delayed_work a{note(1)}, b{note(2)};
        m.q.queue_after_on(1, 1ms, a);
        m.q.queue_after_on(0, 1ms, b);
        done.acquire();
        done.acquire();
        model::require(order == std::vector<int>{1, 2}, "in the order of arming");
    }));
}
