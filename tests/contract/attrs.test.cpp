// SPDX-License-Identifier: BSL-1.0
//
// The meaning of attributes: the pools that exist, the callers that they serve, and their threads.
#include "any_queue.hpp"
#include "catch.hpp"
#include "core_of.hpp"
#include "event_log.hpp"
#include "eventually.hpp"
#include "gate.hpp"
#include "policy_list.hpp"
#include "policy_test_case.hpp"
#include "pool_name.hpp"
#include "simulated.hpp"
#include "text.hpp"
#include "this_task.hpp"
#include "threads_named.hpp"
#include "uninterrupted.hpp"

#include <cmwq/cmwq.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <linux/capability.h>
#include <memory>
#include <sched.h>
#include <semaphore>
#include <set>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

using cmwq::affinity_scope;
using cmwq::attrs;
using cmwq::cpuset;
using cmwq::queue_status;
using namespace cmwq_test;
using kind = cmwq::event::kind;

namespace {

any_options with(attrs a) {
    any_options o;
    o.name = "with attributes";
    o.attrs = std::move(a);
    return o;
}

/// Returns the result of `f` on a worker that serves callers on that CPU.
template <class F>
auto seen_on(cmwq::workqueue_base& q, unsigned cpu, F f) {
    decltype(f()) result{};
    cmwq::work w{[&] { result = f(); }};
    if (q.queue_on(cpu, w) == queue_status::queued) w.flush();
    return result;
}
template <class F>
auto seen(cmwq::workqueue_base& q, F f) {
    return seen_on(q, *cmwq::runtime::global().cpus().begin(), f);
}

template <class F>
std::string message_of(F f) {
    try {
        f();
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return "";
}

} // namespace

POLICY_TEST_CASE("attrs: a thousand queues with three sets of attributes share three sets of pools", "",
                 keyed_policies) {
    cmwq::runtime rt;
    std::vector<std::unique_ptr<any_queue>> queues;
    std::set<std::string> pools;
    for (int i = 0; i < 1000; ++i) {
        const attrs a = attrs{}.nice(i % 3).affinity(affinity_scope::system);
        queues.push_back(std::make_unique<any_queue>(policy, rt, with(a)));
        pools.insert(seen(*queues.back(), this_pool));
    }
    CHECK(pools.size() == 3);
    CHECK(cmwq_test::shared_pools_of(rt).size() == 3);
    CHECK(rt.stats().threads <= 20);
}

POLICY_TEST_CASE("attrs: the threads have the nice value of the attributes", "", keyed_policies) {
    cmwq::runtime rt;
    for (const int n : {0, 1, 5, 19}) {
        any_queue q{policy, rt, with(attrs{}.nice(n))};
        CHECK(seen(q, nice_of_this_task) == n);
        CHECK(seen(q, [] { return ::getpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid))); }) == n);
    }
}

namespace {

/// Class and nice value.
struct priority_of {
    int sched, nice;
    friend bool operator==(const priority_of&, const priority_of&) = default;
};
priority_of priority_of_task(int tid) {
    return {::sched_getscheduler(tid), ::getpriority(PRIO_PROCESS, static_cast<id_t>(tid))};
}

/// The library's threads in this process that do not have the expected class and nice value.
std::string misfits() {
    const priority_of own = priority_of_task(::getpid());
    std::string found;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream file(task.path() / "comm");
        std::string name;
        std::getline(file, name);
        if (!name.starts_with("cmwq/")) continue;
        const priority_of is = priority_of_task(std::stoi(task.path().filename()));
        // A sentinel may be in the idle class: it leaves that class only where this is allowed and while there is no
        // work.
        const bool good = is == own || (name.ends_with(":S") && is.sched == SCHED_IDLE);
        if (!good)
            found += name + " has class " + std::to_string(is.sched) + ", nice " + std::to_string(is.nice) + "; ";
    }
    return found;
}

/// Runs `f` on a thread that `change()` has changed. False: the system refuses the change, or its reversal.
template <class C, class F>
bool on_a_thread_that(C change, F f) {
    bool done = false;
    std::thread t([&] {
        const priority_of own = priority_of_task(::getpid());
        const auto self = static_cast<id_t>(::syscall(SYS_gettid));
        sched_param none{};
        if (!change(self) || ::sched_setscheduler(0, own.sched, &none) != 0 ||
            ::setpriority(PRIO_PROCESS, self, own.nice) != 0 || !change(self)) {
            return;
        }
        f();
        done = true;
    });
    t.join();
    return done;
}

