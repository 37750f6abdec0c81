// SPDX-License-Identifier: BSL-1.0
#include "sha256.hpp"

#include <openssl/evp.h>

#include <stdexcept>

namespace treehash {

namespace {

void require(bool ok) {
    if (!ok) throw std::runtime_error("OpenSSL offers no SHA-256");
}

// Looked up once: a lookup takes longer than hashing a small file, and takes a lock.
const EVP_MD* algorithm() {
    struct free_md {
        void operator()(EVP_MD* m) const noexcept { EVP_MD_free(m); }
    };
    static const std::unique_ptr<EVP_MD, free_md> found{EVP_MD_fetch(nullptr, "SHA256", nullptr)};
    return found.get();
}

} // namespace

void sha256::free_context::operator()(evp_md_ctx_st* c) const noexcept { EVP_MD_CTX_free(c); }

sha256::sha256() : context_(EVP_MD_CTX_new()) { require(context_ != nullptr && algorithm() != nullptr); }

void sha256::begin() { require(EVP_DigestInit_ex2(context_.get(), algorithm(), nullptr) == 1); }

void sha256::add(std::span<const std::byte> data) {
    require(EVP_DigestUpdate(context_.get(), data.data(), data.size()) == 1);
}

sha256_digest sha256::end() {
    sha256_digest digest{};
    require(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) == 1);
    return digest;
}

} // namespace treehash
