// SPDX-License-Identifier: BSL-1.0
//
// proto_message: the wire format of Protocol Buffers.
#include "catch.hpp"

#include <cmwq/detail/trace/proto_message.hpp>

#include <cstdint>
#include <string>

using cmwq::detail::proto_message;
using namespace std::string_literals;

TEST_CASE("proto_message: numbers, texts and messages have the bytes of the wire format") {
    std::string out;
    proto_message m(out);
    m.number(1, 150);
    CHECK(out == "\x08\x96\x01"s); // the example of the documentation of Protocol Buffers
    out.clear();
    m.bytes(2, "testing");
    CHECK(out == "\x12\x07testing"s);
    out.clear();
    m.number(60, UINT64_MAX);
    CHECK(out == "\xe0\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s);
    out.clear();
    m.fixed64(47, 0x0102030405060708);
    CHECK(out == "\xf9\x02\x08\x07\x06\x05\x04\x03\x02\x01"s);
    out.clear();
    m.message(3, [](proto_message& inner) { inner.number(1, 150); });
    CHECK(out == "\x1a\x83\x80\x80\x00\x08\x96\x01"s); // the size in four bytes
}

TEST_CASE("proto_message: messages nest, and have any size") {
    std::string out;
    const std::string long_text(300, 'x');
    proto_message(out).message(1, [&](proto_message& a) {
        a.message(2, [&](proto_message& b) { b.bytes(3, long_text); });
        a.number(4, 0);
    });
    const std::string inner = "\x1a\xac\x02"s + long_text;
    CHECK(out == "\x0a\xb6\x82\x80\x00\x12\xaf\x82\x80\x00"s + inner + "\x20\x00"s);
}