void all_threads_are_the_process_s_own() {
    cmwq::runtime rt;
    const unsigned cpu = *rt.cpus().begin();
    cmwq::workqueue<> bound{rt, {.name = "bound", .rescuer = true}};
    cmwq::workqueue<cmwq::unbound> unbound{rt, {.name = "unbound", .rescuer = true}};
    cmwq::workqueue<cmwq::elastic> elastic{rt, {.name = "elastic"}};
    cmwq::workqueue<cmwq::ordered> ordered{rt, {.name = "ordered"}};
    cmwq::workqueue<cmwq::bh> bh{rt, {.name = "bh"}};
    for (cmwq::workqueue_base* q : std::initializer_list<cmwq::workqueue_base*>{&bound, &unbound, &elastic, &ordered}) {
        std::atomic<bool> own{false};
        cmwq::work w{
            [&] { own = priority_of_task(static_cast<int>(::syscall(SYS_gettid))) == priority_of_task(::getpid()); }};
        REQUIRE(q->queue_on(cpu, w) == queue_status::queued);
        w.flush();
        CHECK(own);
    }
    cmwq::delayed_work late{[] {}}; // runs on the bottom-half thread of the CPU
    bh.queue_after_on(cpu, std::chrono::milliseconds{1}, late);
    bh.drain();
    std::string found;
    const bool all = eventually([&] { return (found = misfits()).empty(); }); // true when all have started
    INFO(found);
    CHECK(all);
}

} // namespace

// proves: cpus-1
TEST_CASE("attrs: threads have the class and nice value of the process and not of the thread that makes the runtime") {
    const auto be = [](int sched) {
        return [sched](id_t) {
            sched_param p{};
            p.sched_priority = ::sched_get_priority_min(sched);
            return ::sched_setscheduler(0, sched, &p) == 0;
        };
    };
    const auto nice = [](id_t self) { return ::setpriority(PRIO_PROCESS, self, 10) == 0; };
    CHECK(on_a_thread_that(be(SCHED_BATCH), all_threads_are_the_process_s_own)); // needs no privilege
    // Without CAP_SYS_NICE, or limits that allow it, a thread cannot leave these classes again.
    if (!on_a_thread_that(be(SCHED_IDLE), all_threads_are_the_process_s_own)) WARN("skipped: SCHED_IDLE");
    if (!on_a_thread_that(be(SCHED_FIFO), all_threads_are_the_process_s_own)) WARN("skipped: SCHED_FIFO");
    if (!on_a_thread_that(nice, all_threads_are_the_process_s_own)) WARN("skipped: nice 10");
}

// proves: kernel-27
POLICY_TEST_CASE("attrs: the threads have the scheduling class of the attributes", "", keyed_policies) {
    using cmwq::scheduling;
    event_log events;
    const auto refused = [&] { return events.count(kind::priority_refused) != 0; };
    cmwq::runtime rt{{.on_event = events.listener()}};
    const auto class_of = [&](scheduling s) {
        any_queue q{policy, rt, with(attrs{}.scheduling(s))};
        return seen(q, sched_class_of_this_task);
    };
    CHECK(class_of(scheduling::normal) == SCHED_OTHER);
    CHECK(class_of(scheduling::batch) == SCHED_BATCH);
    CHECK(class_of(scheduling::idle) == SCHED_IDLE);
    CHECK_FALSE(refused());
    CHECK(class_of(scheduling::fifo) == (refused() ? SCHED_OTHER : SCHED_FIFO)); // as the system permits
}

