// SPDX-License-Identifier: BSL-1.0
//
// The resource usage of the process.
#pragma once

#include <chrono>
#include <cstdint>

#include <sys/resource.h>

namespace bench {

[[nodiscard]] inline double cpu_seconds_of(const rusage& u) noexcept {
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return seconds(u.ru_utime) + seconds(u.ru_stime);
}

struct usage {
    std::chrono::steady_clock::time_point when;
    double cpu_seconds = 0;
    std::int64_t voluntary_switches = 0;
    std::int64_t involuntary_switches = 0;

    [[nodiscard]] static usage now() noexcept {
        rusage u{};
        ::getrusage(RUSAGE_SELF, &u);
        return {std::chrono::steady_clock::now(), cpu_seconds_of(u), u.ru_nvcsw, u.ru_nivcsw};
    }
};

[[nodiscard]] inline double seconds_between(const usage& a, const usage& b) noexcept {
    return std::chrono::duration<double>(b.when - a.when).count();
}

/// 100 is one CPU.
[[nodiscard]] inline double cpu_percent(const usage& a, const usage& b) noexcept {
    return 100 * (b.cpu_seconds - a.cpu_seconds) / seconds_between(a, b);
}

[[nodiscard]] inline double switches_between(const usage& a, const usage& b) noexcept {
    return static_cast<double>(b.voluntary_switches - a.voluntary_switches + b.involuntary_switches -
                               a.involuntary_switches);
}

} // namespace bench
