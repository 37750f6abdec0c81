// SPDX-License-Identifier: BSL-1.0
//
// The simulated machine: programs whose transfers, locked operations and waits are known by hand.
#include "catch.hpp"

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/base/cpu_relax.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/mutex.hpp>
#include <cmwq/detail/sync/parker.hpp>
#include <cmwq/detail/sync/this_thread.hpp>
#include <cmwq/detail/sync/thread.hpp>
#include <counting/machine.hpp>
#include <counting/sites.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace detail = cmwq::detail;
namespace counting = cmwq::detail::counting;
using detail::acquire;
using detail::atomic;
using detail::relaxed;
using detail::release;
using detail::seq_cst;

namespace {

counting::machine with(unsigned cpus) {
    counting::machine m;
    m.cpus = cpus;
    return m;
}

/// An object on a line of its own.
template <class T>
struct alignas(64) on_own_line {
    T value{};
};

/// Calls `step(object, number)` in threads that run one after the other, each on the CPU with its number modulo the
/// number of CPUs, in the phase `running`.
template <class T, class F>
void in_turn(unsigned cpus, unsigned steps, T& object, F step) {
    for (unsigned i = 0; i < steps; ++i)
        counting::join(counting::spawn(i % cpus, [&object, step, i] {
            T& o = object; // read before the phase, from the memory of the first thread
            const unsigned number = i;
            const counting::in_phase p(counting::phase::running);
            step(o, number);
        }));
}

/// Calls `body(object, cpu)` in a thread on each CPU at once, in the phase `running`, and waits for all.
template <class T, class F>
void on_each_cpu(unsigned cpus, T& object, F body) {
    std::vector<counting::simulated_thread*> threads;
    for (unsigned c = 0; c < cpus; ++c)
        threads.push_back(&counting::spawn(c, [&object, body, c] {
            T& o = object;
            const unsigned cpu = c;
            const counting::in_phase p(counting::phase::running);
            body(o, cpu);
        }));
    for (counting::simulated_thread* t : threads) counting::join(*t);
}

/// The counts of the phase `running`.
counting::counts counts_of(unsigned cpus, const std::function<void()>& body) {
    const auto r = counting::simulate(with(cpus), [&] {
        counting::begin_measuring();
        body();
        counting::end_measuring();
    });
    INFO(r.failure);
    CHECK(r);
    return counting::counted(counting::phase::running);
}

} // namespace

using counter = on_own_line<atomic<int>>;

TEST_CASE("machine: a counter that CPUs increment in turn moves once for each increment") {
    const auto c = counts_of(4, [] {
        const auto n = std::make_unique<counter>(); // the constructor runs on CPU 0, as the first increment
        in_turn(4, 40, *n, [](counter& o, unsigned) { o.value.fetch_add(1, relaxed); });
    });
    CHECK(c.locked == 40);
    CHECK(c.transfers == 39);
    CHECK(c.upgrades == 0);
}

TEST_CASE("machine: one CPU that increments a counter moves nothing") {
    const auto c = counts_of(2, [] {
        const auto n = std::make_unique<counter>();
        on_each_cpu(1, *n, [](counter& o, unsigned) {
            for (int i = 0; i < 100; ++i) o.value.fetch_add(1, relaxed);
        });
    });
    CHECK(c.locked == 100);
    CHECK(c.transfers == 0);
}

TEST_CASE("machine: a message with its answer moves three lines there and back") {
    constexpr unsigned messages = 50;
    struct channel {
        on_own_line<atomic<unsigned>> flag;
        on_own_line<unsigned> data;
        on_own_line<atomic<unsigned>> answer;
    };
    const auto c = counts_of(2, [] {
        const auto all = std::make_unique<channel>();
        // Both CPUs hold all lines before the first message, so that each message costs the same.
        counting::join(counting::spawn(1, [&all] {
            static_cast<void>(all->flag.value.load(relaxed) + all->answer.value.load(relaxed));
            static_cast<void>(*static_cast<volatile unsigned*>(&all->data.value));
        }));
        on_each_cpu(2, *all, [](channel& o, unsigned cpu) {
            for (unsigned i = 1; i <= messages; ++i) {
                if (cpu == 0) {
                    o.data.value = i;               // an upgrade: the receiver has read the line
                    o.flag.value.store(i, release); // an upgrade
                    while (o.answer.value.load(acquire) != i) detail::cpu_relax(); // one transfer, the rest hit
                } else {
                    while (o.flag.value.load(acquire) != i) detail::cpu_relax(); // one transfer, the rest hit
                    if (o.data.value != i) break;                                // a transfer
                    o.answer.value.store(i, release);                            // an upgrade
                }
            }
        });
    });
    CHECK(c.transfers == messages * 6);
    CHECK(c.upgrades == messages * 3);
    CHECK(c.locked == 0);
}

