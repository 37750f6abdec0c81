// SPDX-License-Identifier: BSL-1.0
#include <cmwq/delayed_work.hpp>

#include <cmwq/delayed_work.hpp> // a second time: tests the include guard

#include "catch.hpp"

#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>
#include <type_traits>

using namespace std::chrono_literals;
using cmwq::detail::duration_like;
using cmwq::detail::to_ns;

namespace {

constexpr std::int64_t far = std::int64_t{1} << 61;

template <class F>
using delayed = cmwq::delayed_work<F>;
using function = void (*)();

static_assert(!std::is_copy_constructible_v<delayed<function>> && !std::is_move_constructible_v<delayed<function>>);
static_assert(!std::is_copy_assignable_v<delayed<function>> && !std::is_move_assignable_v<delayed<function>>);
static_assert(std::is_base_of_v<cmwq::work_base, cmwq::delayed_work_base>);
static_assert(!std::is_constructible_v<cmwq::delayed_work_base> && !std::is_destructible_v<cmwq::delayed_work_base>);

static_assert(duration_like<std::chrono::nanoseconds> && duration_like<std::chrono::duration<float, std::micro>>);
static_assert(!duration_like<int> && !duration_like<std::chrono::steady_clock::time_point>);

} // namespace

TEST_CASE("to_ns: a whole number of nanoseconds is exact") {
    CHECK(to_ns(0ns) == 0);
    CHECK(to_ns(1ns) == 1);
    CHECK(to_ns(50ms) == 50'000'000);
    CHECK(to_ns(24h) == 86'400'000'000'000);
    CHECK(to_ns(std::chrono::nanoseconds{(std::int64_t{1} << 53) + 1}) == (std::int64_t{1} << 53) + 1);
    CHECK(to_ns(std::chrono::nanoseconds{far - 1}) == far - 1);
}

TEST_CASE("to_ns: a fraction is rounded up so that no timer fires early") {
    using picoseconds = std::chrono::duration<std::int64_t, std::pico>;
    CHECK(to_ns(picoseconds{1}) == 1);
    CHECK(to_ns(picoseconds{1000}) == 1);
    CHECK(to_ns(picoseconds{1001}) == 2);
    using thirds = std::chrono::duration<int, std::ratio<1, 3>>;
    CHECK(to_ns(thirds{1}) == 333'333'334);
    CHECK(to_ns(thirds{3}) == 1'000'000'000);
}

TEST_CASE("to_ns: a negative duration is zero") {
    CHECK(to_ns(-1ns) == 0);
    CHECK(to_ns(std::chrono::hours::min()) == 0);
    CHECK(to_ns(std::chrono::nanoseconds::min()) == 0);
}

TEST_CASE("to_ns: a long duration is limited to the longest delay") {
    CHECK(to_ns(std::chrono::hours::max()) == far);
    CHECK(to_ns(std::chrono::nanoseconds::max()) == far);
    CHECK(to_ns(std::chrono::nanoseconds{far}) == far);
    CHECK(to_ns(std::chrono::duration<std::int64_t, std::atto>::max()) == 9'223'372'037);
}

TEST_CASE("to_ns: floating-point durations are accepted") {
    using seconds = std::chrono::duration<double>;
    CHECK(to_ns(seconds{0.25}) == 250'000'000);
    CHECK(to_ns(seconds{1e-12}) == 1);
    CHECK(to_ns(seconds{-0.1}) == 0);
    CHECK(to_ns(seconds{1e300}) == far);
    CHECK(to_ns(seconds{std::numeric_limits<double>::infinity()}) == far);
    CHECK(to_ns(seconds{-std::numeric_limits<double>::infinity()}) == 0);
    CHECK(to_ns(seconds{std::numeric_limits<double>::quiet_NaN()}) == 0);
    CHECK(to_ns(std::chrono::duration<float, std::milli>{1.5f}) == 1'500'000);
    CHECK(to_ns(std::chrono::duration<long double, std::nano>{2.000001L}) == 3);
}
