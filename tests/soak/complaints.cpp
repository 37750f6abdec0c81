// SPDX-License-Identifier: BSL-1.0
#include "complaints.hpp"

#include <cstdio>

namespace soak {

void complaints::add(std::string_view what, std::string_view where) {
    constexpr std::uint64_t enough = 20;
    if (nr_.fetch_add(1, std::memory_order_relaxed) >= enough) return;
    std::fprintf(stderr, "soak: complaint: %.*s%s%.*s\n", static_cast<int>(what.size()), what.data(),
                 where.empty() ? "" : ", ", static_cast<int>(where.size()), where.data());
    std::fflush(stderr);
}

void complaints::expect_equal(std::uint64_t a, std::uint64_t b, std::string_view what, std::string_view where) {
    if (a != b) add(std::string(what) + ": " + std::to_string(a) + ", " + std::to_string(b), where);
}

} // namespace soak
