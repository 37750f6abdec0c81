// SPDX-License-Identifier: BSL-1.0
//
// Recursions whose items make further items.
#include "add_pools.hpp"

#include "support/statistics.hpp"
#include "support/stopwatch.hpp"
#include "support/tally.hpp"
#include "support/usage.hpp"

#include <atomic>
#include <cstdint>

namespace suite {

namespace {

struct cost {
    double ns;
    double cpu_ns; // of all threads
};

/// The medians of several calls of `task`, after one that does not count.
template <class Task>
cost measure(const run& r, Task task) {
    std::vector<double> ns;
    std::vector<double> cpu_ns;
    const unsigned rounds = r.pick(1u, 3u, 5u);
    for (unsigned round = 0; round <= rounds; ++round) {
        const bench::usage used = bench::usage::now();
        const bench::stopwatch watch;
        task();
        if (round == 0) continue;
        ns.push_back(watch.ns());
        cpu_ns.push_back(1e9 * (bench::usage::now().cpu_seconds - used.cpu_seconds));
    }
    return {bench::median(ns), bench::median(cpu_ns)};
}

void report_items(const run& r, const char* name_of_case, const cost& c, std::uint64_t items) {
    const auto n = static_cast<double>(items);
    r.report(name_of_case, {{"ns_per_item", c.ns / n}, {"cpu_ns_per_item", c.cpu_ns / n}});
}

// --- fanout: items split a tree, and only the thread outside waits ---------------------------------------------------

template <class Group>
void grow(Group& group, unsigned depth, bench::tally& leaves) {
    for (; depth > 0; --depth) {
        group.run([&group, &leaves, below = depth - 1] { grow(group, below, leaves); });
    }
    leaves.add();
}

template <class Pool>
void measure_fanout(const run& r) {
    const unsigned depth = Pool::thread_for_each_item ? r.pick(5u, 10u, 12u) : r.pick(8u, 17u, 17u);
    const std::uint64_t nr_leaves = std::uint64_t{1} << depth;
    bench::tally leaves;
    Pool pool;
    const cost c = measure(r, [&] {
        const std::uint64_t before = leaves.total();
        typename Pool::flat_group group{pool};
        group.run([&] { grow(group, depth, leaves); });
        group.wait();
        r.verify(leaves.total() == before + nr_leaves, "wrong number of leaves");
    });
    report_items(r, "leaves of a tree", c, nr_leaves);
}

// --- fib: each call waits for the calls that it makes ----------------------------------------------------------------

constexpr std::uint64_t fib_of(unsigned n) { return n < 2 ? n : fib_of(n - 1) + fib_of(n - 2); }

template <class Pool>
std::uint64_t fib_in(Pool& pool, unsigned n) {
    if (n < 2) return n;
    std::uint64_t left = 0;
    typename Pool::nested_group group{pool};
    group.run([&] { left = fib_in(pool, n - 1); });
    const std::uint64_t right = fib_in(pool, n - 2);
    group.wait();
    return left + right;
}

template <class Pool>
void measure_fib(const run& r) {
    const unsigned n = r.pick(10u, 22u, 25u);
    const std::uint64_t right = fib_of(n);
    Pool pool;
    const cost c = measure(r, [&] {
        std::uint64_t result = 0;
        typename Pool::flat_group outside{pool};
        outside.run([&] { result = fib_in(pool, n); });
        outside.wait();
        r.verify(result == right, "wrong Fibonacci number");
    });
    report_items(r, "calls that wait for one another", c, fib_of(n + 1) - 1); // a call with n < 2 makes no item
}

// --- nqueens: items of very different sizes --------------------------------------------------------------------------

struct board {
    unsigned all;         // a bit for each column
    unsigned columns = 0; // those that are taken
    unsigned rising = 0;  // diagonals, as they meet the next row
    unsigned falling = 0;

    [[nodiscard]] unsigned free_columns() const noexcept { return all & ~(columns | rising | falling); }
    [[nodiscard]] board with(unsigned column) const noexcept {
        return {all, columns | column, ((rising | column) << 1) & all, (falling | column) >> 1};
    }
};

std::uint64_t solutions_of(const board& b) {
    if (b.columns == b.all) return 1;
    std::uint64_t sum = 0;
    for (unsigned left = b.free_columns(); left != 0; left &= left - 1) sum += solutions_of(b.with(left & (0u - left)));
    return sum;
}

/// Each of the first rows makes an item for each free column, and waits for them.
template <class Pool>
void count_in(Pool& pool, const board& b, unsigned rows_with_items, std::atomic<std::uint64_t>& sum) {
    if (rows_with_items == 0) {
        sum.fetch_add(solutions_of(b), std::memory_order_relaxed);
        return;
    }
    typename Pool::nested_group group{pool};
    for (unsigned left = b.free_columns(); left != 0; left &= left - 1) {
        group.run([&, next = b.with(left & (0u - left))] { count_in(pool, next, rows_with_items - 1, sum); });
    }
    group.wait();
}

template <class Pool>
void measure_nqueens(const run& r) {
    const unsigned n = r.pick(7u, 12u, 13u);
    const std::uint64_t right = r.pick(40u, 14'200u, 73'712u);
    const unsigned rows = Pool::thread_for_each_item ? 2 : 4;
    Pool pool;
    const cost c = measure(r, [&] {
        std::atomic<std::uint64_t> sum{0};
        typename Pool::flat_group outside{pool};
        outside.run([&] { count_in(pool, board{.all = (1u << n) - 1}, rows, sum); });
        outside.wait();
        r.verify(sum.load() == right, "wrong number of solutions");
    });
    r.report("all solutions", {{"ms", c.ns * 1e-6}, {"cpu_ms", c.cpu_ns * 1e-6}});
}

} // namespace

workload fanout() {
    workload w{"fanout", {}};
    add_pools(w, []<class Pool>(std::type_identity<Pool>, const run& r) { measure_fanout<Pool>(r); });
    return w;
}

// Without those that would make tens of thousands of threads, most of which wait.
workload fib() {
    workload w{"fib", {}};
    add_pools(
        w, []<class Pool>(std::type_identity<Pool>, const run& r) { measure_fib<Pool>(r); },
        []<class Pool>(std::type_identity<Pool>) { return std::bool_constant<!Pool::thread_for_each_item>{}; });
    return w;
}

workload nqueens() {
    workload w{"nqueens", {}};
    add_pools(w, []<class Pool>(std::type_identity<Pool>, const run& r) { measure_nqueens<Pool>(r); });
    return w;
}

} // namespace suite
