// SPDX-License-Identifier: BSL-1.0
//
// Local lists of the workers of elastic pools: each closure that an item posts runs once, no idle worker overlooks it,
// and every operation that must know all items of a queue finds it.
//
// When these defects were put into the engine, these searches found them: a relaxed store of the size, or a relaxed
// look at it or at the number of owners; a push that notifies no worker; a worker that goes idle with local items, or
// takes its name off while it has some; a thief that does not announce what it has moved; a list that its owner uses
// without the lock; a closure taken without a slot; a recall that does nothing, or leaves out runs without local items;
// a run that goes on with its closures after a recall, or begins in a freeze and has them follow; a push to a pwq that
// is detached; a flush or a freeze that does not recall; a worker that ends, sleeps or starts an item without a look at
// local lists; a guard or a detector that does not look at them; a list that stays with a worker that is not counted,
// whether it is filled before or after that, or while the flag that an earlier item has set is taken back. A drain and
// apply() recall twice: these searches find only that neither of the two happens. They do not find a shutdown() that
// recalls only when it waits for its items, or a relaxed addition to the number of owners.
#include "catch.hpp"
#include "lists_machine.hpp"
#include "model/threads.hpp"

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/engine/threads/thread_pool.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <optional>

using cmwq::attrs;
using cmwq::block_kind;
using cmwq::cancel_pending;
using cmwq::queue_status;
using cmwq::detail::atomic;
using cmwq::detail::relaxed;
using namespace cmwq_test;

namespace {

/// The record of the worker that runs the calling item.
cmwq::detail::worker& own_record() { return *cmwq::detail::this_thread_slots().current_run->of_thread; }

constexpr std::int64_t by_the_sentinel = ms / 2; // the monitor looks first 1 ms after it was armed
constexpr std::int64_t by_the_monitor = 20 * ms;

/// An item posts two closures and ends.
void posts_two(setup s) {
    elastic_machine m(s);
    counted_runs of_x, of_y;
    model::semaphore done{0};
    m.q.post([&] {
        m.q.post([&] { of_x(), done.release(); });
        m.q.post([&] { of_y(), done.release(); });
    });
    // No flush() here: it looks at the pool itself and could hide a missing wake-up.
    done.acquire();
    done.acquire();
    model::require(of_x.runs() == 1 && of_y.runs() == 1, "each has run once");
    if (!s.sentinel) model::require(m.waited() == 0, "no thread waited for the monitor");
    m.q.flush();
}

/// An item posts `nr` closures and blocks until the last one has run.
void waits_for_its_closure(setup s, int nr, std::optional<block_kind> announce, std::int64_t patience) {
    elastic_machine m(s);
    counted_runs runs[2];
    model::semaphore gate{0}, done{0};
    m.q.post([&] {
        for (int i = 0; i < nr; ++i) {
            m.q.post([&, i] {
                runs[i]();
                if (i == nr - 1) gate.release();
                done.release();
            });
        }
        wait_at(gate, announce);
        done.release();
    });
    for (int i = 0; i < nr + 1; ++i) done.acquire();
    for (int i = 0; i < nr; ++i) model::require(runs[i].runs() == 1, "each has run once");
    model::require(m.waited() <= patience, "another worker has come in time");
    m.q.flush();
}

/// Two workers run: one of them ends its item and goes idle, while the item of the other one posts a closure and blocks
/// until that has run. `start(machine, first, second)` starts these items.
template <class Start>
void beside_an_end(const Start& start) {
    elastic_machine m;
    model::unsearched quiet;
    model::semaphore end{0}, go{0}, gate{0}, done{0};
    start(
        m,
        [&] {
            end.acquire();
            done.release();
        },
        [&] {
            go.acquire();
            m.q.post([&] { gate.release(); });
            gate.acquire();
            done.release();
        });
    model::sleep(1000 * ms); // both items wait
    const std::int64_t before = m.waited();
    end.release();
    go.release();
    quiet.end();
    done.acquire();
    done.acquire();
    quiet.begin();
    model::require(m.waited() == before, "no thread waited for the monitor");
    m.q.flush();
    quiet.end();
}

/// Checks that a limit of one keeps the items apart. Only the limit orders their effects.
class alone {
public:
    void operator()() {
        model::require(now_.fetch_add(1, relaxed) == 0, "one at a time");
        runs_ = runs_ + 1;
        now_.fetch_sub(1, relaxed);
    }
    [[nodiscard]] int runs() const { return runs_; }

private:
    atomic<int> now_{0};
    model::checked<int> runs_{0};
};

} // namespace

