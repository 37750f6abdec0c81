// SPDX-License-Identifier: BSL-1.0
//
// Allocations fail. In the first part each allocation of a call fails in turn: the call throws std::bad_alloc and has
// changed nothing, or it works without the memory. In the second part the allocations of all threads fail: first all of
// them, and operations that need no memory go on; then some of them, at random.
#include "catch.hpp"
#include "core_of.hpp"
#include "eventually.hpp"
#include "policy_list.hpp"
#include "replaced_new.hpp"
#include "simulated.hpp"
#include "stress.hpp"

#include <cmwq/cmwq.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using namespace cmwq_test;
using cmwq::attrs;
using cmwq::queue_status;

// --- operator new ----------------------------------------------------------------------------------------------------

namespace {

constexpr long never = -1;

/// The number of allocations of this thread that succeed before one fails.
constinit thread_local long until_failure = never;
/// True: no allocation of this thread fails at random, because the thread belongs to the test.
constinit thread_local bool exempt = false;
/// Of 1000 allocations of a thread that is not exempt, so many fail.
std::atomic<unsigned> failing_of_1000{0};
std::atomic<std::uint64_t> nr_failed{0}, nr_asked{0};

} // namespace

bool cmwq_test::allocation_fails() noexcept {
    if (until_failure != never && --until_failure == never) return ++nr_failed, true;
    const unsigned chance = failing_of_1000.load(std::memory_order_relaxed);
    if (chance == 0 || exempt) return false;
    const bool fails = stress::random(nr_asked.fetch_add(1, std::memory_order_relaxed)).below(1000) < chance;
    return fails ? ++nr_failed, true : false;
}

namespace {

/// While an object lives, `of_1000` of 1000 allocations fail in all threads; in the calling thread only during
/// `not_exempt()`.
class memory_fails {
public:
    explicit memory_fails(unsigned of_1000) {
        exempt = true;
        failing_of_1000 = of_1000;
    }
    ~memory_fails() {
        failing_of_1000 = 0;
        exempt = false;
    }
    memory_fails(const memory_fails&) = delete;
    memory_fails& operator=(const memory_fails&) = delete;
};

template <class F>
auto not_exempt(F&& f) {
    struct guard {
        ~guard() { exempt = true; }
    } const g;
    exempt = false;
    return f();
}

/// Calls `call` until no allocation of it fails: first the first allocation fails, then the second one, and so on.
/// `unchanged` checks the state after each call that has thrown. Returns the number of allocations.
template <class Call, class Look>
int with_each_allocation_failing(Call call, Look unchanged) {
    for (int n = 0;; ++n) {
        bool threw = false;
        until_failure = n;
        try {
            call();
        } catch (const std::bad_alloc&) {
            threw = true;
        } catch (...) {
            until_failure = never;
            throw;
        }
        const bool failed = std::exchange(until_failure, never) == never;
        CAPTURE(n, threw, failed);
        CHECK((failed || !threw));
        if (threw) unchanged();
        if (!failed) return n;
    }
}

/// Counts its objects.
struct counted {
    explicit counted(std::atomic<int>& n) : alive(&n) { ++*alive; }
    counted(const counted& o) : alive(o.alive) { ++*alive; }
    ~counted() { --*alive; }
    counted& operator=(const counted&) = delete;
    std::atomic<int>* alive;
};

template <class P>
cmwq::options<P> with_a_long_name() {
    cmwq::options<P> o;
    o.name = "a name that is too long for the buffer inside of a string";
    return o;
}

/// The threads of this process with that name.
std::vector<long> tasks_named(const std::string& name) {
    std::vector<long> tids;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream comm(task.path() / "comm");
        std::string line;
        if (std::getline(comm, line) && line == name) tids.push_back(std::stol(task.path().filename()));
    }
    return tids;
}

/// Whether the queue still runs items.
template <class P>
bool works(cmwq::workqueue<P>& q) {
    std::atomic<int> runs{0};
    cmwq::work w{[&] { ++runs; }};
    const bool queued = q.queue(w) == queue_status::queued;
    w.flush();
    return queued && runs == 1;
}

} // namespace

// --- each allocation of a call in turn -------------------------------------------------------------------------------

