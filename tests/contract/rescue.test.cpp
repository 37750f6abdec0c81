// SPDX-License-Identifier: BSL-1.0
//
// Rescuers: the items of their queues run although no worker can be made, and items of other queues are not delayed.
#include "any_queue.hpp"
#include "catch.hpp"
#include "eventually.hpp"
#include "gate.hpp"
#include "policy_list.hpp"
#include "policy_test_case.hpp"
#include "pool_name.hpp"
#include "scarce_runtime.hpp"
#include "this_task.hpp"
#include "threads_named.hpp"

#include <cmwq/cmwq.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using cmwq::queue_status;
using namespace cmwq_test;
using kind = cmwq::event::kind;

namespace {

using item = cmwq::work<std::function<void()>>;

/// Queues items until a worker runs one of them. Returns whether that happens.
bool workers_are_back(cmwq::workqueue_base& q, unsigned cpu) {
    return eventually([&] {
        std::atomic<bool> rescued{true};
        item w{[&] { rescued = cmwq::this_work::on_rescuer(); }};
        q.queue_on(cpu, w);
        w.flush();
        return !rescued;
    });
}

} // namespace

// proves: progress-24
POLICY_TEST_CASE("rescue: a thousand items run in order without a worker although some of them block", "",
                 threaded_policies) {
    constexpr int many = 1000, nr_blocking = 20;
    scarce_runtime s;
    any_queue q{policy, s.rt, with_rescuer()};
    const refused_item waits(policy, s);

    std::counting_semaphore<> entered{0}, leave{0};
    std::atomic<int> on_rescuer{0}, inside{0}, crowded{0};
    std::vector<std::vector<int>> order(s.cpus.size()); // not atomic: one thread writes
    std::vector<std::unique_ptr<item>> items;
    for (int i = 0; i < many; ++i) {
        items.push_back(std::make_unique<item>([&, i] {
            if (++inside != 1) ++crowded;
            on_rescuer += cmwq::this_work::on_rescuer() ? 1 : 0;
            order[static_cast<std::size_t>(i) % s.cpus.size()].push_back(i);
            const auto block = [&] {
                entered.release();
                leave.acquire();
            };
            if (i % (2 * many / nr_blocking) == 7) block();
            if (i % (2 * many / nr_blocking) == 57) cmwq::blocking(block);
            --inside;
        }));
    }
    for (int i = 0; i < many; ++i) {
        CHECK(q.queue_on(s.cpus[static_cast<std::size_t>(i) % s.cpus.size()], *items[static_cast<std::size_t>(i)]) ==
              queue_status::queued);
    }
    for (int i = 0; i < nr_blocking; ++i) {
        entered.acquire();
        CHECK(inside == 1);
        leave.release();
    }
    q.flush();
    CHECK(on_rescuer == many);
    CHECK(crowded == 0);
    CHECK(q.stats().completed == many);
    CHECK(s.rt.stats().items_rescued == many);
    CHECK(q.stats().rescued == many);
    CHECK(q.stats().maydays >= 1);
    CHECK(s.rt.stats().threads == 0);
    for (std::size_t c = 0; c < order.size(); ++c) {
        for (std::size_t i = 1; i < order[c].size(); ++i) CHECK(order[c][i - 1] < order[c][i]);
    }
    CHECK(all_told(s.rt));
    CHECK(s.events.count(kind::rescued) == 1);
    CHECK(s.events.last(kind::rescued).message.find("\"rescued\"") != std::string::npos);
    CHECK(s.events.count(kind::no_thread) == 1);
    CHECK(s.events.last(kind::no_thread).error == EAGAIN);
    CHECK(s.events.count(kind::thread_limit) == 0);
    s.threads.allow();
}

POLICY_TEST_CASE("rescue: the name of the rescuer contains the name of its queue up to the length of a thread name", "",
                 threaded_policies) {
    for (const auto& [queue, thread] :
         {std::pair{"disk", "cmwq/R:disk"}, {"12345678", "cmwq/R:12345678"}, {"a longer name", "cmwq/R:a longer"}}) {
        scarce_runtime s;
        any_queue q{policy, s.rt, with_rescuer(queue)};
        s.threads.refuse();
        std::string name;
        item w{[&] { name = this_thread_name(); }};
        q.queue(w);
        w.flush();
        CHECK(name == thread);
    }
}

