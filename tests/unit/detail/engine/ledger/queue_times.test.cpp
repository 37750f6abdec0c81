// SPDX-License-Identifier: BSL-1.0
#include "bare_pool.hpp"
#include "catch.hpp"

#include <cmwq/detail/engine/ledger/item_sampling.hpp>
#include <cmwq/detail/engine/ledger/queue_times.hpp>
#include <cmwq/detail/engine/ledger/wait_stamp.hpp>

#include <chrono>
#include <cstdint>

using namespace cmwq::detail;

TEST_CASE("queue times: the shorter the items, the fewer are measured, and the more each stands for") {
    CHECK(step_for_items_of(50'000) == measure_all);
    CHECK(step_for_items_of(INT64_MAX / 2) == measure_all);
    CHECK(nr_items_for(measure_all) == 1);
    std::uint64_t before = 1;
    for (std::int64_t ns = 49'999; ns > 10; ns /= 2) {
        const std::uint64_t n = nr_items_for(step_for_items_of(ns));
        INFO(ns << " ns: one of " << n);
        CHECK(n >= before);
        before = n;
        CHECK(static_cast<std::int64_t>(n) * (ns + 100) > 400'000); // between two measurements
    }
    CHECK(step_for_items_of(-1) == step_for_items_of(0)); // a clock of the fault backend jumps
}

TEST_CASE("queue times: the marks meet the share of the items that a step means, and no pattern of items") {
    std::uint32_t random = 0;
    for (const sampling_step step : {mean_distance / 256, mean_distance / 8}) {
        constexpr int n = 1'000'000;
        int measured = 0, of_even = 0;
        sampling_step to_mark = 0;
        for (int i = 0; i < n; ++i) {
            if ((to_mark -= step) >= 0) continue;
            to_mark = next_distance(random);
            ++measured;
            of_even += i % 2 == 0 ? 1 : 0;
        }
        const double share = static_cast<double>(nr_items_for(step)) * measured / n;
        CHECK(share > 0.9);
        CHECK(share < 1.1);
        CHECK(of_even > 0.4 * measured);
        CHECK(of_even < 0.6 * measured);
    }
    for (int i = 0; i < 1'000; ++i) CHECK(next_distance(random) < measure_all); // whatever came before
}

TEST_CASE("queue times: in a burst before the first item has ended, the first waits are measured, then fewer") {
    const cmwq_test::bare_env env;
    cmwq_test::bare_pool pool(env);
    cmwq_test::bare_queue_in<cmwq::unbound> q(env, pool, 1);
    thread_slots& here = this_thread_slots();
    here.to_mark = 0;
    here.random = 0;
    here.first_waits = {};
    constexpr int many = 4'000;
    cmwq_test::bare_item one;
    int measured = 0;
    for (int i = 0; i < many; ++i) {
        assign(one, q.pwq);
        measured += is_exact(work_access::queued_at(one)) ? 1 : 0;
        if (i == 0) CHECK(measured == 1);
    }
    CHECK(measured > many / 64);
    CHECK(measured < many / 8);
    CHECK(q.pwq.sampling.of_runs() == measure_first);
}

TEST_CASE("queue times: a shared histogram is a histogram") {
    shared_histogram h;
    h.add(1'000, 3);
    h.add(2'000'000, 1);
    const cmwq::duration_histogram got = h.get();
    CHECK(got.total() == 4);
    CHECK(got.sum == std::chrono::nanoseconds{2'003'000});
    CHECK(got.counts[cmwq::duration_histogram::class_of(std::chrono::nanoseconds{1'000})] == 3);
}

namespace {

constexpr std::int64_t unit = 1'024, millisecond = 1'000'000, minute = 60'000 * millisecond;

/// What is measured of an item that was queued at `began`, became active `kept` later, if not 0, and started `more`
/// later.
std::int64_t measured(std::int64_t began, std::int64_t kept, std::int64_t more) {
    cmwq_test::bare_item w;
    work_access::set_queued_at(w, exact_stamp(began));
    if (kept != 0) {
        const wait_stamp now = exact_stamp(began + kept);
        work_access::set_queued_at(w, kept_stamp::make(time_waited(w, now), now));
        work_access::set_location(w, location::kept_back);
    }
    return std::int64_t{time_waited(w, exact_stamp(began + kept + more))} * unit;
}

} // namespace

TEST_CASE("queue times: a stamp says when an item was queued, for 73 minutes") {
    for (const std::int64_t began : {std::int64_t{0}, 12'345 * minute, (std::int64_t{1} << 42) - unit}) {
        INFO(began);
        for (const std::int64_t waited : {std::int64_t{0}, millisecond, 73 * minute}) {
            const std::int64_t got = measured(began, 0, waited);
            CHECK(got > waited - 3 * unit);
            CHECK(got < waited + 3 * unit);
        }
    }
}

TEST_CASE("queue times: an item that the limit has kept back is measured from its queueing, and its age is not") {
    for (const std::int64_t began : {std::int64_t{0}, 12'345 * minute, (std::int64_t{1} << 42) - millisecond}) {
        for (std::int64_t kept = 3 * millisecond; kept < 70 * minute; kept = kept * 7 / 5) {
            for (const std::int64_t more : {std::int64_t{0}, 300'000L, 40 * millisecond, 2 * minute}) {
                INFO(began << ", kept back for " << kept << " and then waited for " << more);
                const std::int64_t got = measured(began, kept, more);
                CHECK(got > kept + more - kept / 30 - millisecond);
                CHECK(got < kept + more + kept / 30 + millisecond);
            }
        }
    }
    cmwq_test::bare_item w;
    tick_clock ticks;
    ticks.begin(steady_now() - 10 * millisecond);
    ticks.tick(steady_now());
    const auto queued_before = [&](std::int64_t ns) { // and active now
        work_access::set_location(w, 0);
        work_access::set_queued_at(w, exact_stamp(steady_now() - ns));
        begin_age(w, ticks);
        return ticks.compare().of(age_of(w));
    };
    CHECK_FALSE((queued_before(0), was_kept_back(w)));
    CHECK(queued_before(minute) > 0); // it looks as if it had been queued after the clock has begun
    CHECK(was_kept_back(w));
    work_access::set_queued_at(w, exact_stamp(0) - exact_bit);
    begin_age(w, ticks);
    CHECK(work_access::queued_at(w) == ticks.now());
    // It keeps ten seconds of its age, and the time that it has waited.
    constexpr wait_stamp kept = 10'000'000;
    ticks.begin(steady_now() - minute);
    ticks.tick(steady_now());
    work_access::set_location(w, 0);
    work_access::set_queued_at(w, exact_stamp(steady_now() - minute));
    begin_age(w, ticks, kept);
    const ages::place now = ticks.compare().of(ticks.now()), age = now - ticks.compare().of(age_of(w));
    CHECK(age > kept - 1'000'000);
    CHECK(age < kept + 1'000'000);
    CHECK((std::int64_t{time_waited(w, exact_stamp(steady_now()))} << 10) > minute - minute / 30);
}
