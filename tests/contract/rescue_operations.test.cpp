// SPDX-License-Identifier: BSL-1.0
//
// All operations on items and queues also work while a rescuer runs the items.
#include "any_queue.hpp"
#include "catch.hpp"
#include "eventually.hpp"
#include "gate.hpp"
#include "policy_list.hpp"
#include "policy_test_case.hpp"
#include "scarce_runtime.hpp"
#include "stress.hpp"

#include <cmwq/async.hpp>
#include <cmwq/cmwq.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using cmwq::queue_status;
using namespace cmwq_test;
using kind = cmwq::event::kind;

namespace {

using item = cmwq::work<std::function<void()>>;

/// A queue whose rescuer runs an item until the test releases that item.
struct rescue_in_progress : scarce_runtime {
    explicit rescue_in_progress(const any_policy& p) : q(std::in_place, p, rt, with_rescuer()) {
        threads.refuse();
        stays.hold(*q, cpus[0]);
    }
    std::optional<any_queue> q;
    gate stays; // released before the queue is destroyed
};

} // namespace

POLICY_TEST_CASE("rescue: items that wait behind the rescuer can be cancelled or disabled or flushed", "",
                 threaded_policies) {
    rescue_in_progress s{policy};
    auto& q = *s.q;
    std::atomic<int> runs{0}, other_runs{0};
    item cancelled{[&] { runs += 1000; }}, disabled{[&] { runs += 1000; }}, flushed{[&] { ++runs; }};
    std::vector<std::unique_ptr<item>> rest;
    for (item* w : {&cancelled, &flushed, &disabled}) q.queue_on(s.cpus[0], *w);
    for (int i = 0; i < 20; ++i) {
        rest.push_back(std::make_unique<item>([&] { ++other_runs; }));
        q.queue_on(s.cpus[0], *rest.back());
    }
    CHECK(cancelled.pending());
    CHECK(cancelled.cancel());
    CHECK(!cancelled.pending());
    CHECK(disabled.disable_sync());
    CHECK(q.queue(disabled) == queue_status::disabled);
    CHECK(rest[0]->cancel_sync());
    CHECK(rest[10]->cancel());
    CHECK(rest[19]->cancel());
    CHECK(q.queue_on(s.cpus[0], cancelled) == queue_status::queued);
    CHECK(cancelled.cancel());
    CHECK(s.stays.item.busy());
    CHECK(!s.stays.item.pending());
    s.stays.open();
    flushed.flush(); // it may have run by now
    CHECK(runs == 1);
    q.flush();
    CHECK(other_runs == 17);
    CHECK(disabled.enable());
    CHECK(q.queue(disabled) == queue_status::queued);
    disabled.flush();
    CHECK(runs == 1001);
}

POLICY_TEST_CASE("rescue: a wait for the item on the rescuer ends with its run", "", threaded_policies) {
    rescue_in_progress s{policy};
    auto& q = *s.q;
    std::atomic<int> returned{0};
    const std::function<void()> waits[] = {
        [&] { returned += s.stays.item.flush() ? 1 : 100; },
        [&] { returned += s.stays.item.cancel_sync() ? 100 : 1; },
        [&] { q.flush(), ++returned; },
        [&] { q.drain(), ++returned; },
    };
    std::vector<std::thread> waiting;
    cmwq::detail::thread_probe probes[std::size(waits)];
    std::atomic<std::size_t> started{0};
    for (std::size_t i = 0; i < std::size(waits); ++i) {
        waiting.emplace_back([&, i] {
            probes[i].open_own(cmwq::detail::state_files::kept);
            ++started;
            waits[i]();
        });
    }
    CHECK(eventually([&] {
        return started == std::size(waits) &&
               std::all_of(std::begin(probes), std::end(probes), [](const auto& p) { return p.blocked(); });
    }));
    item late{[] {}};
    CHECK(q.queue(late) == queue_status::rejected); // the drain has begun
    CHECK(returned == 0);
    s.stays.open();
    for (std::thread& t : waiting) t.join();
    CHECK(returned == 4);
    CHECK(s.stays.runs == 1);
}