TEST_CASE("memory: the constructor of a runtime throws if memory for a part of it is missing") {
    const auto make = [] { cmwq::runtime rt{}; };
    make();
    CHECK(with_each_allocation_failing(make, [] {}) > 5);
}

TEMPLATE_LIST_TEST_CASE(
    "memory: the constructor of a queue throws if memory for a part of it is missing and leaves nothing behind", "",
    every_policy) {
    using P = TestType;
    const bool rescuer = GENERATE(false, true);
    std::atomic<int> handlers{0};
    cmwq::runtime rt;
    const auto make = [&] {
        cmwq::options<P> o = with_a_long_name<P>();
        if constexpr (requires { o.rescuer; }) o.rescuer = rescuer;
        o.on_exception = [c = counted(handlers)](std::exception_ptr) {};
        cmwq::workqueue<P> q{rt, std::move(o)};
    };
    CHECK(with_each_allocation_failing(make, [&] {
              CHECK(handlers == 0);
              CHECK(rt.dump().find(with_a_long_name<P>().name) == std::string::npos);
          }) > 3);
    CHECK(handlers == 0);
    cmwq::workqueue<P> q{rt, "q"};
    CHECK(works(q));
}

TEMPLATE_LIST_TEST_CASE("memory: post() and async() either queue the callable or destroy it", "", every_policy) {
    using P = TestType;
    cmwq::runtime rt;
    cmwq::workqueue<P> q{rt, "q"};
    std::atomic<int> alive{0}, ran{0};
    int accepted = 0;
    CHECK(with_each_allocation_failing(
              [&] { accepted += q.post([&ran, c = counted(alive)] { ++ran; }) == queue_status::queued; },
              [&] { CHECK(alive == 0); }) == 1);
    q.flush();
    CHECK((ran == 1 && accepted == 1 && alive == 0));
    std::vector<std::future<int>> futures;
    futures.reserve(1);
    CHECK(
        with_each_allocation_failing([&] { futures.push_back(q.async([&ran, c = counted(alive)] { return ++ran; })); },
                                     [&] { CHECK((alive == 0 && futures.empty())); }) > 1);
    CHECK(futures.front().get() == 2);
    q.flush();
    CHECK((ran == 2 && alive == 0));
    q.drain();
    CHECK(q.stats().started == 2);
}

TEMPLATE_LIST_TEST_CASE("memory: apply() has its whole effect or none", "", keyed_policies) {
    using P = TestType;
    cmwq::runtime rt;
    cmwq::workqueue<P> q{rt, "q"};
    const attrs before = attrs{}.nice(1).affinity(cmwq::affinity_scope::system);
    const attrs after = attrs{}.nice(2).cpus({*rt.cpus().begin()}).affinity(cmwq::affinity_scope::cpu);
    q.apply(before);
    CHECK(works(q));
    CHECK(with_each_allocation_failing([&] { q.apply(after); },
                                       [&] {
                                           CHECK(q.attributes() == before);
                                           CHECK(works(q));
                                       }) > 3);
    CHECK(q.attributes() == after);
    CHECK(works(q));
}

// proves: progress-20
TEST_CASE("memory: a setting of the runtime changes all queues or none") {
    cmwq::runtime rt{simulated("numa:2 l3:2 core:2 pu:1")};
    cmwq::workqueue<cmwq::unbound> u{rt, "u"};
    cmwq::workqueue<cmwq::elastic> e{rt, "e"};
    cmwq::workqueue<cmwq::ordered> s{rt, "s"};
    const auto all_work = [&] { return works(u) && works(e) && works(s); };
    CHECK(all_work());
    const cmwq::cpuset all = rt.unbound_cpus(), some{1, 2, 3};
    CHECK(with_each_allocation_failing([&] { rt.set_unbound_cpus(some); },
                                       [&] {
                                           CHECK(rt.unbound_cpus() == all);
                                           CHECK(all_work());
                                       }) > 5);
    CHECK(rt.unbound_cpus() == some);
    CHECK(all_work());
    const cmwq::affinity_scope scope = rt.default_scope();
    CHECK(with_each_allocation_failing([&] { rt.set_default_scope(cmwq::affinity_scope::cpu); },
                                       [&] {
                                           CHECK(rt.default_scope() == scope);
                                           CHECK(all_work());
                                       }) > 5);
    CHECK(rt.default_scope() == cmwq::affinity_scope::cpu);
    CHECK(all_work());
}

