// SPDX-License-Identifier: BSL-1.0
//
// The simulation of the model backend: the arithmetic of CPU time, sleeps, scheduling classes and deadlines.
#include "catch.hpp"
#include "machine.hpp"

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/base/cpu_relax.hpp>
#include <cmwq/detail/sync/backoff.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/mutex.hpp>
#include <cmwq/detail/sync/parker.hpp>
#include <cmwq/detail/sync/this_thread.hpp>
#include <cmwq/detail/sync/thread.hpp>
#include <model/simulate.hpp>

#include <string>
#include <vector>

namespace detail = cmwq::detail;
namespace model = cmwq::detail::model;
using cmwq_test::ms;
using detail::acquire;
using detail::atomic;
using detail::relaxed;
using detail::release;
using detail::sched_class;

namespace {

model::simulation simulated(std::string name, unsigned cpus = 1) {
    model::simulation s;
    s.name = std::move(name);
    s.around.cpus = cpus;
    return s;
}

detail::thread_attributes on(unsigned cpu, sched_class c = sched_class::normal, int nice = 0) {
    static const cmwq::cpuset cpus[] = {{0}, {1}}; // attributes only point to their CPUs
    detail::thread_attributes a;
    a.cpus = &cpus[cpu];
    a.sched = c;
    a.nice = nice;
    return a;
}

class journal {
public:
    void note(const std::string& what) { lines_.push_back(std::to_string(model::elapsed() / ms) + " " + what); }
    [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }

private:
    std::vector<std::string> lines_;
};

using lines = std::vector<std::string>;

} // namespace

TEST_CASE("simulation: three threads share a CPU in the order in which they came") {
    journal j;
    const auto r = model::simulate(simulated("three"), [&] {
        const auto thread = [&](const char* name, bool again) {
            return model::spawn(on(0), [&j, again, n = std::string(name)] {
                j.note(n + " starts");
                model::burn(5 * ms);
                j.note(n + " sleeps");
                model::sleep(10 * ms);
                j.note(n + " wakes");
                if (again) model::burn(5 * ms);
                j.note(n + " ends");
            });
        };
        thread("w0", true);
        thread("w1", false);
        thread("w2", false);
    });
    REQUIRE(r);
    CHECK(r.elapsed == 25 * ms);
    CHECK(j.lines() == lines{"0 w0 starts", "5 w0 sleeps", "5 w1 starts", "10 w1 sleeps", "10 w2 starts",
                             "15 w2 sleeps", "15 w0 wakes", "20 w0 ends", "20 w1 wakes", "20 w1 ends", "25 w2 wakes",
                             "25 w2 ends"});
}

TEST_CASE("simulation: several CPUs run threads at once whether the threads are bound or not") {
    journal j;
    const auto r = model::simulate(simulated("parallel", 2), [&] {
        model::spawn(on(0), [&] { model::burn(4 * ms), j.note("a"); });
        model::spawn(on(1), [&] { model::burn(3 * ms), j.note("b"); });
        model::spawn(on(1), [&] { model::burn(3 * ms), j.note("c"); });
        model::spawn([&] { model::burn(5 * ms), j.note("d"); });
        model::burn(2 * ms);
        j.note("main");
    });
    REQUIRE(r);
    CHECK(j.lines() == lines{"2 main", "3 b", "4 a", "5 d", "6 c"});
}

TEST_CASE("simulation: higher classes take the CPU and the idle class gets the rest") {
    journal j;
    const auto r = model::simulate(simulated("classes"), [&] {
        model::spawn(on(0, sched_class::idle), [&] { model::burn(10 * ms), j.note("idle ends"); });
        model::spawn(on(0), [&] {
            model::sleep(2 * ms);
            j.note("normal wakes");
            model::burn(5 * ms);
            j.note("normal sleeps");
            model::sleep(3 * ms);
            j.note("normal ends");
        });
        model::spawn(on(0, sched_class::normal, -20), [&] {
            model::sleep(4 * ms);
            j.note("high wakes");
            model::burn(2 * ms);
            j.note("high ends");
        });
        model::spawn(on(0, sched_class::fifo), [&] {
            model::sleep(5 * ms);
            model::burn(1 * ms);
            j.note("fifo ends");
        });
    });
    REQUIRE(r);
    // The idle class runs at 0–2, normal 2–4, high 4–5, fifo 5–6, high 6–7, normal 7–10, idle 10–13 and later.
    CHECK(j.lines() == lines{"2 normal wakes", "4 high wakes", "6 fifo ends", "7 high ends", "10 normal sleeps",
                             "13 normal ends", "18 idle ends"});
}

