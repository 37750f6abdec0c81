// SPDX-License-Identifier: BSL-1.0
//
// The model backend itself: it must find executions that C++ allows, must not report executions that C++ forbids, and
// must return a schedule that repeats a failure.
#include "catch.hpp"

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/base/cpu_relax.hpp>
#include <cmwq/detail/sync/backoff.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/mutex.hpp>
#include <cmwq/detail/sync/parker.hpp>
#include <cmwq/detail/sync/this_thread.hpp>
#include <cmwq/detail/sync/thread.hpp>
#include <model/explore.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace detail = cmwq::detail;
namespace model = cmwq::detail::model;
using detail::acq_rel;
using detail::acquire;
using detail::atomic;
using detail::memory_order;
using detail::relaxed;
using detail::release;
using detail::seq_cst;

namespace {

model::options holds(std::string name) {
    model::options o;
    o.name = std::move(name);
    o.steps = 1'000'000;
    return o;
}

model::options fails(std::string name) {
    model::options o = holds(std::move(name));
    o.quiet = true;
    return o;
}

// Dekker's pattern: both threads may read the old value if the orders are too weak.
void store_buffering(memory_order w, memory_order r) {
    atomic<int> x{0}, y{0};
    int a = 0, b = 0;
    auto t = model::spawn([&] {
        x.store(1, w);
        a = y.load(r);
    });
    y.store(1, w);
    b = x.load(r);
    t.join();
    model::require(a == 1 || b == 1, "one of the threads sees the other's store");
}

void message_passing(memory_order w, memory_order r) {
    model::checked<int> message{0};
    atomic<bool> ready{false};
    auto t = model::spawn([&] {
        message = 42;
        ready.store(true, w);
    });
    if (ready.load(r)) model::require(message == 42, "the message has arrived");
    t.join();
}

} // namespace

TEST_CASE("model: seq_cst forbids store buffering and every weaker order allows it") {
    const auto good = model::explore(holds("dekker"), [] { store_buffering(seq_cst, seq_cst); });
    CHECK(good);
    CHECK(good.exhausted);
    CHECK_FALSE(model::explore(fails("dekker-relaxed"), [] { store_buffering(relaxed, relaxed); }));
    CHECK_FALSE(model::explore(fails("dekker-ra"), [] { store_buffering(release, acquire); }));
    CHECK_FALSE(model::explore(fails("dekker-half"), [] { store_buffering(seq_cst, acquire); }));
}

TEST_CASE("model: store buffering through read-modify-writes is forbidden only by seq_cst on both loads") {
    const auto body = [](memory_order rmw, memory_order r) {
        return [rmw, r] {
            atomic<int> running{1}, inbox{0};
            int seen_inbox = 0, seen_running = 1;
            auto t = model::spawn([&] {
                running.fetch_sub(1, rmw);
                seen_inbox = inbox.load(r);
            });
            inbox.exchange(1, rmw);
            seen_running = running.load(r);
            t.join();
            model::require(seen_inbox == 1 || seen_running == 0, "one of the two threads sees the other");
        };
    };
    CHECK(model::explore(holds("dekker-rmw"), body(seq_cst, seq_cst)));
    CHECK_FALSE(model::explore(fails("dekker-rmw-acq"), body(seq_cst, acquire)));
    CHECK_FALSE(model::explore(fails("dekker-rmw-ar"), body(acq_rel, acquire)));
}

TEST_CASE("model: release and acquire pass a message but relaxed is a data race") {
    const auto good = model::explore(holds("message"), [] { message_passing(release, acquire); });
    CHECK(good);
    CHECK(good.exhausted);
    const auto bad = model::explore(fails("message-relaxed"), [] { message_passing(relaxed, relaxed); });
    CHECK_FALSE(bad);
    CHECK_THAT(bad.message, Catch::Contains("data race"));
    CHECK_FALSE(model::explore(fails("message-half"), [] { message_passing(release, relaxed); }));
    CHECK_FALSE(model::explore(fails("message-other-half"), [] { message_passing(relaxed, acquire); }));
}

