// SPDX-License-Identifier: BSL-1.0
//
// Many timers of all CPUs, armed, moved, expired and taken away by several threads at once.
#include "catch.hpp"
#include "policy_list.hpp"
#include "stress.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

using cmwq::queue_status;
using namespace std::chrono_literals;

TEMPLATE_LIST_TEST_CASE("stress: each armed timer leads to one run unless it is cancelled", "",
                        cmwq_test::every_policy) {
    constexpr unsigned many = 600; // more than a shard keeps in its heap
    std::atomic<std::uint64_t> queued{0}, cancelled{0}, ran{0};
    cmwq::runtime rt;
    cmwq::workqueue<TestType> one{rt, "one"}, other{rt, "other"};
    const std::vector<unsigned> cpus{rt.cpus().begin(), rt.cpus().end()};
    std::deque<cmwq::delayed_work<std::function<void()>>> timers;
    for (unsigned i = 0; i < many; ++i) timers.emplace_back([&] { ++ran; });
    const stress::box box;
    stress::on_threads(4, [&](unsigned t) {
        stress::random r(60 + t);
        while (box.open()) {
            cmwq::workqueue<TestType>& q = r.one_in(2) ? one : other;
            auto& item = timers[r.below(many)];
            const auto delay = std::chrono::microseconds{r.one_in(2) ? r.below(300) : r.below(300'000)};
            const unsigned cpu = cpus[r.below(static_cast<unsigned>(cpus.size()))];
            switch (r.below(8)) {
            case 0: cancelled += item.cancel(); break;
            case 1: cancelled += item.cancel_sync(); break;
            case 2:
                if (r.one_in(8)) item.flush();
                break;
            case 3:
            case 4: queued += q.modify(delay, item) == queue_status::queued; break;
            default: queued += q.queue_after_on(cpu, delay, item) == queue_status::queued;
            }
            if (r.one_in(2000)) q.drain();
            if (!r.one_in(2000)) continue;
            cmwq::workqueue<TestType> third{rt, "third"}; // takes over some timers, and is destroyed
            for (unsigned i = t; i < many; i += 16) queued += third.modify(1h, timers[i]) == queue_status::queued;
        }
    });
    one.drain();
    other.drain();
    CHECK(ran + cancelled == queued);
    CHECK(queued > 0);
    for (auto& item : timers) CHECK_FALSE(item.busy());
}