POLICY_TEST_CASE("attrs: threads run on the CPUs of the attributes and nowhere else", "", keyed_policies) {
    cmwq::runtime rt;
    for (const unsigned cpu : rt.cpus()) {
        any_queue q{policy, rt, with(attrs{}.cpus({cpu}))};
        for (const unsigned from : rt.cpus()) {
            CHECK(seen_on(q, from, cpus_of_this_task) == cpuset{cpu});
            CHECK(seen_on(q, from, cmwq::detail::current_cpu) == cpu);
        }
        cpuset more{cpu, 4000}; // some of these CPUs do not exist
        any_queue partly{policy, rt, with(attrs{}.cpus(more))};
        CHECK(seen_on(partly, cpu, cpus_of_this_task) == cpuset{cpu});
        CHECK(partly.attributes().cpus() == more); // as given
    }
    any_queue all{policy, rt, "all"};
    CHECK(seen(all, cpus_of_this_task) == rt.unbound_cpus());
}

POLICY_TEST_CASE("attrs: strict pools are confined to their pod and other pools are not", "", parallel_policies) {
    cmwq::runtime rt;
    const cmwq::topology& machine = rt.machine();
    for (const affinity_scope scope : cmwq::affinity_scopes) {
        any_queue strict{policy, rt, with(attrs{}.affinity(scope).strict(true))};
        any_queue loose{policy, rt, with(attrs{}.affinity(scope))};
        for (const unsigned cpu : rt.cpus()) {
            const cpuset& pod = machine.pods(scope)[machine.pod_of(scope, cpu)].cpus;
            CHECK(seen_on(strict, cpu, cpus_of_this_task) == pod);
            CHECK(seen_on(loose, cpu, cpus_of_this_task) == rt.cpus());
        }
    }
}

POLICY_TEST_CASE("attrs: items queued for a node from several CPUs of another node go to several CPUs of the node", "",
                 parallel_policies) {
    const cpuset mine = cpus_of_this_task();
    const unsigned highest = *std::ranges::max_element(mine);
    if (highest > 63) return; // the machine would take long to make
    cmwq::runtime rt{simulated("numa:2 core:" + std::to_string(highest + 1) + " pu:1")};
    any_queue q{policy, rt, with(attrs{}.affinity(affinity_scope::cpu))};
    std::set<std::string> pools;
    for (const unsigned cpu : mine) {
        std::thread([&] {
            CHECK(cmwq::detail::bind_this_thread(cpuset{cpu}) == 0);
            for (int again = 0; again < 3; ++again) {
                cmwq::work w{[&] { pools.insert(this_pool()); }};
                CHECK(q.queue_on_node(1, w) == queue_status::queued);
                w.flush();
            }
        }).join();
    }
    CHECK(pools.size() == mine.size());
}

#if CMWQ_SYNC != 1 // injected faults wake workers, which take items that are meant for others
namespace {

/// An item that waits in a blocking_region until the test releases it. It ends on a CPU that the test chooses, and its
/// thread stays on that CPU.
struct leaves_for {
    unsigned cpu;
    std::binary_semaphore entered{0}, leave{0};
    unsigned started_on = cpuset::capacity;
    cpuset might_run_on{};
    void operator()() {
        started_on = cmwq::detail::current_cpu();
        might_run_on = cpus_of_this_task();
        entered.release();
        {
            const cmwq::blocking_region announced;
            leave.acquire();
        }
        static_cast<void>(cmwq::detail::bind_this_thread(cpuset{cpu}));
    }
};

/// Leaves two idle workers in the pool of the CPU `home`, whose threads are on the CPU `away`.
void send_away(cmwq::runtime& rt, any_queue& q, unsigned home, unsigned away) {
    leaves_for one{away}, two{away};
    for (leaves_for* i : {&one, &two}) {
        q.post_on(home, std::ref(*i));
        i->entered.acquire();
    }
    for (leaves_for* i : {&one, &two}) i->leave.release();
    q.flush();
    const auto& pools = cmwq_test::shared_pools_of(rt);
    CHECK(eventually([&] { // no worker looks for another item any more
        std::size_t nr_busy = 0;
        for (std::size_t i = 0; i < pools.size(); ++i) {
            const auto now = pools.at(i).summary();
            nr_busy += now.workers - now.idle;
        }
        return nr_busy == 0;
    }));
}

} // namespace

