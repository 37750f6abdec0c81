// SPDX-License-Identifier: BSL-1.0
//
// Bodies of worker: the calls of a blocking_region in an item.
#pragma once

#include <cmwq/detail/engine/ledger/item_pool.hpp>
#include <cmwq/detail/engine/ledger/own_run.hpp>
#include <cmwq/detail/engine/ledger/worker.hpp>
#include <cmwq/detail/sync/clock.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE void worker::begin_blocking(block_kind kind) noexcept {
    if (pool.is_bottom_half()) refuse_to_block(*current_pwq->queue);
    if (kind == will_block || pool.env().options.may_block_threshold.count() == 0) pool.block_begins(*this);
    else may_block_since.store(steady_now(), release); // [ALONE]
}

CMWQ_INLINE void worker::upgrade_blocking() noexcept {
    may_block_since.store(0, release); // [ALONE]
    pool.block_begins(*this);
}

CMWQ_INLINE void worker::end_blocking() noexcept {
    may_block_since.store(0, release); // [ALONE]
    pool.block_ends(*this);
}

}}} // namespace cmwq::CMWQ_NS::detail
