// SPDX-License-Identifier: BSL-1.0
#include "measurement.hpp"

#include <cstdint>
#include <cstdio>
#include <utility>

namespace scale {

measurement::measurement(const settings& s, std::function<unsigned()> pools, std::string what, unsigned n)
    : settings_(s), pools_(std::move(pools)), what_(std::move(what)), n_(n),
      threads_before_(bench::threads_of_process()), pools_before_(pools_ ? pools_() : 0),
      before_(bench::memory::trimmed()), begin_(clock::now()) {}

void measurement::at_peak() {
    up_ms_ = ms_since(begin_);
    peak_threads_ = bench::threads_of_process();
    peak_ = bench::memory::now();
    begin_ = clock::now();
}

bool measurement::at_end(unsigned kept) {
    const double down_ms = ms_since(begin_);
    const auto pools = [&] { return pools_ ? pools_() : 0; };
    const bool ended = wait_for(settings_.patience_seconds, [&] {
        return bench::threads_of_process() <= threads_before_ && pools() <= pools_before_;
    });
    const double idle_ms = ms_since(begin_) - down_ms;
    const bench::memory after = bench::memory::trimmed();
    const auto mib = [](std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
    const std::int64_t resident = peak_.resident_bytes - before_.resident_bytes;
    const std::int64_t left = after.resident_bytes - before_.resident_bytes;
    const unsigned threads = bench::threads_of_process();
    std::printf("%-28s %9u %9.0f %9.0f %8u %9.1f %9.0f %10.1f %9u %8.0f %9.1f\n", what_.c_str(), n_, up_ms_, down_ms,
                peak_threads_, mib(resident), static_cast<double>(resident) / n_,
                mib(peak_.virtual_bytes - before_.virtual_bytes), threads, idle_ms, mib(left));
    if (!ended)
        std::printf("  threads: %u before, %u after; pools: %u before, %u after\n", threads_before_, threads,
                    pools_before_, pools());
    const bool memory_back = mib(left) <= settings_.spare_mib + mib(std::int64_t{kept} * n_);
    if (!memory_back) std::printf("  too much memory remains in use\n");
    std::fflush(stdout);
    return ended && memory_back;
}

void measurement::print_head() {
    const auto line = [](auto... cells) { std::printf("%-28s %9s %9s %9s %8s %9s %9s %10s %9s %8s %9s\n", cells...); };
    line("what", "number", "up, ms", "down, ms", "threads", "RSS, MiB", "B each", "virt., MiB", "threads", "in ms",
         "RSS, MiB");
    line("", "", "", "", "at peak", "more", "", "more", "at end", "idle", "left");
}

} // namespace scale
