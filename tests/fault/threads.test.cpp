// SPDX-License-Identifier: BSL-1.0
//
// Threads cannot be created. First the runtime creates its own three threads; then some starts of threads fail with
// EAGAIN, or all of them for some time. Nevertheless every accepted item runs exactly once.
#include "catch.hpp"
#include "event_log.hpp"
#include "eventually.hpp"
#include "fake_threads.hpp"
#include "policy_list.hpp"
#include "stress.hpp"

#include <cmwq/cmwq.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <semaphore>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using namespace cmwq_test;
using cmwq::queue_status;
using kind = cmwq::event::kind;
namespace fault = cmwq::detail::fault;

namespace {

/// While an object lives, starts of threads of the library fail with this probability.
class threads_fail {
public:
    explicit threads_fail(double chance) { fault::fail_threads(chance); }
    ~threads_fail() { fault::fail_threads(0); }
    threads_fail(const threads_fail&) = delete;
    threads_fail& operator=(const threads_fail&) = delete;
};

template <class P>
cmwq::options<P> with_rescuer(bool rescuer) {
    cmwq::options<P> o = at_most<P>(30, "q");
    if constexpr (requires { o.rescuer; }) o.rescuer = rescuer;
    return o;
}

template <class P>
inline constexpr bool may_have_rescuer = requires(cmwq::options<P> o) { o.rescuer; };

} // namespace

// proves: progress-16
TEMPLATE_LIST_TEST_CASE("threads: every queued item runs exactly once if every other start of a thread fails", "",
                        every_policy) {
    using P = TestType;
    const bool rescuer = may_have_rescuer<P> && GENERATE(false, true);
    const std::uint64_t refused_before = fault::injected().refused_threads;
    event_log events;
    // Workers end soon, and new ones are needed.
    cmwq::runtime rt{{.idle_timeout = 1ms, .on_event = events.listener()}};
    cmwq::workqueue<P> q{rt, with_rescuer<P>(rescuer)};
    stress::complaints complaints;
    struct one {
        explicit one(stress::complaints& c) : runs(c) {}
        stress::exclusive runs;
        std::atomic<std::uint64_t> queued{0}, cancelled{0};
        std::unique_ptr<cmwq::delayed_work<std::function<void()>>> work;
    };
    std::vector<std::unique_ptr<one>> items;
    for (int i = 0; i < 10; ++i) {
        items.push_back(std::make_unique<one>(complaints));
        one& o = *items.back();
        o.work = std::make_unique<cmwq::delayed_work<std::function<void()>>>([&o] {
            o.runs.run([] {
                if constexpr (can_block<P>) stress::block_for(100us);
            });
        });
    }
    std::atomic<std::uint64_t> posted{0}, ran{0};
    {
        const threads_fail now(1); // so that the first start fails
        posted += q.post([&] { ++ran; }) == queue_status::queued;
        // A bottom half needs no thread.
        if (!runs_in_the_caller<P>)
            CHECK(eventually([&] { return fault::injected().refused_threads > refused_before; }));
        fault::fail_threads(0.5);
        stress::on_threads(3, [&](unsigned t) {
            stress::random r(t);
            for (int n = 0; n < 300; ++n) {
                one& i = *items[r.below(10)];
                const auto cpu = static_cast<unsigned>(*rt.cpus().begin());
                switch (r.below(8)) {
                case 0:
                case 1: i.queued += q.queue(*i.work) == queue_status::queued; break;
                case 2: i.queued += q.queue_on(cpu, *i.work) == queue_status::queued; break;
                case 3: i.queued += q.queue_after(1ms, *i.work) == queue_status::queued; break;
                case 4: i.cancelled += i.work->cancel(); break;
                case 5: i.cancelled += i.work->cancel_sync(); break;
                case 6:
                    posted += q.post([&] {
                        ++ran;
                        if constexpr (can_block<P>) stress::block_for(1ms);
                    }) == queue_status::queued;
                    break;
                default: r.one_in(2) ? static_cast<void>(i.work->flush()) : q.flush(); break;
                }
            }
        });
        q.drain();
    }
    CHECK(complaints.text() == "");
    CHECK(ran == posted);
    std::uint64_t all = posted;
    for (const auto& i : items) {
        CHECK(i->runs.counted_plainly() == i->queued - i->cancelled);
        all += i->runs.counted_plainly();
    }
    CHECK(q.stats().completed == all);
    CHECK(cmwq_test::all_told(rt));
    CHECK(events.count(kind::no_thread) <= 1);
}