POLICY_TEST_CASE("attrs: a worker outside of its pod returns before its first item if the pod has room", "[timing]",
                 parallel_policies) {
    cmwq::runtime rt;
    if (rt.cpus().size() < 2) return;
    const unsigned home = *rt.cpus().begin(), away = rt.cpus().next(home + 1);
    any_queue q{policy, rt, with(attrs{}.affinity(affinity_scope::cpu))};
    const auto repatriated = [&] { return rt.stats().repatriated; };
    // The attempt is repeated: the scheduler may move the worker away again before the item records its CPU, and under
    // other load a third worker may run the item.
    CHECK(eventually([&] {
        send_away(rt, q, home, away);
        const std::uint64_t before = repatriated();
        leaves_for one{home};
        one.leave.release();
        q.post_on(home, std::ref(one));
        q.flush();
        return one.started_on == home && repatriated() == before + 1 &&
               one.might_run_on == rt.unbound_cpus(); // its thread may leave the pod again
    }));
    // While a worker occupies the only CPU of the pod, the next worker stays outside. It returns when the first worker
    // has blocked, if the pool detects blocked workers. This attempt is repeated for the same reasons.
    CHECK(eventually([&] {
        send_away(rt, q, home, away);
        const std::uint64_t before = repatriated();
        leaves_for first{home}, second{home};
        for (leaves_for* i : {&first, &second}) {
            q.post_on(home, std::ref(*i));
            i->entered.acquire();
        }
        const std::uint64_t returned = repatriated() - before;
        for (leaves_for* i : {&first, &second}) i->leave.release();
        q.flush();
        return policy.is_managed ? returned == 2 : returned == 1 && second.started_on == away;
    }));
    CHECK(q.stats().repatriated == repatriated());
}

POLICY_TEST_CASE("attrs: a worker that is bound to its pod is not moved", "", parallel_policies) {
    cmwq::runtime rt;
    const unsigned home = *rt.cpus().begin();
    any_queue strict{policy, rt, with(attrs{}.affinity(affinity_scope::cpu).strict(true))};
    for (int i = 0; i < 10; ++i) CHECK(seen_on(strict, home, cmwq::detail::current_cpu) == home);
    CHECK(rt.stats().repatriated == 0);
}

POLICY_TEST_CASE("attrs: a worker outside of a pod of one CPU stays there if several items are pending", "[timing]",
                 parallel_policies) {
    cmwq::runtime rt;
    if (rt.cpus().size() < 2) return;
    const unsigned home = *rt.cpus().begin(), away = rt.cpus().next(home + 1);
    auto o = with(attrs{}.affinity(affinity_scope::cpu));
    o.freezable = true;
    any_queue q{policy, rt, std::move(o)};
    constexpr unsigned nr_rounds = 20;
    std::uint64_t returned = 0;
    for (unsigned round = 0; round < nr_rounds; ++round) {
        send_away(rt, q, home, away);
        const std::uint64_t before = rt.stats().repatriated;
        rt.freeze(); // so that all items come at once
        for (int i = 0; i < 10; ++i) q.post_on(home, [] {});
        rt.thaw();
        q.flush();
        returned += rt.stats().repatriated - before;
    }
    // Not 0: a worker that was woken for an item of send_away() and found none may count its return late.
    CHECK(returned < nr_rounds / 2);
}
#endif

POLICY_TEST_CASE("attrs: a queue of the default scope uses the current default scope of the runtime", "",
                 parallel_policies) {
    cmwq::runtime rt{simulated("numa:2 l3:2 core:4 pu:1")};
    CHECK(rt.default_scope() == affinity_scope::cache_shard);
    any_queue q{policy, rt, "default"};
    any_queue fixed{policy, rt, with(attrs{}.affinity(affinity_scope::numa))};
    const auto nr_pools = [&](any_queue& one) {
        std::set<std::string> pools;
        for (const unsigned cpu : rt.cpus()) pools.insert(seen_on(one, cpu, this_pool));
        return pools.size();
    };
    CHECK(nr_pools(q) == 4);
    for (const auto& [scope, pods] : {std::pair{affinity_scope::cpu, 16u},
                                      {affinity_scope::system, 1u},
                                      {affinity_scope::numa, 2u},
                                      {affinity_scope::default_, 4u}}) {
        rt.set_default_scope(scope);
        CHECK(rt.default_scope() == scope);
        CHECK(nr_pools(q) == pods);
        CHECK(nr_pools(fixed) == 2);
        CHECK(q.attributes() == attrs{});
        any_queue fresh{policy, rt, "made later"};
        CHECK(nr_pools(fresh) == pods);
    }
}