// --- the owner and idle workers --------------------------------------------------------------------------------------

TEST_CASE("local: an item posts two closures and each of them runs once") {
    CHECK(model::explore(search_on(2, "two", 3), [] { posts_two({}); }));
    CHECK(model::explore(search_on(1, "two-on-one-cpu", 2), [] { posts_two({}); }));
    CHECK(model::explore(search_on(2, "two-cold", 1), [] { posts_two({.warm = false, .end_searched = true}); }));
    CHECK(model::explore(search_on(2, "two-with-sentinels", 1), [] { posts_two({.sentinel = true}); }));
}

TEST_CASE("local: an item blocks until a closure that it has posted has run") {
    CHECK(model::explore(search_on(2, "blocks", 3), [] { waits_for_its_closure({}, 1, {}, 0); }));
    CHECK(model::explore(search_on(1, "guard", 2), [] { waits_for_its_closure({}, 1, cmwq::will_block, 0); }));
    CHECK(model::explore(search_on(2, "guard-beside-a-cpu", 2),
                         [] { waits_for_its_closure({}, 1, cmwq::will_block, 0); }));
    CHECK(model::explore(search_on(1, "monitor", 1), [] { waits_for_its_closure({}, 1, {}, by_the_monitor); }));
    CHECK(model::explore(systematic(1, "sentinel", 1),
                         [] { waits_for_its_closure({.sentinel = true}, 1, {}, by_the_sentinel); }));
}

// [LOC-1] At the second post the list may be empty again, while the worker that has emptied it goes idle.
TEST_CASE("local: an item posts a closure while a worker goes idle after the previous closure") {
    CHECK(model::explore(search_on(2, "second", 2), [] { waits_for_its_closure({}, 2, {}, 0); }));
    CHECK(model::explore(search_on(2, "second-guard", 2), [] { waits_for_its_closure({}, 2, cmwq::will_block, 0); }));
    // Stale reads only: the worker looks twice before it sleeps.
    CHECK(model::explore(search_on(2, "second-late", 1, 0), [] {
        beside_an_end([](elastic_machine& m, auto first, auto second) {
            m.q.post([&m, first, second] {
                m.q.post(first);
                second();
            });
        });
    }));
}

TEST_CASE("local: an item posts a closure and blocks while a worker goes idle after an item of another thread") {
    CHECK(model::explore(search_on(2, "stranger", 2), [] {
        elastic_machine m;
        model::semaphore gate{0}, done{0};
        cmwq::work stranger{[&] { done.release(); }};
        auto t = model::spawn([&] { m.q.queue(stranger); });
        m.q.post([&] {
            m.q.post([&] { gate.release(); });
            gate.acquire();
            done.release();
        });
        done.acquire();
        done.acquire();
        t.join();
        model::require(m.waited() == 0, "no thread waited for the monitor");
        m.q.flush();
    }));
    CHECK(model::explore(search_on(2, "stranger-late", 3), [] {
        beside_an_end([](elastic_machine& m, auto first, auto second) {
            m.q.post(first);
            m.q.post(second);
        });
    }));
}

// The worker that is woken for the closure goes back to sleep, because another one has come back from a block. Then
// both of these wait for the closure.
TEST_CASE("local: a worker that goes back to sleep arms the detectors for a closure") {
    CHECK(model::explore(search_on(2, "back-to-sleep", 4), [] {
        elastic_machine m;
        model::semaphore entered{0}, leave{0}, gate{0}, done{0};
        cmwq::work returns{[&] {
            {
                const cmwq::blocking_region region(cmwq::will_block);
                entered.release();
                leave.acquire();
            }
            gate.acquire();
            done.release();
        }};
        {
            const model::unsearched quiet;
            m.q.queue(returns);
            entered.acquire();
            model::sleep(1000 * ms); // no detector is armed
        }
        const std::int64_t before = m.waited();
        m.q.post([&] {
            m.q.post([&] {
                gate.release();
                gate.release();
            });
            leave.release();
            gate.acquire();
            done.release();
        });
        done.acquire();
        done.acquire();
        model::require(m.waited() - before <= by_the_monitor, "a detector was armed");
        m.q.flush();
    }));
}