POLICY_TEST_CASE("rescue: the destructor waits for the items that the rescuer has to run", "", threaded_policies) {
    rescue_in_progress s{policy};
    std::atomic<int> runs{0};
    for (int i = 0; i < 100; ++i) s.q->post_on(s.cpus[static_cast<std::size_t>(i) % s.cpus.size()], [&] { ++runs; });
    std::thread opens([&] {
        item probe{[] {}};
        static_cast<void>(eventually([&] { return s.q->queue(probe) == queue_status::rejected; }));
        s.stays.open();
        probe.cancel_sync();
    });
    s.q->drain();
    opens.join();
    for (int i = 0; i < 100; ++i) s.q->post_on(s.cpus[static_cast<std::size_t>(i) % s.cpus.size()], [&] { ++runs; });
    s.q.reset();
    CHECK(runs == 200);
    CHECK(s.rt.stats().threads == 0);
    CHECK(s.rt.stats().items_rescued == s.rt.stats().items_completed);
}

POLICY_TEST_CASE("rescue: exceptions of items on the rescuer go to on_exception and results go to futures", "",
                 threaded_policies) {
    scarce_runtime s;
    std::atomic<int> caught{0};
    any_options o = with_rescuer();
    o.on_exception = [&](const std::exception_ptr&) { caught += cmwq::this_work::on_rescuer() ? 1 : 100; };
    any_queue q{policy, s.rt, std::move(o)};
    s.threads.refuse();
    q.post([] { throw std::runtime_error("out"); });
    CHECK(q.async([] { return cmwq::this_work::on_rescuer() ? 42 : 0; }).get() == 42);
    q.flush();
    CHECK(caught == 1);
}

