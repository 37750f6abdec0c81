// SPDX-License-Identifier: BSL-1.0
#include "progress.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>

#include <unistd.h>

namespace treehash {

namespace {

constexpr std::size_t bar_width = 30;
constexpr std::chrono::milliseconds period{100};

void draw(const tally& t, double seconds) {
    const std::uint64_t found = t.files_found.load(std::memory_order_relaxed);
    const std::uint64_t done = t.files_done.load(std::memory_order_relaxed);
    const double megabytes = static_cast<double>(t.bytes_done.load(std::memory_order_relaxed)) / 1e6;
    const auto filled = static_cast<std::size_t>(std::min(done, found) * bar_width / std::max<std::uint64_t>(found, 1));
    std::string bar(filled, '#');
    bar.resize(bar_width, '.');
    std::fprintf(stderr, "\r[%s] %llu of %llu files, %.1f MB, %.1f MB/s\x1b[K", bar.c_str(),
                 static_cast<unsigned long long>(done), static_cast<unsigned long long>(found), megabytes,
                 seconds > 0 ? megabytes / seconds : 0);
}

void draw_until_stopped(const std::stop_token& stop, const tally& t) {
    const auto begin = std::chrono::steady_clock::now();
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock{mutex};
    // wait_for() returns false if the period has passed and no end was requested.
    while (!stopped.wait_for(lock, stop, period, [&] { return stop.stop_requested(); }) && !stop.stop_requested()) {
        draw(t, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::fputs("\r\x1b[K", stderr);
}

} // namespace

progress_bar::progress_bar(const tally& t) {
    if (::isatty(STDERR_FILENO) == 0) return;
    drawer_.emplace([&t](const std::stop_token& stop) { draw_until_stopped(stop, t); });
}

} // namespace treehash