TEST_CASE("model: seq_cst forbids two orders of independent writes and acquire allows them") {
    const auto body = [](memory_order w, memory_order r) {
        return [w, r] {
            atomic<int> x{0}, y{0};
            int a = 0, b = 0, c = 0, d = 0;
            auto t1 = model::spawn([&] { x.store(1, w); });
            auto t2 = model::spawn([&] { y.store(1, w); });
            auto t3 = model::spawn([&] { a = x.load(r), b = y.load(r); });
            c = y.load(r), d = x.load(r);
            t1.join(), t2.join(), t3.join();
            model::require(!(a == 1 && b == 0 && c == 1 && d == 0), "both readers see the same order");
        };
    };
    CHECK(model::explore(holds("iriw"), body(seq_cst, seq_cst)));
    CHECK(model::explore(holds("iriw-mixed"), body(release, seq_cst)));
    CHECK_FALSE(model::explore(fails("iriw-acquire"), body(release, acquire)));
}

TEST_CASE("model: no thread sees the values of one atomic go backwards") {
    CHECK(model::explore(holds("coherence"), [] {
        atomic<int> x{0};
        int order = 0;
        auto t = model::spawn([&] {
            x.store(1, relaxed);
            x.store(2, relaxed);
            x.store(3, relaxed);
        });
        for (int i = 0; i < 3; ++i) {
            const int v = x.load(relaxed);
            model::require(v >= order, "values come in order");
            order = v;
        }
        t.join();
        model::require(x.load(relaxed) == 3, "join shows the last one");
    }));
}

