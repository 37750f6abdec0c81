// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/base/utf8.hpp>

#include <cmwq/detail/base/utf8.hpp> // a second time: tests the include guard

#include "catch.hpp"

#include <cstddef>
#include <string>
#include <string_view>

using cmwq::detail::cut_to;
using cmwq::detail::length_of_character;

TEST_CASE("utf8: a character has one to four bytes, and anything else is none") {
    struct row {
        std::string_view text;
        std::size_t length;
    };
    const row table[] = {
        {"", 0},
        {"a", 1},
        {std::string_view("\0", 1), 1},
        {"\x7f", 1},
        {"\xc3\xa4", 2},         // a umlaut
        {"\xe2\x82\xac", 3},     // the euro sign
        {"\xf0\x9f\x98\x80", 4}, // an emoji
        {"\xf4\x8f\xbf\xbf", 4}, // the last one
        {"\x80", 0},             // begins inside a character
        {"\xc3", 0},
        {"\xc3z", 0},
        {"\xe2\x82", 0},
        {"\xf0\x9f\x98", 0},
        {"\xc0\x80", 0}, // longer than necessary
        {"\xc1\xbf", 0},
        {"\xe0\x9f\xbf", 0},
        {"\xf0\x8f\xbf\xbf", 0},
        {"\xed\xa0\x80", 0},     // half a surrogate pair
        {"\xf4\x90\x80\x80", 0}, // beyond the last one
        {"\xf5\x80\x80\x80", 0},
        {"\xff", 0},
    };
    for (const row& r : table) {
        CAPTURE(r.text);
        CHECK(length_of_character(r.text) == r.length);
    }
}

TEST_CASE("utf8: a text is cut between two characters") {
    const std::string euros = "\xe2\x82\xac\xe2\x82\xac";
    for (std::size_t most = 0; most < 8; ++most) {
        CAPTURE(most);
        CHECK(cut_to(euros, most).size() == (most < 3 ? 0 : most < 6 ? 3 : 6));
    }
    CHECK(cut_to("abc", 2) == "ab");
    CHECK(cut_to("abc", 3) == "abc");
    CHECK(cut_to("\xf0\x9f\x98\x80z", 4).size() == 4);
    CHECK(cut_to("\xf0\x9f\x98\x80z", 3).empty());
    CHECK(cut_to("\x80\x80\x80\x80\x80", 3).size() == 3); // no characters: bytes
}