TEST_CASE("simulation: an idle thread that wakes another thread loses the CPU to it at once") {
    journal j;
    const auto r = model::simulate(simulated("sentinel"), [&] {
        detail::parker spare, sentinel;
        detail::thread_probe worker;
        auto s = model::spawn(on(0, sched_class::idle), [&] {
            sentinel.park();
            j.note("sentinel runs");
            model::require(worker.blocked(), "the worker is off the CPU");
            spare.unpark();
            j.note("sentinel goes on");
        });
        auto b = model::spawn(on(0), [&] {
            spare.park();
            j.note("spare starts");
            model::burn(ms);
            j.note("spare ends");
        });
        auto a = model::spawn(on(0), [&] {
            worker.open_own(cmwq::detail::state_files::kept);
            sentinel.unpark();
            model::burn(3 * ms);
            j.note("worker blocks");
            model::sleep(10 * ms);
            detail::thread_times t{};
            model::require(worker.times(t) && t.cpu == 3 * ms, "CPU time");
        });
        s.join(), b.join(), a.join();
    });
    REQUIRE(r);
    CHECK(j.lines() ==
          lines{"3 worker blocks", "3 sentinel runs", "3 spare starts", "4 spare ends", "4 sentinel goes on"});
}

TEST_CASE("simulation: the time of waiting for a CPU is counted") {
    const auto r = model::simulate(simulated("wait"), [] {
        detail::thread_probe p;
        model::spawn(on(0), [] { model::burn(7 * ms); });
        model::spawn(on(0), [&] {
            p.open_own(cmwq::detail::state_files::kept);
            model::burn(2 * ms);
            detail::thread_times t{};
            model::require(p.times(t) && t.cpu == 2 * ms && t.wait == 7 * ms, "accounts");
        }).join();
    });
    CHECK(r);
}

TEST_CASE("simulation: threads wait for deadlines and permits and mutexes and joins and foreign semaphores") {
    journal j;
    const auto r = model::simulate(simulated("waits", 2), [&]() CMWQ_NO_TSA {
        detail::parker p;
        detail::mutex m;
        model::semaphore gate(0);
        const std::int64_t start = detail::steady_now();
        auto a = model::spawn(on(0), [&]() CMWQ_NO_TSA {
            m.lock();
            model::require(!p.park_until(start + 2 * ms), "no thread unparks it");
            j.note("late");
            model::require(p.park_until(start + 9 * ms), "a thread unparks it");
            j.note("permit");
            m.unlock();
            gate.acquire();
            j.note("gate");
        });
        auto b = model::spawn(on(1), [&]() CMWQ_NO_TSA {
            model::sleep(3 * ms);
            p.unpark();
            m.lock();
            j.note("mutex");
            m.unlock();
            model::sleep(3 * ms);
            gate.release();
        });
        a.join();
        b.join();
        j.note("joined");
    });
    REQUIRE(r);
    CHECK(j.lines() == lines{"2 late", "3 permit", "3 mutex", "6 gate", "6 joined"});
}

TEST_CASE("simulation: waiting loops take time when no thread has anything else to do") {
    const auto r = model::simulate(simulated("loops", 2), [] {
        atomic<bool> flag{false};
        std::int64_t seen = 0;
        auto idle = model::spawn(on(0, sched_class::idle), [&] {
            while (!flag.load(acquire)) detail::yield_this_thread();
            seen = model::elapsed();
        });
        auto waits = model::spawn(on(1), [&] {
            for (detail::backoff b; !flag.load(acquire);) b.pause();
            model::require(model::elapsed() == 5 * ms, "at once");
        });
        model::burn(5 * ms);
        flag.store(true, release);
        idle.join();
        waits.join();
        model::require(seen == 5 * ms, "at once");
        // Time also moves when no event lies ahead.
        const std::int64_t until = detail::steady_now() + 100'000;
        while (detail::steady_now() < until) detail::yield_this_thread();
    });
    CHECK(r);
}

TEST_CASE("simulation: a thread that cannot go on is reported") {
    auto m = simulated("stuck");
    m.quiet = true;
    CHECK_THAT(model::simulate(m, [] { detail::parker().park(); }).message, Catch::Contains("deadlock"));
    CHECK_THAT(model::simulate(m,
                               [] {
                                   atomic<int> n{0};
                                   while (n.load(relaxed) == 0) detail::yield_this_thread();
                               })
                   .message,
               Catch::Contains("waiting loops"));
    m.max_steps = 1'000;
    CHECK_THAT(model::simulate(m,
                               [] {
                                   atomic<int> n{0};
                                   while (n.load(relaxed) == 0) detail::cpu_relax();
                               })
                   .message,
               Catch::Contains("no time passes"));
    CHECK_THAT(model::simulate(m, [] { model::require(false, "this"); }).message, Catch::Contains("this"));
}

TEST_CASE("simulation: any number of threads may run") {
    const auto r = model::simulate(simulated("many", 2), [] {
        atomic<int> n{0};
        std::vector<model::task> tasks;
        for (unsigned i = 0; i < 500; ++i)
            tasks.push_back(model::spawn(on(i % 2), [&] {
                model::burn(10'000);
                model::sleep(100'000);
                n.fetch_add(1, relaxed);
            }));
        for (auto& t : tasks) t.join();
        model::require(n.load(relaxed) == 500, "all of them");
        model::require(model::elapsed() == 250 * 10'000 + 100'000, "two CPUs");
    });
    CHECK(r);
}
