// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cmwq/stats.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

using cmwq::duration_histogram;
using cmwq::queue_counters;
using std::chrono::nanoseconds;
using namespace std::chrono_literals;

TEST_CASE("stats: each counter of a queue is named once, and summed") {
    std::set<std::string> names;
    queue_counters a, b;
    std::uint64_t n = 0;
    cmwq::detail::for_each_counter_of_queue([&](const char* name, std::uint64_t queue_counters::* member) {
        CHECK(names.insert(name).second);
        CHECK(a.*member == 0); // no other name has this member
        a.*member = ++n;
        b.*member = 10;
    });
    CHECK(sizeof a == n * sizeof n); // no member is missing
    cmwq::detail::add(a, b);
    cmwq::detail::for_each_counter_of_queue([&, i = 10](const char*, std::uint64_t queue_counters::* member) mutable {
        CHECK(a.*member == static_cast<std::uint64_t>(++i));
    });
}

TEST_CASE("stats: each duration is in the class whose bounds are around it") {
    for (std::size_t i = 0; i + 1 < duration_histogram::nr_classes; ++i) {
        const nanoseconds bound = duration_histogram::bound_of(i);
        INFO("bound " << bound.count());
        CHECK(duration_histogram::class_of(bound - 1ns) == i);
        CHECK(duration_histogram::class_of(bound) == i + 1);
        CHECK(duration_histogram::bound_of(i + 1) > bound);
    }
    CHECK(duration_histogram::bound_of(0) == 128ns);
    CHECK(duration_histogram::bound_of(1) == 192ns);
    CHECK(duration_histogram::class_of(-1ns) == 0);
    CHECK(duration_histogram::class_of(nanoseconds::max()) == duration_histogram::nr_classes - 1);
    CHECK(duration_histogram::bound_of(duration_histogram::nr_classes - 1) == nanoseconds::max());
}

TEST_CASE("stats: a histogram says how many durations there are, their mean, and bounds for shares of them") {
    duration_histogram h;
    CHECK(h.total() == 0);
    CHECK(h.mean() == 0ns);
    CHECK(h.quantile(0.5) == 0ns);
    h.add(1us, 98);
    h.add(1ms);
    h.add(1h); // beyond the last bound
    CHECK(h.total() == 100);
    CHECK(h.mean() == (98us + 1ms + nanoseconds{1h}) / 100);
    for (const double share : {0.0, 0.5, 0.98}) {
        CHECK(h.quantile(share) > 1us);
        CHECK(h.quantile(share) <= 1500ns);
    }
    CHECK(h.quantile(0.99) > 1ms);
    CHECK(h.quantile(0.99) <= 1500us);
    CHECK(h.quantile(1) == nanoseconds::max());
    duration_histogram twice = h;
    twice.add(h);
    CHECK(twice.total() == 200);
    CHECK(twice.sum == 2 * h.sum);
}
