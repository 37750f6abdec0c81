// SPDX-License-Identifier: BSL-1.0
//
// Everything that a thread may do with a runtime, done once: for the threads in which a program would not expect it.
#pragma once

#include "eventually.hpp"
#include "gate.hpp"
#include "policy_list.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>

namespace cmwq_test {

/// Runs errands on queues of its own, of each of the policies. No check of Catch2: they may run on any thread.
class errands {
public:
    /// Calls that wait for no item. Returns what went wrong, in lines.
    static std::string that_do_not_wait(cmwq::runtime& rt) {
        errands e;
        of_each(every_policy{}, [&]<class P>() { e.without_waits<P>(rt); });
        return e.wrong_;
    }

    /// Calls that wait for items, tasks, and the ends of queues and runtimes.
    template <class Policies = every_policy>
    static std::string that_wait(cmwq::runtime& rt) {
        errands e;
        of_each(Policies{}, [&]<class P>() {
            e.flushes<P>(rt);
            e.cancels<P>(rt);
            e.destroys<P>(rt);
            e.queues_on_a_draining_queue<P>(rt);
        });
        e.makes_a_runtime();
        return e.wrong_;
    }

private:
    using function_item = cmwq::work<std::function<void()>>;
    using function_timer = cmwq::delayed_work<std::function<void()>>;

    template <class... P, class F>
    static void of_each(std::tuple<P...> /*policies*/, F f) {
        (f.template operator()<P>(), ...);
    }

    template <class P>
    void expect(bool good, std::string_view what) {
        if (!good) wrong_.append(P::name).append(": ").append(what).append("\n");
    }

    template <class P>
    void without_waits(cmwq::runtime& rt) {
        using enum cmwq::queue_status;
        cmwq::workqueue<P> q{rt, "q"};
        function_timer timer{[] {}};
        expect<P>(q.queue_after(std::chrono::hours{1}, timer) == queued, "queue_after()");
        expect<P>(q.modify(std::chrono::hours{2}, timer) == modified, "modify()");
        expect<P>(timer.cancel(), "cancel() of a timer");
        function_item never{[] {}};
        never.disable();
        expect<P>(q.queue(never) == disabled, "queue() of a disabled item");
        static_cast<void>(q.stats());
    }

    template <class P>
    void flushes(cmwq::runtime& rt) {
        int runs = 0;
        function_item item{[&] { ++runs; }};
        cmwq::workqueue<P> q{rt, "flushed"};
        q.queue(item);
        q.flush();
        expect<P>(runs == 1, "flush() of a queue");
        q.queue(item);
        item.flush();
        expect<P>(runs == 2, "flush() of an item");
        q.queue(item);
        q.drain();
        expect<P>(runs == 3, "drain()");
        if constexpr (can_block<P>) {
            expect<P>(q.async([] { return 1; }).get() == 1, "async()");
            std::atomic<int> tasks{0};
            cmwq::task_group group{q};
            for (int i = 0; i < 3; ++i) group.run([&] { ++tasks; });
            expect<P>(group.wait() && tasks == 3, "wait()");
        }
        if constexpr (has_attributes<P>) {
            q.queue(item);
            q.apply(cmwq::attrs{}.nice(1));
            q.queue(item);
            q.flush();
            expect<P>(runs >= 4, "apply()");
        }
    }

    template <class P>
    void cancels(cmwq::runtime& rt) {
        cmwq::workqueue<P> q{rt, "cancelled"};
        gate<P> g;
        g.hold(q);
        std::thread opener{[&] { g.open(); }};
        g.item.cancel_sync();
        expect<P>(g.runs == 1, "cancel_sync()");
        opener.join();
        g.hold(q);
        g.open();
        g.item.disable_sync();
        expect<P>(q.queue(g.item) == cmwq::queue_status::disabled, "disable_sync()");
        g.item.enable();
    }

    template <class P>
    void destroys(cmwq::runtime& rt) {
        std::atomic<int> runs{0};
        {
            cmwq::workqueue<P> q{rt, "destroyed"};
            for (int i = 0; i < 3; ++i) q.post([&] { ++runs; });
        }
        expect<P>(runs == 3, "the destructor of a queue");
        cmwq::workqueue<P> q{rt, at_most<P>(1, "shut down")};
        gate<P> g;
        g.hold(q);
        for (int i = 0; i < 3; ++i) q.post_on(first_cpu(), [&] { ++runs; });
        std::thread opener{[&] { g.open(); }};
        const std::size_t dropped = q.shutdown(cmwq::cancel_pending);
        expect<P>(static_cast<std::size_t>(runs) + dropped == 6, "shutdown()");
        opener.join();
    }

    template <class P>
    void queues_on_a_draining_queue(cmwq::runtime& rt) {
        cmwq::workqueue<P> q{rt, "drained"};
        gate<P> g;
        g.hold(q);
        std::thread drainer{[&] { q.drain(); }};
        expect<P>(eventually([&] { return q.post([] {}) == cmwq::queue_status::rejected; }), "queue() during a drain");
        g.open();
        drainer.join();
    }

    void makes_a_runtime() {
        int runs = 0;
        cmwq::runtime own;
        cmwq::workqueue<> q{own, "q"};
        q.post([&] { ++runs; });
        q.flush();
        expect<cmwq::bound>(runs == 1, "a runtime of its own");
    }

    std::string wrong_;
};

} // namespace cmwq_test