// proves: cpus-4
POLICY_TEST_CASE(
    "rescue: the idle or running rescuer stays on the CPUs of its queue; also after a change of these CPUs", "",
    keyed_policies) {
    scarce_runtime s;
    if (s.cpus.size() < 2) return;
    const cmwq::cpuset first{s.cpus[0]}, second{s.cpus[1]}, all = s.rt.unbound_cpus();
    any_queue q{policy, s.rt, with_rescuer("disk")};
    const auto waits_on = [&](const cmwq::cpuset& cpus) {
        return eventually([&] {
            const auto threads = threads_named("cmwq/R:disk");
            return threads.size() == 1 && threads[0].second == cpus;
        });
    };
    const auto rescued_on = [&] { // the pools are new and have no thread
        cmwq::cpuset cpus;
        bool on_rescuer = false;
        item w{[&] {
            cpus = cpus_of_this_task();
            on_rescuer = cmwq::this_work::on_rescuer();
        }};
        q.queue(w);
        w.flush();
        CHECK(on_rescuer);
        return cpus;
    };
    s.threads.refuse();
    CHECK(waits_on(all));
    for (const cmwq::cpuset& cpus : {first, second}) {
        s.rt.set_unbound_cpus(cpus);
        CHECK(waits_on(cpus));
        CHECK(rescued_on() == cpus);
        CHECK(waits_on(cpus));
    }
    s.rt.set_unbound_cpus(all);
    CHECK(waits_on(all));
    q.apply(cmwq::attrs{}.cpus(first).strict(true));
    CHECK(waits_on(first));
    CHECK(rescued_on() == first);
}

TEST_CASE("rescue: the rescuer of a bound queue is bound to a CPU only while it runs the items of that CPU") {
    scarce_runtime s;
    if (s.cpus.size() < 2) return;
    std::unique_ptr<cmwq::workqueue<>> q;
    std::thread([&] { // the CPU on which the queue was made does not matter
        CHECK(cmwq::detail::bind_this_thread(cmwq::cpuset{s.cpus[0]}) == 0);
        q = std::make_unique<cmwq::workqueue<>>(s.rt, cmwq::options<>{.name = "disk", .rescuer = true});
    })
        .join();
    const auto is_free = [&] {
        return eventually([&] {
            const auto threads = threads_named("cmwq/R:disk");
            return threads.size() == 1 && threads[0].second == s.rt.cpus();
        });
    };
    CHECK(is_free());
    s.threads.refuse();
    cmwq::cpuset cpus;
    item w{[&] { cpus = cpus_of_this_task(); }};
    for (const unsigned cpu : s.cpus) {
        q->queue_on(cpu, w);
        w.flush();
        CHECK(cpus == cmwq::cpuset{cpu});
        CHECK(is_free());
    }
}