POLICY_TEST_CASE("attrs: an item that is queued from another pod while it runs runs again in its first pod", "",
                 parallel_policies) {
    cmwq::runtime rt{simulated("numa:2 l3:2 core:4 pu:1")};
    any_queue q{policy, rt, "q"};
    std::binary_semaphore entered{0}, leave{0};
    std::atomic<int> runs{0}, inside{0}, overlaps{0};
    std::string pool;
    cmwq::work<std::function<void()>> w{[&] {
        if (inside.fetch_add(1) != 0) ++overlaps;
        pool = this_pool();
        if (++runs == 1) {
            entered.release();
            leave.acquire();
        }
        inside.fetch_sub(1);
    }};
    CHECK(q.queue_on(0, w) == queue_status::queued);
    entered.acquire();
    const std::string first = pool;
    CHECK(q.queue_on(15, w) == queue_status::queued);
    const std::string second = seen_on(q, 15, this_pool); // queued behind w and runs, so w does not wait there
    CHECK(second != first);
    CHECK(w.pending());
    CHECK(runs == 1);
    leave.release();
    w.flush();
    CHECK(runs == 2);
    CHECK(overlaps == 0);
    CHECK(pool == first);
    CHECK(q.queue_on(15, w) == queue_status::queued); // w is idle now, so the CPU decides
    w.flush();
    CHECK(pool == second);
}

POLICY_TEST_CASE("attrs: attributes() returns the attributes that were given", "", keyed_policies) {
    cmwq::runtime rt;
    any_queue plain{policy, rt, "plain"};
    CHECK(plain.attributes() == attrs{});
    const attrs a = attrs{}
                        .nice(3)
                        .cpus({first_cpu()})
                        .affinity(affinity_scope::numa)
                        .strict(true)
                        .scheduling(cmwq::scheduling::batch);
    any_queue q{policy, rt, with(a)};
    CHECK(q.attributes() == a);
    q.apply(attrs{}.nice(4));
    CHECK(q.attributes() == attrs{}.nice(4));
    q.apply({});
    CHECK(q.attributes() == attrs{});
}

POLICY_TEST_CASE("attrs: impossible attributes are refused and nothing changes", "", keyed_policies) {
    cmwq::runtime rt;
    const attrs given = attrs{}.nice(2).affinity(affinity_scope::system);
    any_queue q{policy, rt, with(given)};
    const std::string pool = seen(q, this_pool);
    const std::size_t nr_pools = cmwq_test::shared_pools_of(rt).size();
    struct one {
        attrs a;
        std::string_view says;
    };
    for (const auto& [bad, says] :
         {one{attrs{}.nice(20), "nice is 20, it must be -20 to 19"}, one{attrs{}.nice(-21), "nice is -21"},
          one{attrs{}.nice(1'000'000), "nice is 1000000"}, one{attrs{}.cpus({}), "may use none"},
          one{attrs{}.scheduling(static_cast<cmwq::scheduling>(4)), "scheduling class is 4"},
          one{attrs{}.scheduling(static_cast<cmwq::scheduling>(255)), "scheduling class is 255"},
          one{attrs{}.affinity(static_cast<affinity_scope>(7)), "affinity_scope is 7"},
          one{attrs{}.affinity(static_cast<affinity_scope>(99)), "affinity_scope is 99"},
          one{attrs{}.cpus({4000, 4001}), "of the CPUs '4000-4001' unbound items may use none"}}) {
        CAPTURE(says);
        CHECK(has(message_of([&] { any_queue(policy, rt, with(bad)); }), says));
        CHECK(has(message_of([&] { q.apply(bad); }), says));
        CHECK(q.attributes() == given);
        CHECK(seen(q, this_pool) == pool);
        CHECK(seen(q, nice_of_this_task) == 2);
    }
    CHECK(cmwq_test::shared_pools_of(rt).size() == nr_pools);
    const auto counted = std::make_shared<int>(0);
    {
        any_options o = with(attrs{}.cpus({}));
        o.on_exception = [counted](std::exception_ptr) {};
        CHECK_THROWS_AS(any_queue(policy, rt, std::move(o)), std::invalid_argument);
    }
    CHECK(counted.use_count() == 1);
}