TEMPLATE_LIST_TEST_CASE("threads: queued items wait while no thread can be created and one event reports it", "",
                        every_policy) {
    using P = TestType;
    event_log events;
    fake_threads threads;
    cmwq::runtime rt{{.on_event = events.listener(), .threads = &threads}};
    cmwq::workqueue<P> q{rt, "q"};
    constexpr int many = 100;
    std::vector<std::atomic<int>> runs(many);
    std::vector<std::unique_ptr<cmwq::work<std::function<void()>>>> items;
    for (auto& n : runs) items.push_back(std::make_unique<cmwq::work<std::function<void()>>>([&n] { ++n; }));
    std::atomic<int> timed{0};
    cmwq::delayed_work timer{[&] { ++timed; }};

    threads.refuse();
    for (auto& i : items) CHECK(q.queue(*i) == queue_status::queued);
    CHECK(q.queue_after(1ms, timer) == queue_status::queued);
    // The runtime goes on trying. Bottom halves need a thread for the timer.
    CHECK(eventually([&] { return threads.refused() >= 5; }));
    CHECK(timed == 0);
    CHECK(timer.pending());
    if constexpr (!runs_in_the_caller<P>) {
        CHECK(q.stats().started == 0);
        CHECK(items[0]->pending());
        CHECK(items[1]->cancel());
    }
    CHECK(cmwq_test::all_told(rt));
    CHECK(events.count(kind::no_thread) == 1);
    CHECK(events.last(kind::no_thread).error == EAGAIN);
    std::thread later([&] {
        static_cast<void>(eventually([&] { return threads.refused() >= 10; }, 50ms));
        threads.allow();
    });
    q.flush(); // begun while no item can run
    later.join();
    CHECK(eventually([&] { return timed == 1; }));
    for (std::size_t i = 0; i < many; ++i) CHECK(runs[i] == (i == 1 && !runs_in_the_caller<P> ? 0 : 1));
    CHECK(cmwq_test::all_told(rt));
    CHECK(events.count(kind::no_thread) == 1);
}

TEMPLATE_LIST_TEST_CASE(
    "threads: the existing workers run all items without further threads unless items wait for each other", "",
    every_policy) {
    using P = TestType;
    if constexpr (can_block<P>) {
        event_log events;
        fake_threads threads;
        cmwq::runtime rt{{.on_event = events.listener(), .threads = &threads}};
        cmwq::workqueue<P> q{rt, at_most<P>(100, "q")};
        const unsigned cpu = *rt.cpus().begin();
        for (const unsigned c : rt.cpus()) q.post_on(c, [] {});
        q.flush();
        threads.refuse();
        // Each item blocks. Its pool would replace the worker, but cannot create a thread.
        std::atomic<int> ran{0};
        for (int i = 0; i < 50; ++i) {
            CHECK(q.post_on(cpu, [&] {
                stress::block_for(500us);
                ++ran;
            }) == queue_status::queued);
        }
        q.flush();
        CHECK(ran == 50);
        if constexpr (!runs_one_at_a_time<P>) {
            // More items than there are workers wait for the last item, which can start only on a new thread.
            std::counting_semaphore<> child{0};
            constexpr int waiting = 20;
            for (int i = 0; i < waiting; ++i) {
                q.post_on(cpu, [&] {
                    child.acquire();
                    ++ran;
                });
            }
            q.post_on(cpu, [&] {
                child.release(waiting);
                ++ran;
            });
            const int refused = threads.refused();
            CHECK(eventually([&] { return threads.refused() >= refused + 3; }));
            CHECK(ran == 50);
            threads.allow();
            q.flush();
            CHECK(ran == 50 + waiting + 1);
        }
        CHECK(cmwq_test::all_told(rt));
        CHECK(events.count(kind::no_thread) <= 1);
    }
}

TEMPLATE_LIST_TEST_CASE("threads: the rescuer of a queue runs the items while no other thread can be created", "",
                        every_policy) {
    using P = TestType;
    if constexpr (may_have_rescuer<P>) {
        fake_threads threads;
        cmwq::runtime rt{{.threads = &threads}};
        cmwq::workqueue<P> q{rt, with_rescuer<P>(true)};
        threads.refuse();
        std::atomic<int> ran{0}, rescued{0};
        for (int i = 0; i < 50; ++i) {
            q.post([&] {
                ++ran;
                rescued += cmwq::this_work::on_rescuer();
            });
        }
        q.drain();
        CHECK(ran == 50);
        CHECK(rescued == 50);
        threads.allow();
    }
}

TEST_CASE("threads: a constructor throws if it cannot create its thread and leaves nothing behind") {
    {
        const threads_fail now(1);
        CHECK_THROWS_AS(cmwq::runtime{}, std::system_error);
    }
    cmwq::runtime rt;
    {
        const threads_fail now(1);
        using needs_one = cmwq::workqueue<>;
        CHECK_THROWS_AS((needs_one{rt, {.name = "q", .rescuer = true}}), std::system_error);
    }
    cmwq::workqueue<> q{rt, {.name = "q", .rescuer = true}};
    std::atomic<bool> ran{false};
    q.post([&] { ran = true; });
    q.flush();
    CHECK(ran);
}