TEST_CASE("memory: queries and refresh_topology() that fail have no effect") {
    const auto nothing = [] {};
    cmwq::runtime rt;
    CHECK(with_each_allocation_failing([&] { static_cast<void>(rt.machine()); }, nothing) > 0);
    CHECK(rt.machine().cpus() == rt.cpus());
    cmwq::workqueue<cmwq::unbound> q{rt, with_a_long_name<cmwq::unbound>()};
    q.apply(attrs{}.cpus({*rt.cpus().begin()}));
    CHECK(works(q));
    CHECK(with_each_allocation_failing([&] { static_cast<void>(rt.dump()); }, nothing) > 0);
    CHECK(with_each_allocation_failing([&] { rt.refresh_topology(); }, nothing) > 0);
    CHECK(with_each_allocation_failing([&] { static_cast<void>(q.attributes()); }, nothing) > 0);
    CHECK(with_each_allocation_failing([&] { static_cast<void>(rt.unbound_cpus()); }, nothing) > 0);
    CHECK(works(q));
}

TEST_CASE("memory: a CPU may disappear and return before there is memory for the change") {
    const std::vector<long> before = tasks_named("cmwq/manager");
    cmwq::runtime rt;
    if (rt.cpus().size() < 2) return;
    cmwq::workqueue<cmwq::unbound> q{rt, "q"};
    CHECK(works(q));
    std::vector<long> manager;
    CHECK(eventually([&] {
        manager = tasks_named("cmwq/manager");
        std::erase_if(manager, [&](long tid) { return std::find(before.begin(), before.end(), tid) != before.end(); });
        return manager.size() == 1;
    }));
    // The runtime regards the CPUs that its manager thread may use as the CPUs that are present.
    const unsigned last = cmwq_test::core_of(rt).env().cpus.nr_cpus() - 1;
    const auto& pool = cmwq_test::core_of(rt).pools().pool_at(last, cmwq::priority::normal);
    const cmwq::cpuset fewer = rt.cpus() - cmwq::cpuset{cmwq_test::core_of(rt).env().cpus.number_of(last)};
    const auto there = [&](bool is) { CHECK(cmwq::detail::bind_thread(manager.front(), is ? rt.cpus() : fewer) == 0); };
    there(false);
    CHECK(with_each_allocation_failing(
              [&] { rt.refresh_topology(); },
              [&] {
                  there(true);
                  rt.refresh_topology();
                  CHECK(pool.concurrency->is_associated()); // a pool without its CPU replaces no worker
                  CHECK(works(q));
                  there(false);
              }) > 1);
    CHECK_FALSE(pool.concurrency->is_associated());
    there(true);
    rt.refresh_topology();
    CHECK(pool.concurrency->is_associated());
}

TEST_CASE("memory: an event without memory for its message is reported with an empty message") {
    std::atomic<int> told{0};
    std::atomic<std::size_t> words{1};
    cmwq::runtime_options o;
    o.on_event = [&](const cmwq::event& e) {
        words = e.message.size();
        ++told;
    };
    cmwq::runtime rt{std::move(o)};
    cmwq::detail::thread_attributes a;
    a.sched = cmwq::detail::sched_class::fifo;
    // Neither a thread that reports its own refusals, nor the one that delivers the events, has memory.
    const memory_fails always(1000);
    not_exempt([&] {
        cmwq_test::core_of(rt).env().events.thread_refusals_of({.cpus = EPERM, .sched = 0, .nice = 0}, a);
        cmwq_test::core_of(rt).env().events.thread_refusals_of({.cpus = 0, .sched = EPERM, .nice = EPERM}, a);
    });
    CHECK(eventually([&] { return told == 2; }));
    CHECK(words == 0);
}

// --- the allocations of all threads ----------------------------------------------------------------------------------

