// SPDX-License-Identifier: BSL-1.0
//
// Code of the program that the library calls, or that runs on its threads, but not as the function of an item: it may
// use the library.
#include "any_queue.hpp"
#include "catch.hpp"
#include "child.hpp"
#include "errands.hpp"
#include "event_log.hpp"
#include "eventually.hpp"
#include "fake_threads.hpp"
#include "fork.hpp"
#include "policy_list.hpp"
#include "policy_test_case.hpp"
#include "scarce_runtime.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <string>
#include <thread>
#include <utility>

using namespace cmwq_test;
using cmwq::queue_status;

namespace {

/// Runs all errands, at most once, and keeps the result.
class all_errands {
public:
    void operator()(cmwq::runtime& rt) {
        if (begun_.exchange(true)) return;
        result_ = errands::that_do_not_wait(rt) + errands::that_wait<>(rt);
        done_ = true;
    }
    [[nodiscard]] bool begun() const { return begun_; }
    [[nodiscard]] bool done() const { return done_; }
    /// Waits until it has run. Returns what went wrong.
    [[nodiscard]] std::string wrong() const {
        return eventually([&] { return done(); }) ? result_ : "not called";
    }

private:
    std::atomic<bool> begun_{false}, done_{false};
    std::string result_;
};

/// Calls a function at its end, if it has one.
class at_the_end {
public:
    at_the_end() = default;
    explicit at_the_end(std::function<void()> f) : f_(std::move(f)) {}
    ~at_the_end() {
        if (f_) f_();
    }
    at_the_end(at_the_end&& other) noexcept : f_(std::exchange(other.f_, nullptr)) {}
    at_the_end(const at_the_end& other) : f_(other.f_) {}
    at_the_end& operator=(const at_the_end&) = delete;
    void set(std::function<void()> f) { f_ = std::move(f); }

private:
    std::function<void()> f_;
};

thread_local at_the_end end_of_thread;

} // namespace

// proves: life-19
TEST_CASE("callers: on_event uses the library") {
    all_errands run;
    cmwq::runtime* its = nullptr;
    cmwq::runtime rt{{.on_event = [&](const cmwq::event& e) {
        if (e.what != cmwq::event::kind::flush_dependency) return;
        run(*its);
    }}};
    its = &rt;
    cmwq::workqueue<> rescued{rt, {.name = "rescued", .rescuer = true}}, other{rt, "other"};
    other.post([&] { static_cast<void>(eventually([&] { return run.begun(); })); });
    rescued.async([&] { other.flush(); }).get(); // an event
    CHECK(run.wrong() == "");
}

TEST_CASE("callers: on_event uses its runtime while the destructor of the runtime waits for it") {
    all_errands run;
    std::atomic<bool> ends{false}, called{false};
    std::atomic<cmwq::runtime*> its{nullptr};
    auto rt = std::make_unique<cmwq::runtime>(cmwq::runtime_options{.on_event = [&](const cmwq::event& e) {
        if (e.what != cmwq::event::kind::flush_dependency || called.exchange(true)) return;
        static_cast<void>(eventually([&] { return ends.load(); }));
        static_cast<void>(its.load()->stats());
        run(*its);
    }});
    its = rt.get();
    {
        cmwq::workqueue<> rescued{*rt, {.name = "rescued", .rescuer = true}}, other{*rt, "other"};
        other.post([&] { static_cast<void>(eventually([&] { return called.load(); })); });
        rescued.async([&] { other.flush(); }).get(); // an event
    }
    ends = true;
    rt.reset();
    CHECK(run.done());
    CHECK(run.wrong() == "");
}

// proves: life-19
TEST_CASE("callers: the destructor of a thread_local object of a worker uses the library") {
    const unsigned max_threads = GENERATE(0u, 1u);
    all_errands run;
    cmwq::runtime rt{{.max_threads = max_threads}};
    {
        cmwq::options<cmwq::unbound> o;
        o.attrs.nice(3); // a pool of its own, which ends with the queue
        cmwq::workqueue<cmwq::unbound> q{rt, std::move(o)};
        q.async([&] { end_of_thread.set([&] { run(rt); }); }).get();
    }
    CHECK(run.wrong() == "");
}

// proves: life-19
TEST_CASE("callers: the destructor of a thread_local object of a rescuer uses the library") {
    all_errands run;
    scarce_runtime s;
    {
        cmwq::workqueue<cmwq::unbound> q{s.rt, {.name = "rescued", .rescuer = true}};
        s.threads.refuse();
        q.async([&] { end_of_thread.set([&] { run(s.rt); }); }).get();
        s.threads.allow();
    }
    CHECK(run.wrong() == "");
}