TEST_CASE("attrs: the runtime refuses unbound CPUs that it cannot use and nothing changes") {
    cmwq::runtime rt{simulated("numa:2 core:4 pu:1")};
    const attrs given = attrs{}.affinity(affinity_scope::cpu).strict(true);
    any_queue q{policy_of<cmwq::unbound>, rt, with(given)};
    const std::string before = seen_on(q, 5, this_pool);
    CHECK(rt.unbound_cpus() == cpuset::range(0, 8));
    CHECK_THROWS_AS(rt.set_unbound_cpus({}), std::invalid_argument);
    CHECK_THROWS_AS(rt.set_unbound_cpus({8, 9, 4000}), std::invalid_argument);
    CHECK(rt.unbound_cpus() == cpuset::range(0, 8));
    CHECK(seen_on(q, 5, this_pool) == before);
    rt.set_unbound_cpus({5, 4000});
    CHECK(rt.unbound_cpus() == cpuset{5}); // it uses the CPUs of the set that it has
    CHECK(seen_on(q, 5, this_pool) == before);
    CHECK(seen_on(q, 0, this_pool) == before);
    CHECK_THROWS_AS(q.apply(attrs{}.cpus({0})), std::invalid_argument); // CPU 0 is not allowed now
    CHECK(q.attributes() == given);
    rt.set_unbound_cpus(cpuset::range(0, 8));
    q.apply(attrs{}.cpus({0}));
}

POLICY_TEST_CASE(
    "attrs: a queue that loses all its CPUs uses other CPUs until it has its own again; this is reported once", "",
    keyed_policies) {
    event_log events;
    cmwq::runtime rt{{.on_event = events.listener()}};
    if (rt.cpus().size() < 2) return; // it cannot lose a CPU
    const unsigned first = *rt.cpus().begin(), second = rt.cpus().next(first + 1);
    any_queue q{policy, rt, with(attrs{}.cpus({first}))};
    CHECK(seen_on(q, second, cpus_of_this_task) == cpuset{first});
    rt.set_unbound_cpus({second});
    CHECK(seen_on(q, first, cpus_of_this_task) == cpuset{second});
    CHECK(q.attributes() == attrs{}.cpus({first}));
    CHECK(eventually([&] { return events.count(kind::cpus_unavailable) == 1; }));
    CHECK(has(events.last(kind::cpus_unavailable).message, "with attributes"));
    rt.set_unbound_cpus(rt.cpus());
    CHECK(seen_on(q, second, cpus_of_this_task) == cpuset{first});
    rt.set_unbound_cpus({second});
    CHECK(seen_on(q, second, cpus_of_this_task) == cpuset{second});
    CHECK(all_told(rt));
    CHECK(events.count(kind::cpus_unavailable) == 1); // once
}

TEST_CASE("attrs: set_unbound_cpus() also moves the threads of the runtime") {
    cmwq::runtime rt;
    if (rt.cpus().size() < 2) return; // it has no other CPU
    const cpuset first{*rt.cpus().begin()}, second{rt.cpus().next(*rt.cpus().begin() + 1)};
    rt.set_unbound_cpus(first);
    // Other runtimes have threads of these names as well.
    const auto keep_to = [](const char* name, const cpuset& cpus) {
        return std::ranges::any_of(threads_named(name), [&](const auto& t) { return t.second == cpus; });
    };
    constexpr std::array names{"cmwq/service", "cmwq/manager", "cmwq/watch"};
    const auto all_keep_to = [&](const cpuset& cpus) {
        return std::ranges::all_of(names, [&](const char* name) { return keep_to(name, cpus); });
    };
    const auto none_keeps_to = [&](const cpuset& cpus) {
        return std::ranges::none_of(names, [&](const char* name) { return keep_to(name, cpus); });
    };
    CHECK(eventually([&] { return all_keep_to(first); }));
    rt.set_unbound_cpus(second);
    CHECK(eventually([&] { return all_keep_to(second); }));
    rt.set_unbound_cpus(rt.cpus());
    CHECK(eventually([&] { return none_keeps_to(second); }));
}

// --- priorities that the system refuses ------------------------------------------------------------------------------

