// SPDX-License-Identifier: BSL-1.0
//
// json_writer: writes JSON into a string. A library for JSON would be a dependency of every program that includes cmwq.
#pragma once

#include <cmwq/detail/base/config.hpp>
#include <cmwq/detail/base/utf8.hpp>

#include <concepts>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Writes one value, without spaces. The caller opens and closes objects and arrays in pairs, and gives a key to each
/// member of an object. Throws std::bad_alloc.
class json_writer {
public:
    json_writer& key(std::string_view name) {
        separate();
        string(name);
        text_ += ':';
        first_ = true; // no comma before the value
        return *this;
    }
    void open(char bracket) {
        separate();
        text_ += bracket;
        first_ = true;
    }
    void close(char bracket) {
        text_ += bracket;
        first_ = false;
    }
    void value(std::string_view s) {
        separate();
        string(s);
    }
    void value(const char* s) { value(std::string_view(s)); }
    void value(bool b) {
        separate();
        text_ += b ? "true" : "false";
    }
    void value(std::integral auto n) {
        separate();
        text_ += std::to_string(n);
    }
    void null() {
        separate();
        text_ += "null";
    }
    /// The text. The writer is empty then.
    [[nodiscard]] std::string take() { return std::move(text_); }

private:
    void separate() {
        if (!first_) text_ += ',';
        first_ = false;
    }
    void string(std::string_view s) {
        text_ += '"';
        for_each_character(s, [this](std::string_view c) {
            if (c.empty()) {
                text_ += "\\ufffd"; // JSON is UTF-8, and a name may be anything
            } else if (c == "\"" || c == "\\") {
                (text_ += '\\') += c;
            } else if (static_cast<unsigned char>(c.front()) < 0x20) {
                char escape[8];
                std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c.front()));
                text_ += escape;
            } else {
                text_ += c;
            }
        });
        text_ += '"';
    }

    std::string text_;
    bool first_ = true;
};

}}} // namespace cmwq::CMWQ_NS::detail
