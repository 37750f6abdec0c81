// SPDX-License-Identifier: BSL-1.0
//
// pushed: the notification that a producer owes after it has pushed an item.
#pragma once

#include <cmwq/detail/ds/grace_counts.hpp>
#include <cmwq/detail/engine/threads/item_pool.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The result of a push to a pool. Keeps the pool while this object lives. Belongs to the producer's thread.
struct pushed {
    grace_reader keeps_pool;
    item_pool* pool = nullptr; ///< the pool to be notified; null: no notification is needed

    /// The producer calls this as soon as it holds no lock.
    void notify() const noexcept {
        if (pool != nullptr) pool->ledger.owner.notify();
    }
};

}}} // namespace cmwq::CMWQ_NS::detail
