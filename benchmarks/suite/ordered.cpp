// SPDX-License-Identifier: BSL-1.0
//
// Many strands, each of which runs its items one at a time, in order.
#include "workload.hpp"

#include "support/pools/strands.hpp"
#include "support/stopwatch.hpp"
#include "support/tally.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace suite {

namespace {

/// Checks the order of the items of a strand. It is not atomic: items of one strand must not run at the same time.
struct alignas(64) position {
    std::uint32_t next = 0;
};

struct cost {
    double ns_per_item; // from the first post to the last run
    double make_us;     // for each strand
};

/// Each strand gets the same number of items, in turn with the others, from one thread outside.
template <class Strands>
cost measure(const run& r, std::size_t nr_strands, std::uint32_t items_each) {
    std::vector<position> positions(nr_strands);
    std::atomic<bool> out_of_order{false};
    bench::tally ran;
    const bench::stopwatch making;
    Strands strands(nr_strands);
    const double make_us = making.us() / static_cast<double>(nr_strands);

    const bench::stopwatch watch;
    for (std::uint32_t turn = 0; turn < items_each; ++turn) {
        for (std::size_t i = 0; i < nr_strands; ++i) {
            strands.post(i, [&ran, &out_of_order, &at = positions[i], turn] {
                if (at.next++ != turn) out_of_order.store(true, std::memory_order_relaxed);
                ran.add();
            });
        }
    }
    const std::uint64_t items = nr_strands * std::uint64_t{items_each};
    r.verify(ran.wait_for(items), "items are missing");
    const double ns = watch.ns();
    r.verify(ran.total() == items, "items have run twice");
    r.verify(!out_of_order.load(), "items have run out of order");
    return {ns / static_cast<double>(items), make_us};
}

template <class Strands>
void add(workload& w) {
    w.contenders.push_back(
        {Strands::name(), [](const run& r) {
             const cost many = measure<Strands>(r, r.pick(100u, 10'000u, 10'000u), r.pick(5u, 20u, 50u));
             r.report("10,000 strands", {{"ns_per_item", many.ns_per_item}, {"make_us", many.make_us}});
             const cost one = measure<Strands>(r, 1, r.pick(1'000u, 100'000u, 300'000u));
             r.report("one strand", {{"ns_per_item", one.ns_per_item}});
         }});
}

} // namespace

workload ordered() {
    workload w{"ordered", {}};
    add<bench::cmwq_strands>(w);
    add<bench::asio_strands>(w);
    return w;
}

} // namespace suite
