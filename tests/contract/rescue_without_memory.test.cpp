// SPDX-License-Identifier: BSL-1.0
//
// No step of a rescue allocates. This is a separate program because it has its own operator new, which can fail.
#include "any_queue.hpp"
#include "catch.hpp"
#include "eventually.hpp"
#include "policy_list.hpp"
#include "policy_test_case.hpp"
#include "replaced_new.hpp"
#include "scarce_runtime.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <semaphore>
#include <string>
#include <utility>
#include <vector>

namespace {
std::atomic<bool> out_of_memory{false};
std::atomic<int> refused{0};
thread_local int left_for_this_thread = -1; // below zero: no limit

bool refuses() noexcept {
    if (out_of_memory) return true;
    if (left_for_this_thread < 0) return false;
    if (left_for_this_thread == 0) return true;
    --left_for_this_thread;
    return false;
}
} // namespace

bool cmwq_test::allocation_fails() noexcept { return refuses() ? ++refused, true : false; }

using namespace cmwq_test;
using kind = cmwq::event::kind;

// The test runs once without further threads, and once with threads but without memory for the record of a worker.
POLICY_TEST_CASE("rescue: all items of a queue with a rescuer run without any memory", "", threaded_policies) {
    const bool threads_refused = GENERATE(true, false);
    constexpr int many = 1000;
    fake_threads threads;
    std::atomic<int> no_thread{0}, last_error{0};
    cmwq::runtime rt{{.on_event =
                          [&](const cmwq::event& e) {
                              if (e.what != kind::no_thread) return;
                              ++no_thread;
                              last_error = e.error;
                          },
                      .threads = &threads}};
    const std::vector<unsigned> cpus{rt.cpus().begin(), rt.cpus().end()};
    any_queue q{policy, rt, with_rescuer()};
    any_queue plain{policy, rt, "plain"};
    std::atomic<int> on_rescuer{0}, runs{0};
    std::counting_semaphore<> entered{0}, leave{0};
    std::vector<std::unique_ptr<cmwq::work<std::function<void()>>>> items;
    for (int i = 0; i < many; ++i) {
        items.push_back(std::make_unique<cmwq::work<std::function<void()>>>([&, i] {
            ++runs;
            on_rescuer += cmwq::this_work::on_rescuer() ? 1 : 0;
            if (i % 100 != 50) return;
            entered.release();
            leave.acquire();
        }));
    }
    cmwq::work waits{[] {}};
    if (threads_refused) threads.refuse();
    out_of_memory = true;
    plain.queue_on(cpus[0], waits);
    for (int i = 0; i < many; ++i) {
        q.queue_on(cpus[static_cast<std::size_t>(i) % cpus.size()], *items[static_cast<std::size_t>(i)]);
    }
    for (int i = 0; i < many / 100; ++i) {
        entered.acquire();
        leave.release();
    }
    q.flush();
    const bool told = eventually([&] { return no_thread == 1; });
    const bool still_waits = waits.pending();
    const bool cancelled = items[0]->cancel_sync();
    q.drain();
    const std::size_t dropped = q.shutdown(cmwq::cancel_pending);
    out_of_memory = false;
    threads.allow();
    CHECK(runs == many);
    CHECK(on_rescuer == many);
    CHECK(still_waits);
    CHECK(!cancelled);
    CHECK(dropped == 0);
    CHECK(refused > 0);
    CHECK(told);
    CHECK(no_thread == 1);
    CHECK((last_error == ENOMEM || (threads_refused && last_error == EAGAIN)));
    waits.flush();
}

POLICY_TEST_CASE("rescue: the constructor of a queue with a rescuer leaves nothing behind if memory is missing", "",
                 threaded_policies) {
    cmwq::runtime rt;
    { any_queue warm_up{policy, rt, "warm up"}; }
    const std::string before = rt.dump();
    std::optional<any_queue> q;
    int failures = 0;
    // The first allocation fails in the first attempt, the second one in the second attempt, and so on. No attempt may
    // leave anything behind.
    for (int n = 0; !q.has_value(); ++n) {
        REQUIRE(n < 1000);
        any_options o = with_rescuer();
        left_for_this_thread = n;
        try {
            q.emplace(policy, rt, std::move(o));
        } catch (const std::bad_alloc&) {
            ++failures;
        }
        left_for_this_thread = -1;
        if (!q.has_value()) CHECK(eventually([&] { return rt.dump() == before; }));
    }
    CHECK(failures > 3);
    std::atomic<int> runs{0};
    q->post([&] { ++runs; });
    q->flush();
    CHECK(runs == 1);
}
