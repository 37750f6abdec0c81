// SPDX-License-Identifier: BSL-1.0
//
// runtime_options::max_threads: the number of workers never exceeds it, no item is lost, and some threads do not count.
// Also the end of workers whose threads run code of the program at their end.
#include "any_queue.hpp"
#include "catch.hpp"
#include "core_of.hpp"
#include "eventually.hpp"
#include "faults.hpp"
#include "one_cpu.hpp"
#include "policy_list.hpp"
#include "policy_test_case.hpp"
#include "scarce_runtime.hpp"
#include "threads_named.hpp"

#include <cmwq/cmwq.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <latch>
#include <mutex>
#include <optional>
#include <sched.h>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

using namespace cmwq_test;
using namespace std::chrono_literals;
using kind = cmwq::event::kind;

namespace {

/// All workers that the limit allows, each blocked in an item until `leave` is released for it.
struct crowd {
    static constexpr unsigned limit = 4;

    explicit crowd(const any_policy& p) : q(p, rt, "crowd") {
        for (unsigned i = 0; i < 2 * limit; ++i) {
            q.post_on(cpu, [&] {
                ++inside;
                const cmwq::blocking_region region; // annotated, so a spare is requested, which is not an error
                leave.acquire();
            });
        }
        REQUIRE(eventually([&] { return inside == int{limit}; }));
    }
    void end() {
        leave.release(2 * limit);
        q.flush();
    }

    event_log events;
    cmwq::runtime rt{{.max_threads = limit, .on_event = events.listener()}};
    unsigned cpu = *rt.cpus().begin();
    std::atomic<int> inside{0};
    std::counting_semaphore<> leave{0};
    any_queue q;
};

} // namespace

// proves: kernel-33
TEST_CASE("thread limit: attempts become rare while no thread can be made; the first success runs waiting items") {
    using clock = std::chrono::steady_clock;
    const without_clock_jumps pauses_are_whole;
    std::mutex m;
    std::vector<clock::time_point> attempts;
    attempts.reserve(12);
    std::atomic<bool> refuse{false};
    fake_threads source([&](int) {
        if (!refuse) return 0;
        const std::lock_guard g(m);
        if (attempts.size() < attempts.capacity()) attempts.push_back(clock::now());
        return EAGAIN;
    });
    const auto nr_attempts = [&] {
        const std::lock_guard g(m);
        return attempts.size();
    };
    cmwq::runtime rt{{.watchdog = 0s, .sentinel = false, .threads = &source}};
    cmwq::workqueue<cmwq::unbound> q{rt, "q"};
    std::counting_semaphore<> entered{0}, leave{0};
    std::atomic<bool> ran{false};
    q.post_on(*rt.cpus().begin(), [&] {
        refuse = true;
        entered.release();
        leave.acquire();
    });
    entered.acquire();
    q.post_on(*rt.cpus().begin(), [&] {
        entered.release();
        leave.acquire();
    });
    entered.acquire(); // runs on the spare worker; there is no worker for the next item
    q.post_on(*rt.cpus().begin(), [&] { ran = true; });
    REQUIRE(eventually([&] { return nr_attempts() == 12; }));
    CHECK_FALSE(ran);
    CHECK(attempts[11] - attempts[10] >= 90ms);
    CHECK(attempts[10] - attempts[9] >= 90ms);
    refuse = false;
    CHECK(eventually([&] { return ran.load(); })); // no item was queued and none has ended in between
    leave.release(2);
    q.flush();
}

POLICY_TEST_CASE("thread limit: an item that needs one more worker waits; one report is made; all items run", "",
                 crowded_policies) {
    crowd c{policy};
    CHECK(eventually([&] { return c.events.count(kind::thread_limit) == 1; }));
    c.end();
    CHECK(c.inside == 2 * int{c.limit});
    CHECK(c.rt.stats().peak_threads == c.limit);
    CHECK(cmwq_test::all_told(c.rt));
    CHECK(c.events.count(kind::thread_limit) == 1);
    CHECK(c.events.count(kind::no_thread) == 0); // the system has refused nothing
}

POLICY_TEST_CASE("thread limit: a queue with a rescuer goes on when all workers are blocked", "", crowded_policies) {
    crowd c{policy};
    any_queue helped{policy, c.rt, with_rescuer()};
    std::atomic<int> rescued{0};
    for (int i = 0; i < 100; ++i) helped.post_on(c.cpu, [&] { rescued += cmwq::this_work::on_rescuer() ? 1 : 0; });
    helped.flush();
    CHECK(rescued == 100);
    CHECK(c.inside == int{c.limit});
    c.end();
    CHECK(c.inside == 2 * int{c.limit});
    CHECK(c.rt.stats().peak_threads == c.limit);
}