// The worker that is woken for the closure runs another item, and both of the running items wait for the closure.
TEST_CASE("local: a worker that is woken for a closure takes another item") {
    CHECK(model::explore(search_on(2, "another-item", 3), [] {
        elastic_machine m;
        model::semaphore gate{0}, done{0};
        const auto body = [&] {
            gate.acquire();
            done.release();
        };
        cmwq::work waits{body};
        {
            const model::unsearched quiet; // two items wait at once: the pool has a spare beside the two of the search
            m.q.post(body);
            m.q.post(body);
            model::sleep(1000 * ms);
            gate.release();
            gate.release();
            done.acquire();
            done.acquire();
            model::sleep(1000 * ms);
        }
        const std::int64_t before = m.waited();
        auto t = model::spawn([&] { m.q.queue(waits); });
        m.q.post([&] {
            m.q.post([&] {
                gate.release();
                gate.release();
            });
            body();
        });
        done.acquire();
        done.acquire();
        t.join();
        model::require(m.waited() - before <= by_the_monitor, "a detector was armed");
        m.q.flush();
    }));
}

// Another worker is about to take back the flag that an earlier item has set. It finds no item on the list, and so does
// not take the lock of the list.
TEST_CASE("local: an item that a blocked worker queues does not stay with it") {
    CHECK(model::explore(search("left-again", 2, 3), [] {
        lists_machine m;
        bare_item before, item, outside; // outside: the other worker always has something to do
        m.a.counted.store(false, relaxed);
        m.queue_by(m.a, before);
        m.queue(outside);
        {
            const cmwq::detail::scoped_lock g(m.ledger.lock);
            m.lists.recall_locked(m.ledger); // as a flush does
        }
        auto t = model::spawn([&] { m.queue_by(m.a, item); }); // as the thread of that worker
        const auto run_one = [&] {
            model::require(m.start(m.b) != nullptr, "there is one");
            m.end(m.b);
        };
        run_one();
        t.join();
        run_one();
        model::require(m.a.local.empty(), "the item was recalled");
        while (m.start(m.b) != nullptr) m.end(m.b);
    }));
}

// Each of two workers always has a closure that it has posted itself, and another one blocks.
// proves: progress-10
TEST_CASE("local: an item blocks until a closure that it has posted has run beside endless closures") {
    const bool counted = GENERATE(true, false); // when it posts the closure
    CHECK(model::explore(search_on(2, counted ? "beside-chains" : "beside-chains-uncounted", 3), [counted] {
        elastic_machine m;
        model::semaphore gate{0}, done{0};
        atomic<bool> ends{false};
        atomic<int> nr_links{0};
        struct chain {
            elastic_machine& m;
            atomic<bool>& ends;
            atomic<int>& nr_links;
            model::semaphore& done;
            void operator()() const {
                cmwq::detail::yield_this_thread(); // no thread runs for ever
                model::require(nr_links.fetch_add(1, relaxed) < 1000, "the closure of the blocked item has run");
                if (ends.load(relaxed)) done.release();
                else m.q.post(*this);
            }
        };
        for (int i = 0; i < 2; ++i) m.q.post(chain{m, ends, nr_links, done});
        m.q.post([&] {
            const auto opens = [&] { gate.release(); };
            if (counted) m.q.post(opens);
            {
                const cmwq::blocking_region region(cmwq::will_block);
                if (!counted) m.q.post(opens);
                gate.acquire();
            }
            ends.store(true, relaxed);
            done.release();
        });
        for (int i = 0; i < 3; ++i) done.acquire();
        m.q.flush();
    }));
}

// A worker that is beyond the width of the pool after a block goes idle. Its closures stay behind.
TEST_CASE("local: a surplus worker goes idle and another one runs its closures") {
    CHECK(model::explore(search_on(1, "surplus", 4), [] {
        elastic_machine m;
        counted_runs runs;
        model::semaphore gate{0}, done{0};
        cmwq::work opens{[&] { gate.release(); }};
        cmwq::work behind{[&] { done.release(); }};
        m.q.post([&] {
            {
                const cmwq::blocking_region region(cmwq::will_block);
                gate.acquire();
            }
            m.q.post([&] {
                runs();
                done.release();
            });
        });
        m.q.queue(opens);
        m.q.queue(behind);
        done.acquire();
        done.acquire();
        model::require(runs.runs() == 1, "it has run once");
        model::require(m.waited() == 0, "no thread waited for the monitor");
        m.q.flush();
    }));
}

