// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/base/printable.hpp>

#include <cmwq/detail/base/printable.hpp> // a second time: tests the include guard

#include "catch.hpp"

using cmwq::detail::keep_lines;
using cmwq::detail::printable;

TEST_CASE("printable: control characters are shown, all other characters stay") {
    CHECK(printable("") == "");
    CHECK(printable("disk 1, \xc3\xbc, \xf0\x9f\x99\x82") == "disk 1, \xc3\xbc, \xf0\x9f\x99\x82");
    CHECK(printable("a\nb\x1b[31m\x7f") == "a\\x0ab\\x1b[31m\\x7f");
    CHECK(printable("\xc2\x9b\xc2\xa0") == "\\x9b\xc2\xa0"); // U+009B begins a command, U+00A0 does not
}

TEST_CASE("printable: bytes that are no UTF-8 are shown") {
    CHECK(printable("a\x9bz\xc3") == "a\\x9bz\\xc3");
    CHECK(printable("\xe2\x82x") == "\\xe2\\x82x");
}

TEST_CASE("printable: only line breaks stay where a text has lines") {
    CHECK(printable("a\n\tb\n", keep_lines::yes) == "a\n\\x09b\n");
}
