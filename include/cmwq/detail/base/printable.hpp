// SPDX-License-Identifier: BSL-1.0
//
// Texts of the program's for a terminal: names of queues, descriptions of items.
#pragma once

#include <cmwq/detail/base/utf8.hpp>

#include <string>
#include <string_view>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

enum class keep_lines : bool { no, yes };

/// `text` with its control characters as `\x1b`, and bytes that are no UTF-8 likewise: it commands no terminal, and
/// breaks no line, unless `lines` says that line breaks stay. Throws std::bad_alloc.
inline std::string printable(std::string_view text, keep_lines lines = keep_lines::no) {
    constexpr char digits[] = "0123456789abcdef";
    std::string to;
    const char* at = text.data();
    for_each_character(text, [&](std::string_view c) {
        const bool is_valid = !c.empty();
        const auto last = static_cast<unsigned char>(is_valid ? c.back() : *at);
        const bool is_c1 = c.size() == 2 && c[0] == '\xc2' && last < 0xa0; // U+0080 to U+009F
        const bool is_control = (c.size() == 1 && (last < 0x20 || last == 0x7f)) || is_c1;
        if ((is_valid && !is_control) || (c == "\n" && lines == keep_lines::yes)) to += c;
        else to += {'\\', 'x', digits[last / 16], digits[last % 16]};
        at += is_valid ? c.size() : 1;
    });
    return to;
}

}}} // namespace cmwq::CMWQ_NS::detail
