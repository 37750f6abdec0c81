// SPDX-License-Identifier: BSL-1.0
//
// Operations on items and queues in a freeze: items can be cancelled, waits last until the thaw, settings take effect
// after the thaw.
#include "any_queue.hpp"
#include "catch.hpp"
#include "eventually.hpp"
#include "freezable.hpp"
#include "gate.hpp"
#include "policy_list.hpp"
#include "policy_test_case.hpp"
#include "scarce_runtime.hpp"

#include <cmwq/cmwq.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using cmwq::queue_status;
using namespace cmwq_test;

namespace {

using item = cmwq::work<std::function<void()>>;
using timed_item = cmwq::delayed_work<std::function<void()>>;

} // namespace

POLICY_TEST_CASE("freeze: a timer that expires queues its item which then waits for the thaw", "", threaded_policies) {
    freezable_world w{policy};
    std::vector<int> order; // timers of one CPU; not atomic: the test waits for one after the other
    timed_item early{[&] { order.push_back(1); }}, late{[&] { order.push_back(2); }};
    w.q.queue_after_on(w.cpu, 10ms, early);
    w.rt.freeze();
    CHECK(w.q.queue_after_on(w.cpu, 1h, late) == queue_status::queued); // a freeze does not reject items
    w.clock.advance(10ms);
    w.let_start();
    CHECK(order.empty());
    CHECK(early.pending());
    CHECK(w.rt.frozen()); // the item does not count as active
    w.rt.thaw();
    early.flush();
    CHECK(order == std::vector{1});
    CHECK(late.pending()); // its time has not come yet
    w.rt.freeze();
    w.clock.advance(2h);
    CHECK(w.q.modify(1h, late) == queue_status::modified); // it is an armed timer again
    w.rt.thaw();
    w.let_start();
    CHECK(order == std::vector{1});
    w.clock.advance(1h);
    late.flush();
    CHECK(order == std::vector{1, 2});
}

POLICY_TEST_CASE("freeze: an item that waits for the thaw can be cancelled or disabled or destroyed at once", "",
                 threaded_policies) {
    freezable_world w{policy};
    std::atomic<int> wrong{0}, runs{0};
    const auto never = [&] { ++wrong; };
    w.rt.freeze();
    item cancelled{never}, cancelled_sync{never}, disabled{never}, disabled_sync{never}, stays{[&] { ++runs; }};
    std::optional<item> destroyed{std::in_place, never};
    for (item* i : {&cancelled, &cancelled_sync, &disabled, &disabled_sync, &*destroyed, &stays})
        CHECK(w.q.queue_on(w.cpu, *i) == queue_status::queued);
    CHECK(cancelled.cancel());
    CHECK(cancelled_sync.cancel_sync());
    CHECK(disabled.disable());
    CHECK(disabled_sync.disable_sync());
    destroyed.reset();
    CHECK(w.q.queue(disabled) == queue_status::disabled);
    CHECK(w.q.queue(stays) == queue_status::already_pending);
    disabled.enable();
    disabled_sync.enable();
    CHECK(w.other.queue(cancelled_sync) == queue_status::queued); // it may run on another queue
    cancelled_sync.flush();
    CHECK(wrong == 1);
    w.rt.thaw();
    w.q.flush();
    CHECK(wrong == 1);
    CHECK(runs == 1);
    CHECK(w.q.stats().started == 1);
}

POLICY_TEST_CASE("freeze: a wait for a frozen queue or item waits for the thaw", "", threaded_policies) {
    freezable_world w{policy};
    cmwq::workqueue<cmwq::unbound> aside{w.rt, "aside"}; // its items wait; the dump shows these waits
    auto goes = std::make_unique<any_queue>(policy, w.rt, freezable(policy, policy.default_max_active, "goes"));
    item pending{[] {}};
    std::atomic<int> runs{0}, done{0};
    w.rt.freeze();
    for (auto* q : {&w.q, goes.get()}) q->post_on(w.cpu, [&] { ++runs; });
    w.q.queue_on(w.cpu, pending);
    const auto wait = [&](auto call) {
        aside.post([&done, call] {
            call();
            ++done;
        });
    };
    wait([&] { w.q.flush(); });
    wait([&] { pending.flush(); });
    wait([&] { w.q.drain(); });
    wait([&] { goes.reset(); });
    for (const char* call : {" waits in flush() for queue", " waits in flush() for item", " waits in drain() for queue",
                             " waits in ~workqueue() for queue"}) {
        INFO(call);
        CHECK(eventually([&] { return w.rt.dump().find(call) != std::string::npos; }));
    }
    CHECK(done == 0);
    CHECK(runs == 0);
    CHECK(w.rt.frozen());
    CHECK(w.q.post([] {}) == queue_status::rejected); // the queue drains
    w.rt.thaw();
    aside.flush();
    CHECK(done == 4);
    CHECK(runs == 2);
    CHECK(w.q.post([] {}) == queue_status::queued);
}

