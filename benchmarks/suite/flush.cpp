// SPDX-License-Identifier: BSL-1.0
//
// The cost of waiting for items: for one, for many, for none; and beside many workers and many queues.
#include "add_pools.hpp"
#include "blocked_crowd.hpp"

#include "support/statistics.hpp"
#include "support/stopwatch.hpp"
#include "support/tally.hpp"

#include <cmwq/work.hpp>

#include <cstddef>
#include <deque>
#include <list>

namespace suite {

namespace {

/// The median of several calls of `task`, in nanoseconds, after one that does not count.
template <class Task>
double median_ns(unsigned calls, Task task) {
    std::vector<double> ns;
    task();
    for (unsigned i = 0; i < calls; ++i) {
        const bench::stopwatch watch;
        task();
        ns.push_back(watch.ns());
    }
    return bench::median(ns);
}

std::size_t many(const run& r) { return r.pick(200u, 10'000u, 10'000u); }
unsigned calls_with_many(const run& r) { return r.pick(2u, 10u, 30u); }
unsigned calls_with_one(const run& r) { return r.pick(50u, 2'000u, 10'000u); }

/// `flush_one()` and `flush_many()` queue items and wait for them; they count each item in `ran`.
template <class FlushOne, class FlushMany>
void measure_with_items(const run& r, const bench::tally& ran, FlushOne flush_one, FlushMany flush_many) {
    const double one_ns = median_ns(calls_with_one(r), flush_one);
    r.report("one item", {{"call_ns", one_ns}});
    const double many_ns = median_ns(calls_with_many(r), flush_many) / static_cast<double>(many(r));
    r.report("10,000 items", {{"ns_per_item", many_ns}});
    r.verify(ran.total() == calls_with_one(r) + 1 + (calls_with_many(r) + 1) * many(r),
             "an item has not run when the wait ended");
}

template <class Queue>
void measure_idle(const run& r, const char* name_of_case, Queue& queue) {
    r.report(name_of_case, {{"call_ns", median_ns(calls_with_one(r), [&] { queue.flush(); })}});
}

template <class Policy>
void measure_queue(const run& r) {
    bench::tally ran;
    cmwq::runtime runtime;
    cmwq::workqueue<Policy> queue{runtime, "suite"};
    const auto count = [&ran] { ran.add(); };
    using item = cmwq::work<decltype(count)>;
    item one{count};
    std::deque<item> items;
    for (std::size_t i = 0; i < many(r); ++i) items.emplace_back(count);
    measure_with_items(
        r, ran,
        [&] {
            queue.queue(one);
            one.flush();
        },
        [&] {
            for (item& i : items) queue.queue(i);
            queue.flush();
        });

    measure_idle(r, "idle queue", queue);
    if constexpr (!Policy::fifo) {
        cmwq::workqueue<Policy> busy{runtime, "busy"};
        const blocked_crowd crowd{busy, r.pick(8u, 64u, 64u)};
        measure_idle(r, "idle queue, 64 blocked workers", queue);
    }
    std::list<cmwq::workqueue<Policy>> others;
    for (unsigned i = 0; i < r.pick(10u, 1'000u, 1'000u); ++i) {
        others.emplace_back(runtime, "other");
        others.back().post([] {});
    }
    measure_idle(r, "idle queue, 1,000 others", queue);
}

template <class Pool>
void measure_peer(const run& r) {
    bench::tally ran;
    Pool pool;
    const auto flush = [&](std::size_t n) {
        typename Pool::flat_group group{pool};
        for (std::size_t i = 0; i < n; ++i) group.run([&ran] { ran.add(); });
        group.wait();
    };
    measure_with_items(r, ran, [&] { flush(1); }, [&] { flush(many(r)); });
}

template <class Policy>
void add_policy(workload& w) {
    w.contenders.push_back({"cmwq " + std::string(Policy::name), [](const run& r) { measure_queue<Policy>(r); }});
}

} // namespace

workload flush() {
    workload w{"flush", {}};
    add_policy<cmwq::elastic>(w);
    add_policy<cmwq::bound>(w);
    add_policy<cmwq::unbound>(w);
    add_policy<cmwq::ordered>(w);
    bench::for_each_peer([&]<class Pool>(std::type_identity<Pool>) {
        if constexpr (!Pool::thread_for_each_item)
            w.contenders.push_back({Pool::name(), [](const run& r) { measure_peer<Pool>(r); }});
    });
    return w;
}

} // namespace suite
