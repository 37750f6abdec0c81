// SPDX-License-Identifier: BSL-1.0
//
// SHA-256, computed by OpenSSL.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

struct evp_md_ctx_st;

namespace treehash {

using sha256_digest = std::array<unsigned char, 32>;

/// Computes any number of hashes, one after the other, with one OpenSSL context.
class sha256 {
public:
    sha256();
    void begin();
    void add(std::span<const std::byte> data);
    [[nodiscard]] sha256_digest end();

private:
    struct free_context {
        void operator()(evp_md_ctx_st* c) const noexcept;
    };
    std::unique_ptr<evp_md_ctx_st, free_context> context_;
};

} // namespace treehash