namespace {

// Permanent, and for the whole process: it has only one thread so far.
void give_up_the_right_to_priorities() {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_NICE, &none);
    ::setrlimit(RLIMIT_RTPRIO, &none);
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2] = {};
    if (::syscall(SYS_capget, &header, data) != 0) return;
    for (__u32* set : {&data[0].effective, &data[0].permitted, &data[0].inheritable}) *set &= ~(1u << CAP_SYS_NICE);
    ::syscall(SYS_capset, &header, data);
}

// Runs one hidden test case of this program in a child.
int run_hidden(const char* test_case) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::execl("/proc/self/exe", "child", test_case, static_cast<char*>(nullptr));
        ::_exit(127);
    }
    int status = 0;
    if (uninterrupted([&] { return ::waitpid(child, &status, 0); }) != child || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
}

void expect_refusal(const any_policy& policy, const attrs& a, int refused_error) {
    event_log events;
    cmwq::runtime rt{{.on_event = events.listener()}};
    any_queue q{policy, rt, with(a)};
    CHECK(q.attributes() == a);
    CHECK(seen(q, nice_of_this_task) == 0); // and the item runs
    CHECK(seen(q, sched_class_of_this_task) == SCHED_OTHER);
    CHECK(eventually([&] { return events.count(kind::priority_refused) == 1; }));
    CHECK(events.last(kind::priority_refused).error == refused_error);
    CHECK(has(events.last(kind::priority_refused).message, "refused"));
    // The same for apply() on a live queue. The CPUs of the attributes take effect although the priority is refused.
    any_queue later{policy, rt, "later"};
    attrs b = a;
    b.cpus({first_cpu()});
    later.apply(b);
    CHECK(seen(later, cpus_of_this_task) == cpuset{first_cpu()});
    CHECK(seen(later, nice_of_this_task) == 0);
    CHECK(later.attributes() == b);
    later.apply(attrs{}.nice(3));
    CHECK(seen(later, nice_of_this_task) == 3);
    CHECK(all_told(rt));
    CHECK(events.count(kind::priority_refused) == 1); // once per runtime
}

} // namespace

// Hidden tests give up rights of their process: the tests below them run them in processes of their own.
POLICY_TEST_CASE("hidden: the process has no right to raise priorities", "[.]", keyed_policies) {
    give_up_the_right_to_priorities();
    expect_refusal(policy, attrs{}.nice(-20), EACCES);
    expect_refusal(policy, attrs{}.nice(-1), EACCES);
    expect_refusal(policy, attrs{}.scheduling(cmwq::scheduling::fifo), EPERM);
}

TEST_CASE("attrs: a refused priority is reported once; the items run and the other attributes take effect") {
    CHECK(run_hidden("hidden: the process has no right to raise priorities*") == 0);
}

POLICY_TEST_CASE("hidden: a thread keeps its high nice value", "[.]", keyed_policies) {
    give_up_the_right_to_priorities();
    std::thread t([&] {
        REQUIRE(::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), 10) == 0);
        event_log events;
        cmwq::runtime rt{{.on_event = events.listener()}};
        any_queue q{policy, rt, "q"};
        CHECK(seen(q, nice_of_this_task) == 10);
        CHECK(eventually([&] { return events.count(kind::priority_refused, "nice 0 refused") == 1; }));
    });
    t.join();
}

TEST_CASE("attrs: if the system refuses the priority of the process the runtime reports it once") {
    if (priority_of_task(::getpid()).nice == 0) CHECK(run_hidden("hidden: a thread keeps its high nice value*") == 0);
}

TEST_CASE("attrs: two attrs are equal if all of their values are equal") {
    const attrs a = attrs{}.nice(1).cpus({0, 1}).affinity(affinity_scope::cache);
    CHECK(a == attrs(a));
    CHECK_FALSE(a == attrs(a).nice(2));
    CHECK_FALSE(a == attrs(a).scheduling(cmwq::scheduling::idle));
    CHECK_FALSE(a == attrs(a).affinity(affinity_scope::numa));
    CHECK_FALSE(a == attrs(a).strict(true));
    CHECK_FALSE(a == attrs(a).cpus({0}));
    CHECK_FALSE(a == attrs{}.nice(1).affinity(affinity_scope::cache)); // on all CPUs
    attrs b;
    b = a;
    CHECK(b == a);
    attrs& self = b;
    b = self;
    CHECK(b == a);
}
