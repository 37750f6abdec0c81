// SPDX-License-Identifier: BSL-1.0
//
// The cost of cancelling items: pending ones among many, idle ones, and all of a queue or a group.
#include "blocked_crowd.hpp"
#include "workload.hpp"

#include "support/pools/cmwq_pool.hpp"
#include "support/stopwatch.hpp"
#include "support/tally.hpp"

#include <cmwq/work.hpp>
#if CMWQ_BENCH_TBB
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#endif

#include <cstddef>
#include <deque>
#include <list>

namespace suite {

namespace {

std::size_t many(const run& r) { return r.pick(1'000u, 100'000u, 100'000u); }

/// Keeps the freezable queues of a runtime from starting items.
class frozen {
public:
    explicit frozen(cmwq::runtime& rt) : runtime_(rt) { runtime_.freeze(); }
    ~frozen() { runtime_.thaw(); }
    frozen(const frozen&) = delete;
    frozen& operator=(const frozen&) = delete;

private:
    cmwq::runtime& runtime_;
};

template <class Policy>
void measure_pending(const run& r, cmwq::runtime& runtime, bench::tally& ran) {
    cmwq::workqueue<Policy> queue{runtime, {.name = "suite", .freezable = true}};
    const frozen hold(runtime);
    const auto count = [&ran] { ran.add(); };
    std::deque<cmwq::work<decltype(count)>> items;
    for (std::size_t i = 0; i < many(r); ++i) queue.queue(items.emplace_back(count));
    std::size_t cancelled = 0;
    const bench::stopwatch watch;
    // Every second one first: these have pending neighbours on both sides.
    for (const std::size_t first : {std::size_t{1}, std::size_t{0}}) {
        for (std::size_t i = first; i < items.size(); i += 2) cancelled += items[i].cancel() ? 1 : 0;
    }
    const double ns = watch.ns();
    r.verify(cancelled == items.size(), "a pending item was not cancelled");
    r.report("100,000 pending, one by one", {{"ns_per_item", ns / static_cast<double>(items.size())}});
}

template <class Policy>
void measure_shutdown(const run& r, cmwq::runtime& runtime, bench::tally& ran) {
    cmwq::workqueue<Policy> queue{runtime, {.name = "suite", .freezable = true}};
    const frozen hold(runtime);
    for (std::size_t i = 0; i < many(r); ++i) queue.post([&ran] { ran.add(); });
    const bench::stopwatch watch;
    const std::size_t dropped = queue.shutdown(cmwq::cancel_pending);
    const double ns = watch.ns();
    r.verify(dropped == many(r), "shutdown() dropped another number of items");
    r.report("100,000 pending, all at once", {{"ns_per_item", ns / static_cast<double>(dropped)}});
}

template <class Policy>
void measure_idle(const run& r, cmwq::runtime& runtime) {
    cmwq::workqueue<Policy> queue{runtime, "suite"};
    cmwq::work item{[] {}};
    queue.queue(item);
    item.flush();
    const unsigned calls = r.pick(100u, 20'000u, 100'000u);
    const auto report_calls = [&](const char* name_of_case, auto call) {
        bool cancelled = false;
        const bench::stopwatch watch;
        for (unsigned i = 0; i < calls; ++i) cancelled = call() || cancelled;
        const double ns = watch.ns();
        r.verify(!cancelled, "an idle item was cancelled");
        r.report(name_of_case, {{"call_ns", ns / calls}});
    };
    report_calls("idle item", [&] { return item.cancel(); });
    report_calls("idle item, waiting", [&] { return item.cancel_sync(); });
    std::list<cmwq::workqueue<Policy>> others;
    for (unsigned i = 0; i < r.pick(10u, 1'000u, 1'000u); ++i) {
        others.emplace_back(runtime, "other");
        others.back().post([] {});
    }
    report_calls("idle item, waiting, 1,000 queues", [&] { return item.cancel_sync(); });
    const blocked_crowd crowd{others.front(), r.pick(8u, 64u, 64u)};
    report_calls("idle item, waiting, 64 blocked workers", [&] { return item.cancel_sync(); });
}

template <class Policy>
void add(workload& w) {
    w.contenders.push_back({bench::cmwq_pool<Policy>::name(), [](const run& r) {
                                bench::tally ran;
                                cmwq::runtime runtime;
                                measure_pending<Policy>(r, runtime, ran);
                                measure_shutdown<Policy>(r, runtime, ran);
                                measure_idle<Policy>(r, runtime);
                                r.verify(ran.total() == 0, "a cancelled item has run");
                            }});
}

#if CMWQ_BENCH_TBB
/// One thread has all the tasks, so that none of them starts before they are cancelled.
void measure_tbb(const run& r) {
    bench::tally ran;
    tbb::task_arena arena{1};
    arena.execute([&] {
        tbb::task_group group;
        for (std::size_t i = 0; i < many(r); ++i) group.run([&ran] { ran.add(); });
        const bench::stopwatch watch;
        group.cancel();
        group.wait();
        r.report("100,000 pending, all at once", {{"ns_per_item", watch.ns() / static_cast<double>(many(r))}});
    });
    r.verify(ran.total() == 0, "a cancelled task has run");
}
#endif

} // namespace

workload cancel() {
    workload w{"cancel", {}};
    add<cmwq::elastic>(w);
    add<cmwq::bound>(w);
    add<cmwq::unbound>(w);
#if CMWQ_BENCH_TBB
    w.contenders.push_back({"oneTBB task_group", measure_tbb});
#endif
    return w;
}

} // namespace suite
