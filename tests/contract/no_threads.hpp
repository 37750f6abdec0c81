// SPDX-License-Identifier: BSL-1.0
//
// The promises that hold in a process in which the system makes no further thread.
#pragma once

#include "catch.hpp"
#include "child.hpp"
#include "event_log.hpp"
#include "eventually.hpp"
#include "policy_list.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <cerrno>
#include <iostream>
#include <latch>
#include <semaphore>
#include <string>
#include <thread>

namespace cmwq_test {

inline void expect_no_thread(findings& f) {
    try {
        std::thread([] {}).join();
        f.expect(1, false, "the limit does not hold");
    } catch (const std::system_error&) {}
}

/// Runs in a child, in which no other code starts a thread. After `tighten()` the system makes no further thread; after
/// `lift()` it makes threads again. Returns the exit status of the child: a bit for each kind of failure.
template <class P, class Tighten, class Lift>
int check_without_threads(Tighten tighten, Lift lift) {
    using kind = cmwq::event::kind;
    constexpr int many = 1000;
    findings f;
    event_log events;
    cmwq::runtime rt{{.on_event = events.listener()}};
    const std::vector<unsigned> cpus{rt.cpus().begin(), rt.cpus().end()};
    cmwq::workqueue<P> helped{rt, {.name = "rescued", .rescuer = true}};
    cmwq::workqueue<P> plain{rt, "plain"};
    tighten();
    expect_no_thread(f);
    std::atomic<int> runs{0}, rescued{0}, plain_runs{0};
    std::counting_semaphore<> entered{0}, leave{0};
    for (int i = 0; i < many; ++i) {
        const unsigned cpu = cpus[static_cast<std::size_t>(i) % cpus.size()];
        if (i % 10 == 0) plain.post_on(cpu, [&] { ++plain_runs; });
        helped.post_on(cpu, [&, i] {
            ++runs;
            rescued += cmwq::this_work::on_rescuer() ? 1 : 0;
            if (i % 100 != 50) return;
            entered.release();
            if (i % 200 == 50) cmwq::blocking([&] { leave.acquire(); });
            else leave.acquire();
        });
    }
    for (int i = 0; i < many / 100; ++i) {
        entered.acquire();
        leave.release();
    }
    helped.flush();
    f.expect(2, runs == many, "not all items have run");
    f.expect(2, rescued == many, "not all items have run on the rescuer");
    f.expect(4, rt.stats().threads == 0 && rt.stats().peak_threads == 0, "there is a worker");
    f.expect(4, plain_runs == 0, "an item of a queue without a rescuer has run");
    // The manager thread makes the report, possibly later than the runs on the rescuer.
    f.expect(8, eventually([&] { return events.count(kind::no_thread) != 0; }), "the refusal is not reported");
    f.expect(8, all_told(rt), "events are not delivered");
    f.expect(8, events.count(kind::no_thread) == 1, "the refusal is reported too often");
    f.expect(8, events.last(kind::no_thread).error == EAGAIN, "it is reported with another error");
    lift();
    plain.flush();
    f.expect(16, plain_runs == many / 10, "not all items of the queue without a rescuer have run");
    f.expect(16, rt.stats().threads > 0, "there is no worker");
    helped.post([&] { ++runs; });
    helped.flush();
    f.expect(32, runs == many + 1, "the queue does not continue");
    return f.wrong();
}

/// Runs in a child, as check_without_threads(). After `tighten()` the system makes a thread only when another one has
/// ended. No queue has a rescuer.
template <class P, class Tighten, class Lift>
int check_idle_workers_suffice(Tighten tighten, Lift lift) {
    findings f;
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::unbound> donor{rt, {.name = "donor", .attrs = cmwq::attrs{}.nice(3)}};
    std::latch all(6);
    for (int i = 0; i < 6; ++i) donor.post([&] { all.arrive_and_wait(); });
    donor.flush();
    cmwq::workqueue<P> q{rt, "q"}; // no worker of its pools exists
    tighten();
    expect_no_thread(f);
    std::atomic<unsigned> ran{0};
    const auto nr_cpus = static_cast<unsigned>(rt.cpus().size());
    for (const unsigned cpu : rt.cpus()) q.post_on(cpu, [&] { ++ran; });
    f.expect(2, eventually([&] { return ran == nr_cpus; }), "items wait beside idle workers");
    donor.post([&] { ++ran; });
    f.expect(4, eventually([&] { return ran == nr_cpus + 1; }), "the donor waits beside idle workers");
    lift(); // what still waits can run: the destructors return
    return f.wrong();
}

/// The result of the body in the child if the process lacks a right that the preparation needs.
inline constexpr int not_permitted = 64;

/// Runs the body in a child, and checks that it returns zero. If it returns `not_permitted`, prints
/// the reason why the case is skipped.
template <class Body>
void check_in_child_or_skip(Body body, const char* why_skipped) {
    const outcome o = in_child(body);
    INFO(o.stderr_text);
    if (o.exited_with(not_permitted)) {
        std::cout << "skipped: " << why_skipped << '\n';
        return;
    }
    CHECK(o.exited_with(0));
}

} // namespace cmwq_test
