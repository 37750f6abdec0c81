// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <cmwq/detail/engine/ledger/block_counts.hpp>

using cmwq::queue_stats;
using cmwq::detail::block_counts;
using cmwq::detail::block_event;

TEST_CASE("block_counts: each kind is counted for itself, and moved once") {
    block_counts c;
    c.count(block_event::guard);
    for (int i = 0; i < 2; ++i) c.count(block_event::sentinel);
    for (int i = 0; i < 3; ++i) c.count(block_event::monitor);
    for (int i = 0; i < 4; ++i) c.count(block_event::spare);
    queue_stats seen;
    c.add_to(seen);
    CHECK(seen.blocks_by_guard == 1);
    queue_stats s;
    c.move_to(s);
    c.move_to(s);
    CHECK(s.blocks_by_guard == 1);
    CHECK(s.blocks_by_sentinel == 2);
    CHECK(s.blocks_by_monitor == 3);
    CHECK(s.spare_wakeups == 4);
}