TEST_CASE("machine: readers share a line until somebody writes it") {
    const auto c = counts_of(8, [] {
        const auto n = std::make_unique<counter>();
        for (int round = 0; round < 3; ++round) {
            // Round 0: only the CPU of the constructor holds the line. Later, the write is an upgrade.
            in_turn(8, 1, *n, [round](counter& o, unsigned) { o.value.store(round, release); });
            // The first read of each of the seven other CPUs is a transfer.
            in_turn(8, 32, *n, [](counter& o, unsigned) { static_cast<void>(o.value.load(acquire)); });
        }
    });
    CHECK(c.transfers == 3 * 7 + 2);
    CHECK(c.upgrades == 2);
}

TEST_CASE("machine: two counters in one line move it and two lines do not") {
    struct pair {
        atomic<int> a, b;
    };
    struct apart {
        on_own_line<atomic<int>> a, b;
    };
    const auto together = counts_of(2, [] {
        const auto p = std::make_unique<on_own_line<pair>>();
        in_turn(2, 20, *p,
                [](on_own_line<pair>& o, unsigned i) { (i % 2 == 0 ? o.value.a : o.value.b).fetch_add(1, relaxed); });
    });
    CHECK(together.transfers == 19);
    const auto separate = counts_of(2, [] {
        const auto p = std::make_unique<apart>();
        in_turn(2, 20, *p, [](apart& o, unsigned i) { (i % 2 == 0 ? o.a : o.b).value.fetch_add(1, relaxed); });
    });
    CHECK(separate.transfers == 1); // the second CPU fetches its counter once, from the CPU of the constructor
}

TEST_CASE("machine: plain accesses move lines as well") {
    const auto c = counts_of(2, [] {
        const auto n = std::make_unique<on_own_line<unsigned>>();
        in_turn(2, 20, *n, [](on_own_line<unsigned>& o, unsigned i) { o.value = i; });
    });
    CHECK(c.transfers == 19);
    CHECK(c.locked == 0);
    CHECK(c.lines == 20);
}

TEST_CASE("machine: threads allocate on different lines and a thread gets its freed block again") {
    struct block {
        char bytes[24];
    };
    struct shared {
        std::vector<std::uintptr_t> lines[2];
        bool again = false;
    };
    shared s;
    const auto c = counts_of(2, [&s] {
        on_each_cpu(2, s, [](shared& o, unsigned cpu) {
            std::vector<std::unique_ptr<block>> blocks;
            for (int i = 0; i < 100; ++i) {
                blocks.push_back(std::make_unique<block>());
                o.lines[cpu].push_back(reinterpret_cast<std::uintptr_t>(blocks.back().get()) / 64);
            }
            const block* const freed = blocks.back().get();
            blocks.pop_back();
            if (cpu == 0) o.again = std::make_unique<block>().get() == freed;
        });
    });
    CHECK(c.allocations >= 200);
    CHECK(s.again);
    std::vector<std::uintptr_t> both;
    std::ranges::set_intersection(s.lines[0], s.lines[1], std::back_inserter(both)); // they are ascending
    CHECK(both.empty());
}

TEST_CASE("machine: the places of locked operations are known") {
    static_cast<void>(counts_of(2, [] {
        const auto n = std::make_unique<counter>();
        in_turn(2, 10, *n, [](counter& o, unsigned) { o.value.fetch_add(1, relaxed); });
    }));
    const auto sites = counting::top_sites(10);
    const auto increments = std::ranges::find(sites, counting::phase::running, &counting::site::in);
    REQUIRE(increments != sites.end());
    CHECK(increments->transfers == 9);
    CHECK(increments->locked == 10);
    if (increments->place.front() != '+') // without addr2line it has the address
        CHECK_THAT(increments->place, Catch::Contains("counting/machine.test.cpp:"));
}

TEST_CASE("machine: seq_cst stores and failed exchanges are locked operations and loads are not") {
    const auto c = counts_of(1, [] {
        const auto n = std::make_unique<counter>();
        on_each_cpu(1, *n, [](counter& o, unsigned) {
            o.value.store(1, relaxed);
            o.value.store(2, release);
            static_cast<void>(o.value.load(seq_cst));
            o.value.store(3, seq_cst);
            int expected = 7;
            o.value.compare_exchange_strong(expected, 8, seq_cst, relaxed);
        });
    });
    CHECK(c.locked == 2);
}