POLICY_TEST_CASE("rescue: all items of an ordered queue run in order although they were queued on different CPUs", "",
                 std::tuple<cmwq::ordered>) {
    scarce_runtime s;
    any_queue q{policy, s.rt, with_rescuer()};
    s.threads.refuse();
    std::vector<int> order;
    for (int i = 0; i < 300; ++i) {
        q.post_on(s.cpus[static_cast<std::size_t>(i) % s.cpus.size()], [&order, i, &s] {
            order.push_back(i);
            if (i == 100) s.threads.allow(); // from here on the rescuer and workers alternate
            if (i == 200) s.threads.refuse();
        });
    }
    q.flush();
    REQUIRE(order.size() == 300);
    for (int i = 0; i < 300; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
}

POLICY_TEST_CASE("rescue: a queue without a rescuer waits in the same pools and continues later", "",
                 threaded_policies) {
    scarce_runtime s;
    any_queue with{policy, s.rt, with_rescuer()};
    any_queue without{policy, s.rt, "plain"};
    s.threads.refuse();
    std::atomic<int> plain{0}, plain_rescued{0}, other{0};
    for (int i = 0; i < 100; ++i) {
        const unsigned cpu = s.cpus[static_cast<std::size_t>(i) % s.cpus.size()];
        without.post_on(cpu, [&] {
            plain_rescued += cmwq::this_work::on_rescuer() ? 1 : 0;
            ++plain;
        });
        with.post_on(cpu, [&] { ++other; });
    }
    with.flush();
    CHECK(other == 100);
    CHECK(plain == 0); // although these items were queued first
    CHECK(without.stats().started == 0);
    CHECK(eventually([&] { return s.events.count(kind::no_thread) == 1; }));
    CHECK(s.events.last(kind::no_thread).error == EAGAIN);
    s.threads.allow();
    without.flush();
    CHECK(plain == 100);
    CHECK(plain_rescued == 0);
    CHECK(all_told(s.rt));
    CHECK(s.events.count(kind::no_thread) == 1);
    CHECK(s.events.count(kind::rescued) == 1);
}

// proves: kernel-8
POLICY_TEST_CASE("rescue: an item that blocks on the rescuer delays no other item once there are workers", "",
                 crowded_policies) {
    const bool announced = GENERATE(false, true);
    scarce_runtime s;
    any_queue q{policy, s.rt, with_rescuer()};
    s.threads.refuse();
    std::binary_semaphore entered{0};
    std::counting_semaphore<> leave{0};
    std::atomic<int> ran{0};
    item stays{[&] {
        entered.release();
        if (announced) cmwq::blocking([&] { leave.acquire(); });
        else leave.acquire();
    }};
    q.queue_on(s.cpus[0], stays);
    entered.acquire();
    for (int i = 0; i < 100; ++i) {
        q.post_on(s.cpus[0], [&] { ran += cmwq::this_work::on_rescuer() ? 1000 : 1; });
    }
    s.threads.allow();
    CHECK(eventually([&] { return ran == 100; }));
    CHECK(stays.busy());
    CHECK(s.rt.stats().items_rescued == 1);
    leave.release();
    stays.flush();
}

// proves: progress-24
POLICY_TEST_CASE("rescue: the rescuer stops when workers are available again and returns when they are blocked", "",
                 threaded_policies) {
    scarce_runtime s;
    any_queue q{policy, s.rt, with_rescuer()};
    s.threads.refuse();
    std::atomic<int> rescued_runs{0};
    const auto run = [&](int n) {
        rescued_runs = 0;
        for (int i = 0; i < n; ++i) {
            q.post_on(s.cpus[0], [&] { rescued_runs += cmwq::this_work::on_rescuer() ? 1 : 0; });
        }
        return [&] { return rescued_runs.load(); };
    };
    const auto first = run(100);
    q.flush();
    CHECK(first() == 100);
    s.threads.allow();
    CHECK(workers_are_back(q, s.cpus[0]));
    const auto second = run(100);
    q.flush();
    CHECK(second() == 0);
    CHECK(all_told(s.rt));
    CHECK(s.events.count(kind::rescued) == 1);
    if (!policy.runs_one_at_a_time) {
        s.threads.refuse();
        std::counting_semaphore<> entered{0}, leave{0};
        std::atomic<int> held{0};
        const unsigned all = s.rt.stats().threads;
        for (unsigned i = 0; i < all; ++i) {
            q.post_on(s.cpus[0], [&] {
                held += cmwq::this_work::on_rescuer() ? 0 : 1;
                entered.release();
                leave.acquire();
            });
        }
        for (unsigned i = 0; i < all; ++i) entered.acquire();
        if (held == static_cast<int>(all)) {
            const auto third = run(100);
            // If one more worker is just being made, that worker runs them.
            CHECK(eventually([&] { return third() == 100 || s.rt.stats().threads > all; }));
        }
        leave.release(all);
        q.flush();
        CHECK(held > 0);
        CHECK(all_told(s.rt));
        CHECK(s.events.count(kind::rescued) == 1); // only one report
    }
}

TEST_CASE("rescue: on_rescuer() is true only in rescued items, and a queue without a rescuer has none") {
    scarce_runtime s;
    CHECK(!cmwq::this_work::on_rescuer());
    std::atomic<std::uint64_t> on_rescuer{0};
    const auto count = [&] { on_rescuer += cmwq::this_work::on_rescuer() ? 1 : 0; };
    cmwq::workqueue<> plain{s.rt, "plain"};
    for (int i = 0; i < 100; ++i) plain.post(count);
    plain.flush();
    CHECK(on_rescuer == 0);
    CHECK(s.rt.stats().items_rescued == 0);
    CHECK(all_told(s.rt));
    CHECK(s.events.count(kind::rescued) == 0);
    // Beside other load the system may take more than 10 ms to make a thread. Then items are rescued.
    cmwq::workqueue<> q{s.rt, {.name = "rescued", .rescuer = true}};
    for (int i = 0; i < 100; ++i) q.post(count);
    q.flush();
    CHECK(on_rescuer == s.rt.stats().items_rescued);
    CHECK(all_told(s.rt));
    CHECK(s.events.count(kind::rescued) == (on_rescuer == 0 ? 0 : 1));
}

TEST_CASE("rescue: endless items in one pool do not keep the rescuer from another pool") {
    scarce_runtime s;
    if (s.cpus.size() < 2) return;
    cmwq::workqueue<> q{s.rt, {.name = "rescued", .rescuer = true}};
    s.threads.refuse();
    std::atomic<bool> other_ran{false};
    std::atomic<int> turns{0};
    std::binary_semaphore running{0};
    item endless{[&] {
        if (++turns == 1) running.release();
        if (!other_ran) q.queue_on(s.cpus[0], endless);
    }};
    item other{[&] { other_ran = true; }};
    q.queue_on(s.cpus[0], endless);
    running.acquire();
    q.queue_on(s.cpus[1], other);
    CHECK(eventually([&] { return other_ran.load(); }));
    other_ran = true; // ends the endless items of a failed test
    q.flush();
    CHECK(!endless.busy());
}

// proves: kernel-8
TEST_CASE("rescue: the rescuer takes turns of sixteen items while another pool waits") {
    scarce_runtime s;
    if (s.cpus.size() < 2) return;
    cmwq::workqueue<> q{s.rt, {.name = "rescued", .rescuer = true}};
    s.threads.refuse();
    constexpr int many = 200;
    std::vector<int> places; // not atomic: only the rescuer writes
    std::counting_semaphore<> entered{0}, leave{0};
    // The rescuer stays in one pool until the other pool has called it.
    for (int c = 0; c < 2; ++c) {
        q.post_on(s.cpus[static_cast<std::size_t>(c)], [&] {
            entered.release();
            leave.acquire();
        });
    }
    entered.acquire();
    for (int i = 0; i < many; ++i) {
        for (int c = 0; c < 2; ++c) {
            q.post_on(s.cpus[static_cast<std::size_t>(c)], [&places, c] { places.push_back(c); });
        }
    }
    leave.release();
    entered.acquire(); // the rescuer has left the first pool, or has run all its items
    const auto before = places.size();
    leave.release();
    q.flush();
    REQUIRE(places.size() == 2 * many);
    CHECK(s.rt.stats().items_rescued == 2 * many + 2);
    // The first stay may be longer, until the other pool calls the rescuer. After that the pools take turns.
    int longest = 0, stay = 0, left_of[2] = {many, many};
    for (std::size_t i = 0; i < places.size(); ++i) {
        stay = i > before && places[i] == places[i - 1] ? stay + 1 : 1;
        --left_of[places[i]];
        if (i >= before && left_of[1 - places[i]] > 0) longest = std::max(longest, stay);
    }
    CHECK(longest <= 16);
}

// The manager thread tries again after about a millisecond, unless it gets no CPU. Therefore the test repeats its
// attempt.
TEST_CASE("rescue: a short refusal of threads calls no rescuer; also if the rescuer was called before") {
    const bool rescued_before = GENERATE(false, true);
    CHECK(eventually([&] {
        fake_threads threads;
        cmwq::runtime rt{{.sentinel = false, .threads = &threads}};
        cmwq::workqueue<cmwq::unbound> q{rt, {.name = "rescued", .rescuer = true}};
        std::counting_semaphore<> entered{0}, leave{0};
        const auto stay = [&] {
            entered.release();
            leave.acquire();
        };
        const auto hold = [&] {
            q.post(stay);
            entered.acquire();
        };
        if (rescued_before) {
            threads.refuse();
            hold(); // runs on the rescuer
            threads.allow();
            hold(); // runs on a worker, which causes a second worker to be made
            leave.release(2);
            q.flush();
            threads.refuse(2);
            hold();
            hold(); // runs on the second worker; its spare is the first refusal
        } else {
            threads.refuse(1);
        }
        const std::uint64_t before = rt.stats().items_rescued;
        hold(); // its thread is refused once
        const bool patient = rt.stats().items_rescued == before && threads.refusals_left() == 0;
        leave.release(3);
        q.flush();
        return patient;
    }));
}

namespace {

/// Timers of 1 ms, one after the other, on a pool that already has its workers.
class beat {
public:
    explicit beat(cmwq::runtime& rt) : q_(rt, {.name = "beat", .priority = cmwq::priority::high}) {
        q_.post_on(first_cpu(), [] {});
        q_.flush();
    }
    /// Returns whether `n` timers fire.
    bool goes_on(int n = 5) {
        nr_ = 0;
        for (int i = 0; i < n; ++i) {
            q_.queue_after_on(first_cpu(), std::chrono::milliseconds(1), timer_);
            if (!eventually([&] { return nr_ == i + 1; })) return false;
        }
        return true;
    }

private:
    cmwq::workqueue<> q_;
    std::atomic<int> nr_{0};
    cmwq::delayed_work<std::function<void()>> timer_{[this] { ++nr_; }};
};

} // namespace

// The rescuers of the kernel exist for this case: the start of a thread does not fail but takes a long time.
// proves: progress-25
POLICY_TEST_CASE("rescue: rescuers are called and timers fire while the start of a thread takes seconds", "",
                 threaded_policies) {
    fake_threads threads;
    cmwq::runtime rt{{.threads = &threads}};
    beat timers(rt);
    any_queue first{policy, rt, with_rescuer()}, plain{policy, rt, "plain"};
    cmwq::options<cmwq::unbound> o{.name = "second", .rescuer = true};
    o.attrs.nice(3); // a pool of its own
    cmwq::workqueue<cmwq::unbound> second{rt, std::move(o)};
    REQUIRE(timers.goes_on(1));

    threads.stall();
    std::atomic<int> rescued{0};
    const auto count = [&] { rescued += cmwq::this_work::on_rescuer() ? 1 : 0; };
    plain.post_on(first_cpu(), [] {});                              // it has to wait for a worker
    REQUIRE(eventually([&] { return threads.nr_stalled() == 1; })); // the only thread that makes threads is stalled
    for (int i = 0; i < 10; ++i) first.post_on(first_cpu(), count);
    for (int i = 0; i < 10; ++i) second.post(count);
    CHECK(timers.goes_on());
    CHECK(eventually([&] { return rescued == 20; }));
    CHECK(timers.goes_on());
    threads.go_on();
    first.flush();
    second.flush();
    CHECK(rescued == 20);
}

// proves: progress-25
POLICY_TEST_CASE("rescue: a worker whose spare takes seconds to start delays no other item", "", crowded_policies) {
    fake_threads threads;
    cmwq::runtime rt{{.threads = &threads}};
    beat timers(rt);
    any_queue q{policy, rt, with_rescuer()};
    q.post_on(first_cpu(), [] {});
    q.flush();
    REQUIRE(timers.goes_on(1));

    threads.stall();
    std::counting_semaphore<> leave{0};
    std::atomic<int> entered{0}, rescued{0};
    int n = 0;
    // The workers block one after another, until one of them has to wait for its spare. That may be the first one, and
    // the rescuer may have taken an item before. The manager thread may wait for a thread of another pool meanwhile.
    const auto is_rescued = [&] {
        const bool done = threads.nr_stalled() != 0 && rescued == 1;
        if (done || entered != n) return done;
        ++n;
        q.post_on(first_cpu(), [&] {
            rescued += cmwq::this_work::on_rescuer() ? 1 : 0;
            ++entered;
            cmwq::blocking([&] { leave.acquire(); });
        });
        return false;
    };
    CHECK(eventually(is_rescued));
    CHECK(timers.goes_on());
    leave.release(n);
    CHECK(eventually([&] { return entered == n; }));
    threads.go_on();
    q.flush();
}
