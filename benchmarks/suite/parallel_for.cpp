// SPDX-License-Identifier: BSL-1.0
//
// A loop whose iterations differ in their cost: it rises along the loop, and some iterations are much longer.
#include "add_pools.hpp"

#include "support/burn.hpp"
#include "support/statistics.hpp"
#include "support/stopwatch.hpp"
#include "support/usage.hpp"

#if CMWQ_BENCH_TBB
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#endif

#include <atomic>
#include <cstdint>

namespace suite {

namespace {

/// The loop, and the sum of the indices it has visited.
class loop {
public:
    explicit loop(std::uint32_t n) : n_(n) {}

    [[nodiscard]] std::uint32_t size() const noexcept { return n_; }
    void visit(std::uint32_t begin, std::uint32_t end) noexcept {
        std::uint64_t sum = 0;
        for (std::uint32_t i = begin; i < end; ++i) {
            bench::spin(rounds_of(i));
            sum += i;
        }
        sum_.fetch_add(sum, std::memory_order_relaxed);
    }
    [[nodiscard]] bool visited_once() const noexcept {
        return sum_.load(std::memory_order_relaxed) == std::uint64_t{n_} * (n_ - 1) / 2;
    }

private:
    [[nodiscard]] std::uint64_t rounds_of(std::uint32_t i) const noexcept {
        const bool long_one = (i * 2654435761u) >> 24 == 0; // one of 256
        return long_one ? 100'000 : std::uint64_t{2'000} * i / n_;
    }

    std::uint32_t n_;
    std::atomic<std::uint64_t> sum_{0};
};

/// `visit_all` is the loop of a library.
template <class VisitAll>
void measure(const run& r, VisitAll visit_all) {
    const std::uint32_t n = r.pick(512u, 32'768u, 65'536u);
    const auto once = [&] {
        loop l{n};
        visit_all(l);
        r.verify(l.visited_once(), "not every index was visited once");
    };
    once();
    std::vector<double> ms;
    std::vector<double> cpu_ms;
    for (unsigned round = 0; round < r.pick(1u, 3u, 5u); ++round) {
        const bench::usage used = bench::usage::now();
        const bench::stopwatch watch;
        once();
        ms.push_back(watch.ms());
        cpu_ms.push_back(1e3 * (bench::usage::now().cpu_seconds - used.cpu_seconds));
    }
    r.report("uneven iterations", {{"ms", bench::median(ms)}, {"cpu_ms", bench::median(cpu_ms)}});
}

/// For pools without a loop: an item for each 64 indices.
template <class Pool>
void measure_pool(const run& r) {
    Pool pool;
    measure(r, [&](loop& l) {
        constexpr std::uint32_t chunk = 64;
        typename Pool::flat_group group{pool};
        for (std::uint32_t begin = 0; begin < l.size(); begin += chunk)
            group.run([&l, begin] { l.visit(begin, begin + chunk); });
        group.wait();
    });
}

} // namespace

workload parallel_for() {
    workload w{"parallel_for", {}};
    add_pools(w, []<class Pool>(std::type_identity<Pool>, const run& r) { measure_pool<Pool>(r); });
#if CMWQ_BENCH_TBB
    w.contenders.push_back({"oneTBB parallel_for", [](const run& r) {
                                measure(r, [](loop& l) {
                                    using range = tbb::blocked_range<std::uint32_t>;
                                    tbb::parallel_for(range{0, l.size()},
                                                      [&l](const range& part) { l.visit(part.begin(), part.end()); });
                                });
                            }});
#endif
    w.contenders.push_back({"one thread", [](const run& r) { measure(r, [](loop& l) { l.visit(0, l.size()); }); }});
    return w;
}

} // namespace suite
