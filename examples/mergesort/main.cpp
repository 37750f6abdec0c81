// SPDX-License-Identifier: BSL-1.0
//
// Sorts numbers by merging sorted halves, which task groups sort at the same time. Compares the result with
// std::sort().
//
//     mergesort [COUNT]
#include <cmwq/task_group.hpp>
#include <cmwq/workqueue.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace {

using numbers = std::vector<std::uint32_t>;

/// Parts of this size are sorted at once: a task for each number would cost more than it saves.
constexpr std::ptrdiff_t small = 4096;

void sort(cmwq::workqueue<cmwq::elastic>& queue, numbers::iterator begin, numbers::iterator end) {
    if (end - begin <= small) {
        std::sort(begin, end);
        return;
    }
    const auto middle = begin + (end - begin) / 2;
    cmwq::task_group halves{queue};
    halves.run([&queue, begin, middle] { sort(queue, begin, middle); });
    sort(queue, middle, end);
    halves.wait(); // runs the task here, unless another worker has taken it
    numbers merged(static_cast<std::size_t>(end - begin));
    std::merge(begin, middle, middle, end, merged.begin());
    std::copy(merged.begin(), merged.end(), begin);
}

template <class F>
double seconds(F f) {
    const auto begin = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

} // namespace

int main(int argc, char** argv) {
    const std::size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 2'000'000;
    numbers unsorted(count);
    std::mt19937 random{1};
    for (std::uint32_t& n : unsorted) n = static_cast<std::uint32_t>(random());

    numbers expected = unsorted, sorted = unsorted;
    const double alone = seconds([&] { std::sort(expected.begin(), expected.end()); });
    cmwq::workqueue<cmwq::elastic> queue{"mergesort"};
    const double together = seconds([&] {
        cmwq::task_group all{queue};
        all.run([&] { sort(queue, sorted.begin(), sorted.end()); });
        all.wait();
    });
    std::printf("%zu numbers: std::sort %.3f s, task groups %.3f s\n", count, alone, together);
    if (sorted != expected) {
        std::fprintf(stderr, "mergesort: the result is wrong\n");
        return 1;
    }
}
