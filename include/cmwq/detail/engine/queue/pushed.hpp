// SPDX-License-Identifier: BSL-1.0
//
// pushed: what a producer owes after it has pushed an item.
#pragma once

#include <cmwq/detail/ds/grace_period.hpp>
#include <cmwq/detail/engine/pool/item_pool.hpp>

namespace cmwq::inline CMWQ_NS::detail {

/// An item has just been pushed to a pool, which stays as long as this lives. `Pool` is the type of the pool where the
/// caller knows it.
template <class Pool = item_pool>
struct pushed {
    grace_period::reader keeps_pool;
    Pool* pool = nullptr; ///< to be notified; null: it has been

    /// As soon as no lock is held.
    void notify() const noexcept {
        if (pool != nullptr) pool->notify();
    }
};

} // namespace cmwq::inline CMWQ_NS::detail
