// SPDX-License-Identifier: BSL-1.0
//
// The clock jumps ahead, as after a pause of a virtual machine or of a laptop. Timers that are due fire, no timer fires
// early, and no timer is lost. The clock is monotonic: it does not go back.
#include "catch.hpp"
#include "eventually.hpp"
#include "faults.hpp"
#include "policy_list.hpp"
#include "stress.hpp"

#include <cmwq/cmwq.hpp>
#include <cmwq/detail/sync/clock.hpp>

#include <array>
#include <atomic>
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
using cmwq::detail::steady_now;
namespace fault = cmwq::detail::fault;

namespace {

std::int64_t ns(std::chrono::nanoseconds d) { return d.count(); }

/// A timer that records its deadline, and counts the runs that are too early.
struct wake_up_call {
    std::atomic<std::int64_t> due{0}; // written before each arming
    std::atomic<int> runs{0}, early{0};
    cmwq::delayed_work<std::function<void()>> timer{[this] {
        early += steady_now() < due;
        ++runs;
    }};
    queue_status arm(cmwq::workqueue_base& q, std::chrono::nanoseconds delay) {
        due = steady_now() + ns(delay);
        return q.queue_after(delay, timer);
    }
};

} // namespace

// proves: progress-21
TEMPLATE_LIST_TEST_CASE("clock: timers fire once and not early although the clock jumps", "", every_policy) {
    cmwq::workqueue<TestType> q{"q"};
    stress::random r(1);
    std::vector<std::unique_ptr<wake_up_call>> calls;
    for (int i = 0; i < 100; ++i) calls.push_back(std::make_unique<wake_up_call>());
    for (int round = 1; round <= 3; ++round) {
        // The probability of a jump at each read of the clock; a timer reads it two or three times. In the second round
        // the clock rarely jumps and the timers are close to each other: a timer that is early is early by little.
        const bool dense = round == 2;
        fault::jump_clock(dense ? 0.0005 : 0.2);
        for (auto& a : calls)
            CHECK(a->arm(q, std::chrono::microseconds{dense ? 1000 + r.below(20'000) : r.below(5'000'000)}) ==
                  queue_status::queued);
        CHECK(eventually([&] {
            steady_now(); // it may jump
            int done = 0;
            for (auto& a : calls) done += a->runs == round;
            return done == static_cast<int>(calls.size());
        }));
    }
    q.flush();
    for (auto& a : calls) {
        CHECK(a->runs == 3);
        CHECK(a->early == 0);
    }
    set_clock_jumps(true);
}

TEMPLATE_LIST_TEST_CASE("clock: after a jump of an hour the timers that are due fire and the others stay armed", "",
                        every_policy) {
    const without_clock_jumps but_these;
    fault::jump_clock_by(1); // so that sleeping threads check the clock
    cmwq::workqueue<TestType> q{"q"};
    wake_up_call ten_minutes, an_hour, two_hours, cancelled;
    CHECK(ten_minutes.arm(q, 10min) == queue_status::queued);
    CHECK(an_hour.arm(q, 1h) == queue_status::queued);
    CHECK(two_hours.arm(q, 2h) == queue_status::queued);
    CHECK(cancelled.arm(q, 10min) == queue_status::queued);
    CHECK(cancelled.timer.cancel());
    fault::jump_clock_by(ns(1h));
    CHECK(eventually([&] { return ten_minutes.runs == 1 && an_hour.runs == 1; }));
    CHECK(two_hours.timer.pending());
    CHECK(two_hours.runs == 0);
    fault::jump_clock_by(ns(1h));
    CHECK(eventually([&] { return two_hours.runs == 1; }));
    q.flush();
    for (wake_up_call* a : {&ten_minutes, &an_hour, &two_hours}) {
        CHECK(a->runs == 1);
        CHECK(a->early == 0);
    }
    CHECK(cancelled.runs == 0);
}

// proves: progress-21
TEMPLATE_LIST_TEST_CASE("clock: a load goes on while the clock jumps by hours and loses no item", "", every_policy) {
    using P = TestType;
    cmwq::runtime rt{{.idle_timeout = 10min}}; // so that workers end during the load
    cmwq::workqueue<P> q{rt, at_most<P>(10, "q")};
    struct one {
        std::atomic<std::uint64_t> queued{0}, cancelled{0};
        std::uint64_t ran = 0; // plain: its runs happen one after another
        std::unique_ptr<cmwq::delayed_work<std::function<void()>>> work;
    };
    std::array<one, 10> items;
    for (one& i : items) {
        i.work = std::make_unique<cmwq::delayed_work<std::function<void()>>>([&i] {
            ++i.ran;
            if constexpr (can_block<P>) stress::block_for(50us);
        });
    }
    std::atomic<bool> stop{false};
    std::thread jumper([&] {
        stress::random r(100);
        static_cast<void>(eventually(
            [&] {
                fault::jump_clock_by(ns(std::chrono::minutes{r.below(180)}));
                return stop.load();
            },
            1h));
    });
    stress::on_threads(2, [&](unsigned t) {
        stress::random r(t);
        for (int n = 0; n < 1500; ++n) {
            one& i = items[r.below(10)];
            switch (r.below(8)) {
            case 0:
            case 1: i.queued += q.queue(*i.work) == queue_status::queued; break;
            case 2:
            case 3:
            case 4:
                i.queued += q.queue_after(std::chrono::minutes{r.below(300)}, *i.work) == queue_status::queued;
                break;
            case 5: i.cancelled += i.work->cancel(); break;
            case 6: i.queued += q.modify(std::chrono::minutes{r.below(300)}, *i.work) == queue_status::queued; break;
            default: r.one_in(2) ? static_cast<void>(i.work->flush()) : q.flush(); break;
            }
        }
    });
    q.drain();
    stop = true;
    jumper.join();
    for (one& i : items) {
        CHECK(i.ran == i.queued - i.cancelled);
        CHECK_FALSE(i.work->pending());
    }
}

TEST_CASE("clock: blocked workers are replaced and surplus ones end while the clock jumps") {
    cmwq::runtime rt{{.idle_timeout = 1h, .sentinel = false}};
    cmwq::workqueue<> q{rt, "q"};
    const unsigned cpu = *rt.cpus().begin();
    std::counting_semaphore<> entered{0}, leave{0};
    constexpr int many = 20;
    for (int i = 0; i < many; ++i) {
        q.post_on(cpu, [&] {
            entered.release();
            leave.acquire();
        });
    }
    for (int i = 0; i < many; ++i) {
        fault::jump_clock_by(ns(1min));
        entered.acquire();
    }
    CHECK(rt.stats().threads >= many);
    leave.release(many);
    q.flush();
    CHECK(eventually([&] {
        fault::jump_clock_by(ns(2h));
        return rt.stats().threads <= 3;
    }));
    std::atomic<bool> ran{false};
    q.post_on(cpu, [&] { ran = true; });
    q.flush();
    CHECK(ran);
}