POLICY_TEST_CASE("rescue: apply() moves a queue away while its rescuer runs and no item is lost", "", keyed_policies) {
    rescue_in_progress s{policy};
    auto& q = *s.q;
    std::vector<int> order;
    int next = 0;
    const auto queue_some = [&] {
        for (int i = 0; i < 20; ++i) {
            q.post_on(s.cpus[0], [&order, n = next++] { order.push_back(n); }); // only the rescuer runs them
        }
    };
    queue_some();
    for (const int nice : {5, 6, 0}) {
        q.apply(cmwq::attrs{}.nice(nice));
        queue_some();
    }
    s.stays.open();
    q.flush();
    REQUIRE(order.size() == 80);
    if (policy.runs_one_at_a_time) {
        for (int i = 0; i < 80; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
    }
    CHECK(s.rt.stats().items_rescued == 81);
    CHECK(q.stats().completed == 81);
    // The old pools end, and the records of their rescuers with them.
    q.apply(cmwq::attrs{}.nice(7));
    CHECK(eventually([&] { return s.rt.dump().find("nice=  6") == std::string::npos; }));
    queue_some();
    q.flush();
    CHECK(order.size() == 100);
}

POLICY_TEST_CASE("rescue: set_max_active takes effect while the rescuer runs", "", limited_policies) {
    scarce_runtime s;
    any_options o = with_rescuer();
    o.max_active = 1;
    any_queue q{policy, s.rt, std::move(o)};
    s.threads.refuse();
    gate stays;
    stays.hold(q, s.cpus[0]);
    std::atomic<int> runs{0}, on_rescuer{0};
    for (int i = 0; i < 50; ++i) {
        q.post_on(s.cpus[0], [&] {
            ++runs;
            on_rescuer += cmwq::this_work::on_rescuer() ? 1 : 0;
        });
    }
    q.set_max_active(4);
    s.threads.allow();
    CHECK(eventually([&] { return runs == 50; })); // beside the item that stays
    CHECK(on_rescuer == 0);
    q.set_max_active(1);
    stays.open();
    q.flush();
    CHECK(q.stats().completed == 51);
}

POLICY_TEST_CASE("rescue: shutdown(cancel_pending) drops the items that wait behind the rescuer", "",
                 threaded_policies) {
    rescue_in_progress s{policy};
    std::atomic<int> runs{0};
    for (int i = 0; i < 50; ++i) s.q->post_on(s.cpus[0], [&] { ++runs; });
    item again{[] {}};
    s.q->queue(s.stays.item); // pending behind its own run on the rescuer
    std::thread opens([&] {
        static_cast<void>(eventually([&] { return s.q->queue(again) == queue_status::rejected; }));
        static_cast<void>(eventually([&] { return !s.stays.item.pending(); }));
        s.stays.open();
    });
    CHECK(s.q->shutdown(cmwq::cancel_pending) >= 51);
    opens.join();
    CHECK(runs == 0);
    CHECK(s.stays.runs == 1);
}

POLICY_TEST_CASE("rescue: an item that queues itself and that other threads queue never runs twice at once", "",
                 threaded_policies) {
    scarce_runtime s;
    stress::complaints complaints;
    stress::exclusive once(complaints);
    std::atomic<int> left{300}, runs{0}, queued{0}, on_rescuer{0};
    any_queue q{policy, s.rt, with_rescuer()};
    s.threads.refuse();
    const auto queue_it = [&](item& w) {
        if (q.queue(w) == queue_status::queued) ++queued;
    };
    item w{[&] {
        once.run([&] {
            ++runs;
            on_rescuer += cmwq::this_work::on_rescuer() ? 1 : 0;
            const int n = --left;
            if (n == 200) s.threads.allow(); // from here to 100 there are workers, and the rescuer may stop
            if (n == 100) s.threads.refuse();
            if (n > 0) queue_it(w);
        });
    }};
    std::thread other([&] {
        while (left > 0) {
            queue_it(w);
            std::this_thread::yield();
        }
    });
    queue_it(w);
    other.join();
    q.flush();
    CHECK(complaints.text().empty());
    CHECK(runs == queued);
    CHECK(left <= 0);
    CHECK(on_rescuer >= 100);
}

TEST_CASE("rescue: an item of another queue that is queued while the rescuer runs it runs there again") {
    // The rescuer runs this item although the queue of the item has no rescuer: on another thread the item would run
    // twice at once.
    scarce_runtime s;
    cmwq::workqueue<> with{s.rt, {.name = "rescued", .rescuer = true}};
    cmwq::workqueue<> without{s.rt, "plain"};
    s.threads.refuse();
    gate stays;
    stays.hold(with, s.cpus[0]);
    CHECK(without.queue_on(s.cpus[0], stays.item) == queue_status::queued);
    s.threads.allow(); // workers start, and leave the item to the rescuer
    item probe{[] {}};
    without.queue_on(s.cpus[0], probe);
    probe.flush();
    CHECK(stays.runs == 1);
    CHECK(stays.item.pending());
    stays.open(2);
    without.flush();
    CHECK(stays.runs == 2);
    CHECK(without.stats().completed == 2);
}

TEST_CASE("rescue: an item on the rescuer that is queued on another CPU runs after its run and not beside it") {
    scarce_runtime s;
    if (s.cpus.size() < 2) return;
    cmwq::workqueue<> q{s.rt, {.name = "rescued", .rescuer = true}};
    s.threads.refuse();
    gate stays;
    stays.hold(q, s.cpus[0]);
    s.threads.allow();
    item probe{[] {}};
    q.queue_on(s.cpus[1], stays.item);
    q.queue_on(s.cpus[1], probe);
    probe.flush(); // that CPU has workers, and the other one will have them when it needs them
    q.queue_on(s.cpus[0], probe);
    probe.flush();
    CHECK(stays.runs == 1);
    stays.open(2);
    q.flush();
    CHECK(stays.runs == 2);
}

TEST_CASE("rescue: an item of an elastic queue on the rescuer runs the items that it flushes") {
    scarce_runtime s;
    cmwq::workqueue<cmwq::elastic> q{s.rt, {.name = "rescued", .rescuer = true}};
    s.threads.refuse();
    int inner_runs = 0;
    bool rescued = true;
    cmwq::work inner{[&] {
        rescued = rescued && cmwq::this_work::on_rescuer();
        ++inner_runs;
        q.post([&] { ++inner_runs; }); // not to a list of the rescuer, which runs no local items
    }};
    q.async([&] {
         q.queue(inner);
         inner.flush();
         q.queue(inner);
         inner.flush();
         if (inner_runs < 2) rescued = false;
     }).get();
    q.flush();
    CHECK(rescued);
    CHECK(inner_runs == 4);
    s.threads.allow();
}

TEST_CASE("rescue: an item that another one on the rescuer runs is on the rescuer too, whatever its queue") {
    scarce_runtime s;
    cmwq::workqueue<cmwq::elastic> q{s.rt, {.name = "rescued", .rescuer = true}}, without{s.rt, "without"};
    s.threads.refuse();
    bool rescued = false;
    cmwq::work inner{[&] { rescued = cmwq::this_work::on_rescuer(); }};
    q.async([&] {
         without.queue(inner);
         inner.flush();
     }).get();
    CHECK(rescued);
    s.threads.allow();
}