// proves: progress-20, progress-34
TEMPLATE_LIST_TEST_CASE("memory: items and timers run while all allocations fail", "", every_policy) {
    using P = TestType;
    cmwq::runtime rt;
    cmwq::workqueue<P> q{rt, at_most<P>(3, "q")};
    // While allocations fail, the existing threads have to suffice. One item for each CPU makes the pools create them.
    for (const unsigned cpu : rt.cpus()) q.post_on(cpu, [] {});
    q.flush();
    struct one {
        std::uint64_t queued = 0, cancelled = 0, ran = 0;
        cmwq::delayed_work<std::function<void()>> work{[this] { ++ran; }};
    };
    std::array<one, 20> items;
    bool fired = false;
    {
        const memory_fails always(1000);
        not_exempt([&] {
            stress::random r(1);
            for (int n = 0; n < 3000; ++n) {
                one& i = items[r.below(20)];
                switch (r.below(10)) {
                case 0:
                case 1: i.queued += q.queue(i.work) == queue_status::queued; break;
                case 2: i.queued += q.queue_on(*rt.cpus().begin(), i.work) == queue_status::queued; break;
                case 3:
                case 4: i.queued += q.queue_after(100us, i.work) == queue_status::queued; break;
                case 5: i.queued += q.modify(r.one_in(2) ? 0us : 50us, i.work) == queue_status::queued; break;
                case 6: i.cancelled += i.work.cancel(); break;
                case 7: i.cancelled += i.work.cancel_sync(); break;
                case 8: static_cast<void>(i.work.flush()); break;
                default: r.one_in(2) ? q.flush() : q.drain(); break;
                }
            }
            items[0].cancelled += items[0].work.cancel_sync();
            const std::uint64_t before = items[0].ran; // it does not run any more
            items[0].queued += q.queue_after(1ms, items[0].work) == queue_status::queued;
            fired = eventually([&] { return !items[0].work.pending(); });
            q.drain();
            fired &= items[0].ran > before;
        });
    }
    CHECK(fired);
    for (const one& i : items) CHECK(i.ran == i.queued - i.cancelled);
}

// proves: progress-20
TEMPLATE_LIST_TEST_CASE("memory: every accepted item runs exactly once while allocations fail at random in all threads",
                        "", every_policy) {
    using P = TestType;
    const unsigned chance = GENERATE(20u, 200u);
    std::atomic<std::uint64_t> accepted{0}, ran{0}, promised{0}, kept{0}, refused{0};
    std::atomic<int> alive{0}, events{0};
    const std::uint64_t failed_before = nr_failed;
    {
        cmwq::runtime_options o;
        o.idle_timeout = 1ms; // workers end, and new ones are needed
        o.on_event = [&](const cmwq::event&) { ++events; };
        cmwq::runtime rt{std::move(o)};
        cmwq::workqueue<P> q{rt, at_most<P>(10, "q")};
        const memory_fails now(chance);
        stress::on_threads(3, [&](unsigned t) {
            exempt = false;
            stress::random r(t);
            const auto hit = [&] {
                ++ran;
                if constexpr (can_block<P>) stress::block_for(100us);
            };
            for (int n = 0; n < 400; ++n) {
                try {
                    switch (r.below(8)) {
                    case 0:
                    case 1: accepted += q.post([hit, c = counted(alive)] { hit(); }) == queue_status::queued; break;
                    case 2: {
                        std::future<int> f = q.async([c = counted(alive)] { return 7; });
                        ++promised;
                        kept += f.get() == 7;
                        break;
                    }
                    case 3: {
                        cmwq::workqueue<P> own{rt, at_most<P>(2, "one that comes and goes, with its long name")};
                        cmwq::work w{hit};
                        accepted += own.queue(w) == queue_status::queued;
                        w.flush();
                        break;
                    }
                    case 4:
                        if constexpr (has_attributes<P>) {
                            q.apply(
                                attrs{}
                                    .nice(static_cast<int>(r.below(3)))
                                    .affinity(r.one_in(2) ? cmwq::affinity_scope::cpu : cmwq::affinity_scope::system));
                        }
                        break;
                    case 5: rt.set_unbound_cpus(r.one_in(2) ? rt.cpus() : cmwq::cpuset{*rt.cpus().begin()}); break;
                    case 6:
                        if (r.one_in(2)) static_cast<void>(rt.dump());
                        else rt.refresh_topology();
                        break;
                    default: q.flush(); break;
                    }
                } catch (const std::bad_alloc&) {
                    ++refused;
                }
            }
        });
        q.drain();
    }
    CHECK(ran == accepted);
    CHECK(kept == promised);
    CHECK(alive == 0);
    CHECK(refused > 0);
    CHECK(nr_failed > failed_before);
}
