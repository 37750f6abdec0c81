// SPDX-License-Identifier: BSL-1.0
//
// UTF-8: where characters begin and end. Names and descriptions are bytes of the program; reports must not break them.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstddef>
#include <string_view>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The number of bytes of the character with which `s` begins; 0: it begins with no valid one, or is empty.
constexpr std::size_t length_of_character(std::string_view s) noexcept {
    const auto byte = [s](std::size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u; };
    const auto follows = [&](std::size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
    const unsigned first = byte(0), second = byte(1);
    if (first < 0x80) return s.empty() ? 0 : 1;
    if (first >= 0xc2 && first < 0xe0) return follows(1) ? 2 : 0;
    if (first >= 0xe0 && first < 0xf0) {
        if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0)) return 0; // too long, or a surrogate
        return follows(1) && follows(2) ? 3 : 0;
    }
    if (first >= 0xf0 && first < 0xf5) {
        if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90)) return 0; // too long, or too high
        return follows(1) && follows(2) && follows(3) ? 4 : 0;
    }
    return 0;
}

/// Calls `f(std::string_view)` for each character of `s`; with an empty view for a byte that belongs to none.
template <class F>
constexpr void for_each_character(std::string_view s, F&& f) {
    while (!s.empty()) {
        const std::size_t n = length_of_character(s);
        f(s.substr(0, n));
        s.remove_prefix(n == 0 ? 1 : n);
    }
}

/// The beginning of `s`, at most `most` bytes. It ends inside no character.
constexpr std::string_view cut_to(std::string_view s, std::size_t most) noexcept {
    if (s.size() <= most) return s;
    std::size_t n = most;
    while (n > 0 && most - n < 3 && (static_cast<unsigned char>(s[n]) & 0xc0u) == 0x80u) --n;
    return s.substr(0, length_of_character(s.substr(n)) > most - n ? n : most);
}

}}} // namespace cmwq::CMWQ_NS::detail
