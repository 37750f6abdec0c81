// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cmwq/detail/engine/threads/burst_size.hpp>

using cmwq::detail::burst_size;

TEST_CASE("burst size: it doubles as long as no item ends and begins again when one has") {
    burst_size b;
    CHECK(b.next(0) == 1);
    for (const unsigned n : {2u, 4u, 8u, 16u, 16u}) CHECK(b.next(0) == n);
    CHECK(b.next(1) == 1);
    CHECK(b.next(1) == 2);
    CHECK(b.next(9) == 1);
    CHECK(b.next(10) == 1);
}
