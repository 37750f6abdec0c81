// SPDX-License-Identifier: BSL-1.0
//
// The cost of an item that does nothing but count.
#include "add_pools.hpp"

#include "support/statistics.hpp"
#include "support/stopwatch.hpp"
#include "support/tally.hpp"
#include "support/usage.hpp"

#include <cmwq/work.hpp>

#include <deque>

namespace suite {

namespace {

struct costs {
    std::vector<double> ns_per_item;     // from the first call to the last run
    std::vector<double> submit_ns;       // in the thread that submits
    std::vector<double> cpu_ns_per_item; // of all threads
};

/// Submits n items several times, with one more time before that does not count. `submit_all` returns the nanoseconds
/// that it took.
template <class SubmitAll>
void measure(const run& r, const char* name_of_case, std::uint64_t n, const bench::tally& ran, SubmitAll submit_all) {
    costs c;
    const unsigned rounds = r.pick(1u, 3u, 5u);
    for (unsigned round = 0; round <= rounds; ++round) {
        const std::uint64_t before = ran.total();
        const bench::usage used = bench::usage::now();
        const bench::stopwatch watch;
        const double submit_ns = submit_all();
        r.verify(ran.wait_for(before + n), "items are missing");
        const double ns = watch.ns();
        r.verify(ran.total() == before + n, "items have run twice");
        if (round == 0) continue;
        const auto items = static_cast<double>(n);
        c.ns_per_item.push_back(ns / items);
        c.submit_ns.push_back(submit_ns / items);
        c.cpu_ns_per_item.push_back(1e9 * (bench::usage::now().cpu_seconds - used.cpu_seconds) / items);
    }
    r.report(name_of_case, {{"ns_per_item", bench::median(c.ns_per_item)},
                            {"submit_ns", bench::median(c.submit_ns)},
                            {"cpu_ns_per_item", bench::median(c.cpu_ns_per_item)}});
}

template <class Pool>
std::uint64_t number_of_items(const run& r) {
    return Pool::thread_for_each_item ? r.pick(200u, 2'000u, 5'000u) : r.pick(2'000u, 100'000u, 300'000u);
}

template <class Pool>
void posts(const run& r) {
    const std::uint64_t n = number_of_items<Pool>(r);
    bench::tally ran;
    Pool pool;
    const auto post_all = [&] {
        const bench::stopwatch watch;
        for (std::uint64_t i = 0; i < n; ++i) pool.post([&ran] { ran.add(); });
        return watch.ns();
    };
    measure(r, "outside", n, ran, post_all);

    measure(r, "inside", n + 1, ran, [&] {
        std::atomic<double> submit_ns{0};
        bench::tally all_posted;
        pool.post([&] {
            submit_ns.store(post_all(), std::memory_order_relaxed);
            ran.add();
            all_posted.add();
        });
        r.verify(all_posted.wait_for(1), "the item that posts the others has not ended");
        return submit_ns.load(std::memory_order_relaxed);
    });
}

template <class Pool>
void intrusive_items(const run& r) {
    const std::uint64_t n = number_of_items<Pool>(r);
    bench::tally ran;
    Pool pool;
    const auto count = [&ran] { ran.add(); };
    std::deque<cmwq::work<decltype(count)>> items;
    for (std::uint64_t i = 0; i < n; ++i) items.emplace_back(count);
    const auto queue_all = [&] {
        const bench::stopwatch watch;
        for (auto& item : items) pool.queue().queue(item);
        return watch.ns();
    };
    measure(r, "outside", n, ran, queue_all);

    measure(r, "inside", n + 1, ran, [&] {
        std::atomic<double> submit_ns{0};
        cmwq::work root{[&] {
            submit_ns.store(queue_all(), std::memory_order_relaxed);
            ran.add();
        }};
        pool.queue().queue(root);
        root.flush();
        return submit_ns.load(std::memory_order_relaxed);
    });
}

} // namespace

workload empty() {
    workload w{"empty", {}};
    add_pools(w, []<class Pool>(std::type_identity<Pool>, const run& r) { posts<Pool>(r); });
    bench::for_each_cmwq_pool([&]<class Pool>(std::type_identity<Pool>) {
        w.contenders.push_back({Pool::name() + ", intrusive", intrusive_items<Pool>});
    });
    return w;
}

} // namespace suite