TEST_CASE("model: a store is visible to all threads a millisecond later and not before") {
    const auto body = [](std::int64_t later) {
        return [later] {
            atomic<int> flag{0};
            auto t = model::spawn([&] { flag.store(1, relaxed); });
            model::sleep(later); // the other thread runs meanwhile
            model::require(flag.load(relaxed) == 1, "it is visible");
            t.join();
        };
    };
    CHECK(model::explore(holds("visible"), body(1'000'000)));
    CHECK_FALSE(model::explore(fails("visible-before"), body(999'999)));
}

TEST_CASE("model: a release sequence goes on through read-modify-writes and ends at a plain store") {
    const auto body = [](bool plain) {
        return [plain] {
            model::checked<int> message{0};
            atomic<int> flag{0};
            auto t1 = model::spawn([&] {
                message = 1;
                flag.store(1, release);
            });
            auto t2 = model::spawn([&] {
                if (plain) {
                    if (flag.load(relaxed) == 1) flag.store(2, relaxed);
                } else {
                    int one = 1;
                    flag.compare_exchange_strong(one, 2, relaxed, relaxed);
                }
            });
            if (flag.load(acquire) == 2) model::require(message == 1, "the message has arrived");
            t1.join();
            t2.join();
        };
    };
    CHECK(model::explore(holds("release-sequence"), body(false)));
    CHECK_FALSE(model::explore(fails("release-sequence-broken"), body(true)));
}

// Required: the submitter queues again, or the callback sees the event that was stored before queue().
// proves: kernel-10
TEST_CASE("model: the PENDING bit needs read-modify-writes") {
    enum class claim { fetch_or, load_first, cas };
    enum class clear { fetch_and, store };
    const auto body = [](claim how, clear end) {
        return [how, end] {
            atomic<unsigned> pending{1}; // already queued once
            atomic<int> event{0};
            bool queued = false;
            int seen = -1;
            auto worker = model::spawn([&] {
                if (end == clear::fetch_and) pending.fetch_and(~1u, acq_rel);
                else pending.store(0, release);
                seen = event.load(relaxed);
            });
            event.store(1, relaxed);
            switch (how) {
            case claim::fetch_or: queued = (pending.fetch_or(1, acq_rel) & 1) == 0; break;
            case claim::load_first:
                queued = (pending.load(acquire) & 1) == 0 && (pending.fetch_or(1, acq_rel) & 1) == 0;
                break;
            case claim::cas: {
                unsigned zero = 0;
                queued = pending.compare_exchange_strong(zero, 1, acq_rel, acquire);
            }
            }
            worker.join();
            model::require(queued || seen == 1, "the event is not lost");
        };
    };
    const auto a = model::explore(holds("pending-A"), body(claim::fetch_or, clear::fetch_and));
    CHECK(a);
    CHECK(a.exhausted);
    CHECK_FALSE(model::explore(fails("pending-B"), body(claim::load_first, clear::fetch_and)));
    CHECK_FALSE(model::explore(fails("pending-C"), body(claim::fetch_or, clear::store)));
    CHECK_FALSE(model::explore(fails("pending-E"), body(claim::cas, clear::fetch_and)));
}

TEST_CASE("model: a mutex excludes and publishes and the search finds the data race without it") {
    const auto body = [](bool locked) {
        return [locked]() CMWQ_NO_TSA {
            detail::mutex m;
            model::checked<int> n{0};
            std::vector<model::task> tasks;
            for (int i = 0; i < 2; ++i)
                tasks.push_back(model::spawn([&]() CMWQ_NO_TSA {
                    if (locked) m.lock();
                    n = n + 1;
                    if (locked) m.unlock();
                }));
            for (auto& t : tasks) t.join();
            model::require(n == 2, "both counted");
        };
    };
    const auto good = model::explore(holds("mutex"), body(true));
    CHECK(good);
    CHECK(good.exhausted);
    CHECK_FALSE(model::explore(fails("no-mutex"), body(false)));
}

TEST_CASE("model: each logical thread has its own lock order") {
    // On a single thread, either order would be an inversion.
    CHECK(model::explore(holds("lock-ranks"), []() CMWQ_NO_TSA {
        detail::ranked_mutex<detail::lock_rank::queue> outer;
        detail::ranked_mutex<detail::lock_rank::pool> inner, another;
        auto t = model::spawn([&]() CMWQ_NO_TSA {
            const detail::scoped_lock o(outer);
            const detail::scoped_lock i(another);
        });
        {
            const detail::scoped_lock i(inner);
            model::require(detail::this_thread_slots().held_ranks == detail::rank_bit(detail::lock_rank::pool), "one");
        }
        t.join();
        model::require(detail::this_thread_slots().held_ranks == 0, "none");
    }));
}

TEST_CASE("model: try_lock fails only while another thread holds the mutex") {
    CHECK(model::explore(holds("try-lock"), []() CMWQ_NO_TSA {
        detail::mutex m;
        atomic<int> inside{0};
        auto t = model::spawn([&]() CMWQ_NO_TSA {
            if (!m.try_lock()) return;
            model::require(inside.fetch_add(1, relaxed) == 0, "alone");
            inside.fetch_sub(1, relaxed);
            m.unlock();
        });
        if (m.try_lock()) {
            model::require(inside.fetch_add(1, relaxed) == 0, "alone");
            inside.fetch_sub(1, relaxed);
            m.unlock();
        }
        t.join();
        model::require(m.try_lock(), "free again");
        m.unlock();
    }));
}

TEST_CASE("model: a permit is not lost but a test before the announcement loses the wake-up") {
    const auto body = [](bool announce_first) {
        return [announce_first] {
            detail::parker sleeper;
            atomic<bool> asleep{false}, work{false};
            auto t = model::spawn([&] {
                if (announce_first) {
                    asleep.store(true, seq_cst);
                    if (!work.load(seq_cst)) sleeper.park();
                } else if (!work.load(seq_cst)) {
                    asleep.store(true, seq_cst);
                    sleeper.park();
                }
            });
            work.store(true, seq_cst);
            if (asleep.load(seq_cst)) sleeper.unpark();
            t.join();
        };
    };
    CHECK(model::explore(holds("parker"), body(true)));
    const auto bad = model::explore(fails("parker-wrong"), body(false));
    CHECK_FALSE(bad);
    CHECK_THAT(bad.message, Catch::Contains("deadlock") && Catch::Contains("parked"));
}

TEST_CASE("model: unpark publishes earlier writes and the owner may then destroy the parker") {
    CHECK(model::explore(holds("parker-publishes"), [] {
        auto p = std::make_unique<detail::transient_parker>();
        model::checked<int> message{0};
        auto t = model::spawn([&, raw = p.get()] {
            message = 1;
            raw->unpark();
        });
        p->park();
        model::require(message == 1, "the message has arrived");
        p.reset();
        t.join();
    }));
}

TEST_CASE("model: park_until lets the clock jump when no thread can go on or earlier if the search allows it") {
    const auto body = [] {
        detail::parker p;
        const auto start = detail::steady_now();
        auto t = model::spawn([&] { p.unpark(); });
        const bool woken = p.park_until(start + 500);
        if (!woken) model::require(detail::steady_now() == start + 500, "false means that the deadline has passed");
        model::require(woken, "the permit came in time");
        t.join();
        model::require(!p.park_until(start + 700), "no second permit");
        model::require(detail::steady_now() == start + 700, "the clock has moved");
    };
    CHECK(model::explore(holds("park-until"), body));
    model::options o = fails("park-until-jump");
    o.time_jumps = 1;
    CHECK_FALSE(model::explore(o, body));
}

TEST_CASE("model: deadlocks are found") {
    const auto r = model::explore(fails("deadlock"), []() CMWQ_NO_TSA {
        detail::mutex a, b;
        auto t = model::spawn([&]() CMWQ_NO_TSA {
            b.lock(), a.lock();
            a.unlock(), b.unlock();
        });
        a.lock(), b.lock();
        b.unlock(), a.unlock();
        t.join();
    });
    CHECK_FALSE(r);
    CHECK_THAT(r.message, Catch::Contains("deadlock") && Catch::Contains("waits for a mutex"));
}

TEST_CASE("model: waiting loops end and do not block the search and endless loops are found") {
    CHECK(model::explore(holds("backoff"), [] {
        atomic<int> turn{0};
        model::checked<int> n{0};
        std::vector<model::task> tasks;
        for (int i = 0; i < 3; ++i)
            tasks.push_back(model::spawn([&, i] {
                for (detail::backoff b; turn.load(acquire) != i;) b.pause();
                n = n + 1;
                turn.store(i + 1, release);
            }));
        for (auto& t : tasks) t.join();
        model::require(n == 3, "all had their turn");
    }));
    const auto r = model::explore(fails("backoff-forever"), [] {
        atomic<int> never{0};
        for (detail::backoff b; never.load(acquire) == 0;) b.pause();
    });
    CHECK_THAT(r.message, Catch::Contains("deadlock") && Catch::Contains("waiting loop"));
    model::options o = fails("livelock");
    o.max_steps = 500;
    const auto spin = model::explore(o, [] {
        atomic<int> never{0};
        while (never.load(acquire) == 0) detail::cpu_relax();
    });
    CHECK_THAT(spin.message, Catch::Contains("500 steps"));
    o.livelock_fails = false;
    o.random_executions = 0;
    const auto counted = model::explore(o, [] {
        atomic<int> never{0};
        while (never.load(acquire) == 0) detail::cpu_relax();
    });
    CHECK(counted);
    CHECK(counted.truncated > 0);
    CHECK_FALSE(counted.exhausted);
}

TEST_CASE("model: use after destruction and use during destruction are found") {
    CHECK_FALSE(model::explore(fails("destroyed-early"), [] {
        auto x = std::make_unique<atomic<int>>(0);
        atomic<bool> done{false};
        auto t = model::spawn([&, raw = x.get()] {
            done.store(true, relaxed); // publishes nothing
            raw->fetch_add(1, relaxed);
        });
        if (done.load(relaxed)) {
            t.join();
            x.reset();
        } else {
            x.reset();
            t.join();
        }
    }));
    CHECK_FALSE(model::explore(fails("mutex-destroyed-held"), []() CMWQ_NO_TSA {
        auto m = std::make_unique<detail::mutex>();
        m->lock();
        m.reset();
    }));
}

TEST_CASE("model: failures can be replayed from their schedule") {
    const auto body = [] { store_buffering(relaxed, relaxed); };
    const auto first = model::explore(fails("again"), body);
    REQUIRE(first.failed);
    model::options o = fails("again");
    o.replay = first.schedule;
    const auto second = model::explore(o, body);
    CHECK(second.failed);
    CHECK(second.message == first.message);
    CHECK(second.schedule == first.schedule);
    CHECK(second.executions == 1);
    CHECK_FALSE(second.trace.empty());
    o.replay = "again@nonsense";
    CHECK_THAT(model::explore(o, body).message, Catch::Contains("no schedule"));
}

TEST_CASE("model: random executions find failures beyond the bounds and can be replayed") {
    // Five switches are needed; the exhaustive part may make one.
    const auto body = [] {
        atomic<int> a{0};
        auto t = model::spawn([&] {
            for (int i = 0; i < 3; ++i) {
                int even = 2 * i;
                if (!a.compare_exchange_strong(even, 2 * i + 1, acq_rel, relaxed)) return;
            }
        });
        for (int i = 0; i < 3; ++i) {
            int odd = 2 * i + 1;
            if (!a.compare_exchange_strong(odd, 2 * i + 2, acq_rel, relaxed)) break;
        }
        t.join();
        model::require(a.load(relaxed) < 5, "they do not alternate");
    };
    model::options o = fails("alternate");
    o.preemptions = 1;
    o.stale_reads = 0;
    o.random_executions = 0;
    const auto bounded = model::explore(o, body);
    CHECK(bounded);
    CHECK(bounded.exhausted);
    o.random_executions = 20'000;
    const auto random = model::explore(o, body);
    REQUIRE(random.failed);
    CHECK(random.random_executions > 0);
    o.replay = random.schedule;
    CHECK(model::explore(o, body).message == random.message);
}

TEST_CASE("model: a thread may catch exceptions across switches but must not let an exception out") {
    CHECK(model::explore(holds("exceptions"), [] {
        atomic<int> n{0};
        const auto work = [&] {
            try {
                n.fetch_add(1, relaxed);
                throw std::runtime_error("inner");
            } catch (const std::runtime_error&) {
                n.fetch_add(1, relaxed); // other threads run here, and handle their own exceptions
                try {
                    throw 1;
                } catch (int) {
                    n.fetch_add(1, relaxed);
                }
                try {
                    throw;
                } catch (const std::exception& e) {
                    model::require(std::string(e.what()) == "inner", "our own exception");
                }
            }
        };
        auto t = model::spawn(work);
        work();
        t.join();
    }));
    const auto r = model::explore(fails("escapes"), [] { throw std::runtime_error("out of here"); });
    CHECK_THAT(r.message, Catch::Contains("out of here"));
    const auto a = model::explore(fails("aborts"), [] { std::abort(); });
    CHECK_THAT(a.message, Catch::Contains("abort()"));
}

TEST_CASE("model: threads can be started and joined and refused and have attributes and slots and probes") {
    model::options o = holds("threads");
    o.around.cpus = 2;
    o.around.refuse_sched = 1;
    o.around.start_error = [](unsigned n) { return n == 1 ? 11 : 0; };
    CHECK(model::explore(o, [] {
        struct state {
            model::checked<int> n{0};
            detail::thread_probe probe;
            detail::parker sleeper;
            atomic<bool> open{false};
        } s;
        detail::thread t, refused;
        const int r = t.start(
            [](void* arg) {
                auto& mine = *static_cast<state*>(arg);
                detail::thread_attributes a;
                const cmwq::cpuset first{1}, second{2};
                a.cpus = &first;
                model::require(detail::apply_to_this_thread(a).cpus == 0, "CPU 1 exists");
                model::require(detail::current_cpu() == 1, "bound");
                a.cpus = &second;
                model::require(detail::apply_to_this_thread(a).cpus != 0, "CPU 2 does not");
                a.cpus = &first;
                a.sched = detail::sched_class::idle;
                model::require(detail::apply_to_this_thread(a).sched == 1, "refused");
                detail::this_thread_slots().current_run = reinterpret_cast<detail::run_record*>(arg);
                mine.probe.open_own(cmwq::detail::state_files::kept);
                mine.open.store(true, release);
                mine.sleeper.park();
                mine.n = 1;
            },
            &s);
        model::require(r == 0, "the first start works");
        model::require(refused.start([](void*) {}, nullptr) == 11, "the second is refused");
        model::require(!refused.joinable() && t.joinable(), "joinable");
        for (detail::backoff b; !s.open.load(acquire);) b.pause();
        model::require(detail::this_thread_slots().current_run == nullptr, "slots are per thread");
        for (detail::backoff b; !s.probe.blocked();) b.pause();
        s.sleeper.unpark();
        t.join();
        model::require(s.n == 1, "join publishes");
    }));
}

TEST_CASE("model: outside of a search sync objects are plain variables") {
    static constinit atomic<int> global{7};
    static constinit detail::mutex global_lock;
    CHECK(global.fetch_add(1, relaxed) == 7);
    CHECK(global.exchange(7, acq_rel) == 8);
    int eight = 8;
    CHECK_FALSE(global.compare_exchange_strong(eight, 9, acq_rel, acquire));
    CHECK(eight == 7);
    { const detail::scoped_lock g(global_lock); }
    detail::parker p;
    p.unpark();
    p.park();
    CHECK(model::explore(holds("globals"), [] {
        auto t = model::spawn([] {
            const detail::scoped_lock g(global_lock);
            global.store(global.load(relaxed) + 1, relaxed);
        });
        {
            const detail::scoped_lock g(global_lock);
            global.store(global.load(relaxed) - 1, relaxed);
        }
        t.join();
        model::require(global.load(relaxed) == 7, "balanced");
    }));
    CHECK(global.load(relaxed) == 7);
    atomic<unsigned char> small{255};
    CHECK(small.fetch_add(1, relaxed) == 255);
    CHECK(small.load(relaxed) == 0);
    int target = 0;
    atomic<int*> pointer{nullptr};
    pointer.store(&target, release);
    CHECK(pointer.load(acquire) == &target);
}
