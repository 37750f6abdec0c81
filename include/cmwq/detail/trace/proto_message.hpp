// SPDX-License-Identifier: BSL-1.0
//
// proto_message: appends the fields of a message to a text, in the wire format of Protocol Buffers.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Members throw std::bad_alloc.
class proto_message {
public:
    explicit proto_message(std::string& out) noexcept : out_(out) {}

    void number(unsigned field, std::uint64_t v) {
        key(field, 0);
        varint(v);
    }
    void fixed64(unsigned field, std::uint64_t v) {
        key(field, 1);
        for (int i = 0; i < 8; ++i) out_ += static_cast<char>(v >> (8 * i) & 0xff);
    }
    void bytes(unsigned field, std::string_view s) {
        key(field, 2);
        varint(s.size());
        out_ += s;
    }
    /// `fill(proto_message&)` appends the fields of the message inside this one. It must be shorter than 256 MB.
    template <class F>
    void message(unsigned field, const F& fill) {
        key(field, 2);
        const std::size_t at = out_.size();
        out_.append(size_bytes, 0); // a number may have more bytes than it needs
        fill(*this);
        std::size_t size = out_.size() - at - size_bytes;
        for (std::size_t i = 0; i < size_bytes; ++i, size >>= 7) {
            out_[at + i] = static_cast<char>((size & 0x7f) | (i + 1 < size_bytes ? 0x80u : 0u));
        }
    }

private:
    static constexpr std::size_t size_bytes = 4;

    void key(unsigned field, unsigned wire_type) { varint(field << 3 | wire_type); }
    void varint(std::uint64_t v) {
        for (; v >= 0x80; v >>= 7) out_ += static_cast<char>((v & 0x7f) | 0x80);
        out_ += static_cast<char>(v);
    }

    std::string& out_;
};

}}} // namespace cmwq::CMWQ_NS::detail
