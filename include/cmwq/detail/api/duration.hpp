// SPDX-License-Identifier: BSL-1.0
//
// duration_like and to_ns(): accept durations without <chrono>, which would double the time to compile a public header.
// A caller that has a duration has included <chrono>.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// A type with the members of std::chrono::duration that to_ns() uses.
template <class D>
concept duration_like = requires(const D& d) {
    typename D::rep;
    D::period::num;
    D::period::den;
    static_cast<long double>(d.count());
};

/// Any duration in nanoseconds. Rounds up, so that no timer fires early. Negative durations give 0, very long ones
/// about 73 years.
template <duration_like D>
std::int64_t to_ns(const D& d) noexcept {
    constexpr std::int64_t far = std::int64_t{1} << 61; // 73 years
    const long double ns = static_cast<long double>(d.count()) * static_cast<long double>(D::period::num) *
                           1'000'000'000.0L / static_cast<long double>(D::period::den);
    if (!(ns > 0)) return 0;
    if (ns >= static_cast<long double>(far)) return far;
    const auto whole = static_cast<std::int64_t>(ns);
    return static_cast<long double>(whole) < ns ? whole + 1 : whole;
}

}}} // namespace cmwq::CMWQ_NS::detail