// The manager thread asks an idle worker to end, as at the limit of threads, while an item posts a closure and blocks.
TEST_CASE("local: an idle worker ends while an item posts a closure") {
    CHECK(model::explore(search_on(2, "give-up", 3), [] {
        elastic_machine m({.end_searched = true});
        cmwq::detail::worker_threads* workers = nullptr;
        model::semaphore go{0}, gate{0}, done{0};
        std::int64_t before = 0;
        {
            const model::unsearched quiet;
            m.q.post([&] {
                workers = own_record().pool.threads;
                go.acquire();
                m.q.post([&] { gate.release(); });
                gate.acquire();
                done.release();
            });
            model::sleep(1000 * ms); // the item waits, and the pool has one spare
            before = m.waited();
        }
        auto t = model::spawn(
            [&] { static_cast<void>(workers->give_up_worker(cmwq::detail::worker_threads::idle_worker::last_spare)); });
        go.release();
        done.acquire();
        t.join();
        model::require(m.waited() == before, "another worker was made at once");
        m.q.flush();
    }));
}

// The worker that takes closures of another one moves several of them to its own list, and blocks in the first one.
TEST_CASE("local: a worker that has taken closures of another one blocks in the first one") {
    CHECK(model::explore(search_on(2, "moved", 4), [] {
        elastic_machine m;
        model::semaphore gate{0}, done{0};
        m.q.post([&] {
            m.q.post([&] {
                const cmwq::blocking_region region(cmwq::will_block);
                gate.acquire();
                done.release();
            });
            m.q.post([&] {
                gate.release();
                done.release();
            });
            m.q.post([&] { done.release(); });
        });
        for (int i = 0; i < 3; ++i) done.acquire();
        model::require(m.waited() == 0, "no thread waited for the monitor");
        m.q.flush();
    }));
}

// --- limits ----------------------------------------------------------------------------------------------------------

TEST_CASE("local: a limit of one keeps two closures apart and both run") {
    CHECK(model::explore(search_on(2, "limit", 3), [] {
        elastic_machine m({.max_active = 1});
        alone one;
        model::semaphore done{0};
        const auto body = [&] {
            one();
            done.release();
        };
        m.q.post([&] {
            one();
            m.q.post(body);
            m.q.post(body);
        });
        done.acquire();
        done.acquire();
        model::require(one.runs() == 3, "all have run");
        model::require(m.waited() == 0, "no thread waited for the monitor");
        m.q.flush();
    }));
    CHECK(model::explore(search_on(2, "limit-and-a-producer", 3), [] {
        elastic_machine m({.max_active = 1});
        alone one;
        model::semaphore done{0};
        const auto body = [&] {
            one();
            done.release();
        };
        cmwq::work foreign{body};
        auto t = model::spawn([&] { m.q.queue(foreign); });
        m.q.post([&] {
            one();
            m.q.post(body);
        });
        done.acquire();
        done.acquire();
        t.join();
        model::require(one.runs() == 3, "all have run");
        model::require(m.waited() == 0, "no thread waited for the monitor");
        m.q.flush();
    }));
}

// --- operations that must know every item ----------------------------------------------------------------------------

TEST_CASE("local: a flush covers a closure that an item has posted before") {
    CHECK(model::explore(search_on(2, "flush", 3), [] {
        elastic_machine m;
        model::checked<int> runs{0};
        model::semaphore posted{0};
        m.q.post([&] {
            m.q.post([&] { runs = runs + 1; });
            posted.release();
        });
        posted.acquire();
        m.q.flush();
        model::require(runs == 1, "it has run");
    }));
    CHECK(model::explore(search_on(2, "flush-a-chain", 3), [] {
        elastic_machine m;
        model::checked<int> runs{0};
        model::semaphore posted{0};
        m.q.post([&] {
            m.q.post([&] {
                m.q.post([&] { runs = runs + 1; });
                posted.release();
            });
        });
        auto t = model::spawn([&] { m.q.flush(); });
        posted.acquire();
        m.q.flush();
        model::require(runs == 1, "it has run");
        t.join();
    }));
}