POLICY_TEST_CASE("thread limit: one worker is enough for the pools of all CPUs", "", threaded_policies) {
    cmwq::runtime rt{{.max_threads = 1}};
    any_queue q{policy, rt, "q"};
    std::atomic<int> runs{0};
    int posted = 0;
    for (int round = 0; round < 5; ++round) {
        for (const unsigned cpu : rt.cpus()) {
            for (int i = 0; i < 20; ++i, ++posted) q.post_on(cpu, [&] { ++runs; });
        }
        q.flush();
        CHECK(runs == posted);
    }
    CHECK(rt.stats().peak_threads == 1);
}

POLICY_TEST_CASE("thread limit: a pool gets the idle worker of another pool", "", keyed_policies) {
    cmwq::runtime rt{{.max_threads = 2}};
    any_queue q{policy, rt, "q"}, nice{policy, rt, "nice"};
    nice.apply(cmwq::attrs{}.nice(1)); // uses another pool
    std::atomic<int> runs{0};
    for (int round = 1; round <= 20; ++round) {
        any_queue& next = round % 2 == 0 ? q : nice;
        for (int i = 0; i < 5; ++i) next.post([&] { ++runs; });
        next.flush();
        CHECK(runs == 5 * round);
    }
    CHECK(rt.stats().peak_threads <= 2);
}

TEST_CASE("thread limit: the threads of bottom halves do not count") {
    cmwq::runtime rt{{.max_threads = 1}};
    std::atomic<int> ran{0};
    cmwq::workqueue<cmwq::bh> fast{rt, "fast"};
    // Bottom-half threads run all items except the one for this CPU, or all items if this thread moves.
    for (int n = 1; n <= 2; ++n) {
        for (const unsigned cpu : rt.cpus()) fast.post_on(cpu, [&] { ++ran; });
    }
    fast.flush();
    CHECK(ran == 2 * static_cast<int>(rt.cpus().size()));
    cmwq::workqueue<cmwq::unbound> q{rt, "q"};
    std::atomic<bool> has_run{false};
    q.post([&] { has_run = true; });
    CHECK(eventually([&] { return has_run.load(); }));
    if (!has_run) std::abort(); // the queue would wait forever
}

namespace {

/// A function that runs at the end of the thread that has set it.
struct last_act {
    std::function<void()> what;
    ~last_act() {
        if (what) what();
    }
};
thread_local last_act at_the_end;

/// Makes `n` workers run at once. Each of them calls `what` when its thread ends.
void use_workers(cmwq::workqueue<cmwq::unbound>& q, int n, const std::function<void()>& what) {
    std::latch all(n);
    for (int i = 0; i < n; ++i) {
        q.post([&] {
            at_the_end.what = what;
            all.arrive_and_wait();
        });
    }
    q.flush();
}

} // namespace

// proves: progress-26
TEST_CASE("threads: a worker that ends slowly delays no timer and no pool that has no worker yet") {
    cmwq::runtime rt{{.idle_timeout = std::chrono::milliseconds(5)}};
    cmwq::workqueue<cmwq::unbound> empty{rt, {.name = "empty", .attrs = cmwq::attrs{}.nice(2)}};
    std::atomic<int> ran{0}, ended{0};
    const auto come_to = [&](int n) {
        const bool all = eventually([&] { return ended >= n; });
        CHECK(all);
        if (!all) std::abort(); // the destructors would wait forever
    };
    {
        cmwq::workqueue<cmwq::unbound> q{rt, "q"};
        use_workers(q, 6, [&] {
            cmwq::delayed_work late{[&] { ++ran; }};
            empty.queue_after(std::chrono::milliseconds(1), late);
            late.flush();
            ++ended;
        });
        come_to(4); // the pool keeps two idle workers
    }
    come_to(6); // the pool has no queue, so these two end as well
    CHECK(ran == ended);
}

// proves: progress-26
TEST_CASE("threads: no call waits for the slow workers of a destroyed queue") {
    std::counting_semaphore<> leave{0};
    std::atomic<int> ended{0};
    {
        cmwq::runtime rt;
        cmwq::workqueue<> timed{rt, "timed"};
        std::optional<cmwq::workqueue<cmwq::unbound>> low;
        low.emplace(rt, cmwq::options<cmwq::unbound>{
                            .name = "low", .attrs = cmwq::attrs{}.scheduling(cmwq::scheduling::idle).nice(19)});
        use_workers(*low, 8, [&] {
            leave.acquire();
            ++ended;
        });
        low.reset();
        const auto soon = [&] { return rt.stats().threads == 0; };
        CHECK(eventually(soon)); // workers that are ending do not count
        for (int i = 0; i < 3; ++i) {
            std::atomic<bool> fired{false};
            cmwq::delayed_work timer{[&] { fired = true; }};
            timed.queue_after(std::chrono::milliseconds(2), timer);
            const bool in_time = eventually([&] { return fired.load(); });
            CHECK(in_time);
            if (!in_time) std::abort();
            cmwq::workqueue<cmwq::unbound> next{rt, {.name = "next", .attrs = cmwq::attrs{}.nice(i)}};
            next.post([&] { fired = false; });
            next.flush(); // its pool has had no worker before
            CHECK_FALSE(fired);
        }
        CHECK(ended == 0);
        leave.release(100);
    }
    CHECK(ended >= 8); // ~runtime() has waited for all
}

