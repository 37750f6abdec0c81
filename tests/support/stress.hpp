// SPDX-License-Identifier: BSL-1.0
//
// Helpers for tests with random operations: the length of a test, random numbers, and the failed expectations of all
// threads.
#pragma once

#include "nr_tasks.hpp"
#include "seed.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace stress {

/// The length of a test case: a number of rounds, or with CMWQ_STRESS_SECONDS=<n> so many seconds. The threads of the
/// test share the rounds.
class box {
public:
    explicit box(std::int64_t rounds) : rounds_(rounds) {}

    /// Call it once before each round.
    [[nodiscard]] bool open() {
        if (seconds_ > 0) return std::chrono::steady_clock::now() < end_;
        return rounds_.fetch_sub(1, std::memory_order_relaxed) > 0;
    }

private:
    static double seconds() {
        const char* text = std::getenv("CMWQ_STRESS_SECONDS");
        return text == nullptr ? 0 : std::atof(text);
    }
    std::atomic<std::int64_t> rounds_;
    const double seconds_ = seconds();
    const std::chrono::steady_clock::time_point end_ =
        std::chrono::steady_clock::now() +
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds_));
};

/// Random numbers that depend on the seed of the test and on `stream` only. SplitMix64 needs one word, so that every
/// thread and every item can have a generator of its own.
class random {
public:
    explicit random(std::uint64_t stream) : state_(cmwq_test::seed() + stream * 0x9e3779b97f4a7c15u) { (*this)(); }
    std::uint64_t operator()() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    /// 0 … n - 1
    unsigned below(unsigned n) { return static_cast<unsigned>((*this)() % n); }
    bool one_in(unsigned n) { return below(n) == 0; }

private:
    std::uint64_t state_;
};

/// Only one thread may use the assertions of Catch2. This class collects the failed expectations of the other threads.
class complaints {
public:
    void expect(bool holds, const char* what) {
        if (holds) return;
        const std::lock_guard g(lock_);
        if (++nr_ <= 5) text_ += std::string(what) + '\n';
    }
    /// Empty: all expectations held.
    [[nodiscard]] std::string text() const {
        const std::lock_guard g(lock_);
        return nr_ > 5 ? text_ + "… " + std::to_string(nr_) + " altogether\n" : text_;
    }

private:
    mutable std::mutex lock_;
    std::string text_;
    unsigned nr_ = 0;
};

/// Counts the runs of a function, and complains if two of them overlap.
class exclusive {
public:
    explicit exclusive(complaints& c) : complaints_(c) {}
    template <class F>
    void run(F&& f) {
        complaints_.expect(!inside_.exchange(true), "an item runs twice at once");
        std::forward<F>(f)();
        nr_ += 1; // plain on purpose: the runs of an item happen one after another
        inside_.store(false);
        finished_.fetch_add(1);
    }
    [[nodiscard]] bool inside() const { return inside_; }
    [[nodiscard]] std::uint64_t finished() const { return finished_; }
    [[nodiscard]] std::uint64_t counted_plainly() const { return nr_; } ///< call it when nothing runs any more

private:
    complaints& complaints_;
    std::atomic<bool> inside_{false};
    std::uint64_t nr_ = 0;
    std::atomic<std::uint64_t> finished_{0};
};

inline void on_threads(unsigned n, const std::function<void(unsigned)>& f) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < n; ++i) threads.emplace_back(f, i);
    for (std::thread& t : threads) t.join();
}

/// A call that blocks in the kernel, as a read from a disk does.
inline void block_for(std::chrono::nanoseconds d) {
    const timespec ts{0, static_cast<long>(d.count())};
    ::nanosleep(&ts, nullptr);
}

inline void burn(unsigned rounds) {
    for (unsigned i = 0; i < rounds; ++i) asm volatile("");
}

} // namespace stress
