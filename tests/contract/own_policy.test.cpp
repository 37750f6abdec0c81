// SPDX-License-Identifier: BSL-1.0
//
// Policies of a program's own that combine parts as no policy of the library does. The tests of all policies run for
// them, too; here is what these combinations promise beyond that.
#include "caller.hpp"
#include "catch.hpp"
#include "eventually.hpp"
#include "one_cpu.hpp"
#include "policy_list.hpp"
#include "text.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <deque>
#include <functional>
#include <semaphore>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace cmwq_test;

namespace {

using item = cmwq::work<std::function<void()>>;

/// The row of a queue in the dump: its policy, its flags, and the pool of each CPU.
std::string row_of(cmwq::runtime& rt, std::string_view name) {
    std::string text;
    REQUIRE(eventually([&] {
        text = rt.dump();
        return !has(text, "locked by another thread");
    }));
    const std::size_t at = text.find("\n" + std::string(name) + " ");
    REQUIRE(at != std::string::npos);
    return text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

} // namespace

TEMPLATE_TEST_CASE("own policy: what an item queues starts behind what was queued before", "", in_turn, strand) {
    cmwq::runtime rt{one_cpu()};
    cmwq::workqueue<TestType> q{rt, at_most<TestType>(1, "q")};
    std::vector<int> order; // one item at a time
    std::binary_semaphore started{0}, go{0};
    item first{[&] {
        started.release();
        go.acquire();
        q.post([&] { order.push_back(3); });
        q.post([&] { order.push_back(4); });
    }};
    q.queue(first);
    started.acquire();
    q.post([&] { order.push_back(1); });
    q.post([&] { order.push_back(2); });
    go.release();
    q.drain();
    CHECK(order == std::vector<int>{1, 2, 3, 4});
}

TEST_CASE("own policy: an item of a queue with an order runs elastic items inside, but never runs inside") {
    cmwq::runtime rt{one_cpu()};
    cmwq::workqueue<cmwq::elastic> loose{rt, "loose"};
    cmwq::workqueue<strand> strict{rt, "strict"};
    cmwq::workqueue<in_turn> turns{rt, "turns"};
    std::thread::id by;
    item inner{[&] { by = std::this_thread::get_id(); }};
    const auto runs_inside = [&](cmwq::workqueue_base& of_outer, cmwq::workqueue_base& of_inner) {
        bool same = false;
        item outer{[&] {
            of_inner.queue(inner);
            inner.flush();
            same = by == std::this_thread::get_id();
        }};
        of_outer.queue(outer);
        outer.flush();
        return same;
    };
    CHECK(runs_inside(strict, loose));
    CHECK(runs_inside(turns, loose));
    CHECK_FALSE(runs_inside(loose, strict));
    CHECK_FALSE(runs_inside(loose, turns));
    CHECK_FALSE(runs_inside(turns, turns));
}

TEST_CASE("own policy: items of an in_turn queue that wait for each other all start") {
    cmwq::runtime rt{one_cpu()};
    constexpr int n = 40;
    std::atomic<int> arrived{0};
    std::counting_semaphore<> all_there{0};
    cmwq::workqueue<in_turn> q{rt, "q"};
    for (int i = 0; i < n; ++i) {
        q.post([&] {
            if (++arrived == n) all_there.release(n);
            all_there.acquire();
        });
    }
    caller waits([&] { q.flush(); });
    CHECK(waits.returns());
}

TEST_CASE("own policy: items of strands that wait for each other all start, and none before its turn") {
    cmwq::runtime rt{one_cpu()};
    constexpr int n = 40;
    std::atomic<int> arrived{0}, wrong{0};
    std::counting_semaphore<> all_there{0};
    std::deque<cmwq::workqueue<strand>> strands;
    std::deque<int> nr_ended; // of each strand; only its items change it
    for (int i = 0; i < n; ++i) {
        auto& s = strands.emplace_back(rt, "s");
        int& ended = nr_ended.emplace_back(0);
        s.post([&] {
            if (++arrived == n) all_there.release(n);
            all_there.acquire();
            ++ended;
        });
        s.post([&] { wrong += ended != 1; });
    }
    caller waits([&] {
        for (auto& s : strands) s.flush();
    });
    CHECK(waits.returns());
    CHECK(wrong == 0);
}

// They use the pools of elastic queues: what one pool manages is all managed items of its CPUs.
TEST_CASE("own policy: managed queues share their pools, and the dump names their parts") {
    cmwq::runtime rt{{.machine = cmwq::topology::synthetic("numa:1 core:2 pu:1")}};
    const cmwq::attrs whole = cmwq::attrs{}.affinity(cmwq::affinity_scope::system);
    cmwq::workqueue<cmwq::unbound> unmanaged{rt, {.name = "unmanaged", .attrs = whole}};
    cmwq::workqueue<cmwq::elastic> loose{rt, {.name = "loose", .attrs = whole}};
    cmwq::workqueue<in_turn> turns{rt, {.name = "turns", .attrs = whole}};
    cmwq::workqueue<strand> strict{rt, {.name = "strict", .attrs = whole}};
    cmwq::workqueue<strand> pinned{rt, {.name = "pinned", .attrs = cmwq::attrs{}.strict(true)}};
    const std::string of_loose = row_of(rt, "loose");
    const std::string pools = of_loose.substr(of_loose.rfind("  "));
    CHECK(has(of_loose, "elastic  "));
    CHECK(has(row_of(rt, "turns"), "unbound ,M "));
    CHECK(has(row_of(rt, "strict"), "ordered ,M "));
    CHECK(has(row_of(rt, "pinned"), "ordered ,SM"));
    CHECK(row_of(rt, "turns").ends_with(pools));
    CHECK(row_of(rt, "strict").ends_with(pools));
    CHECK(has(row_of(rt, "unmanaged"), "unbound    "));
    CHECK_FALSE(row_of(rt, "unmanaged").ends_with(pools));
}