namespace {

/// The scheduling classes of the sentinels of this process.
std::vector<int> classes_of_sentinels() {
    std::vector<int> found;
    for_each_thread([&](long id, const auto& /*folder*/, const std::string& name) {
        if (name.ends_with(":S")) found.push_back(::sched_getscheduler(static_cast<pid_t>(id)));
    });
    return found;
}

/// Whether a thread may leave the idle class here.
bool may_leave_idle_class() {
    bool may = false;
    std::thread([&] {
        const sched_param p{};
        may = ::sched_setscheduler(0, SCHED_IDLE, &p) == 0 && ::sched_setscheduler(0, SCHED_OTHER, &p) == 0;
    }).join();
    return may;
}

} // namespace

// The process can end only after each of its threads has had a CPU, for which a thread in the idle class may wait long.
// proves: cpus-7
TEST_CASE("threads: a sentinel is in the idle class while it is needed and leaves that class where this is allowed") {
    if (!may_leave_idle_class()) return;
    const auto all_are = [](int wanted) {
        const std::vector<int> classes = classes_of_sentinels();
        return !classes.empty() && std::count(classes.begin(), classes.end(), wanted) == std::ssize(classes);
    };
    cmwq::runtime rt{cmwq_test::one_cpu()};
    const unsigned cpu = *rt.cpus().begin();
    cmwq::workqueue<> q{rt, "q"};
    for (int round = 0; round < 3; ++round) {
        std::atomic<bool> leave{false}, waited{false};
        q.post_on(cpu, [&] {
            while (!leave) {} // computes
        });
        q.post_on(cpu, [&] { waited = true; });
        CHECK(eventually([&] { return all_are(SCHED_IDLE); }));
        leave = true;
        q.flush();
        CHECK(waited);
        CHECK(eventually([&] { return all_are(SCHED_OTHER); }));
    }
}

// proves: cpus-6
TEST_CASE("threads: a CPU has a sentinel from the first time when an item is pending behind a running worker") {
    const std::size_t others = classes_of_sentinels().size();
    const auto nr_sentinels = [&] { return classes_of_sentinels().size() - others; };
    event_log events;
    fake_threads threads;
    // There is one worker, no spare looks at the queue, and no item starts beside one that computes.
    cmwq::runtime rt{{.max_threads = 1,
                      .cpu_hog_threshold = 0s,
                      .overdue_after = 0s,
                      .on_event = events.listener(),
                      .threads = &threads}};
    const unsigned cpu = *rt.cpus().begin();
    cmwq::workqueue<> q{rt, "q"};
    q.post_on(cpu, [] {});
    q.flush();
    CHECK(nr_sentinels() == 0);

    threads.refuse();
    std::atomic<bool> leave{false};
    q.post_on(cpu, [&] {
        while (!leave) {} // computes
    });
    q.post_on(cpu, [] {});
    CHECK(eventually([&] { return events.count(kind::no_thread) == 1; }));
    CHECK(nr_sentinels() == 0);
    threads.allow();
    CHECK(eventually([&] { return nr_sentinels() == 1; })); // the manager thread has tried again
    leave = true;
    q.flush();
}

namespace {

/// The maker of one thread waits until that thread sleeps.
class patient_threads final : public cmwq::thread_source {
public:
    int start(cmwq::thread_request& r) noexcept override {
        const int number = ++nr_starts;
        const int error = r.start();
        if (number == waits_in) slept = eventually([&] { return sleeps(name); });
        return error;
    }
    std::atomic<int> nr_starts{0};
    std::atomic<int> waits_in{0}; ///< the number of that start
    std::string name;             ///< of the thread; set before `waits_in`
    std::atomic<bool> slept{false};

private:
    static bool sleeps(const std::string& name) {
        bool yes = false;
        for_each_thread([&](long /*id*/, const std::filesystem::path& folder, const std::string& its) {
            std::string text;
            if (its == name) std::getline(std::ifstream(folder / "stat"), text);
            yes = yes || text.find(") S") != std::string::npos;
        });
        return yes;
    }
};

} // namespace

// proves: cpus-6
TEST_CASE("threads: a worker that makes another one before it runs an item needs no sentinel") {
    patient_threads threads;
    cmwq::runtime rt{{.threads = &threads}};
    const unsigned cpu = *rt.cpus().begin();
    cmwq::workqueue<> q{rt, "q"};
    const int others = threads.nr_starts;
    // The first worker is made by the manager thread, the second one by the first.
    threads.name = "cmwq/" + std::to_string(cpu) + ":1";
    threads.waits_in = others + 2;
    q.post_on(cpu, [] {});
    q.flush();
    CHECK(threads.slept);
    CHECK(threads.nr_starts == others + 2);
    core_of(rt).pools().for_each_cpu([](const auto& r) { CHECK_FALSE(r.idle_thread.wanted()); });
}
