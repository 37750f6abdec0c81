// SPDX-License-Identifier: BSL-1.0
//
// The measurement of one row of the table.
#pragma once

#include "support/memory.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <thread>

namespace scale {

struct settings {
    unsigned blocked = 10'000;
    unsigned pending = 1'000'000;
    unsigned queues = 10'000;
    double patience_seconds = 60;
    double spare_mib = 8; ///< memory that may remain in use at the end
    bool peers = true;
};

using clock = std::chrono::steady_clock;

inline double ms_since(clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(clock::now() - begin).count();
}

bool wait_for(double seconds, const auto& holds) {
    const auto begin = clock::now();
    while (!holds()) {
        if (ms_since(begin) > seconds * 1000) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    return true;
}

/// One row of the table: from a baseline to a peak and back.
class measurement {
public:
    /// `pools` counts the thread pools; if it is empty, no pools are counted.
    measurement(const settings& s, std::function<unsigned()> pools, std::string what, unsigned n);

    void at_peak();
    /// Call it when everything is done, and all queues and items have been destroyed. False: threads, pools or memory
    /// remain. `kept`: bytes for each of the `n` things that may remain.
    bool at_end(unsigned kept = 0);

    static void print_head();

private:
    const settings& settings_;
    std::function<unsigned()> pools_;
    std::string what_;
    unsigned n_;
    unsigned threads_before_;
    unsigned pools_before_;
    bench::memory before_;
    clock::time_point begin_;
    double up_ms_ = 0;
    unsigned peak_threads_ = 0;
    bench::memory peak_;
};

} // namespace scale
