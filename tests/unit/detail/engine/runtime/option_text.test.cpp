// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/engine/runtime/option_text.hpp>

#include <cmwq/detail/engine/runtime/option_text.hpp> // a second time: tests the include guard

#include "catch.hpp"

#include <chrono>
#include <limits>
#include <string>

using cmwq::detail::option_text;
using namespace std::chrono_literals;

namespace {

template <class T>
void check_round_trip(const T& value, const std::string& text) {
    INFO(text);
    CHECK(option_text::write(value) == text);
    T read{};
    CHECK(option_text::read(text, read));
    CHECK(read == value);
}

} // namespace

TEST_CASE("option_text: what it writes, it reads") {
    check_round_trip(true, "1");
    check_round_trip(false, "0");
    check_round_trip(7u, "7");
    check_round_trip(-20, "-20");
    check_round_trip(19, "19");
    check_round_trip(std::chrono::nanoseconds{0}, "0");
    check_round_trip(std::chrono::nanoseconds{1}, "1ns");
    check_round_trip(std::chrono::nanoseconds{1500us}, "1500us");
    check_round_trip(std::chrono::nanoseconds{30s}, "30s");
    check_round_trip(std::chrono::nanoseconds{2min}, "2min");
    check_round_trip(cmwq::affinity_scope::cache, "cache");
    check_round_trip(cmwq::cpuset{0, 1, 2, 8}, "0-2,8");
}

TEST_CASE("option_text: whole numbers with a sign") {
    int n = 0;
    for (const char* const wrong : {"", "-", "--1", "+1", "1x", "1.0", "99999999999"}) {
        INFO(wrong);
        CHECK_FALSE(option_text::read(wrong, n));
    }
}
