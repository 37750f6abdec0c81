// SPDX-License-Identifier: BSL-1.0
//
// runtime_options::max_threads: who counts.
#include "catch.hpp"
#include "eventually.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>

using cmwq_test::eventually;

TEST_CASE("the threads of bottom halves do not count against max_threads") {
    cmwq::runtime rt{{.max_threads = 1}};
    std::atomic<int> ran{0};
    cmwq::workqueue<cmwq::bh> fast{rt, "fast"};
    // All but the one for this CPU, or all if this thread moves, run in threads of their own.
    for (int n = 1; n <= 2; ++n) {
        for (const unsigned cpu : rt.cpus()) fast.post_on(cpu, [&] { ++ran; });
    }
    fast.flush();
    CHECK(ran == 2 * static_cast<int>(rt.cpus().size()));
    const unsigned before = rt.stats().threads;

    cmwq::workqueue<cmwq::unbound> q{rt, "q"};
    std::atomic<bool> has_run{false};
    q.post([&] { has_run = true; });
    CHECK(eventually([&] { return has_run.load(); }));
    CHECK(rt.stats().threads == before + 1);
    if (!has_run) std::abort(); // the queue would wait for ever
}
