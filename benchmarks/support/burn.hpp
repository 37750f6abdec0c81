// SPDX-License-Identifier: BSL-1.0
//
// Functions that use CPU time.
#pragma once

#include <chrono>
#include <cstdint>

#include <time.h>

namespace bench {

[[nodiscard]] inline std::chrono::nanoseconds thread_cpu_time() noexcept {
    timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
}

/// A fixed amount of work that no compiler can shorten.
inline void spin(std::uint64_t rounds) noexcept {
    std::uint64_t x = 1;
    for (std::uint64_t i = 0; i < rounds; ++i) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        asm volatile("" : "+r"(x));
    }
}

/// The number of rounds of `spin` in one microsecond of CPU time, on this machine now.
[[nodiscard]] inline double spin_rounds_per_us() {
    double best = 0;
    for (int attempt = 0; attempt < 20; ++attempt) {
        constexpr std::uint64_t rounds = 200'000;
        const auto begin = thread_cpu_time();
        spin(rounds);
        const double us = std::chrono::duration<double, std::micro>(thread_cpu_time() - begin).count();
        if (us > 0 && static_cast<double>(rounds) / us > best) best = static_cast<double>(rounds) / us;
    }
    return best;
}

/// Uses CPU time of the calling thread; time in which it is preempted does not count.
class cpu_burner {
public:
    void operator()(std::chrono::nanoseconds amount) const noexcept {
        // To read the clock is a system call of some 0.3 µs, which counts as CPU time used. With a chunk of a
        // microsecond between two readings, the share of the readings and the overshoot are small, unless the amount
        // is.
        if (amount < std::chrono::microseconds{20}) {
            spin(static_cast<std::uint64_t>(static_cast<double>(amount.count()) * 1e-3 * rounds_per_us_));
            return;
        }
        const auto end = thread_cpu_time() + amount;
        while (thread_cpu_time() < end) spin(chunk_);
    }

private:
    double rounds_per_us_ = spin_rounds_per_us();
    std::uint64_t chunk_ = static_cast<std::uint64_t>(rounds_per_us_) + 1;
};

} // namespace bench