// proves: life-19
POLICY_TEST_CASE("callers: the destructor of a closure uses the library", "", threaded_policies) {
    all_errands run;
    cmwq::runtime rt;
    const auto call = [&] { run(rt); };
    any_queue q{policy, rt, at_most(policy, 1, "q")};
    SECTION("after its run") {
        q.post([last = at_the_end{call}] {});
    }
    SECTION("as a task") {
        const auto group = q.make_group();
        group->run([last = at_the_end{call}] {});
        group->wait();
    }
    SECTION("as a task that was cancelled") {
        gate g;
        g.hold(q);
        const auto group = q.make_group();
        group->run([last = at_the_end{call}] {});
        group->cancel();
        g.open();
        group->wait();
    }
    SECTION("that was dropped") {
        gate g;
        g.hold(q);
        q.post_on(first_cpu(), [last = at_the_end{call}] {});
        std::thread opener{[&] { g.open(); }};
        q.shutdown(cmwq::cancel_pending);
        opener.join();
    }
    SECTION("that was rejected") {
        q.shutdown(cmwq::cancel_pending);
        CHECK(q.post([last = at_the_end{call}] {}) == queue_status::rejected);
    }
    CHECK(run.wrong() == "");
}

// proves: life-19
POLICY_TEST_CASE("callers: the copy constructor of a closure uses the library", "", threaded_policies) {
    all_errands run;
    cmwq::runtime rt;
    struct copied {
        std::function<void()> call;
        explicit copied(std::function<void()> f) : call(std::move(f)) {}
        copied(const copied& other) : call(other.call) { call(); }
        void operator()() const {}
    };
    const copied f{[&] { run(rt); }};
    any_queue q{policy, rt, "q"};
    SECTION("post()") { q.post(f); }
    SECTION("async()") { q.async(f).get(); }
    SECTION("run()") {
        const auto group = q.make_group();
        group->run(f);
        group->wait();
    }
    SECTION("run() in a task") {
        const auto group = q.make_group();
        group->run([&] { group->run(f); });
        group->wait();
    }
    CHECK(run.wrong() == "");
}

// proves: life-19
POLICY_TEST_CASE("callers: the destructor of an exception and its handler use the library", "", threaded_policies) {
    all_errands run;
    cmwq::runtime rt;
    const auto call = [&] { run(rt); };
    bool handler_calls = false;
    any_options o;
    o.on_exception = [&](const std::exception_ptr&) {
        if (handler_calls) call();
    };
    any_queue q{policy, rt, std::move(o)};
    SECTION("its handler") {
        handler_calls = true;
        q.post([] { throw 1; });
        q.flush();
    }
    SECTION("after its handler") {
        q.post([&] { throw at_the_end{call}; });
        q.flush();
    }
    SECTION("in a task beside another one") {
        const auto group = q.make_group();
        group->run([&] { throw 1; });
        group->run([&] { throw at_the_end{call}; });
        group->run([&] { throw at_the_end{call}; });
        CHECK_THROWS(group->wait());
    }
    SECTION("in a group that is destroyed") {
        const auto group = q.make_group();
        group->run([&] { throw at_the_end{call}; });
    }
    SECTION("of a future") {
        CHECK_THROWS_AS(q.async([&] { throw at_the_end{call}; }).get(), at_the_end);
    }
    CHECK(run.wrong() == "");
}

namespace {

/// Uses the library in each start of a thread, and on the new thread.
class busy_threads final : public cmwq::thread_source {
public:
    int start(cmwq::thread_request& r) noexcept override {
        use();
        return r.start([](void* self) { static_cast<busy_threads*>(self)->use(); }, this);
    }
    void begin(cmwq::runtime& rt) { used_ = &rt; }
    /// Returns when no thread uses the runtime any more. Threads may still start later.
    void end() {
        used_ = nullptr;
        REQUIRE(eventually([this] { return nr_inside_ == 0; }));
    }
    std::atomic<int> nr_used{0};
    [[nodiscard]] std::string wrong() const {
        const std::lock_guard g(lock_);
        return wrong_;
    }

private:
    void use() {
        ++nr_inside_; // before it reads `used_`: see end()
        if (cmwq::runtime* const rt = used_; rt != nullptr) {
            const std::string wrong = errands::that_do_not_wait(*rt);
            const std::lock_guard g(lock_);
            wrong_ += wrong;
            ++nr_used;
        }
        --nr_inside_;
    }
    std::atomic<cmwq::runtime*> used_{nullptr};
    std::atomic<int> nr_inside_{0};
    mutable std::mutex lock_;
    std::string wrong_;
};

} // namespace

// proves: life-19
TEST_CASE("callers: a thread source uses the library, without waits") {
    busy_threads threads;
    cmwq::runtime rt{{.threads = &threads}};
    threads.begin(rt);
    {
        cmwq::workqueue<> q{rt, {.name = "rescued", .rescuer = true}};
        cmwq::workqueue<cmwq::unbound> u{rt, {.name = "rescued", .rescuer = true}};
        cmwq::workqueue<cmwq::elastic> e{rt, "e"};
        const std::string dump = rt.dump();
        q.async([] {}).get();
        u.async([] {}).get();
        e.async([] {}).get();
        u.apply(cmwq::attrs{}.nice(2));
        u.async([] {}).get();
    }
    threads.end();
    CHECK(threads.nr_used >= 10);
    CHECK(threads.wrong() == "");
}

