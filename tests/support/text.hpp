// SPDX-License-Identifier: BSL-1.0
//
// Looks for a part of a message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cmwq_test {

inline bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

inline std::size_t count_of(const std::string& text, std::string_view part) {
    std::size_t n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
}

} // namespace cmwq_test
