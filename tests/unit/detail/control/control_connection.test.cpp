// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/control/control_connection.hpp>

#include <cmwq/detail/control/control_connection.hpp> // a second time: tests the include guard

#include "catch.hpp"
#include "nanoseconds.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

using cmwq::detail::control_connection;
using cmwq_test::second;

namespace {

void give(control_connection& c, const std::string& text, std::int64_t now = 0) {
    c.input() += text;
    c.took_input(now);
}

} // namespace

TEST_CASE("control_connection: lines are requests, and while one is answered nothing is read") {
    control_connection c{0};
    CHECK(c.reads());
    give(c, "on");
    CHECK_FALSE(c.has_request());
    CHECK(c.reads());
    give(c, "e\ntwo\n\nthr");
    CHECK_FALSE(c.reads());
    CHECK(c.take_request() == "one");
    c.answer("1\n", 0);
    CHECK(c.has_request());
    CHECK_FALSE(c.reads());
    CHECK(c.output() == "1\n");
    c.sent(1, 0);
    CHECK(c.output() == "\n");
    c.sent(1, 0);
    CHECK_FALSE(c.has_output());
    CHECK(c.take_request() == "two");
    CHECK(c.take_request().empty());
    CHECK_FALSE(c.has_request());
    CHECK(c.reads());
    give(c, "ee\n");
    CHECK(c.take_request() == "three");
}

TEST_CASE("control_connection: a request may come in any pieces, and several in one") {
    const std::string text = "ab\n\nc\nd";
    for (std::size_t size = 1; size <= text.size(); ++size) {
        control_connection c{0};
        std::string got;
        for (std::size_t at = 0; at < text.size(); at += size) {
            give(c, text.substr(at, size));
            while (c.has_request()) got += c.take_request() + '|';
        }
        CHECK(got == "ab||c|");
        CHECK(c.input() == "d");
    }
}

TEST_CASE("control_connection: the longest request, and one that is longer") {
    control_connection c{0};
    give(c, std::string(control_connection::longest_request, 'x'));
    CHECK(c.reads());
    give(c, "\n");
    CHECK(c.take_request().size() == control_connection::longest_request);
    give(c, std::string(control_connection::longest_request + 1, 'x'));
    CHECK_FALSE(c.reads());
    CHECK(c.output().find("65536") != std::string::npos);
    CHECK_FALSE(c.is_over());
    c.sent(c.output().size(), 0);
    CHECK(c.is_over());
    CHECK_FALSE(c.reads());
}

TEST_CASE("control_connection: a client that stops is dropped, soon in the middle, never while it waits") {
    control_connection c{0};
    CHECK(c.deadline() == 60 * second);
    give(c, "{", 5 * second); // an incomplete request does not count as a move
    CHECK(c.deadline() == 10 * second);
    give(c, "}\n", 6 * second);
    CHECK(c.deadline() == INT64_MAX);
    static_cast<void>(c.take_request());
    c.answer("12\n", 7 * second);
    CHECK(c.deadline() == 17 * second);
    c.sent(0, 8 * second);
    CHECK(c.deadline() == 17 * second);
    c.sent(1, 8 * second);
    CHECK(c.deadline() == 18 * second);
    c.sent(2, 9 * second);
    CHECK(c.deadline() == 69 * second);
}