namespace {

/// Runs three items at once, so that the pool has three workers (bound: on each CPU).
void make_workers(any_queue& q, const cmwq::runtime& rt) {
    for (const unsigned cpu : rt.cpus()) {
        gate gates[3];
        for (gate& g : gates) {
            if (q.policy().runs_one_at_a_time && &g != gates) break;
            g.hold(q, cpu);
        }
    }
}

/// Keeps the pools of default attributes, and those of the attributes that errands apply, with workers.
struct served {
    served(const any_policy& p, cmwq::runtime& rt)
        : normal(p, rt, "normal"), nice(p, rt, {.name = "nice", .attrs = cmwq::attrs{}.nice(1)}) {
        make_workers(normal, rt);
        make_workers(nice, rt);
    }
    any_queue normal, nice;
};

} // namespace

// proves: life-20
TEST_CASE("callers: nothing waits for a thread source that stalls but the items that need a new thread") {
    fake_threads threads;
    auto rt = std::make_unique<cmwq::runtime>(cmwq::runtime_options{.threads = &threads});
    std::atomic<bool> ran{false};
    std::thread aside;
    {
        any_queue bound{policy_of<cmwq::bound>, *rt, "bound"};
        make_workers(bound, *rt);
        const served unbound(policy_of<cmwq::unbound>, *rt);
        const served elastic(policy_of<cmwq::elastic>, *rt);
        const served ordered(policy_of<cmwq::ordered>, *rt);
        auto ending = std::make_unique<any_queue>(
            policy_of<cmwq::unbound>, *rt, any_options{.attrs = cmwq::attrs{}.nice(4)}); // the only queue of its pool
        make_workers(*ending, *rt);
        threads.stall();
        cmwq::workqueue<cmwq::unbound> stuck{*rt, {.name = "stuck", .attrs = cmwq::attrs{}.nice(5)}};
        stuck.post([&] { ran = true; });
        REQUIRE(eventually([&] { return threads.nr_stalled() == 1; }));
        CHECK(errands::that_do_not_wait(*rt) == "");
        CHECK(errands::that_wait<threaded_policies>(*rt) == ""); // bottom halves may need the thread of their CPU
        ending.reset();
        rt->set_default_scope(cmwq::affinity_scope::system);
        rt->set_unbound_cpus(rt->cpus());
        CHECK(rt->dump() != "");
        { const cmwq::freeze_guard g{*rt}; }
        CHECK_FALSE(ran);
        CHECK(threads.nr_stalled() == 1);
        aside = std::thread{[&] { threads.go_on(); }};
    } // the destructor of `stuck` waits for the source
    CHECK(ran);
    aside.join();
    threads.stall();
    {
        cmwq::workqueue<> q{*rt, "q"};
        gate gates[8];
        for (auto& g : gates) q.queue(g.item); // more than there are workers
        REQUIRE(eventually([&] { return threads.nr_stalled() == 1; }));
        for (auto& g : gates) g.open();
    }
    CHECK(threads.nr_stalled() == 1);
    aside = std::thread{[&] { threads.go_on(); }};
    rt.reset(); // waits for the source
    aside.join();
}

namespace {

struct in_forks {
    cmwq::runtime* rt = nullptr;
    all_errands before, parent;
} forks;

} // namespace

// proves: life-19
TEST_CASE("callers: a handler of fork() uses the library") {
    const outcome o = in_child([] {
        cmwq::runtime rt;
        forks.rt = &rt;
        ::pthread_atfork([] { forks.before(*forks.rt); }, [] { forks.parent(*forks.rt); }, nullptr);
        cmwq::workqueue<> q{rt, "q"};
        const int status = status_of_child([] { return 0; });
        findings f;
        f.expect(1, status == 0, "the child");
        f.expect(2, forks.before.wrong().empty(), ("before: " + forks.before.wrong()).c_str());
        f.expect(4, forks.parent.wrong().empty(), ("in the parent: " + forks.parent.wrong()).c_str());
        return f.wrong();
    });
    CAPTURE(o.stderr_text);
    CHECK(o.exited_with(0));
}

TEST_CASE("callers: a thread that is cancelled in a bottom half ends after it") {
    cmwq::workqueue<cmwq::bh> q{"q"};
    std::atomic<bool> queued{false}, went_on{false};
    std::atomic<int> ended{0};
    cmwq::work item{[&] {
        ::pthread_cancel(::pthread_self());
        ::pthread_testcancel();
        ++ended;
    }};
    struct both {
        cmwq::workqueue_base& q;
        cmwq::work_base& item;
        std::atomic<bool>&queued, &went_on;
    } data{q, item, queued, went_on};
    pthread_t thread{};
    REQUIRE(::pthread_create(
                &thread, nullptr,
                [](void* p) -> void* {
                    auto& d = *static_cast<both*>(p);
                    d.q.queue(d.item);
                    d.queued = true;
                    ::pthread_testcancel();
                    d.went_on = true;
                    return nullptr;
                },
                &data) == 0);
    void* result = nullptr;
    REQUIRE(::pthread_join(thread, &result) == 0);
    item.flush(); // another thread may have been in the context of that CPU
    CHECK(ended == 1);
    CHECK(queued);
    CHECK_FALSE(went_on);
    CHECK(result == PTHREAD_CANCELED);
}
