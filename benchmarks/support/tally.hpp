// SPDX-License-Identifier: BSL-1.0
//
// A counter for the items of a benchmark.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace bench {

/// Counts in several cache lines, so that the threads of a pool do not compete for one: the cost of counting must not
/// hide the cost of the pool.
class tally {
public:
    void add(std::uint64_t n = 1) noexcept { lines_[own_line()].count.fetch_add(n, std::memory_order_release); }

    [[nodiscard]] std::uint64_t total() const noexcept {
        std::uint64_t sum = 0;
        for (const line& l : lines_) sum += l.count.load(std::memory_order_acquire);
        return sum;
    }

    /// Waits until the total is `n` or more. Returns false after 30 seconds. It looks some ten thousand times a second,
    /// so a time measured around it is up to 0.1 ms too long.
    [[nodiscard]] bool wait_for(std::uint64_t n) const {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{30};
        while (total() < n) {
            if (std::chrono::steady_clock::now() > end) return false;
            std::this_thread::sleep_for(std::chrono::microseconds{20});
        }
        return true;
    }

private:
    static constexpr std::size_t nr_lines = 64;
    struct alignas(64) line {
        std::atomic<std::uint64_t> count{0};
    };

    static std::size_t own_line() noexcept {
        static std::atomic<std::size_t> threads{0};
        thread_local const std::size_t mine = threads.fetch_add(1, std::memory_order_relaxed) % nr_lines;
        return mine;
    }

    std::array<line, nr_lines> lines_;
};

} // namespace bench