// The item posts when the other thread waits in flush(): time passes only when no thread can go on.
TEST_CASE("local: a flush does not wait for a closure that an item posts after its beginning") {
    CHECK(model::explore(search_on(2, "flush-before", 3), [] {
        elastic_machine m;
        model::semaphore began{0}, flushed{0}, done{0};
        m.q.post([&] {
            began.release();
            model::sleep(1);
            m.q.post([&] {
                flushed.acquire();
                done.release();
            });
        });
        began.acquire();
        m.q.flush();
        flushed.release();
        done.acquire();
        m.q.flush();
    }));
    CHECK(model::explore(search_on(2, "flush-amid-a-chain", 2), [] {
        elastic_machine m;
        model::semaphore began{0}, flushed{0}, done{0};
        m.q.post([&] {
            m.q.post([&] { // follows, or runs in another worker
                began.release();
                model::sleep(1);
                m.q.post([&] {
                    flushed.acquire();
                    done.release();
                });
            });
        });
        began.acquire();
        m.q.flush();
        flushed.release();
        done.acquire();
        m.q.flush();
    }));
}

TEST_CASE("local: drain() and the end of the queue wait for the last closure of a chain") {
    const auto chain = [](elastic_machine& m, model::checked<int>& length) {
        m.q.post([&] {
            length = length + 1;
            m.q.post([&] {
                length = length + 1;
                m.q.post([&] { length = length + 1; });
            });
        });
    };
    CHECK(model::explore(search_on(2, "drain", 3), [&] {
        elastic_machine m;
        model::checked<int> length{0};
        chain(m, length);
        m.q.drain();
        model::require(length == 3, "the whole chain has run");
    }));
    CHECK(model::explore(search_on(2, "end", 3), [&] {
        elastic_machine m;
        model::checked<int> length{0};
        chain(m, length);
        m.end_queue();
        model::require(length == 3, "the whole chain has run");
    }));
}

// Two queues use the pool. After the run that has posted the closure, its worker takes an item of the other queue, and
// the closure stays on its list without a run of its own queue.
TEST_CASE("local: an operation on the queue finds a closure whose worker runs an item of another queue") {
    const auto body = [](const auto& operation, setup s = {}) {
        elastic_machine m(s);
        std::optional<cmwq::workqueue<cmwq::elastic>> other;
        model::checked<int> runs{0};
        model::semaphore gate{0}, posted{0};
        cmwq::work waits{[&] {
            const cmwq::blocking_region region(cmwq::will_block);
            gate.acquire();
        }};
        {
            const model::unsearched quiet;
            other.emplace(m.rt, "other");
        }
        m.q.post([&] {
            other->queue(waits);
            m.q.post([&] { runs = runs + 1; });
            posted.release();
        });
        posted.acquire();
        operation(m);
        model::require(runs == 1, "it has run");
        gate.release();
        m.q.flush();
        other->flush();
        const model::unsearched quiet;
        other.reset();
    };
    CHECK(model::explore(search_on(1, "flush-beside-a-queue", 2),
                         [&] { body([](elastic_machine& m) { m.q.flush(); }); }));
    CHECK(model::explore(search_on(1, "drain-beside-a-queue", 2),
                         [&] { body([](elastic_machine& m) { m.q.drain(); }); }));
    CHECK(model::explore(search_on(1, "apply-beside-a-queue", 3), [&] {
        body(
            [](elastic_machine& m) {
                m.q.apply(attrs{}.nice(1));
                m.q.drain();
            },
            {.others = attrs{}.nice(1)});
    }));
}

TEST_CASE("local: shutdown() drops a closure that has not started") {
    CHECK(model::explore(search_on(1, "shutdown-drops", 1), [] {
        elastic_machine m;
        model::checked<int> runs{0};
        model::semaphore posted{0}, held{0};
        m.q.post([&] {
            m.q.post([&] { runs = runs + 1; });
            posted.release();
            held.acquire(); // the only worker that runs
        });
        auto t = model::spawn([&] {
            model::sleep(1);
            held.release();
        });
        posted.acquire();
        model::require(m.q.shutdown(cancel_pending) == 1 && runs == 0, "it was dropped");
        t.join();
    }));
}