POLICY_TEST_CASE("freeze: a wait for a frozen queue in which no item waits returns at once", "", threaded_policies) {
    freezable_world w{policy};
    std::atomic<int> runs{0};
    w.q.post([&] { ++runs; });
    const cmwq::freeze_guard still{w.rt}; // the item has finished, or it waits for the thaw
    item never{[] {}};
    CHECK_FALSE(never.flush());
    any_queue empty{policy, w.rt, freezable(policy)};
    empty.flush();
    empty.drain();
    CHECK(w.q.shutdown(cmwq::cancel_pending) + static_cast<std::size_t>(runs) == 1);
}

POLICY_TEST_CASE("freeze: shutdown drops the items that wait for the thaw and does not wait for it", "",
                 threaded_policies) {
    freezable_world w{policy, 1};
    gate g;
    std::atomic<int> runs{0};
    timed_item armed{[&] { ++runs; }};
    g.hold(w.q, w.cpu);
    w.q.post_on(w.cpu, [&] { ++runs; });
    w.rt.freeze();
    w.q.post_on(w.cpu, [&] { ++runs; });
    w.q.queue_after(1h, armed);
    w.q.queue(g.item); // queued again, behind its own run
    std::size_t dropped = 0;
    std::thread shuts([&] { dropped = w.q.shutdown(cmwq::cancel_pending); });
    CHECK(eventually([&] { return !armed.pending() && !g.item.pending(); }));
    g.open();
    shuts.join(); // during the freeze
    CHECK(dropped == 4);
    CHECK(w.rt.frozen());
    w.rt.thaw();
    w.q.flush();
    CHECK(runs == 0);
    CHECK(g.runs == 1);
    CHECK(w.q.post([] {}) == queue_status::rejected);
}

POLICY_TEST_CASE("freeze: a limit that is set during a freeze takes effect after the thaw", "", limited_policies) {
    freezable_world w{policy, 1};
    w.rt.freeze();
    std::counting_semaphore<> entered{0}, leave{0};
    std::atomic<int> inside{0};
    for (int i = 0; i < 5; ++i) {
        w.q.post_on(w.cpu, [&] {
            ++inside;
            entered.release();
            leave.acquire();
        });
    }
    w.q.set_max_active(3);
    w.let_start();
    CHECK(inside == 0);
    w.rt.thaw();
    for (int i = 0; i < 3; ++i) entered.acquire();
    w.let_start();
    CHECK(inside == 3);
    leave.release(5);
    w.q.flush();
}

POLICY_TEST_CASE("freeze: the new pools are frozen if attributes change during a freeze", "", keyed_policies) {
    freezable_world w{policy, 1};
    any_queue nice{policy, w.rt, {.name = "nice", .attrs = cmwq::attrs{}.nice(1)}}; // uses the new pools
    std::atomic<int> started{0};
    std::vector<int> order; // not atomic: one item at a time, because the pools take turns
    std::atomic<int> nr{0};
    const auto queue_five = [&] {
        for (int i = 0; i < 5; ++i) {
            w.q.post_on(w.cpu, [&, n = nr++] {
                ++started;
                if (policy.runs_one_at_a_time) order.push_back(n);
            });
        }
    };
    queue_five();
    {
        const cmwq::freeze_guard still{w.rt};
        const int before = started;
        queue_five();
        w.q.apply(cmwq::attrs{}.nice(1));
        queue_five();
        w.rt.set_unbound_cpus(cmwq::cpuset{w.cpu});
        queue_five();
        nice.post([] {});
        nice.flush();
        w.let_start();
        CHECK(started == before);
        CHECK(w.rt.frozen());
    }
    w.q.flush();
    CHECK(started == 20);
    if (policy.runs_one_at_a_time) {
        CHECK(order.size() == 20);
        CHECK(std::is_sorted(order.begin(), order.end()));
    }
}

POLICY_TEST_CASE("freeze: an item on the rescuer finishes and the rescuer continues after the thaw", "",
                 threaded_policies) {
    scarce_runtime s;
    any_options o = with_rescuer();
    o.freezable = true;
    any_queue q{policy, s.rt, std::move(o)};
    any_queue other{policy, s.rt, with_rescuer("other")};
    s.threads.refuse();
    gate g;
    g.hold(q, s.cpus[0]);
    std::atomic<int> rescued{0};
    const auto count = [&] { rescued += cmwq::this_work::on_rescuer() ? 1 : 0; };
    s.rt.freeze();
    for (int i = 0; i < 50; ++i) q.post_on(s.cpus[static_cast<std::size_t>(i) % s.cpus.size()], count);
    CHECK_FALSE(s.rt.frozen());
    g.open();
    CHECK(s.rt.wait_frozen());
    other.post(count);
    other.flush();
    CHECK(rescued == 1); // the item of the other queue
    CHECK(q.stats().started == 1);
    s.rt.thaw();
    q.flush();
    CHECK(rescued == 51);
}
