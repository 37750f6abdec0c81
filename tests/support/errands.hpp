// SPDX-License-Identifier: BSL-1.0
//
// Everything that a thread may do with a runtime, done once: for the threads in which a program would not expect it.
#pragma once

#include "any_policy.hpp"
#include "any_queue.hpp"
#include "eventually.hpp"
#include "gate.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

namespace cmwq_test {

/// Runs errands on queues of its own, of each of the policies. No check of Catch2: they may run on any thread.
class errands {
public:
    /// Calls that wait for no item. Returns what went wrong, in lines.
    static std::string that_do_not_wait(cmwq::runtime& rt) {
        errands e;
        for (const any_policy& p : policies_in(every_policy{})) e.without_waits(p, rt);
        return e.wrong_;
    }

    /// Calls that wait for items, tasks, and the ends of queues and runtimes.
    template <class Policies = every_policy>
    static std::string that_wait(cmwq::runtime& rt) {
        errands e;
        for (const any_policy& p : policies_in(Policies{})) {
            e.flushes(p, rt);
            e.cancels(p, rt);
            e.destroys(p, rt);
            e.queues_on_a_draining_queue(p, rt);
        }
        e.makes_a_runtime();
        return e.wrong_;
    }

private:
    using function_item = cmwq::work<std::function<void()>>;
    using function_timer = cmwq::delayed_work<std::function<void()>>;

    void expect(const any_policy& p, bool good, std::string_view what) {
        if (!good) wrong_.append(p.name).append(": ").append(what).append("\n");
    }

    void without_waits(const any_policy& p, cmwq::runtime& rt) {
        using enum cmwq::queue_status;
        any_queue q{p, rt, "q"};
        function_timer timer{[] {}};
        expect(p, q.queue_after(std::chrono::hours{1}, timer) == queued, "queue_after()");
        expect(p, q.modify(std::chrono::hours{2}, timer) == modified, "modify()");
        expect(p, timer.cancel(), "cancel() of a timer");
        function_item never{[] {}};
        never.disable();
        expect(p, q.queue(never) == disabled, "queue() of a disabled item");
        static_cast<void>(q.stats());
    }

    void flushes(const any_policy& p, cmwq::runtime& rt) {
        int runs = 0;
        function_item item{[&] { ++runs; }};
        any_queue q{p, rt, "flushed"};
        q.queue(item);
        q.flush();
        expect(p, runs == 1, "flush() of a queue");
        q.queue(item);
        item.flush();
        expect(p, runs == 2, "flush() of an item");
        q.queue(item);
        q.drain();
        expect(p, runs == 3, "drain()");
        if (p.can_block) {
            expect(p, q.async([] { return 1; }).get() == 1, "async()");
            std::atomic<int> tasks{0};
            const auto group = q.make_group();
            for (int i = 0; i < 3; ++i) group->run([&] { ++tasks; });
            expect(p, group->wait() && tasks == 3, "wait()");
        }
        if (p.has_attributes) {
            q.queue(item);
            q.apply(cmwq::attrs{}.nice(1));
            q.queue(item);
            q.flush();
            expect(p, runs >= 4, "apply()");
        }
    }

    void cancels(const any_policy& p, cmwq::runtime& rt) {
        any_queue q{p, rt, "cancelled"};
        gate g;
        g.hold(q);
        std::thread opener{[&] { g.open(); }};
        g.item.cancel_sync();
        expect(p, g.runs == 1, "cancel_sync()");
        opener.join();
        g.hold(q);
        g.open();
        g.item.disable_sync();
        expect(p, q.queue(g.item) == cmwq::queue_status::disabled, "disable_sync()");
        g.item.enable();
    }

    void destroys(const any_policy& p, cmwq::runtime& rt) {
        std::atomic<int> runs{0};
        {
            any_queue q{p, rt, "destroyed"};
            for (int i = 0; i < 3; ++i) q.post([&] { ++runs; });
        }
        expect(p, runs == 3, "the destructor of a queue");
        any_queue q{p, rt, at_most(p, 1, "shut down")};
        gate g;
        g.hold(q);
        for (int i = 0; i < 3; ++i) q.post_on(first_cpu(), [&] { ++runs; });
        std::thread opener{[&] { g.open(); }};
        const std::size_t dropped = q.shutdown(cmwq::cancel_pending);
        expect(p, static_cast<std::size_t>(runs) + dropped == 6, "shutdown()");
        opener.join();
    }

    void queues_on_a_draining_queue(const any_policy& p, cmwq::runtime& rt) {
        any_queue q{p, rt, "drained"};
        gate g;
        g.hold(q);
        std::thread drainer{[&] { q.drain(); }};
        expect(p, eventually([&] { return q.post([] {}) == cmwq::queue_status::rejected; }), "queue() during a drain");
        g.open();
        drainer.join();
    }

    void makes_a_runtime() {
        int runs = 0;
        cmwq::runtime own;
        cmwq::workqueue<> q{own, "q"};
        q.post([&] { ++runs; });
        q.flush();
        expect(policy_of<cmwq::bound>, runs == 1, "a runtime of its own");
    }

    std::string wrong_;
};

} // namespace cmwq_test
