// SPDX-License-Identifier: BSL-1.0
//
// pool_owner: what the ledger of a pool asks of the pool itself.
#pragma once

#include <cmwq/detail/base/config.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class deferred;

/// The pool that owns a ledger. The ledger decides which item may run; the pool, which thread runs it.
class pool_owner {
public:
    pool_owner(const pool_owner&) = delete;
    pool_owner& operator=(const pool_owner&) = delete;

    /// Items or grants have been pushed: makes sure that a thread serves them. Every producer calls it, not only the
    /// producer that has found the inbox empty: that one may be preempted before the call, and the others would wait
    /// for it. No lock is needed; a caller with a lock is one that cannot wait until it has none.
    virtual void notify() noexcept = 0;
    /// The caller, which holds the lock of the ledger, has put items on the worklist and does not run them: wakes a
    /// worker if one is needed.
    virtual void notify_locked(deferred& d) noexcept = 0;
    /// The caller holds the lock of the ledger: the ledger accepts the local items of all workers.
    virtual void recall_local_items_locked() noexcept = 0;

protected:
    pool_owner() noexcept = default;
    ~pool_owner() = default;
};

}}} // namespace cmwq::CMWQ_NS::detail