TEST_CASE("local: shutdown() runs or drops each closure once") {
    const auto shut_down = [](setup s) {
        elastic_machine m(s);
        model::checked<int> runs{0}; // a limit of one keeps the runs apart
        int queued = 1;
        m.q.post([&] {
            runs = runs + 1;
            for (int i = 0; i < 2; ++i)
                if (m.q.post([&] { runs = runs + 1; }) == queue_status::queued) ++queued;
        });
        const auto dropped = static_cast<int>(m.q.shutdown(cancel_pending));
        model::require(runs + dropped == queued, "no closure is lost or counted twice");
        model::require(m.waited() == 0, "no thread waited for the monitor");
        m.end_queue();
    };
    CHECK(model::explore(search_on(2, "shutdown", 3), [&] { shut_down({.max_active = 1}); }));
    CHECK(model::explore(search_on(1, "shutdown-on-one-cpu", 2), [&] { shut_down({.max_active = 1}); }));
}

TEST_CASE("local: no closure runs between wait_frozen() and thaw() and none is lost") {
    CHECK(model::explore(search_on(2, "freeze", 3), [] {
        elastic_machine m({.max_active = 1, .freezable = true});
        model::checked<int> runs{0};
        model::semaphore done{0};
        const auto body = [&] {
            runs = runs + 1; // a data race unless it happens before the freeze or after the thaw
            done.release();
        };
        m.q.post([&] {
            m.q.post(body);
            body();
            m.q.post(body);
        });
        m.rt.freeze();
        model::require(m.rt.wait_frozen(), "no thread thaws it");
        runs = runs + 1;
        m.rt.thaw();
        for (int i = 0; i < 3; ++i) done.acquire();
        model::require(runs == 4, "all have run");
        model::require(m.waited() == 0, "no thread waited for the monitor");
        m.q.flush();
    }));
    // The item posts when the other thread waits in wait_frozen().
    CHECK(model::explore(search_on(2, "freeze-before", 2), [] {
        elastic_machine m({.freezable = true});
        model::semaphore began{0}, frozen{0}, done{0};
        m.q.post([&] {
            began.release();
            model::sleep(1);
            m.q.post([&] {
                frozen.acquire();
                done.release();
            });
        });
        began.acquire();
        m.rt.freeze();
        model::require(m.rt.wait_frozen(), "no thread thaws it");
        frozen.release();
        m.rt.thaw();
        done.acquire();
        m.q.flush();
    }));
}

// Closures that an item posts after the call of freeze() wait for the thaw, also if the item starts after that call.
TEST_CASE("local: no closure starts in a freeze whenever the item that posts it has started") {
    CHECK(model::explore(search_on(2, "freeze-and-start", 4), [] {
        elastic_machine m({.freezable = true});
        model::semaphore called{0}, frozen{0}, done{0};
        auto t = model::spawn([&] { m.q.flush(); }); // may put the item on the worklist
        m.q.post([&] {
            called.acquire();
            m.q.post([&] {
                frozen.acquire();
                done.release();
            });
        });
        m.rt.freeze();
        called.release();
        model::require(m.rt.wait_frozen(), "no thread thaws it");
        frozen.release();
        m.rt.thaw();
        done.acquire();
        t.join();
        m.q.flush();
    }));
}

TEST_CASE("local: a queue changes its pools while an item posts closures") {
    const auto body = [](bool end) {
        elastic_machine m({.others = attrs{}.nice(1), .end_searched = end});
        counted_runs of_x, of_y;
        model::semaphore done{0};
        auto t = model::spawn([&] { m.q.apply(attrs{}.nice(1)); });
        m.q.post([&] {
            m.q.post([&] { of_x(), done.release(); });
            m.q.post([&] { of_y(), done.release(); });
        });
        done.acquire();
        done.acquire();
        t.join();
        model::require(of_x.runs() == 1 && of_y.runs() == 1, "each has run once");
        m.q.flush();
        m.end_queue();
    };
    CHECK(model::explore(search_on(1, "apply", 2), [&] { body(false); }));
    CHECK(model::explore(search_on(2, "apply-beside-a-thief", 3), [&] { body(false); }));
    CHECK(model::explore(search_on(1, "apply-and-end", 2), [&] { body(true); }));
    CHECK(model::explore(search_on(1, "after-apply", 1), [] {
        elastic_machine m({.others = attrs{}.nice(1)});
        model::semaphore applied{0}, done{0};
        m.q.post([&] {
            const std::uint64_t before = own_record().pool.id();
            applied.acquire();
            m.q.post([&, before] {
                model::require(own_record().pool.id() != before, "it runs in the new pool");
                done.release();
            });
        });
        model::sleep(1); // it runs
        m.q.apply(attrs{}.nice(1));
        applied.release();
        done.acquire();
        m.q.flush();
        m.end_queue();
    }));
}