TEST_CASE("machine: a mutex costs two locked operations and waits are counted") {
    const auto lock = [](detail::mutex& m, unsigned) {
        for (int i = 0; i < 10; ++i) {
            const detail::scoped_lock g(m);
            counting::burn(10'000);
        }
    };
    const auto alone = counts_of(1, [&] {
        detail::mutex m;
        on_each_cpu(1, m, lock);
    });
    CHECK(alone.locked == 20);
    CHECK(alone.locks == 10);
    CHECK(alone.lock_waits == 0);
    CHECK(alone.sleeps == 0);
    // The thread that unlocks the mutex locks it again before the one that it has woken: so three threads wait once,
    // for ten, twenty and thirty times.
    const auto contended = counts_of(4, [&] {
        detail::mutex m;
        on_each_cpu(4, m, lock);
    });
    CHECK(contended.locks == 40);
    CHECK(contended.lock_waits >= 3);
    CHECK(contended.lock_ns >= 60 * 9'000);
    CHECK(contended.sleeps >= 3);
}

TEST_CASE("machine: a parker wakes its owner and a deadline passes") {
    bool woken = true;
    const auto c = counts_of(2, [&woken] {
        detail::parker p;
        on_each_cpu(2, p, [&woken](detail::parker& o, unsigned cpu) {
            if (cpu == 0) {
                o.park();
                const std::int64_t until = detail::steady_now() + 1'000'000;
                woken = o.park_until(until) || detail::steady_now() < until;
            } else {
                counting::burn(50'000);
                o.unpark();
            }
        });
    });
    CHECK_FALSE(woken);
    CHECK(c.sleeps == 2);
    CHECK(c.wakes == 1);
}

TEST_CASE("machine: CPUs work at once and threads of one CPU in turn") {
    const auto time = [](unsigned cpus, unsigned threads) {
        const auto r = counting::simulate(with(cpus), [&] {
            std::vector<counting::simulated_thread*> all;
            for (unsigned i = 0; i < threads; ++i)
                all.push_back(&counting::spawn(i % cpus, [] { counting::burn(1'000'000); }));
            for (auto* t : all) counting::join(*t);
        });
        return r.elapsed;
    };
    const auto one = time(1, 1);
    CHECK(time(8, 8) < one * 11 / 10);
    CHECK(time(1, 8) > one * 15 / 2);
}

TEST_CASE("machine: threads are where they are bound and the idle class runs last") {
    std::vector<std::string> order;
    unsigned moved_to = 1;
    const auto r = counting::simulate(with(2), [&] {
        detail::thread_attributes idle;
        idle.sched = detail::sched_class::idle;
        auto& low = counting::spawn(1, [&] {
            detail::apply_to_this_thread(idle);
            detail::yield_this_thread();
            order.push_back("idle on " + std::to_string(detail::current_cpu()));
        });
        auto& normal = counting::spawn(1, [&] {
            counting::burn(1'000'000);
            order.push_back("normal on " + std::to_string(detail::current_cpu()));
        });
        auto& moved = counting::spawn(1, [&] {
            detail::bind_this_thread(cmwq::cpuset{0});
            moved_to = detail::current_cpu();
        });
        counting::join(low);
        counting::join(normal);
        counting::join(moved);
    });
    CHECK(r);
    CHECK(order == std::vector<std::string>{"normal on 1", "idle on 1"});
    CHECK(moved_to == 0);
}

TEST_CASE("machine: two runs of one program count the same") {
    const auto run = [] {
        return counts_of(16, [] {
            struct both {
                detail::mutex m;
                atomic<int> n;
            } b;
            on_each_cpu(16, b, [](both& o, unsigned cpu) {
                for (unsigned i = 0; i < 50; ++i) {
                    o.n.fetch_add(1, relaxed);
                    const detail::scoped_lock g(o.m);
                    counting::burn(static_cast<std::int64_t>(cpu * 7 + i));
                }
            });
        });
    };
    const auto first = run();
    CHECK(first == run());
    CHECK(first.lock_waits > 0);
}

TEST_CASE("machine: a thread that waits for ever is reported") {
    const auto r = counting::simulate(with(1), [] { detail::parker().park(); });
    CHECK_THAT(r.failure, Catch::Contains("deadlock"));
}
