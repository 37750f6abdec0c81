// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/sync/backoff.hpp>

#include <cmwq/detail/sync/backoff.hpp> // a second time: tests the include guard

#include "catch.hpp"

#include <ctime>

using cmwq::detail::backoff;

namespace {

double cpu_seconds() {
    timespec ts{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return static_cast<double>(ts.tv_sec) + static_cast<double>(ts.tv_nsec) * 1e-9;
}

double seconds() {
    timespec ts{};
    ::clock_gettime(CLOCK_MONOTONIC, &ts);
    return static_cast<double>(ts.tv_sec) + static_cast<double>(ts.tv_nsec) * 1e-9;
}

} // namespace

TEST_CASE("backoff: a long wait leaves the CPU to other threads") {
    backoff b;
    const double begin = seconds(), used_before = cpu_seconds();
    for (int i = 0; i < 60; ++i) b.pause();
    const double elapsed = seconds() - begin, used = cpu_seconds() - used_before;
    CHECK(elapsed >= 0.025); // 47 pauses of 640 us, and shorter ones before
    CHECK(used < elapsed / 2);
}

TEST_CASE("backoff: a short wait does not sleep") {
    timespec before{}, after{};
    // The first eight pauses do not sleep: together they are 255 hints to the processor. Each sleep would take at least
    // 20 us. The test takes the best of many times, because another thread may take the CPU between two pauses.
    double best = 1;
    for (int i = 0; i < 200; ++i) {
        backoff b;
        ::clock_gettime(CLOCK_MONOTONIC, &before);
        b.pause();
        b.pause();
        ::clock_gettime(CLOCK_MONOTONIC, &after);
        const double took = static_cast<double>(after.tv_sec - before.tv_sec) +
                            static_cast<double>(after.tv_nsec - before.tv_nsec) * 1e-9;
        if (took < best) best = took;
    }
    CHECK(best < 15e-6);
}
